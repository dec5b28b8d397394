//! The two loops: that of the thread that acts, and that of the thread that waits for the edges. Nothing here allocates, locks,
//! formats, logs or faults; a tidy test reads this file for words that would.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::gpio::Waited;
use kernel::handover::sleeps_so_far;

use crate::crew::MOST_FAILURES;
use crate::crew::hot::{move_on, schedules_between, stamp_of};
use crate::ring::{Pair, RingWriter};
use crate::wire::{Wire, errno_of};

/// The waiting thread is not there yet.
pub(super) const NOT_THERE: u64 = u64::MAX;

/// What the waiting thread writes for the other one, on cache lines of its own (two lines, since x86 fetches pairs).
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Turn {
    /// Events that it has taken and is back from, about to wait for the next one; [`NOT_THERE`] at first.
    taken: AtomicU64,
    /// The stamp after the last one (ns).
    woke_ns: AtomicI64,
}

impl Turn {
    /// Of a thread that has not begun.
    pub(super) const fn new() -> Self {
        Self { taken: AtomicU64::new(NOT_THERE), woke_ns: AtomicI64::new(i64::MIN) }
    }

    /// Events that the waiting thread has taken and is back from.
    #[inline(always)]
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// Whether it has taken an event since `before`, had woken for it before a schedule (ns), and waits again.
    #[inline(always)]
    fn has_answered(&self, before: u64, scheduled_ns: i64) -> bool {
        self.taken() != before && self.woke_ns.load(Ordering::Relaxed) < scheduled_ns
    }
}

/// All that the acting thread's loop touches, prepared beforehand.
pub(super) struct ActingLoop<'a, W> {
    pub(super) wire: &'a W,
    pub(super) clock: KernelClock,
    /// Time from one schedule to the next (ns).
    pub(super) interval_ns: i64,
    pub(super) next: Schedule,
    /// No schedule after this; looked at in each turn, so lowering it ends the loop.
    pub(super) last_schedule_ns: &'a AtomicI64,
    /// No edge after this many.
    pub(super) samples: u64,
    /// An edge of which no event came so long after it is given up (ns).
    pub(super) lost_after_ns: i64,
    pub(super) turn: &'a Turn,
    pub(super) ring: RingWriter<'a>,
    /// It fires after seconds without sleep.
    pub(super) watchdog: &'a AtomicBool,
}

/// What the acting thread's loop counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ActingCounts {
    /// Edges that were made.
    pub(super) edges: u64,
    /// Schedules at which the waiting thread had not taken the event before.
    pub(super) not_back: u64,
    /// Schedules that came up, with those that this thread itself slept through.
    pub(super) schedules: u64,
    pub(super) interrupted_sleeps: u64,
    /// The kernel's number of the error for which a write failed and the loop ended; 0 for none.
    pub(super) failed_errno: i32,
    /// What the waiting thread had taken before the last edge.
    pub(super) answered_from: u64,
    /// The stamp before the last edge (ns).
    pub(super) acted_ns: i64,
}

impl<W: Wire> ActingLoop<'_, W> {
    /// Sleeps to each schedule; where the event before was taken by then, makes an edge and writes down what that took. The line
    /// is inactive again half an interval later.
    #[inline(never)]
    pub(super) fn run(self) -> ActingCounts {
        let Self {
            wire,
            clock,
            interval_ns,
            mut next,
            last_schedule_ns,
            samples,
            lost_after_ns,
            turn,
            mut ring,
            watchdog,
        } = self;
        let first_ns = next.ns();
        // No edge before the first one is ever given up.
        let mut counts = ActingCounts {
            edges: 0,
            not_back: 0,
            schedules: 0,
            interrupted_sleeps: 0,
            failed_errno: 0,
            answered_from: NOT_THERE,
            acted_ns: i64::MAX,
        };
        while counts.edges < samples && next.ns() <= last_schedule_ns.load(Ordering::Relaxed) {
            if sleep_until(clock, &next).is_err() {
                counts.interrupted_sleeps += 1;
                if counts.interrupted_sleeps > MOST_FAILURES || watchdog.load(Ordering::Relaxed) {
                    break;
                }
                continue;
            }
            let scheduled_ns = next.ns();
            let is_lost = scheduled_ns.saturating_sub(counts.acted_ns) > lost_after_ns;
            if is_lost || turn.has_answered(counts.answered_from, scheduled_ns) {
                counts.answered_from = turn.taken();
                let acted_ns = now_ns(clock);
                let written = wire.set(true);
                let returned_ns = now_ns(clock);
                counts.acted_ns = acted_ns;
                counts.edges += 1;
                ring.push(Pair { first_ns: acted_ns, second_ns: returned_ns });
                // A sleep that a signal ends makes the line inactive a little early.
                let _ = sleep_until(clock, &Schedule::at_ns(acted_ns + interval_ns / 2));
                if let Err(error) = written.and_then(|()| wire.set(false)) {
                    counts.failed_errno = errno_of(&error);
                    next.advance(interval_ns);
                    break;
                }
            } else {
                counts.not_back += 1;
            }
            let late_ns = now_ns(clock) - scheduled_ns;
            if move_on(&mut next, interval_ns, late_ns) && watchdog.load(Ordering::Relaxed) {
                break;
            }
        }
        counts.schedules = schedules_between(first_ns, &next, interval_ns);
        counts
    }
}

