//! Makes histograms, intervals, rows and worst samples of what a measuring thread hands over.

use analyse::rhythm::LateWakeup;
use analyse::{Row, StallRules, StallTotals, StallTracker};
use record::{
    Counters, Histogram, HistogramRecorder, Interval, LiveDetail, LiveFigures, LiveSeries, MissedRow, Moment, Place,
    Series, WorstSample,
};

use crate::clock_watch::ClockWatch;
use crate::explain::Known;
use crate::late::Late;
use crate::linear::{EqualBins, LinearHistogram};
use crate::ring::{Pair, Slot};
use crate::timetable::Timetable;
use crate::witness::LEAST_STOP_NS;
use crate::worst::{KeptSample, Worst};

/// Corrected samples that are added for one stall: a stepped clock can swallow schedules without end.
const MAX_CORRECTIONS: u64 = 1_000_000;
/// Late samples that are kept from one look to the next.
const MAX_LONG: usize = 64;
/// Beyond so many intervals without a sample one after the other, as after a clock step of years, they are one long one.
const MOST_EMPTY_INTERVALS: u64 = 1_000;
/// Intervals that a run of unknown length keeps in memory where nobody takes them over; beyond, neighbours become one.
pub(crate) const MOST_KEPT: u64 = 4_096;

/// The samples of one thread, accumulated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    pub(crate) total: Histogram,
    pub(crate) below_zero: Histogram,
    pub(crate) swallowed: Histogram,
    pub(crate) corrections_left_out: u64,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) stalls: StallTotals,
    pub(crate) rows: Vec<Row>,
    pub(crate) worst: Vec<KeptSample>,
    pub(crate) max_at: Option<Moment>,
    /// All wake-ups later than `late_above_ns`, in the order of time, on the measured clock.
    pub(crate) late: Vec<LateWakeup>,
    pub(crate) late_above_ns: u64,
    pub(crate) samples: u64,
}

impl Collected {
    /// As a series of a record. `counters` has what was counted beside the samples.
    pub(crate) fn into_series(self, name: &str, place: Place, counters: &Counters) -> Series {
        let corrected = (!self.swallowed.is_empty()).then(|| {
            let mut corrected = self.total.clone();
            corrected.merge(&self.swallowed);
            corrected
        });
        Series {
            name: name.to_owned(),
            place,
            corrected,
            histogram: self.total,
            below_zero: (!self.below_zero.is_empty()).then_some(self.below_zero),
            intervals: self.intervals,
            counters: Counters {
                samples: self.samples,
                missed_periods: self.stalls.missed_periods,
                late_samples: self.stalls.late_samples,
                rows: self.stalls.rows,
                longest_row_periods: self.stalls.longest_row_periods,
                longest_recovery_ns: self.stalls.longest_recovery_ns,
                corrections_left_out: self.corrections_left_out,
                ..counters.clone()
            },
            max_at: self.max_at,
            ..Series::default()
        }
    }

    /// The worst samples as they stand in a record.
    pub(crate) fn worst_at(&self, name: &str, place: &Place) -> Vec<WorstSample> {
        self.worst.iter().map(|sample| sample.at(place, name)).collect()
    }

    /// The longest rows as they stand in a record.
    pub(crate) fn rows_at(&self, place: &Place, clocks: &ClockWatch) -> Vec<MissedRow> {
        let row = |row: &Row| MissedRow {
            node: String::new(),
            place: place.clone(),
            first_scheduled: clocks.moment(row.first_scheduled_ns),
            periods: row.periods,
            missed_periods: row.missed_periods,
            worst_ns: row.worst_ns,
            recovery_ns: row.recovery_ns,
        };
        self.rows.iter().map(row).collect()
    }
}

/// What becomes of intervals that are finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// All are kept: the plan says how many there will be.
    #[default]
    All,
    /// Somebody takes them over, and none is kept.
    None,
    /// They are kept, and beyond [`MOST_KEPT`] of them two become one.
    Merged,
}

/// A latency without its sign bit's meaning: one below zero becomes huge, and so notable.
#[inline(always)]
fn magnitude_ns(latency_ns: i64) -> u64 {
    u64::from_ne_bytes(latency_ns.to_ne_bytes())
}

