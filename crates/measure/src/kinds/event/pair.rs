//! A pair of threads: born, warm, measuring, and released at the end whatever became of one of them.
//!
//! Both warm up with real hand-overs, before the first schedule: a thread alone cannot run all the code of a wait. Then the
//! waker ends the warming by one more, and both begin their measured loops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::handover::{HandOver, HandOverError};
use units::ClockId;

use super::hot::{SleeperCounts, SleeperLoop, Turn, WakerCounts, WakerLoop};
use super::plan::{EventPlan, PairPlan};
use crate::crew::drain::CLOCK;
use crate::crew::{ArmError, Member, Meter, Metered, Work};
use crate::ring::Ring;
use crate::witness::RequestedScheduling;

/// Hand-overs that warm a pair up.
const WARMING: u64 = 6;
/// Between two of them (ns).
const WARMING_INTERVAL_NS: i64 = 300_000;
/// The warming is over so long before the first schedule (ns).
const WARM_BEFORE_NS: i64 = 3_000_000;
/// Between two looks at whether the other thread is there (ns).
const LOOK_NS: i64 = 100_000;

/// What the two threads of a pair share with each other and with the drain.
#[derive(Debug)]
pub(super) struct Shared<H> {
    pub(super) hand: H,
    pub(super) turn: Turn,
    /// The hand-overs, with what each cost the waker.
    pub(super) returned: Ring,
    /// The hand-overs that the sleeper took, with when it was awake.
    pub(super) woke: Ring,
    /// No schedule after this (ns); lowering it ends the waker's loop.
    pub(super) last_schedule_ns: AtomicI64,
    watchdog: Arc<AtomicBool>,
    /// The waker has begun, and the sleeper may wait.
    waker_is_there: AtomicBool,
    is_warm: AtomicBool,
    is_over: AtomicBool,
}

