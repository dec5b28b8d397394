//! The latencies of one kind of one thread.

use analysis::StallRules;

use crate::clock_watch::ClockWatch;
use crate::collect::{Collected, Collector, Keeping};
use crate::ring::Pair;

/// What all collectors of a run have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The start of the run (ns).
    pub(super) first_ns: i64,
    /// The length of an interval (ns).
    pub(super) interval_maximum_ns: u64,
    /// What becomes of intervals that have ended.
    pub(super) keeping: Keeping,
    /// The limit (ns), where one was stated.
    pub(super) deadline_ns: Option<u64>,
    /// From the event of a call's return to a reading of the clock in user space (ns).
    pub(super) return_ns: u64,
    /// The function of the timers of sleeps and of time-outs, which live no longer than the call (its address).
    pub(super) sleep_function: Option<u64>,
}

/// Distances between wake-ups from which the period is learned.
const LEARNED_FROM: usize = 16;

/// Samples of a loop. The first ones are kept until the period is learned from them, by which missed periods are counted.
#[derive(Clone)]
pub(super) struct Samples {
    frame: Frame,
    /// Whether a period is to be learned.
    periodic: bool,
    waiting: Vec<Pair>,
    collector: Option<Collector>,
    pub(super) period_ns: Option<u64>,
    pub(super) taken: u64,
}

impl Samples {
    pub(super) fn new(frame: Frame, periodic: bool) -> Self {
        Self { frame, periodic, waiting: Vec::new(), collector: None, period_ns: None, taken: 0 }
    }

    /// Notes a sample; it is counted by the next [`flush`](Self::flush).
    #[inline]
    pub(super) fn take(&mut self, from_ns: i64, to_ns: i64) {
        self.taken += 1;
        self.waiting.push(Pair { first_ns: from_ns, second_ns: to_ns });
    }

    /// Counts what was noted: all of one thread at once, since the bins of hundreds of threads fit into no cache.
    pub(super) fn flush(&mut self, clocks: &ClockWatch) {
        match &mut self.collector {
            Some(collector) => {
                collector.take_each(&self.waiting, |pair| *pair, clocks);
                self.waiting.clear();
            }
            None if self.waiting.is_empty() || self.periodic && self.waiting.len() <= LEARNED_FROM => {}
            None => self.open(clocks),
        }
    }

    fn open(&mut self, clocks: &ClockWatch) {
        if self.periodic {
            self.period_ns = median_distance(&self.waiting);
        }
        let rules = self.period_ns.map(|interval_ns| StallRules {
            interval_ns,
            deadline_ns: self.frame.deadline_ns.unwrap_or(interval_ns),
            recovered_within_ns: interval_ns,
        });
        let mut collector = Collector::new(0, None, self.frame.first_ns, self.frame.interval_maximum_ns, rules)
            .keeping(self.frame.keeping, false);
        self.waiting.drain(..).for_each(|pair| collector.take(pair, clocks));
        self.collector = Some(collector);
    }

    pub(super) fn live(&self) -> Option<record::LiveSeries> {
        self.collector.as_ref().map(Collector::live)
    }

    /// All of them; `None` where there is not one.
    pub(super) fn finish(mut self, ended_ns: i64, clocks: &ClockWatch) -> Option<(Collected, Option<u64>)> {
        self.flush(clocks);
        if !self.waiting.is_empty() {
            self.open(clocks);
        }
        Some((self.collector?.finish(ended_ns), self.period_ns))
    }
}

/// The median distance of what was asked for (ns), where it is one.
fn median_distance(pairs: &[Pair]) -> Option<u64> {
    let mut distances: Vec<i64> = pairs.windows(2).map(|two| two[1].first_ns - two[0].first_ns).collect();
    distances.sort_unstable();
    let median = distances.get(distances.len() / 2)?;
    u64::try_from(*median).ok().filter(|median| *median > 0)
}

#[cfg(test)]
mod tests {
    use units::ClockId;

    use super::*;

    const FRAME: Frame = Frame {
        first_ns: 0,
        interval_maximum_ns: 1_000_000_000,
        keeping: Keeping::All,
        deadline_ns: None,
        return_ns: 0,
        sleep_function: None,
    };

    #[test]
    fn the_period_is_learned_and_swallowed_schedules_are_counted() {
        let clocks = ClockWatch::new(ClockId::Monotonic);
        let mut samples = Samples::new(FRAME, true);
        for turn in 0..40_i64 {
            let scheduled_ns = turn * 1_000_000;
            // One wake-up that is late by two periods and a half; the next two are swallowed.
            let late_ns = if turn == 30 { 2_500_000 } else { 7_000 };
            if turn != 31 && turn != 32 {
                samples.take(scheduled_ns, scheduled_ns + late_ns);
                samples.flush(&clocks);
            }
        }
        let (collected, period_ns) = samples.finish(40_000_000, &clocks).unwrap();
        assert_eq!(period_ns, Some(1_000_000));
        assert_eq!((collected.samples, collected.stalls.missed_periods), (38, 2));
        assert_eq!(collected.total.max_ns(), Some(2_500_000));
    }

    #[test]
    fn intervals_of_a_run_without_an_end_stay_few() {
        let clocks = ClockWatch::new(ClockId::Monotonic);
        let frame = Frame { keeping: Keeping::Merged(8), interval_maximum_ns: 10_000_000, ..FRAME };
        let mut samples = Samples::new(frame, true);
        for turn in 0..2_000_i64 {
            samples.take(turn * 1_000_000, turn * 1_000_000 + 5_000 + turn);
            samples.flush(&clocks);
        }
        // A copy is concluded, and the samples go on.
        for _ in 0..2 {
            let (collected, _) = samples.clone().finish(2_000_000_000, &clocks).unwrap();
            assert!((4..=8).contains(&collected.intervals.len()), "{}", collected.intervals.len());
            let counted: u64 = collected.intervals.iter().map(|interval| interval.histogram.count()).sum();
            let maxima = collected.intervals.iter().filter_map(|interval| interval.histogram.max_ns());
            assert_eq!((counted, maxima.max()), (2_000, Some(6_999)));
        }
    }

    #[test]
    fn few_samples_are_kept_too() {
        let clocks = ClockWatch::new(ClockId::Monotonic);
        let mut samples = Samples::new(FRAME, true);
        samples.take(5, 12);
        let (collected, period_ns) = samples.finish(100, &clocks).unwrap();
        assert_eq!((collected.samples, collected.total.max_ns(), period_ns), (1, Some(7), None));
        assert!(Samples::new(FRAME, true).finish(100, &clocks).is_none());
    }
}