/// Collects the samples of one thread.
pub(crate) struct Collector {
    thread: u32,
    cpu: Option<u32>,
    interval_ns: u64,
    first_ns: i64,
    interval_maximum_ns: u64,
    interval_end_ns: i64,
    /// All samples of the intervals before.
    total: HistogramRecorder,
    current: HistogramRecorder,
    current_missed: u64,
    current_below: Histogram,
    tracker: Option<StallTracker>,
    /// Where schedules are not at equal distances.
    timetable: Option<Timetable>,
    worst: Worst,
    late: Late,
    /// Set if bins of equal width are wanted too.
    equal_bins: Option<EqualBins>,
    last_ns: i64,
    /// Samples below this are only counted.
    notable_from_ns: u64,
    /// Late samples since the last look that a limit of the kernel's can have made, in the order of time.
    long: Vec<Pair>,
    /// One sample for each swallowed schedule.
    swallowed: HistogramRecorder,
    keeping: Keeping,
    /// Intervals of `out` that were handed on already.
    handed_on: usize,
    /// Whether what was collected up to the last finished interval is wanted.
    wants_closed: bool,
    closed: Option<Collected>,
    out: Collected,
}

impl Collector {
    /// For a thread whose first sample is due at `first_ns` on the measured clock; `rules` for one with a period.
    pub(crate) fn new(
        thread: u32,
        cpu: Option<u32>,
        first_ns: i64,
        interval_maximum_ns: u64,
        rules: Option<StallRules>,
    ) -> Self {
        Self {
            thread,
            cpu,
            interval_ns: rules.map_or(u64::MAX, |rules| rules.interval_ns),
            first_ns,
            interval_maximum_ns,
            interval_end_ns: first_ns.saturating_add_unsigned(interval_maximum_ns),
            total: HistogramRecorder::new(),
            current: HistogramRecorder::new(),
            current_missed: 0,
            current_below: Histogram::new(),
            tracker: rules.map(StallTracker::new),
            timetable: None,
            worst: Worst::new(),
            late: Late::new(0),
            equal_bins: None,
            last_ns: 0,
            notable_from_ns: 0,
            long: Vec::new(),
            swallowed: HistogramRecorder::new(),
            keeping: Keeping::All,
            handed_on: 0,
            wants_closed: false,
            closed: None,
            out: Collected::default(),
        }
    }

    /// With schedules that are not at equal distances; the interval of the rules is then the shortest of them.
    pub(crate) fn with_timetable(mut self, timetable: Option<Timetable>) -> Self {
        self.timetable = timetable;
        self
    }

    /// Keeps the late wake-ups too, so many of them at least.
    pub(crate) fn keeping_late(mut self, room: usize) -> Self {
        self.late = Late::new(room);
        self
    }

    /// With bins of equal width too, which [`linear`](Self::linear) shows.
    pub(crate) fn with_equal_bins(mut self, equal_bins: Option<EqualBins>) -> Self {
        if let Some(bins) = &equal_bins {
            self.current = self.current.with_equal_bins(bins.width_ns());
        }
        self.equal_bins = equal_bins;
        self
    }

    /// With another rule of what becomes of intervals that are finished; `handed_on` where somebody takes each of them, and
    /// what was collected until then.
    pub(crate) fn keeping(mut self, keeping: Keeping, handed_on: bool) -> Self {
        self.keeping = keeping;
        self.wants_closed = handed_on;
        self
    }

    /// Takes samples over in the order of time.
    #[inline(always)]
    pub(crate) fn take_all(&mut self, slots: &[Slot], clocks: &ClockWatch) {
        self.take_each(slots, Slot::pair, clocks);
    }

