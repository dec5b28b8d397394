//! The loop. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for words that would.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use kernel::clock::{self, KernelClock, LoopClock, Schedule};

use crate::explain::OutlierWatch;
use crate::ring::{Pair, RingWriter};
use crate::timetable::Timetable;
use crate::trace_mark::TraceMark;

/// How one schedule follows another. The loop is compiled for each: what is not asked for costs nothing.
pub(crate) trait Steps {
    /// A latency up to this swallowed no schedule (ns).
    fn ordinary_ns(&self) -> i64;
    /// Moves on to the next schedule, which is also counted in nanoseconds; whether another second has begun.
    fn advance(&mut self, next: &mut Schedule, next_ns: &mut i64) -> bool;
    /// The first schedule after a wake-up that swallowed some (ns).
    fn after_stall_ns(&mut self, scheduled_ns: i64, woke_ns: i64) -> i64;
}

/// At equal distances (ns, above 0).
pub(crate) struct Even(pub(crate) i64);

impl Steps for Even {
    #[inline(always)]
    fn ordinary_ns(&self) -> i64 {
        self.0 - 1
    }

    #[inline(always)]
    fn advance(&mut self, next: &mut Schedule, next_ns: &mut i64) -> bool {
        *next_ns += self.0;
        next.advance(self.0)
    }

    #[inline(always)]
    fn after_stall_ns(&mut self, scheduled_ns: i64, woke_ns: i64) -> i64 {
        after_stall_ns(scheduled_ns, self.0, woke_ns - scheduled_ns)
    }
}

/// At random within each interval.
pub(crate) struct Jittered {
    pub(crate) table: Timetable,
    /// The interval of the next schedule.
    pub(crate) turn: i64,
}

impl Steps for Jittered {
    fn ordinary_ns(&self) -> i64 {
        self.table.shortest_ns() - 1
    }

    #[inline(always)]
    fn advance(&mut self, next: &mut Schedule, next_ns: &mut i64) -> bool {
        self.turn += 1;
        let before_ns = std::mem::replace(next_ns, self.table.schedule_ns(self.turn));
        next.advance(*next_ns - before_ns)
    }

    #[cold]
    #[inline(never)]
    fn after_stall_ns(&mut self, _: i64, woke_ns: i64) -> i64 {
        // What is not ordinary need not have swallowed one.
        self.turn = self.table.next_after(woke_ns).max(self.turn + 1);
        self.table.schedule_ns(self.turn)
    }
}

/// What the loop sleeps and reads the time with: a clock of the kernel's, or in tests a script.
pub(crate) trait Timer {
    /// Sleeps until a schedule; whether the sleep was ended early or refused.
    fn sleep_until(&mut self, schedule: &Schedule) -> Result<(), SleepEnded>;
    /// The time (ns).
    fn now_ns(&mut self) -> i64;
}

/// A sleep that did not last until its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepEnded;

impl Timer for KernelClock {
    #[inline(always)]
    fn sleep_until(&mut self, schedule: &Schedule) -> Result<(), SleepEnded> {
        if clock::sleep_until(*self, schedule).is_err() { Err(SleepEnded) } else { Ok(()) }
    }

    #[inline(always)]
    fn now_ns(&mut self) -> i64 {
        clock::now_ns(*self)
    }
}

impl Timer for LoopClock {
    #[inline(always)]
    fn sleep_until(&mut self, schedule: &Schedule) -> Result<(), SleepEnded> {
        if LoopClock::sleep_until(self, schedule).is_err() { Err(SleepEnded) } else { Ok(()) }
    }

    #[inline(always)]
    fn now_ns(&mut self) -> i64 {
        LoopClock::now_ns(self)
    }
}

/// Who looks at each wake-up when it is written down.
pub(crate) trait Onlooker {
    /// Looks at a wake-up (ns on the measured clock).
    fn look(&mut self, scheduled_ns: i64, woke_ns: i64);
}

/// For a run whose wake-ups nobody looks at: costs nothing.
impl Onlooker for () {
    #[inline(always)]
    fn look(&mut self, _: i64, _: i64) {}
}

impl Onlooker for OutlierWatch<'_> {
    #[inline(always)]
    fn look(&mut self, scheduled_ns: i64, woke_ns: i64) {
        OutlierWatch::look(self, scheduled_ns, woke_ns);
    }
}

