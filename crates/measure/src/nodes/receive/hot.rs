//! The loop that receives. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for words that
//! would.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::packet::{PacketEndpoint, ReceiveError, Received};
use packet::arrived::Arrived;
use packet::header::{NotOurs, Session};
use record::ReceiveMode;
use rtrb::Producer;

use crate::explain::OutlierWatch;
use crate::nodes::pause::sleep_looking;

/// How long a receiver waits for a packet before it looks whether it is to end (ns).
const LONGEST_WAIT_NS: i64 = 50_000_000;
/// After so many packets a receiver that blocks looks at the clock whatever comes.
const PACKETS_AT_ONCE: u32 = 64;
/// The share of an interval before a packet is due, and after it, in which a receiver that knows the schedule asks without a
/// pause (percent). The rest is sleep, so that no limit of the kernel's stops it.
const ASKS_AROUND_PERCENT: i64 = 30;
/// How fast the estimate of when packets are due follows one that comes ever later (parts per million of the time passed).
const LATER_PPM: i64 = 200;
/// How long it sleeps where the kernel does not let it receive, before it asks again (ns): an interface that is down may come up.
const FAILURE_PAUSE_NS: i64 = 1_000_000;

/// What was counted beside the packets that were handed on.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    pub(crate) foreign: AtomicU64,
    pub(crate) forged: AtomicU64,
    /// Packets that were ours and found no place in the ring.
    pub(crate) dropped: AtomicU64,
    /// Packets that were there before a receiver that knows the schedule looked for them, or after it had given them up.
    pub(crate) unpunctual: AtomicU64,
}

/// All that the loop touches, prepared beforehand.
pub(crate) struct ReceiveLoop<'a, E> {
    pub(super) end: &'a mut E,
    pub(super) session: Session,
    pub(super) flow: u8,
    pub(super) mode: ReceiveMode,
    pub(super) interval_ns: i64,
    /// Whether a receiver that asks without a pause is real-time, and so has to sleep a little after each packet.
    pub(super) is_real_time: bool,
    pub(super) ring: &'a mut Producer<Arrived>,
    pub(super) strangers: &'a Strangers,
    pub(super) stop: &'a AtomicBool,
    /// It ends when CLOCK_MONOTONIC passes this, whatever else happens (ns).
    pub(super) end_ns: i64,
    pub(super) watchdog: &'a AtomicBool,
    /// Looks at how late each packet reaches the program, where that is explained.
    pub(super) outliers: Option<OutlierWatch<'a>>,
}

/// What the loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReceiveCounts {
    pub(crate) taken: u64,
    /// How often the kernel did not let it receive.
    pub(crate) failures: u64,
    /// The first of these failures.
    pub(crate) failure: Option<ReceiveError>,
    /// What the kernel dropped before this program could take it.
    pub(crate) kernel_dropped: u64,
}

/// When packets are due, by those that came.
struct Due {
    /// When the packet with the number 0 would have come (ns, CLOCK_MONOTONIC).
    first_ns: i64,
    last_sequence: i64,
    last_ns: i64,
}

impl Due {
    /// Packets come later than they are due, but not earlier: the estimate follows the earliest, and slowly those that are later.
    #[inline(always)]
    fn take(&mut self, sequence: i64, at_ns: i64, interval_ns: i64) {
        let first_ns = at_ns - sequence * interval_ns;
        let allowed_ns = (at_ns - self.last_ns).max(0) / 1_000_000 * LATER_PPM;
        self.first_ns = first_ns.min(self.first_ns + allowed_ns);
        (self.last_sequence, self.last_ns) = (self.last_sequence.max(sequence), at_ns);
    }

    /// The next one that is not over at a time.
    #[inline(always)]
    fn next_ns(&mut self, now_ns: i64, interval_ns: i64) -> i64 {
        let around_ns = interval_ns * ASKS_AROUND_PERCENT / 100;
        let over = (now_ns - around_ns - self.first_ns).div_euclid(interval_ns);
        self.first_ns + (self.last_sequence.max(over) + 1) * interval_ns
    }
}

/// Whether a packet can have this number so long after the receiver began, which is before the sender does: a wrong one would
/// move all that is expected.
#[inline(always)]
pub(super) const fn can_be_due(sequence: i64, since_began_ns: i64, interval_ns: i64) -> bool {
    sequence >= 0 && sequence <= since_began_ns / interval_ns + 1
}

