//! Makes histograms, intervals, rows and worst samples of what a measuring thread hands over.

mod collected;
mod known;
mod standing;

use analysis::{StallRules, StallTracker};
use record::{
    Histogram, HistogramRecorder, Interval, LiveDetail, LiveFigures, LiveSeries, Moment, Place, SpoiledInterval,
    Uncertainty,
};

pub(crate) use self::collected::Collected;
use self::standing::{Ended, Standing};
pub(crate) use self::standing::{MOST_KEPT, neighbors_merged};
use crate::clock_watch::ClockWatch;
use crate::explain::IntervalEnd;
use crate::late::Late;
use crate::linear::{EqualBins, LinearHistogram};
use crate::ring::{Pair, Slot};
use crate::spoil::Spoil;
use crate::timetable::Timetable;
use crate::witness::LEAST_STOP_NS;
use crate::worst::{KeptSample, Worst};

/// Corrected samples that are added for one stall: a stepped clock can swallow schedules without end.
const MAX_CORRECTIONS: u64 = 1_000_000;
/// Late samples that are kept from one look to the next.
const MAX_LONG: usize = 64;
/// Beyond so many intervals without a sample one after the other, as after a clock step of years, they are one long one.
const MOST_EMPTY_INTERVALS: u64 = 1_000;

/// What becomes of intervals that are finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// All are kept: the plan says how many there will be.
    #[default]
    All,
    /// Somebody takes them over, and none is kept.
    None,
    /// They are kept, and two become one where there would be so many.
    Merged(u64),
}

/// A latency without its sign bit's meaning: one below zero becomes huge, and so notable.
#[inline(always)]
fn magnitude_ns(latency_ns: i64) -> u64 {
    u64::from_ne_bytes(latency_ns.to_ne_bytes())
}

/// Collects the samples of one thread.
#[derive(Clone)]
pub(crate) struct Collector {
    thread: u32,
    cpu: Option<u32>,
    interval_ns: u64,
    first_ns: i64,
    interval_maximum_ns: u64,
    /// By how much UTC is ahead of the measured clock (ns), where intervals end at multiples of their length on UTC.
    utc_ahead_ns: Option<i64>,
    interval_start_ns: i64,
    interval_end_ns: i64,
    /// The intervals that have ended.
    standing: Standing,
    /// Whether it is found out later what spoiled an interval, and [`settle`](Self::settle) says so.
    is_judged_later: bool,
    /// Samples of all intervals that have ended.
    taken_before: u64,
    current: HistogramRecorder,
    current_missed: u64,
    /// Of `current_missed` those that no late sample swallowed.
    current_missed_beside: u64,
    current_below: Histogram,
    current_left_out: u64,
    current_worst: Worst,
    /// The worst sample of the open interval; it need not be among the worst of the run.
    current_max: Option<(i64, Moment)>,
    /// The widest error of a sample of the open interval; `None` where they have none.
    current_uncertainty: Option<Uncertainty>,
    /// Schedules that were missed in the whole run.
    missed_periods: u64,
    tracker: Option<StallTracker>,
    /// Where schedules are not at equal distances.
    timetable: Option<Timetable>,
    late: Late,
    /// Set if bins of equal width are wanted too.
    equal_bins: Option<EqualBins>,
    last_ns: i64,
    /// Samples below this are only counted.
    notable_from_ns: u64,
    /// Late samples since the last look that a limit of the kernel's can have made, in the order of time.
    long: Vec<Pair>,
    /// One sample for each schedule that was swallowed in the open interval; nothing before the first one of the run, since most
    /// runs have none and locked memory is resident.
    swallowed: Option<HistogramRecorder>,
    keeping: Keeping,
    /// The ends of intervals since they were last asked for, where they are.
    ends: Option<Vec<IntervalEnd>>,
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
            utc_ahead_ns: None,
            interval_start_ns: first_ns,
            interval_end_ns: first_ns.saturating_add_unsigned(interval_maximum_ns),
            standing: Standing::new(),
            is_judged_later: false,
            taken_before: 0,
            current: HistogramRecorder::new(),
            current_missed: 0,
            current_missed_beside: 0,
            current_below: Histogram::new(),
            current_left_out: 0,
            current_worst: Worst::new(),
            current_max: None,
            current_uncertainty: None,
            missed_periods: 0,
            tracker: rules.map(StallTracker::new),
            timetable: None,
            late: Late::new(0),
            equal_bins: None,
            last_ns: 0,
            notable_from_ns: 0,
            long: Vec::new(),
            swallowed: None,
            keeping: Keeping::All,
            ends: None,
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

