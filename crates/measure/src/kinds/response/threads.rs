//! The two threads: born, warm, measuring, and released at the end whatever became of one of them.
//!
//! Both warm up with real edges, before the first schedule: a thread alone cannot run all the code of a wait. Then both begin their
//! measured loops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use units::ClockId;

use super::hot::{ActingCounts, ActingLoop, Turn, WaitingCounts, WaitingLoop};
use super::plan::ResponsePlan;
// The clock of all stamps is the one that the kernel stamps its events by.
use crate::crew::drain::CLOCK;
use crate::crew::{ArmError, Member, Meter, Metered, Work};
use crate::ring::Ring;
use crate::wire::Wire;
use crate::witness::RequestedScheduling;

/// Edges that warm both threads up.
const WARMING: u64 = 6;
/// Between two of them (ns).
const WARMING_INTERVAL_NS: i64 = 400_000;
/// The warming is over so long before the first schedule (ns).
const WARM_BEFORE_NS: i64 = 8_000_000;
/// How long a wait lasts while both warm up (ms): once it is over, the thread looks whether the warming is.
const WARMING_WAIT_MS: i32 = 1;
/// Between two looks at whether the other thread is there (ns).
const LOOK_NS: i64 = 100_000;

/// What the two threads share with each other and with the drain.
pub(super) struct Shared<W> {
    pub(super) wire: W,
    pub(super) turn: Turn,
    /// That of the warming: no edge is measured before the waiting thread is in its measured loop.
    warming_turn: Turn,
    /// The edges: before and after each write.
    pub(super) acted: Ring,
    /// The events: the kernel's stamp, and when the waiting thread was awake.
    pub(super) woke: Ring,
    /// No schedule after this (ns); lowering it ends the acting thread's loop.
    pub(super) last_schedule_ns: AtomicI64,
    watchdog: Arc<AtomicBool>,
    is_warm: AtomicBool,
    is_over: AtomicBool,
}

impl<W: Wire> Shared<W> {
    fn end(&self) {
        self.is_warm.store(true, Ordering::Release);
        self.is_over.store(true, Ordering::Release);
        self.wire.end_waits();
    }
}

/// Says that all is over when it is dropped, so that the waiting thread hears of it also from an acting one that panics.
struct Ending<'a, W: Wire>(&'a Shared<W>);

impl<W: Wire> Drop for Ending<'_, W> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Both threads, running.
pub(super) struct Running<W> {
    pub(super) shared: Arc<Shared<W>>,
    pub(super) acting: Member<ActingCounts>,
    pub(super) waiting: Member<WaitingCounts>,
}