impl<H: HandOver> Shared<H> {
    fn open(plan: &EventPlan, watchdog: Arc<AtomicBool>) -> Result<Self, HandOverError> {
        Ok(Self {
            hand: H::open()?,
            turn: Turn::new(),
            returned: Ring::new(plan.length.ring_slots),
            woke: Ring::new(plan.length.ring_slots),
            last_schedule_ns: AtomicI64::new(i64::MAX),
            watchdog,
            waker_is_there: AtomicBool::new(false),
            is_warm: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    fn end(&self) {
        self.is_warm.store(true, Ordering::Release);
        self.is_over.store(true, Ordering::Release);
    }
}

/// Says that all is over when it is dropped, so that the sleeper hears of it also from a waker that panics.
struct Ending<'a, H: HandOver>(&'a Shared<H>);

impl<H: HandOver> Drop for Ending<'_, H> {
    fn drop(&mut self) {
        self.0.end();
        self.0.hand.wake_last();
    }
}

/// A pair that runs.
#[derive(Debug)]
pub(super) struct Running<H> {
    pub(super) plan: PairPlan,
    pub(super) shared: Arc<Shared<H>>,
    pub(super) waker: Member<WakerCounts>,
    pub(super) sleeper: Member<SleeperCounts>,
}

/// Why a pair cannot start.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The means of hand-over cannot be had.
    #[error(transparent)]
    Means(#[from] HandOverError),
    /// A thread cannot be had.
    #[error(transparent)]
    Arm(#[from] ArmError),
}

impl<H: HandOver> Running<H> {
    /// Starts both threads; they wait for their order.
    pub(super) fn start(plan: &EventPlan, pair: PairPlan, watchdog: Arc<AtomicBool>) -> Result<Self, EventError> {
        let shared = Arc::new(Shared::<H>::open(plan, watchdog)?);
        let number = pair.pair;
        let pairs = u32::try_from(plan.pairs.len()).unwrap_or(u32::MAX);
        let wanted = RequestedScheduling { thread: number, policy: plan.policy(), cpu: Some(pair.cpus.woken) };
        let sleeper = Sleeper { shared: Arc::clone(&shared) };
        let sleeper = Member::start(&format!("punctual-e{number}"), wanted, sleeper)?;
        let wanted =
            RequestedScheduling { thread: pairs + number, policy: plan.policy_of_wakers(), cpu: Some(pair.cpus.waker) };
        let waker = Waker {
            shared: Arc::clone(&shared),
            interval_ns: plan.length.interval_ns,
            first_offset_ns: pair.first_offset_ns,
            samples: plan.length.samples(),
        };
        let waker = Member::start(&format!("punctual-k{number}"), wanted, waker)?;
        Ok(Self { plan: pair, shared, waker, sleeper })
    }

    /// Whether both threads have ended.
    pub(super) fn is_finished(&self) -> bool {
        self.waker.is_finished() && self.sleeper.is_finished()
    }

    /// Ends the waker's loop, which then ends the sleeper's, and the waiting of those that have not begun.
    pub(super) fn end(&self) {
        self.shared.last_schedule_ns.store(i64::MIN, Ordering::Release);
        self.waker.call_off();
        self.sleeper.call_off();
    }

    /// Ends the sleeper's waiting where its waker has ended, or will not do it.
    pub(super) fn release(&self) {
        self.shared.end();
        self.shared.hand.release();
    }
}

/// The waker's loop, held to neither allocate nor fault, between two readings of what it used; one copy of all that code, so that
/// warming makes the pages of the measured one resident, up to the second reading.
#[inline(never)]
fn wakes<H: HandOver>(hot: WakerLoop<'_, H>, meter: Meter) -> Metered<WakerCounts> {
    meter.hot(|| hot.run())
}

/// The same of the sleeper's.
#[inline(never)]
fn sleeps<H: HandOver>(hot: SleeperLoop<'_, H>, meter: Meter) -> Metered<SleeperCounts> {
    meter.hot(|| hot.run())
}

/// Sleeps until a moment; one that a signal ends is over.
fn sleep_for(ns: i64) {
    let clock = KernelClock::from(CLOCK);
    let _ = sleep_until(clock, &Schedule::at_ns(now_ns(clock).saturating_add(ns)));
}

/// What the waking thread is born with.
struct Waker<H> {
    shared: Arc<Shared<H>>,
    interval_ns: i64,
    first_offset_ns: i64,
    samples: u64,
}

impl<H: HandOver> Waker<H> {
    /// The first hand-overs, which are not measured; some of them late by more than an interval.
    fn warm(&self, start_ns: i64, meter: Meter) {
        let shared = &*self.shared;
        let (clock, spare) = (KernelClock::from(CLOCK), Ring::new(4));
        let until_ns = AtomicI64::new(start_ns - WARM_BEFORE_NS);
        let warming = WakerLoop {
            hand: &shared.hand,
            clock,
            interval_ns: WARMING_INTERVAL_NS,
            next: Schedule::at_ns(now_ns(clock) - 4 * WARMING_INTERVAL_NS),
            last_schedule_ns: &until_ns,
            samples: WARMING,
            turn: &shared.turn,
            ring: spare.writer(),
            watchdog: &shared.watchdog,
        };
        let _ = wakes(warming, meter);
        // The last of them and the end of the warming are to be two wake-ups.
        while !shared.turn.is_back() && now_ns(clock) < start_ns - LOOK_NS && !shared.is_over.load(Ordering::Acquire) {
            sleep_for(LOOK_NS);
        }
        shared.is_warm.store(true, Ordering::Release);
        shared.hand.prepare();
        let _ = shared.hand.wake();
    }
}

impl<H: HandOver> Work for Waker<H> {
    type Counts = WakerCounts;

    fn clock(&self) -> ClockId {
        CLOCK
    }

    fn warm_up(&mut self, meter: Meter) {
        let _ = meter.hot(|| now_ns(KernelClock::from(CLOCK)));
    }

    fn measure(self, start_ns: i64, meter: Meter) -> Metered<WakerCounts> {
        let shared = &*self.shared;
        shared.hand.begin_waking();
        shared.waker_is_there.store(true, Ordering::Release);
        let ending = Ending(shared);
        self.warm(start_ns, meter);
        let hot = WakerLoop {
            hand: &shared.hand,
            clock: KernelClock::from(CLOCK),
            interval_ns: self.interval_ns,
            next: Schedule::at_ns(start_ns.saturating_add(self.first_offset_ns)),
            last_schedule_ns: &shared.last_schedule_ns,
            samples: self.samples,
            turn: &shared.turn,
            ring: shared.returned.writer(),
            watchdog: &shared.watchdog,
        };
        let metered = wakes(hot, meter);
        drop(ending);
        metered
    }
}

/// What the woken thread is born with.
struct Sleeper<H> {
    shared: Arc<Shared<H>>,
}

impl<H: HandOver> Sleeper<H> {
    fn measured<'a>(&'a self, is_over: &'a AtomicBool, ring: &'a Ring) -> SleeperLoop<'a, H> {
        let shared = &*self.shared;
        SleeperLoop {
            hand: &shared.hand,
            clock: KernelClock::from(CLOCK),
            turn: &shared.turn,
            is_over,
            ring: ring.writer(),
            watchdog: &shared.watchdog,
        }
    }
}

impl<H: HandOver> Work for Sleeper<H> {
    type Counts = SleeperCounts;

    fn clock(&self) -> ClockId {
        CLOCK
    }

    fn warm_up(&mut self, meter: Meter) {
        let _ = meter.hot(|| now_ns(KernelClock::from(CLOCK)));
    }

    fn measure(self, _: i64, meter: Meter) -> Metered<SleeperCounts> {
        let shared = &*self.shared;
        shared.hand.begin_waiting();
        // A lock that is to be waited for has to have its owner first.
        while !shared.waker_is_there.load(Ordering::Acquire) {
            if shared.is_over.load(Ordering::Acquire) {
                return meter.hot(SleeperCounts::default);
            }
            sleep_for(LOOK_NS);
        }
        let spare = Ring::new(4);
        let _ = sleeps(self.measured(&shared.is_warm, &spare), meter);
        let hot = self.measured(&shared.is_over, &shared.woke);
        sleeps(hot, meter)
    }
}