    /// With another rule of what becomes of intervals that are finished; `handed_on` where somebody takes each of them.
    pub(crate) fn keeping(mut self, keeping: Keeping, handed_on: bool) -> Self {
        self.keeping = keeping;
        self.standing.keeping(keeping, handed_on);
        self
    }

    /// Intervals end at multiples of their length on UTC, which is ahead of the measured clock by so much (ns): the first one is
    /// shorter. Where nothing is stated they are all equally long.
    pub(crate) fn on_utc(mut self, ahead_ns: Option<i64>) -> Self {
        self.utc_ahead_ns = ahead_ns;
        self.interval_end_ns = self.end_after(self.interval_start_ns);
        self
    }

    /// UTC is ahead by so much from `now_ns` on (on the measured clock): the open interval ends there, and the next ones at
    /// multiples of their length again.
    pub(crate) fn utc_changed(&mut self, ahead_ns: i64, now_ns: i64) {
        if self.utc_ahead_ns.is_some() {
            self.utc_ahead_ns = Some(ahead_ns);
            self.interval_end_ns = self.interval_end_ns.min(now_ns.max(self.interval_start_ns.saturating_add(1)));
        }
    }

    /// Where an interval ends that begins at `start_ns` (on the measured clock).
    fn end_after(&self, start_ns: i64) -> i64 {
        let length_ns = i64::try_from(self.interval_maximum_ns).unwrap_or(i64::MAX).max(1);
        let into_ns = self.utc_ahead_ns.map_or(0, |ahead_ns| start_ns.saturating_add(ahead_ns).rem_euclid(length_ns));
        start_ns.saturating_add(length_ns - into_ns)
    }

    /// Notes the ends of intervals, for [`take_ends`](Self::take_ends).
    pub(crate) fn noting_ends(mut self, wanted: bool) -> Self {
        self.ends = wanted.then(Vec::new);
        self
    }

    /// The intervals that ended since the last call, and how many samples there were until now.
    pub(crate) fn take_ends(&mut self) -> (Vec<IntervalEnd>, u64) {
        (self.ends.as_mut().map(std::mem::take).unwrap_or_default(), self.samples())
    }