    /// The same of samples in another form.
    #[inline(always)]
    pub(crate) fn take_each<T>(&mut self, mut slots: &[T], pair: impl Fn(&T) -> Pair + Copy, clocks: &ClockWatch) {
        while let Some((first, others)) = slots.split_first() {
            self.take(pair(first), clocks);
            // Of those of the same interval that are neither late nor bad nor notable otherwise, as many as follow
            // each other. Schedules ascend.
            let same = match others.last().map(pair) {
                Some(last) if last.first_ns >= self.interval_end_ns => {
                    others.partition_point(|slot| pair(slot).first_ns < self.interval_end_ns)
                }
                _ => others.len(),
            };
            let latency_ns = |slot: &T| {
                let pair = pair(slot);
                magnitude_ns(pair.second_ns - pair.first_ns)
            };
            let common = self.current.record_common(&others[..same], latency_ns, self.notable_from_ns);
            let (taken, rest) = others.split_at(common);
            if let Some(last) = taken.last().map(pair) {
                self.last_ns = last.second_ns - last.first_ns;
            }
            if !self.late.are_rare() {
                taken.iter().map(pair).for_each(|pair| self.keep_late(pair));
            }
            slots = rest;
        }
    }

    /// Takes one sample over; all but the counting itself is for the few that are late, bad or the first.
    pub(crate) fn take(&mut self, pair: Pair, clocks: &ClockWatch) {
        if pair.first_ns >= self.interval_end_ns {
            self.close_intervals_before(pair.first_ns);
        }
        let latency_ns = pair.second_ns - pair.first_ns;
        self.last_ns = latency_ns;
        if magnitude_ns(latency_ns) >= self.notable_from_ns {
            self.notable(pair, latency_ns, clocks);
        }
        self.keep_late(pair);
        if latency_ns >= 0 {
            self.current.record(magnitude_ns(latency_ns));
        }
    }

    /// Keeps a wake-up for the scan for rhythms where it is among the latest.
    #[inline(always)]
    fn keep_late(&mut self, pair: Pair) {
        let latency_ns = pair.second_ns - pair.first_ns;
        if latency_ns > self.late.above_ns {
            self.late.keep(pair.first_ns, magnitude_ns(latency_ns));
            self.notable_from_ns = self.notable_from_ns.min(self.late_from_ns());
        }
    }

    /// From this latency on a wake-up is notable because it is kept (ns): none as long as so many are that all are looked at.
    fn late_from_ns(&self) -> u64 {
        let from_ns = u64::try_from(self.late.above_ns.saturating_add(1)).unwrap_or(0);
        if self.late.are_rare() { from_ns } else { u64::MAX }
    }

    #[cold]
    fn close_intervals_before(&mut self, scheduled_ns: i64) {
        self.close_interval(self.interval_maximum_ns);
        // Intervals without any sample (a long stall, a stepped clock) are kept as empty ones: time does not shrink.
        let gap_ns = u64::try_from(scheduled_ns.saturating_sub(self.interval_end_ns)).unwrap_or(0);
        let empty = gap_ns / self.interval_maximum_ns.max(1);
        if empty > MOST_EMPTY_INTERVALS {
            self.close_interval(empty * self.interval_maximum_ns);
        }
        while scheduled_ns >= self.interval_end_ns {
            self.close_interval(self.interval_maximum_ns);
        }
    }

