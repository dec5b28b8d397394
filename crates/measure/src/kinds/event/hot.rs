//! The two loops of a pair: the waker's, and the sleeper's, which is woken. Nothing here allocates, locks, formats, logs or
//! faults; a tidy test reads this file for words that would.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::handover::{Found, HandOver, sleeps_so_far};

use crate::crew::MOST_FAILURES;
use crate::crew::hot::{move_on, schedules_between, stamp_of};
use crate::ring::{Pair, RingWriter};

/// The sleeper is not there yet.
pub(crate) const NOT_THERE: u64 = u64::MAX;

/// Keeps what each of the two threads writes on cache lines of its own (two lines, since x86 fetches pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Own<T>(T);

/// What the waker writes.
#[derive(Debug, Default)]
struct OfWaker {
    /// Hand-overs so far.
    handed: AtomicU64,
    /// The stamp before the last one (ns).
    handed_ns: AtomicI64,
}

/// What the sleeper writes.
#[derive(Debug)]
struct OfSleeper {
    /// Hand-overs that it has taken and is back from, about to wait for the next one; [`NOT_THERE`] at first.
    taken: AtomicU64,
    /// The stamp after the last one (ns).
    woke_ns: AtomicI64,
}

/// How far a pair is: what tells the waker whether the sleeper waits.
#[derive(Debug)]
pub(crate) struct Turn {
    waker: Own<OfWaker>,
    sleeper: Own<OfSleeper>,
}

impl Turn {
    /// Of a pair that has not begun.
    pub(crate) fn new() -> Self {
        Self {
            waker: Own::default(),
            sleeper: Own(OfSleeper { taken: AtomicU64::new(NOT_THERE), woke_ns: AtomicI64::new(i64::MIN) }),
        }
    }

    /// Whether the sleeper has taken all that was handed over, and is back to wait.
    #[inline(always)]
    pub(crate) fn is_back(&self) -> bool {
        self.sleeper.0.taken.load(Ordering::Acquire) == self.waker.0.handed.load(Ordering::Relaxed)
    }

    /// Whether it was back at a schedule (ns): had woken before it, and is back now.
    #[inline(always)]
    fn was_back_at(&self, scheduled_ns: i64) -> bool {
        self.is_back() && self.sleeper.0.woke_ns.load(Ordering::Relaxed) < scheduled_ns
    }
}

/// All that the waker's loop touches, prepared beforehand.
pub(crate) struct WakerLoop<'a, H> {
    pub(crate) hand: &'a H,
    pub(crate) clock: KernelClock,
    /// Time from one schedule to the next (ns).
    pub(crate) interval_ns: i64,
    pub(crate) next: Schedule,
    /// No schedule after this; looked at in each turn, so lowering it ends the loop.
    pub(crate) last_schedule_ns: &'a AtomicI64,
    /// No hand-over after this many.
    pub(crate) samples: u64,
    pub(crate) turn: &'a Turn,
    pub(crate) ring: RingWriter<'a>,
    /// It fires after seconds without sleep.
    pub(crate) watchdog: &'a AtomicBool,
}

/// What the waker's loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WakerCounts {
    /// Hand-overs.
    pub(crate) handed: u64,
    /// Schedules at which the sleeper was not back.
    pub(crate) not_back: u64,
    /// Schedules that came up, with those that this thread itself slept through.
    pub(crate) schedules: u64,
    pub(crate) interrupted_sleeps: u64,
    /// The kernel's number of the error for which a waking call failed and the loop ended; 0 for none.
    pub(crate) failed_errno: i32,
}