impl<W: Wire> Running<W> {
    /// Starts both threads; they wait for their order.
    ///
    /// # Errors
    /// Where a thread cannot be had.
    pub(super) fn start(plan: &ResponsePlan, wire: W, watchdog: Arc<AtomicBool>) -> Result<Self, ArmError> {
        let shared = Arc::new(Shared {
            wire,
            turn: Turn::new(),
            warming_turn: Turn::new(),
            acted: Ring::new(plan.length.ring_slots),
            woke: Ring::new(plan.length.ring_slots),
            last_schedule_ns: AtomicI64::new(i64::MAX),
            watchdog,
            is_warm: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let wanted = RequestedScheduling { thread: 0, policy: plan.policy(), cpu: Some(plan.cpu) };
        let waiting = Member::start("punctual-r0", wanted, Waiting { shared: Arc::clone(&shared) })?;
        let wanted = RequestedScheduling { thread: 1, policy: plan.policy_of_acting(), cpu: Some(plan.acting_cpu) };
        let acting = Acting {
            shared: Arc::clone(&shared),
            interval_ns: plan.length.interval_ns,
            lost_after_ns: plan.lost_after_ns,
            samples: plan.length.samples(),
        };
        let acting = Member::start("punctual-a0", wanted, acting)?;
        Ok(Self { shared, acting, waiting })
    }

    /// Whether both threads have ended.
    pub(super) fn is_finished(&self) -> bool {
        self.acting.is_finished() && self.waiting.is_finished()
    }

    /// Ends the acting thread's loop, which then ends the waiting one's, and the waiting of those that have not begun.
    pub(super) fn end(&self) {
        self.shared.last_schedule_ns.store(i64::MIN, Ordering::Release);
        self.acting.call_off();
        self.waiting.call_off();
    }

    /// Ends the waiting thread's loop where the acting thread has ended, or will not do it.
    pub(super) fn release(&self) {
        self.shared.end();
    }
}

/// The acting thread's loop, held to neither allocate nor fault, between two readings of what it used; one copy of all that code,
/// so that warming makes the pages of the measured one resident, up to the second reading.
#[inline(never)]
fn acts<W: Wire>(hot: ActingLoop<'_, W>, meter: Meter) -> Metered<ActingCounts> {
    meter.hot(|| hot.run())
}

/// The same of the waiting thread's.
#[inline(never)]
fn waits<W: Wire>(hot: WaitingLoop<'_, W>, meter: Meter) -> Metered<WaitingCounts> {
    meter.hot(|| hot.run())
}

/// Sleeps for a while; one that a signal ends is over.
fn sleep_for(ns: i64) {
    let clock = KernelClock::from(CLOCK);
    let _ = sleep_until(clock, &Schedule::at_ns(now_ns(clock).saturating_add(ns)));
}

/// What the acting thread is born with.
struct Acting<W> {
    shared: Arc<Shared<W>>,
    interval_ns: i64,
    lost_after_ns: i64,
    samples: u64,
}

impl<W: Wire> Acting<W> {
    /// The first edges, which are not measured; some of them late by more than an interval.
    fn warm(&self, start_ns: i64, meter: Meter) {
        let shared = &*self.shared;
        let (clock, spare) = (KernelClock::from(CLOCK), Ring::new(16));
        let until_ns = AtomicI64::new(start_ns - WARM_BEFORE_NS);
        let warming = ActingLoop {
            wire: &shared.wire,
            clock,
            interval_ns: WARMING_INTERVAL_NS,
            next: Schedule::at_ns(now_ns(clock) - 4 * WARMING_INTERVAL_NS),
            last_schedule_ns: &until_ns,
            samples: WARMING,
            lost_after_ns: 4 * WARMING_INTERVAL_NS,
            turn: &shared.warming_turn,
            ring: spare.writer(),
            watchdog: &shared.watchdog,
        };
        let _ = acts(warming, meter);
        shared.is_warm.store(true, Ordering::Release);
    }

    /// Waits until the last edge is answered, or given up.
    fn await_last(&self, counts: &ActingCounts) {
        let shared = &*self.shared;
        let given_up_ns = counts.acted_ns.saturating_add(self.lost_after_ns);
        let clock = KernelClock::from(CLOCK);
        while counts.edges > 0
            && shared.turn.taken() == counts.answered_from
            && now_ns(clock) < given_up_ns
            && !shared.is_over.load(Ordering::Acquire)
        {
            sleep_for(LOOK_NS);
        }
    }
}

impl<W: Wire> Work for Acting<W> {
    type Counts = ActingCounts;

    fn clock(&self) -> ClockId {
        CLOCK
    }

    fn warm_up(&mut self, meter: Meter) {
        let _ = meter.hot(|| now_ns(KernelClock::from(CLOCK)));
    }

    fn measure(self, start_ns: i64, meter: Meter) -> Metered<ActingCounts> {
        let shared = &*self.shared;
        let ending = Ending(shared);
        self.warm(start_ns, meter);
        let hot = ActingLoop {
            wire: &shared.wire,
            clock: KernelClock::from(CLOCK),
            interval_ns: self.interval_ns,
            next: Schedule::at_ns(start_ns),
            last_schedule_ns: &shared.last_schedule_ns,
            samples: self.samples,
            lost_after_ns: self.lost_after_ns,
            turn: &shared.turn,
            ring: shared.acted.writer(),
            watchdog: &shared.watchdog,
        };
        let metered = acts(hot, meter).map(|counts| {
            self.await_last(&counts);
            counts
        });
        drop(ending);
        metered
    }
}

/// What the waiting thread is born with.
struct Waiting<W> {
    shared: Arc<Shared<W>>,
}

impl<W: Wire> Waiting<W> {
    fn until<'a>(
        &'a self,
        is_over: &'a AtomicBool,
        turn: &'a Turn,
        timeout_ms: i32,
        ring: &'a Ring,
    ) -> WaitingLoop<'a, W> {
        let shared = &*self.shared;
        WaitingLoop {
            wire: &shared.wire,
            clock: KernelClock::from(CLOCK),
            turn,
            is_over,
            timeout_ms,
            ring: ring.writer(),
            watchdog: &shared.watchdog,
        }
    }
}

impl<W: Wire> Work for Waiting<W> {
    type Counts = WaitingCounts;

    fn clock(&self) -> ClockId {
        CLOCK
    }

    fn warm_up(&mut self, meter: Meter) {
        let _ = meter.hot(|| now_ns(KernelClock::from(CLOCK)));
    }

    fn measure(self, _: i64, meter: Meter) -> Metered<WaitingCounts> {
        let shared = &*self.shared;
        let spare = Ring::new(16);
        let _ = waits(self.until(&shared.is_warm, &shared.warming_turn, WARMING_WAIT_MS, &spare), meter);
        waits(self.until(&shared.is_over, &shared.turn, -1, &shared.woke), meter)
    }
}