    #[cold]
    #[inline(never)]
    fn notable(&mut self, pair: Pair, latency_ns: i64, clocks: &ClockWatch) {
        let sample = self.samples();
        if latency_ns < 0 {
            self.out.below_zero.record_n(latency_ns.unsigned_abs(), 1);
            self.current_below.record_n(latency_ns.unsigned_abs(), 1);
        }
        let missed = match (&mut self.tracker, &self.timetable) {
            (Some(tracker), None) => tracker.sample(pair.first_ns, pair.second_ns),
            (Some(tracker), Some(table)) => {
                let next_ns = table.schedule_ns(table.turn_of(pair.first_ns) + 1);
                let missed = table.missed(pair.first_ns, pair.second_ns);
                tracker.sample_of(pair.first_ns, pair.second_ns, missed, Some(next_ns))
            }
            (None, _) => 0,
        };
        self.current_missed += missed;
        let corrections = missed.min(MAX_CORRECTIONS);
        self.out.corrections_left_out += missed - corrections;
        for swallowed in 1..=corrections {
            self.swallowed.record(match &self.timetable {
                None => latency_ns.unsigned_abs() - swallowed * self.interval_ns,
                Some(table) => {
                    let turn = table.turn_of(pair.first_ns).saturating_add_unsigned(swallowed);
                    pair.second_ns.saturating_sub(table.schedule_ns(turn)).unsigned_abs()
                }
            });
        }
        if latency_ns >= LEAST_STOP_NS && self.long.len() < MAX_LONG {
            self.long.push(pair);
        }
        if let Some(bins) = &mut self.equal_bins {
            bins.look(latency_ns, sample);
        }
        if latency_ns > self.worst.above_ns {
            self.worst.keep(KeptSample {
                latency_ns,
                sample,
                missed_periods: missed,
                from: clocks.moment(pair.first_ns),
                to: clocks.moment(pair.second_ns),
            });
        }
        let quiet_below_ns = self.tracker.as_ref().map_or(u64::MAX, StallTracker::quiet_below_ns);
        // Where fewer than the kept number of worst samples were seen, every sample is one of them.
        let worst_above_ns = u64::try_from(self.worst.above_ns.saturating_add(1)).unwrap_or(0);
        let equal_bins_from_ns = self.equal_bins.as_ref().map_or(u64::MAX, EqualBins::looks_from_ns);
        let from_ns = quiet_below_ns.min(worst_above_ns).min(magnitude_ns(LEAST_STOP_NS)).min(equal_bins_from_ns);
        self.notable_from_ns = from_ns.min(self.late_from_ns());
    }

    /// Late samples since the last call that a limit of the kernel's can have made.
    pub(crate) fn take_long(&mut self) -> Vec<Pair> {
        std::mem::take(&mut self.long)
    }

    /// Samples so far.
    fn samples(&self) -> u64 {
        self.total.count() + self.current.count() + self.out.below_zero.count()
    }

    /// Closes the interval that is open; the next one begins where it ends.
    fn close_interval(&mut self, length_ns: u64) {
        let start = self.interval_end_ns.saturating_sub_unsigned(self.interval_maximum_ns);
        let histogram = self.current.move_to(&mut self.total);
        let below_zero = std::mem::take(&mut self.current_below);
        self.out.intervals.push(Interval {
            start_offset_ns: u64::try_from(start.saturating_sub(self.first_ns)).unwrap_or(0),
            length_ns,
            missed_periods: self.current_missed,
            histogram,
            below_zero: (!below_zero.is_empty()).then_some(below_zero),
            uncertainty: None,
        });
        self.interval_end_ns =
            start.saturating_add_unsigned(length_ns).saturating_add_unsigned(self.interval_maximum_ns);
        self.current_missed = 0;
        if self.keeping == Keeping::Merged && self.out.intervals.len() as u64 >= MOST_KEPT {
            self.merge_neighbours();
        }
        if self.wants_closed {
            self.closed = Some(self.collected());
        }
    }

    /// Makes two intervals one, now and from now on.
    fn merge_neighbours(&mut self) {
        let merged = self.out.intervals.chunks(2).map(|pair| match pair {
            [first, second] => first.followed_by(second),
            [alone, ..] => alone.clone(),
            [] => Interval::default(),
        });
        self.out.intervals = merged.collect();
        // The one that is open becomes as long as they are.
        let longer_ns = self.interval_maximum_ns.saturating_mul(2);
        self.interval_end_ns = self.interval_end_ns.saturating_add_unsigned(longer_ns - self.interval_maximum_ns);
        self.interval_maximum_ns = longer_ns;
    }

    /// The intervals that were finished since the last call.
    pub(crate) fn hand_on(&mut self) -> Vec<Interval> {
        if self.keeping == Keeping::None {
            return std::mem::take(&mut self.out.intervals);
        }
        let fresh = self.out.intervals[self.handed_on..].to_vec();
        self.handed_on = self.out.intervals.len();
        fresh
    }

    /// What was collected up to the end of the last finished interval, without the intervals; `None` before the first has
    /// ended, or where it was not asked for.
    pub(crate) fn closed(&self) -> Option<&Collected> {
        self.closed.as_ref()
    }