impl<E: PacketEndpoint> ReceiveLoop<'_, E> {
    /// Takes packets until it is stopped.
    #[inline(never)]
    pub(crate) fn run(mut self) -> ReceiveCounts {
        let mut counts = ReceiveCounts::default();
        match self.mode {
            ReceiveMode::Block => self.block(&mut counts),
            ReceiveMode::Poll => self.poll(&mut counts),
            ReceiveMode::Schedule => self.follow_schedule(&mut counts),
        }
        counts.kernel_dropped = self.end.counters().receive_dropped;
        counts
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        self.is_stopped() || Self::now() > self.end_ns
    }

    #[inline(always)]
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.watchdog.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn now() -> i64 {
        now_ns(KernelClock::from(units::ClockId::Monotonic))
    }

    fn block(&mut self, counts: &mut ReceiveCounts) {
        while !self.is_over() {
            let until_ns = self.end_ns.min(Self::now() + LONGEST_WAIT_NS);
            // The clock is read for each packet in the wait, and here for some.
            for _ in 0..PACKETS_AT_ONCE {
                if self.is_stopped() {
                    return;
                }
                match self.end.wait(until_ns) {
                    // After one of ours there is nearly always nothing more yet, which the wait finds as well. What strangers
                    // send may come without a pause.
                    Ok(true) => while self.take(counts) == Some(None) && !self.is_stopped() {},
                    Ok(false) => break,
                    Err(error) => self.fail(error, counts),
                }
            }
        }
    }

    fn poll(&mut self, counts: &mut ReceiveCounts) {
        // Of a real-time thread the kernel wants 5 % back.
        let pause_ns = if self.is_real_time { self.interval_ns * 6 / 100 } else { 0 };
        while !self.is_over() {
            if self.take(counts).is_some() && pause_ns > 0 {
                let until = Schedule::at_ns(Self::now() + pause_ns);
                let _ = sleep_until(KernelClock::from(units::ClockId::Monotonic), &until);
            }
        }
    }

    fn follow_schedule(&mut self, counts: &mut ReceiveCounts) {
        let interval_ns = self.interval_ns;
        let around_ns = interval_ns * ASKS_AROUND_PERCENT / 100;
        let began_ns = Self::now();
        // Before the first one nothing is known of when they are due.
        let mut due = loop {
            if self.is_over() {
                return;
            }
            match self.end.wait(self.end_ns.min(Self::now() + LONGEST_WAIT_NS)) {
                Ok(true) => {
                    let taken = self.take(counts).and_then(|taken| taken);
                    let at_ns = Self::now();
                    if let Some(sequence) =
                        taken.filter(|sequence| can_be_due(*sequence, at_ns - began_ns, interval_ns))
                    {
                        break Due {
                            first_ns: at_ns - sequence * interval_ns,
                            last_sequence: sequence,
                            last_ns: at_ns,
                        };
                    }
                }
                Ok(false) => {}
                Err(error) => self.fail(error, counts),
            }
        };
        while !self.is_over() {
            let due_ns = due.next_ns(Self::now(), interval_ns);
            let until = Schedule::at_ns(due_ns - around_ns);
            let _ = sleep_looking(&until, interval_ns, || self.is_over());
            // What is there already came too early, or belongs to a schedule that was given up.
            let mut is_first = true;
            loop {
                let taken = self.take(counts);
                let at_ns = Self::now();
                match taken {
                    Some(Some(sequence)) => {
                        if is_first {
                            self.strangers.unpunctual.fetch_add(1, Ordering::Relaxed);
                        }
                        if can_be_due(sequence, at_ns - began_ns, interval_ns) {
                            due.take(sequence, at_ns, interval_ns);
                        }
                        if due.next_ns(at_ns, interval_ns) > due_ns {
                            break;
                        }
                    }
                    Some(None) => {}
                    None => is_first = false,
                }
                if at_ns > due_ns + around_ns || self.is_over() {
                    break;
                }
            }
        }
    }

    /// Goes on after a failure, with a pause: one that lasts would be a loop that never sleeps.
    #[cold]
    fn fail(&self, error: ReceiveError, counts: &mut ReceiveCounts) {
        counts.failures += 1;
        counts.failure.get_or_insert(error);
        let until = Schedule::at_ns(Self::now() + FAILURE_PAUSE_NS);
        let _ = sleep_until(KernelClock::from(units::ClockId::Monotonic), &until);
    }

    /// Takes one packet, if there is one; of one of ours that is measured also its number.
    #[inline(always)]
    fn take(&mut self, counts: &mut ReceiveCounts) -> Option<Option<i64>> {
        let (session, flow, strangers) = (&self.session, self.flow, self.strangers);
        let (ring, outliers) = (&mut *self.ring, &mut self.outliers);
        let taken = self.end.receive(|received: Received<'_>| {
            let received_ns = now_ns(KernelClock::from(units::ClockId::Realtime));
            let Received { payload, stack_ns, hardware_ns, .. } = received;
            match Arrived::hand_over(ring, session, flow, payload, [stack_ns, hardware_ns], received_ns) {
                Ok(handed) => {
                    // What led to it is to stay recorded.
                    if let (Some(outliers), Some(stack_ns), Some(_)) = (outliers, stack_ns, handed.measured) {
                        outliers.look(stack_ns, received_ns);
                    }
                    if handed.is_dropped {
                        strangers.dropped.fetch_add(1, Ordering::Relaxed);
                    }
                    handed.measured.map(super::signed)
                }
                Err(NotOurs::Foreign) => {
                    strangers.foreign.fetch_add(1, Ordering::Relaxed);
                    None
                }
                Err(NotOurs::Forged) => {
                    strangers.forged.fetch_add(1, Ordering::Relaxed);
                    None
                }
            }
        });
        match taken {
            Ok(taken) => {
                counts.taken += u64::from(matches!(taken, Some(Some(_))));
                taken
            }
            Err(error) => {
                self.fail(error, counts);
                None
            }
        }
    }
}