/// All that the waiting thread's loop touches, prepared beforehand.
pub(super) struct WaitingLoop<'a, W> {
    pub(super) wire: &'a W,
    pub(super) clock: KernelClock,
    pub(super) turn: &'a Turn,
    /// Once this is set, a wait that ends without an edge ends the loop.
    pub(super) is_over: &'a AtomicBool,
    /// The longest that it waits before it looks at that (ms); below zero: until the wait is ended.
    pub(super) timeout_ms: i32,
    pub(super) ring: RingWriter<'a>,
    pub(super) watchdog: &'a AtomicBool,
}

/// What the waiting thread's loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitingCounts {
    /// Events that it took.
    pub(super) events: u64,
    /// Events that the kernel had no room for, by the gaps in their numbers.
    pub(super) overflowed: u64,
    pub(super) interrupted_waits: u64,
    /// The kernel's number of the error that ended the last wait which failed; 0 for none.
    pub(super) failed_errno: i32,
}

impl<W: Wire> WaitingLoop<'_, W> {
    /// Waits for each edge, and writes down the kernel's stamp of it and when the thread was awake.
    #[inline(never)]
    pub(super) fn run(self) -> WaitingCounts {
        let Self { wire, clock, turn, is_over, timeout_ms, mut ring, watchdog } = self;
        let mut counts = WaitingCounts::default();
        let mut last_number = None;
        let mut slept = sleeps_so_far();
        loop {
            turn.taken.store(counts.events, Ordering::Release);
            // Edges that keep coming must not keep the loop.
            let waited = wire.wait(if is_over.load(Ordering::Acquire) { 0 } else { timeout_ms });
            let woke_ns = now_ns(clock);
            let before = slept;
            slept = sleeps_so_far();
            match waited {
                Ok(Waited::Edge(edge)) => {
                    ring.push(Pair { first_ns: edge.at_ns, second_ns: stamp_of(woke_ns, slept != before) });
                    if let Some(last) = last_number {
                        counts.overflowed += u64::from(edge.number.wrapping_sub(last).saturating_sub(1));
                    }
                    last_number = Some(edge.number);
                    turn.woke_ns.store(woke_ns, Ordering::Relaxed);
                    counts.events += 1;
                }
                Ok(Waited::Nothing) => {
                    if is_over.load(Ordering::Acquire) {
                        break;
                    }
                }
                Err(failed) => {
                    counts.interrupted_waits += 1;
                    counts.failed_errno = failed.errno;
                    if counts.interrupted_waits > MOST_FAILURES || watchdog.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
        }
        // Whoever comes after this loop is not there yet.
        turn.taken.store(NOT_THERE, Ordering::Release);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_answered_once_its_event_was_taken_before_the_schedule() {
        let turn = Turn::new();
        assert!(!turn.has_answered(NOT_THERE, i64::MAX), "nobody waits yet");
        turn.taken.store(0, Ordering::Relaxed);
        assert!(turn.has_answered(NOT_THERE, 1_000));
        assert!(!turn.has_answered(0, 1_000), "it has not taken the event of the last edge");
        turn.woke_ns.store(2_000, Ordering::Relaxed);
        turn.taken.store(1, Ordering::Relaxed);
        // It woke at the very schedule, which its wait swallowed: the drain counts that one as missed.
        assert!(!turn.has_answered(0, 2_000) && turn.has_answered(0, 2_001));
    }
}