    /// What was collected so far, without the intervals; samples of the open one are missing in the histograms.
    fn collected(&self) -> Collected {
        let (stalls, rows) = self.tracker.clone().map(StallTracker::finish).unwrap_or_default();
        let worst = self.worst.sorted();
        Collected {
            total: self.total.snapshot(),
            below_zero: self.out.below_zero.clone(),
            swallowed: self.swallowed.snapshot(),
            corrections_left_out: self.out.corrections_left_out,
            intervals: Vec::new(),
            stalls,
            rows,
            max_at: worst.first().map(|worst| worst.to),
            worst,
            late: Vec::new(),
            late_above_ns: u64::try_from(self.late.above_ns).unwrap_or(0),
            samples: self.samples(),
        }
    }

    /// All samples in bins of equal width, once the last interval is closed; `None` if they were not asked for.
    pub(crate) fn linear(&self) -> Option<LinearHistogram> {
        let bins = self.equal_bins.as_ref()?;
        let total = self.total.snapshot();
        let counts = self.current.equal_bins(&total);
        Some(bins.histogram(&counts, &total, self.out.below_zero.count(), self.last_ns))
    }

    /// The end: closes the open interval, where it has a sample, and gives everything.
    pub(crate) fn finish(mut self, ended_ns: i64) -> Collected {
        self.end(ended_ns);
        let collected = self.collected();
        Collected { intervals: self.out.intervals, late: self.late.into_wakeups(), ..collected }
    }

    /// Time has passed until `now_ns` without a sample, as it may where samples are disturbances.
    pub(crate) fn pass(&mut self, now_ns: i64) {
        if now_ns >= self.interval_end_ns {
            self.close_intervals_before(now_ns);
        }
    }

    /// Closes the open interval, where it has a sample: nothing comes any more.
    pub(crate) fn end(&mut self, ended_ns: i64) {
        if !self.current.is_empty() || !self.current_below.is_empty() {
            let start = self.interval_end_ns.saturating_sub_unsigned(self.interval_maximum_ns);
            let length = u64::try_from(ended_ns.saturating_sub(start)).unwrap_or(0).min(self.interval_maximum_ns);
            self.close_interval(length);
        }
    }

    /// The samples so far, as a person sees them; identity and schedule are the caller's to fill in.
    pub(crate) fn live(&self) -> LiveSeries {
        let (total, current) = (&self.total, &self.current);
        let count = (total.count() + current.count()).max(1);
        let sum_ns = total.sum_ns() + current.sum_ns();
        let samples = self.samples();
        LiveSeries {
            place: Place::thread(self.thread, self.cpu),
            detail: LiveDetail::Thread { tid: 0, priority: 0, interval_ns: 0 },
            samples,
            // Before the first one there is none, and not one of 0.
            figures: (samples > 0).then(|| LiveFigures {
                last_ns: self.last_ns,
                min_ns: total.min_ns().into_iter().chain(current.min_ns()).min().unwrap_or(0),
                mean_ns: units::approx_f64(sum_ns) / units::approx_f64(count),
                max_ns: total.max_ns().max(current.max_ns()).unwrap_or(0),
                uncertainty: None,
            }),
            missed_periods: self.tracker.as_ref().map_or(0, |tracker| tracker.totals().missed_periods),
        }
    }

    /// Where the open interval ends (ns on the measured clock, exclusive).
    #[inline(always)]
    pub(crate) const fn interval_end_ns(&self) -> i64 {
        self.interval_end_ns
    }

    /// The intervals that are finished.
    pub(crate) fn finished(&self) -> &[Interval] {
        &self.out.intervals
    }

    /// What an explainer has to know of the samples so far; `typical_ns` is the known value, `None` to compute it again.
    pub(crate) fn known(&self, followed: usize, typical_ns: Option<i64>) -> Known {
        let median = || self.histogram().quantile_ns(0.5).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
        Known {
            samples: self.samples(),
            typical_ns: typical_ns.unwrap_or_else(median),
            worst_above_ns: self.worst.nth_ns(followed).unwrap_or(i64::MAX),
        }
    }

    /// All samples so far.
    pub(crate) fn histogram(&self) -> Histogram {
        let mut all = self.total.snapshot();
        all.merge(&self.current.snapshot());
        all
    }
}

