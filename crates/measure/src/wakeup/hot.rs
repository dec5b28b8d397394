//! The loop. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for words that would.

use std::sync::atomic::{AtomicBool, Ordering};

use kernel::clock::{self, KernelClock, Schedule};

use crate::ring::{Pair, RingWriter};
use crate::trace_mark::TraceMark;

/// All that the loop touches, prepared beforehand.
pub(crate) struct HotLoop<'a> {
    pub(crate) clock: KernelClock,
    /// From one schedule to the next.
    pub(crate) interval: Schedule,
    pub(crate) next: Schedule,
    /// No schedule after this.
    pub(crate) end_ns: i64,
    /// No sample after this many.
    pub(crate) samples: u64,
    /// A latency above this marks and stops the kernel's trace and ends the run.
    pub(crate) break_ns: i64,
    pub(crate) ring: RingWriter<'a>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watchdog: &'a AtomicBool,
    pub(crate) trace: Option<&'a TraceMark>,
}

/// What the loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotCounts {
    pub(crate) samples: u64,
    pub(crate) interrupted_sleeps: u64,
    /// The latency that broke off the run, 0 for none.
    pub(crate) broke_at_ns: i64,
}

impl HotLoop<'_> {
    /// Sleeps to each schedule, reads the clock, writes both down.
    // A function of its own that owns what every turn needs, so that it stays in registers.
    #[inline(never)]
    pub(crate) fn run(self) -> HotCounts {
        let Self { clock, interval, mut next, end_ns, samples, break_ns, mut ring, stop, watchdog, trace } = self;
        let mut left = samples;
        let (mut interrupted_sleeps, mut broke_at_ns) = (0, 0);
        while left > 0 && next.ns() <= end_ns {
            if stop.load(Ordering::Relaxed) || watchdog.load(Ordering::Relaxed) {
                break;
            }
            if clock::sleep_until(clock, &next).is_err() {
                // Only the watchdog's signal can end a sleep early: the same schedule is slept for again.
                interrupted_sleeps += 1;
                if interrupted_sleeps > MAX_INTERRUPTED_SLEEPS {
                    break;
                }
                continue;
            }
            let woke_ns = clock::now_ns(clock);
            ring.push(Pair { first_ns: next.ns(), second_ns: woke_ns });
            left -= 1;
            if woke_ns - next.ns() > break_ns {
                broke_at_ns = woke_ns - next.ns();
                if let Some(trace) = trace {
                    trace.mark_and_stop();
                }
                break;
            }
            next.advance(&interval);
            if woke_ns >= next.ns() {
                // Swallowed schedules are skipped in one step, however long the stall; the drain counts them.
                let swallowed = (woke_ns - next.ns()) / interval.ns() + 1;
                next = Schedule::at_ns(next.ns() + swallowed * interval.ns());
            }
        }
        HotCounts { samples: samples - left, interrupted_sleeps, broke_at_ns }
    }
}

/// A sleep that keeps failing would be a loop that never sleeps.
const MAX_INTERRUPTED_SLEEPS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use units::ClockId;

    use super::*;
    use crate::ring::Ring;

    fn turns(samples: u64, interval_ns: i64, first_in_ns: i64) -> (Vec<Pair>, HotCounts) {
        let (ring, stop, watchdog) = (Ring::new(64), AtomicBool::new(false), AtomicBool::new(false));
        let clock = KernelClock::from(ClockId::Monotonic);
        let counts = HotLoop {
            clock,
            interval: Schedule::at_ns(interval_ns),
            next: Schedule::at_ns(clock::now_ns(clock) + first_in_ns),
            end_ns: i64::MAX,
            samples,
            break_ns: i64::MAX,
            ring: ring.writer(),
            stop: &stop,
            watchdog: &watchdog,
            trace: None,
        }
        .run();
        let mut pairs = Vec::new();
        ring.drain(|pair| pairs.push(pair));
        (pairs, counts)
    }

    #[test]
    fn schedules_stay_on_the_grid_and_wake_ups_after_them() {
        let (pairs, counts) = turns(20, 100_000, 100_000);
        assert_eq!((pairs.len(), counts.samples), (20, 20));
        for pair in &pairs {
            assert_eq!((pair.first_ns - pairs[0].first_ns) % 100_000, 0);
            assert!(pair.second_ns >= pair.first_ns);
        }
        // The next schedule is the first that lies after the wake-up.
        for two in pairs.windows(2) {
            assert!(two[1].first_ns > two[0].second_ns && two[1].first_ns - 100_000 <= two[0].second_ns);
        }
    }

    #[test]
    fn a_schedule_long_past_is_one_late_sample_not_a_burst() {
        let (pairs, _) = turns(2, 1_000_000, -50_000_000);
        assert!(pairs[0].second_ns - pairs[0].first_ns >= 50_000_000);
        assert!(pairs[1].first_ns > pairs[0].second_ns);
    }
}