/// All that the loop touches, prepared beforehand.
pub(crate) struct HotLoop<'a, S, O = (), T = KernelClock> {
    pub(crate) clock: T,
    pub(crate) steps: S,
    pub(crate) next: Schedule,
    /// No schedule after this; looked at in each turn, so lowering it ends the loop.
    pub(crate) last_schedule_ns: &'a AtomicI64,
    /// No sample after this many.
    pub(crate) samples: u64,
    /// A latency above this marks and stops the kernel's trace and ends the run.
    pub(crate) break_ns: i64,
    pub(crate) ring: RingWriter<'a>,
    /// Looked at where a schedule is the first of a second, or follows a stall: it fires after seconds without sleep.
    pub(crate) watchdog: &'a AtomicBool,
    pub(crate) trace: Option<&'a TraceMark>,
    /// Stops the recorder of this CPU at an outlier, where causes are asked for.
    pub(crate) outliers: O,
}

/// What the loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotCounts {
    pub(crate) samples: u64,
    pub(crate) interrupted_sleeps: u64,
    /// The latency that broke off the run, 0 for none.
    pub(crate) broke_at_ns: i64,
}

impl<S: Steps, O: Onlooker, T: Timer> HotLoop<'_, S, O, T> {
    /// Sleeps to each schedule, reads the clock, writes both down.
    #[inline(never)]
    pub(crate) fn run(self) -> HotCounts {
        // Apart from each other they can be in registers.
        let Self { mut clock, mut steps, mut next, mut ring, mut outliers, .. } = self;
        let Self { last_schedule_ns, samples, break_ns, watchdog, trace, .. } = self;
        let mut left = samples;
        let (mut interrupted_sleeps, mut broke_at_ns) = (0, 0);
        let mut next_ns = next.ns();
        // One comparison for all that is not an ordinary wake-up: a stall, and what breaks the run off.
        let ordinary_ns = break_ns.min(steps.ordinary_ns());
        while left > 0 && next_ns <= last_schedule_ns.load(Ordering::Relaxed) {
            if clock.sleep_until(&next).is_err() {
                // Only the watchdog's signal can end a sleep early: the same schedule is slept for again.
                interrupted_sleeps += 1;
                if interrupted_sleeps > MAX_INTERRUPTED_SLEEPS || watchdog.load(Ordering::Relaxed) {
                    break;
                }
                continue;
            }
            let woke_ns = clock.now_ns();
            let scheduled_ns = next_ns;
            ring.push(Pair { first_ns: scheduled_ns, second_ns: woke_ns });
            left -= 1;
            let latency_ns = woke_ns - scheduled_ns;
            outliers.look(scheduled_ns, woke_ns);
            if latency_ns <= ordinary_ns {
                if !steps.advance(&mut next, &mut next_ns) {
                    continue;
                }
            } else {
                if latency_ns > break_ns {
                    broke_at_ns = latency_ns;
                    mark_trace(trace, latency_ns, break_ns);
                    break;
                }
                next_ns = steps.after_stall_ns(scheduled_ns, woke_ns);
                next = Schedule::at_ns(next_ns);
            }
            if watchdog.load(Ordering::Relaxed) {
                break;
            }
        }
        HotCounts { samples: samples - left, interrupted_sleeps, broke_at_ns }
    }
}

impl<'a, S, T> HotLoop<'a, S, (), T> {
    /// The same with somebody who looks at the wake-ups.
    pub(crate) fn watched_by<O: Onlooker>(self, outliers: O) -> HotLoop<'a, S, O, T> {
        let Self { clock, steps, next, last_schedule_ns, samples, break_ns, ring, watchdog, trace, outliers: () } =
            self;
        HotLoop { clock, steps, next, last_schedule_ns, samples, break_ns, ring, watchdog, trace, outliers }
    }
}

#[cold]
#[inline(never)]
fn mark_trace(trace: Option<&TraceMark>, latency_ns: i64, break_ns: i64) {
    if let Some(trace) = trace {
        trace.mark_and_stop(latency_ns, break_ns);
    }
}

/// The first schedule after a wake-up: swallowed ones are skipped in one step, however long the stall; the drain counts
/// them.
#[cold]
#[inline(never)]
fn after_stall_ns(scheduled_ns: i64, interval_ns: i64, latency_ns: i64) -> i64 {
    scheduled_ns + (latency_ns / interval_ns + 1) * interval_ns
}