#[cfg(test)]
mod tests {
    use units::ClockId;

    use super::*;

    #[test]
    fn all_wakeups_above_the_final_threshold_are_kept_however_they_are_handed_over() {
        let clocks = ClockWatch::new(ClockId::Monotonic);
        let mut collector = Collector::new(0, Some(0), 0, 1_000_000_000, None).keeping_late(50);
        // Of 1,000 latencies each comes 20 times, in an order without a pattern; none is long enough to be looked at by itself.
        let latency_ns = |n: i64| 1 + n * 617 % 1_000;
        let pairs: Vec<Pair> =
            (0..20_000).map(|n| Pair { first_ns: n * 1_000_000, second_ns: n * 1_000_000 + latency_ns(n) }).collect();
        for some in pairs.chunks(77) {
            collector.take_each(some, |pair| *pair, &clocks);
        }
        assert!(collector.late.are_rare(), "the run is long enough for both ways of looking");
        let taken = collector.finish(20_000_000_000);
        let above_ns = i64::try_from(taken.late_above_ns).unwrap();
        let kept: Vec<i64> = taken.late.iter().map(|late| late.scheduled_ns).collect();
        let expected: Vec<i64> =
            pairs.iter().filter(|pair| pair.second_ns - pair.first_ns > above_ns).map(|pair| pair.first_ns).collect();
        assert!(above_ns > 900 && !kept.is_empty(), "{above_ns} ns, {} kept", kept.len());
        assert_eq!(kept, expected);
    }

    /// Samples at these moments, each 5 ns late, of a thread whose intervals are a second long.
    fn taken(keeping: Keeping, seconds: impl Iterator<Item = i64>) -> Collected {
        let clocks = ClockWatch::scripted(ClockId::Monotonic, Vec::new());
        let mut collector = Collector::new(0, Some(0), 0, 1_000_000_000, None).keeping(keeping, false);
        let mut last_ns = 0;
        for second in seconds {
            last_ns = second * 1_000_000_000;
            collector.take(Pair { first_ns: last_ns, second_ns: last_ns + 5 }, &clocks);
        }
        collector.finish(last_ns + 1_000_000_000)
    }

    fn follow_each_other(intervals: &[Interval]) -> bool {
        intervals.windows(2).all(|two| two[0].start_offset_ns + two[0].length_ns == two[1].start_offset_ns)
    }

    #[test]
    fn a_run_without_end_keeps_no_more_intervals_than_it_may() {
        let all = taken(Keeping::All, 0..10_000);
        assert_eq!(all.intervals.len(), 10_000);
        let merged = taken(Keeping::Merged, 0..10_000);
        assert!((2_048..4_096).contains(&merged.intervals.len()), "{}", merged.intervals.len());
        assert!(follow_each_other(&merged.intervals) && merged.intervals[0].start_offset_ns == 0);
        let counted: u64 = merged.intervals.iter().map(Interval::taken).sum();
        assert_eq!((counted, merged.samples, merged.total.count()), (10_000, 10_000, 10_000));
        // All but the last, which the end cut, are equally long: four seconds.
        let (last, before) = merged.intervals.split_last().unwrap();
        assert!(before.iter().all(|one| one.length_ns == 4_000_000_000), "{before:?}");
        assert!(last.length_ns <= 4_000_000_000);
    }

    #[test]
    fn a_clock_that_jumps_by_years_leaves_one_long_interval() {
        const YEAR_S: i64 = 31_556_952;
        let jumped = taken(Keeping::All, [0, 1, 10 * YEAR_S, 10 * YEAR_S + 1].into_iter());
        assert!(jumped.intervals.len() < 8 && follow_each_other(&jumped.intervals), "{:?}", jumped.intervals.len());
        let with_samples: Vec<u64> = jumped.intervals.iter().map(Interval::taken).filter(|count| *count > 0).collect();
        assert_eq!(with_samples, [1, 1, 1, 1]);
        // A stall of some intervals keeps each of them, empty as it is.
        let stalled = taken(Keeping::All, [0, 20].into_iter());
        assert_eq!(stalled.intervals.len(), 21);
    }
}