impl<H: HandOver> WakerLoop<'_, H> {
    /// Sleeps to each schedule; where the sleeper was back at it, hands over and writes down what the call cost.
    #[inline(never)]
    pub(crate) fn run(self) -> WakerCounts {
        let Self { hand, clock, interval_ns, mut next, last_schedule_ns, samples, turn, mut ring, watchdog } = self;
        let first_ns = next.ns();
        let mut counts = WakerCounts::default();
        let mut handed = turn.waker.0.handed.load(Ordering::Relaxed);
        while counts.handed < samples && next.ns() <= last_schedule_ns.load(Ordering::Relaxed) {
            if sleep_until(clock, &next).is_err() {
                counts.interrupted_sleeps += 1;
                if counts.interrupted_sleeps > MOST_FAILURES || watchdog.load(Ordering::Relaxed) {
                    break;
                }
                continue;
            }
            let scheduled_ns = next.ns();
            let now;
            if turn.was_back_at(scheduled_ns) {
                hand.prepare();
                handed += 1;
                let handed_ns = now_ns(clock);
                turn.waker.0.handed_ns.store(handed_ns, Ordering::Relaxed);
                turn.waker.0.handed.store(handed, Ordering::Release);
                let found = hand.wake();
                now = now_ns(clock);
                counts.handed += 1;
                match found {
                    Ok(found) => {
                        ring.push(Pair { first_ns: handed_ns, second_ns: stamp_of(now, found != Found::Nobody) });
                    }
                    Err(failed) => {
                        counts.failed_errno = failed.errno;
                        next.advance(interval_ns);
                        break;
                    }
                }
            } else {
                counts.not_back += 1;
                now = now_ns(clock);
            }
            let late_ns = now - scheduled_ns;
            if move_on(&mut next, interval_ns, late_ns) && watchdog.load(Ordering::Relaxed) {
                break;
            }
        }
        counts.schedules = schedules_between(first_ns, &next, interval_ns);
        counts
    }
}

/// All that the sleeper's loop touches, prepared beforehand.
pub(crate) struct SleeperLoop<'a, H> {
    pub(crate) hand: &'a H,
    pub(crate) clock: KernelClock,
    pub(crate) turn: &'a Turn,
    /// Once this is set no hand-over follows but one that ends the wait.
    pub(crate) is_over: &'a AtomicBool,
    pub(crate) ring: RingWriter<'a>,
    pub(crate) watchdog: &'a AtomicBool,
}

/// What the sleeper's loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SleeperCounts {
    /// Hand-overs that it took.
    pub(crate) taken: u64,
    /// How often it was woken for nothing.
    pub(crate) spurious: u64,
    pub(crate) interrupted_waits: u64,
}

impl<H: HandOver> SleeperLoop<'_, H> {
    /// Waits for each hand-over, and writes down when it was awake.
    #[inline(never)]
    pub(crate) fn run(self) -> SleeperCounts {
        let Self { hand, clock, turn, is_over, mut ring, watchdog } = self;
        let mut counts = SleeperCounts::default();
        let mut taken = turn.sleeper.0.taken.load(Ordering::Relaxed);
        if taken == NOT_THERE {
            taken = turn.waker.0.handed.load(Ordering::Acquire);
        }
        let mut slept = sleeps_so_far();
        loop {
            turn.sleeper.0.taken.store(taken, Ordering::Release);
            let waited = hand.wait();
            let woke_ns = now_ns(clock);
            match waited {
                Ok(for_nothing) => counts.spurious += u64::from(for_nothing),
                Err(_) => {
                    counts.interrupted_waits += 1;
                    if counts.interrupted_waits > MOST_FAILURES || watchdog.load(Ordering::Relaxed) {
                        break;
                    }
                    continue;
                }
            }
            let (before, handed) = (slept, turn.waker.0.handed.load(Ordering::Acquire));
            slept = sleeps_so_far();
            if handed != taken {
                let handed_ns = turn.waker.0.handed_ns.load(Ordering::Relaxed);
                ring.push(Pair { first_ns: handed_ns, second_ns: stamp_of(woke_ns, slept != before) });
                turn.sleeper.0.woke_ns.store(woke_ns, Ordering::Relaxed);
                taken = handed;
                counts.taken += 1;
            } else if !is_over.load(Ordering::Acquire) {
                counts.spurious += 1;
            }
            hand.leave();
            // The last hand-over may have been merged with the end.
            if is_over.load(Ordering::Acquire) && turn.waker.0.handed.load(Ordering::Acquire) == taken {
                turn.sleeper.0.taken.store(taken, Ordering::Release);
                break;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_was_back_at_a_schedule_if_it_had_woken_before_it_and_waits_again() {
        let turn = Turn::new();
        assert!(!turn.was_back_at(i64::MAX), "it is not there yet");
        turn.sleeper.0.taken.store(0, Ordering::Relaxed);
        assert!(turn.was_back_at(1_000));
        turn.waker.0.handed.store(1, Ordering::Relaxed);
        assert!(!turn.was_back_at(2_000), "it has not taken the last one");
        turn.sleeper.0.woke_ns.store(2_000, Ordering::Relaxed);
        turn.sleeper.0.taken.store(1, Ordering::Relaxed);
        // It woke at the very schedule, which its wait swallowed: the drain counts that one as missed.
        assert!(!turn.was_back_at(2_000) && turn.was_back_at(2_001));
    }
}