/// A sleep that keeps failing would be a loop that never sleeps: beyond this the loop ends before its time.
pub(crate) const MAX_INTERRUPTED_SLEEPS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use units::ClockId;

    use super::*;
    use crate::ring::Ring;

    fn turns(clock: ClockId, samples: u64, interval_ns: i64, first_in_ns: i64) -> (Vec<Pair>, HotCounts) {
        let (ring, last, watchdog) = (Ring::new(64), AtomicI64::new(i64::MAX), AtomicBool::new(false));
        let clock = KernelClock::from(clock);
        let counts = HotLoop {
            clock,
            steps: Even(interval_ns),
            next: Schedule::at_ns(clock::now_ns(clock) + first_in_ns),
            samples,
            break_ns: i64::MAX,
            ring: ring.writer(),
            last_schedule_ns: &last,
            watchdog: &watchdog,
            trace: None,
            outliers: (),
        }
        .run();
        let mut pairs = Vec::new();
        ring.drain(|slots| pairs.extend(slots.iter().map(crate::ring::Slot::pair)));
        (pairs, counts)
    }

    #[test]
    fn schedules_stay_on_the_grid_and_wake_ups_after_them() {
        let (pairs, counts) = turns(ClockId::Monotonic, 20, 100_000, 100_000);
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
    fn jittered_schedules_are_those_of_their_table_and_none_is_lost() {
        let (ring, last, watchdog) = (Ring::new(64), AtomicI64::new(i64::MAX), AtomicBool::new(false));
        let clock = KernelClock::from(ClockId::Monotonic);
        let offsets = analysis::rhythm::offsets(1_000_000, 3, 8).into();
        let table = Timetable { first_ns: clock::now_ns(clock) + 1_000_000, interval_ns: 1_000_000, offsets };
        HotLoop {
            clock,
            steps: Jittered { table: table.clone(), turn: 0 },
            next: Schedule::at_ns(table.schedule_ns(0)),
            samples: 20,
            break_ns: i64::MAX,
            ring: ring.writer(),
            last_schedule_ns: &last,
            watchdog: &watchdog,
            trace: None,
            outliers: (),
        }
        .run();
        let mut pairs = Vec::new();
        ring.drain(|slots| pairs.extend(slots.iter().map(crate::ring::Slot::pair)));
        assert_eq!(pairs.len(), 20);
        let mut turn = 0;
        for pair in pairs {
            assert_eq!(pair.first_ns, table.schedule_ns(turn));
            turn += 1 + i64::try_from(table.missed(pair.first_ns, pair.second_ns)).unwrap();
        }
    }

    #[test]
    fn it_ends_after_the_last_schedule_and_when_the_watchdog_fired() {
        let clock = KernelClock::from(ClockId::Monotonic);
        let start_ns = clock::now_ns(clock) + 100_000;
        let (ring, watchdog) = (Ring::new(64), AtomicBool::new(false));
        let turns = |last_ns: i64, watchdog: &AtomicBool, interval_ns: i64| {
            let last = AtomicI64::new(last_ns);
            HotLoop {
                clock,
                steps: Even(interval_ns),
                next: Schedule::at_ns(start_ns),
                last_schedule_ns: &last,
                samples: u64::MAX,
                break_ns: i64::MAX,
                ring: ring.writer(),
                watchdog,
                trace: None,
                outliers: (),
            }
            .run()
            .samples
        };
        assert_eq!(turns(start_ns - 1, &watchdog, 1_000_000_000), 0);
        assert_eq!(turns(start_ns, &watchdog, 1_000_000_000), 1, "the last schedule itself is kept");
        // Once a second has passed at the latest.
        watchdog.store(true, Ordering::Relaxed);
        assert_eq!(turns(i64::MAX, &watchdog, 1_000_000_000), 1);
        let in_a_second = turns(i64::MAX, &watchdog, 100_000_000);
        assert!((1..=10).contains(&in_a_second), "{in_a_second}");
    }

    #[test]
    fn a_sleep_that_is_refused_ends_the_loop_and_is_counted() {
        // The kernel reads this clock and sleeps on others alone.
        let (pairs, counts) = turns(ClockId::MonotonicRaw, 20, 100_000, 100_000);
        assert_eq!((pairs.len(), counts.samples, counts.interrupted_sleeps), (0, 0, MAX_INTERRUPTED_SLEEPS + 1));
    }

    #[test]
    fn a_schedule_long_past_is_one_late_sample_not_a_burst() {
        let (pairs, _) = turns(ClockId::Monotonic, 2, 1_000_000, -50_000_000);
        assert!(pairs[0].second_ns - pairs[0].first_ns >= 50_000_000);
        assert!(pairs[1].first_ns > pairs[0].second_ns);
    }
}