    /// Intervals wait until [`settle`](Self::settle) decides whether they stand.
    pub(crate) const fn judged_later(mut self) -> Self {
        self.is_judged_later = true;
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
        let latency_ns = |slot: &T| {
            let pair = pair(slot);
            magnitude_ns(pair.second_ns - pair.first_ns)
        };
        while let Some(last) = slots.last().map(pair) {
            // Of those of the open interval that are neither late nor bad nor notable otherwise, as many as follow each other.
            // Schedules ascend.
            let same = if last.first_ns >= self.interval_end_ns {
                slots.partition_point(|slot| pair(slot).first_ns < self.interval_end_ns)
            } else {
                slots.len()
            };
            let common = self.current.record_common(&slots[..same], latency_ns, self.notable_from_ns);
            let (taken, rest) = slots.split_at(common);
            if let Some(last) = taken.last().map(pair) {
                self.last_ns = last.second_ns - last.first_ns;
            }
            if !self.late.are_rare() {
                self.late.keep_each(taken.iter().map(pair));
                self.notable_from_ns = self.notable_from_ns.min(self.late_from_ns());
            }
            // The one that is not.
            slots = match rest.split_first() {
                Some((one, others)) => {
                    self.take(pair(one), clocks);
                    others
                }
                None => rest,
            };
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
            self.late.keep_each(std::iter::once(pair));
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
        self.close_interval(self.interval_end_ns);
        // Intervals without any sample (a long stall, a stepped clock) are kept as empty ones: time does not shrink.
        let gap_ns = u64::try_from(scheduled_ns.saturating_sub(self.interval_end_ns)).unwrap_or(0);
        let empty = gap_ns / self.interval_maximum_ns.max(1);
        if empty > MOST_EMPTY_INTERVALS {
            self.close_interval(self.interval_start_ns.saturating_add_unsigned(empty * self.interval_maximum_ns));
        }
        while scheduled_ns >= self.interval_end_ns {
            self.close_interval(self.interval_end_ns);
        }
    }

    #[cold]
    #[inline(never)]
    fn notable(&mut self, pair: Pair, latency_ns: i64, clocks: &ClockWatch) {
        let sample = self.samples();
        if latency_ns < 0 {
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
        self.missed_periods = self.missed_periods.saturating_add(missed);
        let corrections = missed.min(MAX_CORRECTIONS);
        self.current_left_out += missed - corrections;
        for swallowed in 1..=corrections {
            self.swallowed.get_or_insert_default().record(match &self.timetable {
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
        if self.current_max.is_none_or(|(worst_ns, _)| latency_ns > worst_ns) {
            self.current_max = Some((latency_ns, clocks.moment(pair.second_ns)));
        }
        if latency_ns > self.current_worst.above_ns {
            self.current_worst.keep(KeptSample {
                latency_ns,
                sample,
                missed_periods: missed,
                from: clocks.moment(pair.first_ns),
                to: clocks.moment(pair.second_ns),
            });
        }
        let quiet_below_ns = self.tracker.as_ref().map_or(u64::MAX, StallTracker::quiet_below_ns);
        // Where fewer than the kept number of worst samples were seen, every sample is one of them.
        let worst_above_ns = u64::try_from(self.current_worst.above_ns.saturating_add(1)).unwrap_or(0);
        let max_ns = self.current_max.map_or(-1, |(worst_ns, _)| worst_ns);
        let worst_above_ns = worst_above_ns.min(u64::try_from(max_ns.saturating_add(1)).unwrap_or(0));
        let equal_bins_from_ns = self.equal_bins.as_ref().map_or(u64::MAX, EqualBins::looks_from_ns);
        let from_ns = quiet_below_ns.min(worst_above_ns).min(magnitude_ns(LEAST_STOP_NS)).min(equal_bins_from_ns);
        self.notable_from_ns = from_ns.min(self.late_from_ns());
    }

    /// So many schedules of the whole run were missed by now: those that no late sample swallowed are counted in the interval
    /// that is open.
    pub(crate) fn missed_by_now(&mut self, periods: u64) {
        let beside = periods.saturating_sub(self.missed_periods);
        self.missed_periods += beside;
        self.current_missed += beside;
        self.current_missed_beside += beside;
    }

    /// Late samples since the last call that a limit of the kernel's can have made.
    pub(crate) fn take_long(&mut self) -> Vec<Pair> {
        std::mem::take(&mut self.long)
    }

    /// Samples so far.
    fn samples(&self) -> u64 {
        self.taken_before + self.current.count() + self.current_below.count()
    }

    /// Closes the interval that is open; the next one begins where it ends.
    fn close_interval(&mut self, end_ns: i64) {
        let start_ns = self.interval_start_ns;
        let length_ns = u64::try_from(end_ns.saturating_sub(start_ns)).unwrap_or(0);
        self.taken_before = self.samples();
        if let Some(ends) = &mut self.ends {
            ends.push(IntervalEnd { samples: self.taken_before, start_ns });
        }
        let below_zero = std::mem::take(&mut self.current_below);
        let (mut stalls, rows) = self.tracker.as_mut().map(StallTracker::take).unwrap_or_default();
        stalls.missed_periods += std::mem::take(&mut self.current_missed_beside);
        self.standing.add(Ended {
            interval: Interval {
                start_offset_ns: self.offset_ns(start_ns),
                length_ns,
                missed_periods: std::mem::take(&mut self.current_missed),
                histogram: self.current.take(),
                below_zero: (!below_zero.is_empty()).then_some(below_zero),
                uncertainty: self.current_uncertainty.take(),
                max_at: self.current_max.take().map(|(_, at)| at),
            },
            at_ns: start_ns..end_ns,
            swallowed: self.swallowed.as_mut().map(HistogramRecorder::take).unwrap_or_default(),
            corrections_left_out: std::mem::take(&mut self.current_left_out),
            stalls,
            rows,
            worst: self.current_worst.take(),
        });
        self.interval_start_ns = end_ns;
        self.interval_end_ns = self.end_after(end_ns);
        if !self.is_judged_later {
            self.settle(i64::MAX, &[]);
        }
        self.current_worst.above_ns = self.standing.worst_above_ns();
        // A threshold may be lower than that of the interval before.
        self.notable_from_ns = 0;
    }

    /// Whether an interval that has ended waits for [`settle`](Self::settle).
    pub(crate) fn has_unsettled(&self) -> bool {
        self.standing.settled_until_ns().is_some()
    }

    /// The beginning of the first interval that is not settled, the open one's where none waits (ns on the measured clock).
    pub(crate) fn settled_until_ns(&self) -> i64 {
        self.standing.settled_until_ns().unwrap_or(self.interval_start_ns)
    }

    /// The worst waits of the intervals that are not settled, each from the schedule to the wake-up (ns, CLOCK_MONOTONIC).
    pub(crate) fn worst_waits(&self) -> impl Iterator<Item = (i64, i64)> {
        let of = |sample: &KeptSample| (sample.from.monotonic.as_ns(), sample.to.monotonic.as_ns());
        self.standing.recent_worst().chain(self.current_worst.iter()).map(of)
    }

    /// Whether a moment (ns on the measured clock) lies in an interval that was spoiled.
    pub(crate) fn is_spoiled_at(&self, at_ns: i64) -> bool {
        self.standing.is_spoiled_at(at_ns)
    }

    /// Decides about the intervals that ended by `until_ns` (on the measured clock): what touches one of them spoils it.
    pub(crate) fn settle(&mut self, until_ns: i64, spoils: &[Spoil]) {
        let kept = self.standing.intervals().len();
        if !self.standing.settle(until_ns, spoils) {
            return;
        }
        if matches!(self.keeping, Keeping::Merged(_)) && self.standing.intervals().len() < kept {
            self.lengthen();
        }
    }

    /// Neighbors became one: the interval that is open becomes as long as they are.
    fn lengthen(&mut self) {
        self.interval_maximum_ns = self.interval_maximum_ns.saturating_mul(2);
        self.interval_end_ns = self.end_after(self.interval_start_ns);
    }

    /// The intervals that stand and were not handed on yet.
    pub(crate) fn hand_on(&mut self) -> Vec<Interval> {
        self.standing.hand_on()
    }

    /// The intervals that something spoiled and that were not handed on yet.
    pub(crate) fn hand_on_spoiled(&mut self) -> Vec<SpoiledInterval> {
        self.standing.hand_on_spoiled()
    }

    /// The intervals of which it is not known yet whether they stand, and the one that is open, as far as it has come.
    pub(crate) fn open(&self) -> Vec<Interval> {
        let below_zero = (!self.current_below.is_empty()).then(|| self.current_below.clone());
        let mut all: Vec<Interval> = self.standing.unsettled().cloned().collect();
        let histogram = self.current.snapshot();
        if !histogram.is_empty() || below_zero.is_some() || self.current_missed > 0 {
            all.push(Interval {
                start_offset_ns: self.offset_ns(self.interval_start_ns),
                length_ns: u64::try_from(self.interval_end_ns.saturating_sub(self.interval_start_ns)).unwrap_or(0),
                missed_periods: self.current_missed,
                histogram,
                below_zero,
                uncertainty: self.current_uncertainty,
                max_at: self.current_max.map(|(_, at)| at),
            });
        }
        all
    }

    /// A moment of the measured clock, counted from the first schedule (ns).
    fn offset_ns(&self, at_ns: i64) -> u64 {
        u64::try_from(at_ns.saturating_sub(self.first_ns)).unwrap_or(0)
    }

    /// What stands of the intervals that are settled, without the intervals.
    pub(crate) fn collected(&self) -> Collected {
        Collected { late_above_ns: u64::try_from(self.late.above_ns).unwrap_or(0), ..self.standing.collected() }
    }

    /// All samples in bins of equal width, once the last interval is closed; `None` if they were not asked for.
    pub(crate) fn linear(&self) -> Option<LinearHistogram> {
        let bins = self.equal_bins.as_ref()?;
        let (all, below_zero) = self.standing.everything();
        let counts = self.current.equal_bins(&all);
        Some(bins.histogram(&counts, &all, below_zero, self.last_ns))
    }

    /// The end: closes the open interval, where it has a sample, and gives everything that stands.
    pub(crate) fn finish(mut self, ended_ns: i64) -> Collected {
        self.end(ended_ns);
        self.settle(i64::MAX, &[]);
        let collected = self.collected();
        let mut late = self.late.into_wakeups();
        late.retain(|one| !self.standing.is_spoiled_at(one.scheduled_ns));
        Collected { intervals: self.standing.into_intervals(), late, ..collected }
    }

    /// Time has passed until `now_ns` without a sample, as it may where samples are disturbances.
    pub(crate) fn pass(&mut self, now_ns: i64) {
        if now_ns >= self.interval_end_ns {
            self.close_intervals_before(now_ns);
        }
    }

    /// Closes the open interval, where it has a sample or a missed period: nothing comes any more.
    pub(crate) fn end(&mut self, ended_ns: i64) {
        if let Some(tracker) = &mut self.tracker {
            tracker.end();
        }
        if !self.current.is_empty() || !self.current_below.is_empty() || self.current_missed > 0 {
            self.close_interval(ended_ns.clamp(self.interval_start_ns, self.interval_end_ns));
        }
    }

    /// The samples so far, as a person sees them, without those that are known to be spoiled; identity and schedule are the
    /// caller's to fill in.
    pub(crate) fn live(&self) -> LiveSeries {
        let current = &self.current;
        let before = || self.standing.histograms();
        let count = (units::total(before().map(Histogram::count)) + current.count()).max(1);
        let sum_ns = units::total(before().map(Histogram::sum_ns)).saturating_add(current.sum_ns());
        let samples = self.samples();
        LiveSeries {
            place: Place::thread(self.thread, self.cpu),
            detail: LiveDetail::Thread { tid: 0, priority: 0, interval_ns: 0 },
            samples,
            // Before the first one there is none, and not one of 0.
            figures: (samples > 0).then(|| LiveFigures {
                last_ns: self.last_ns,
                min_ns: before().filter_map(Histogram::min_ns).chain(current.min_ns()).min().unwrap_or(0),
                mean_ns: units::approx_f64(sum_ns) / units::approx_f64(count),
                max_ns: before().filter_map(Histogram::max_ns).chain(current.max_ns()).max().unwrap_or(0),
                uncertainty: self.current_uncertainty,
            }),
            missed_periods: self.missed_periods,
        }
    }

    /// The widest error of a sample of the open interval.
    #[inline(always)]
    pub(crate) const fn open_uncertainty(&self) -> Option<Uncertainty> {
        self.current_uncertainty
    }

    /// The error of a sample that was just taken, or of all of the open interval.
    #[inline(always)]
    pub(crate) fn widen(&mut self, uncertainty: Uncertainty) {
        self.current_uncertainty = Some(self.current_uncertainty.map_or(uncertainty, |open| open.widest(uncertainty)));
    }

    /// Where the open interval ends (ns on the measured clock, exclusive).
    #[inline(always)]
    pub(crate) const fn interval_end_ns(&self) -> i64 {
        self.interval_end_ns
    }

    /// The intervals that have ended and stand.
    pub(crate) fn finished(&self) -> &[Interval] {
        self.standing.intervals()
    }

    /// All samples so far that are not known to be spoiled.
    pub(crate) fn histogram(&self) -> Histogram {
        let mut all = self.current.snapshot();
        self.standing.histograms().for_each(|one| all.merge(one));
        all
    }
}

#[cfg(test)]
mod tests;
