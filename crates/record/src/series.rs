//! The samples of a run: one series for each latency at each place, cut into intervals.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Histogram, Moment, Place, Point, Reason, Sign, Uncertainty};

/// The samples of one latency at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Name of the node in this run; empty for the leading node while the record is still being assembled.
    #[serde(default)]
    pub node: String,
    /// Where in the node it was measured.
    pub place: Place,
    /// The latency, named by its two points as in the glossary: `scheduled_to_woke`, `read_to_read`, …
    pub name: String,
    /// Distinguishes series of the same name and place: `monotonic vdso`, …; empty if name and place are unique.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Whether a deadline applies to this latency. If the samples have several latencies, it applies to some of them.
    pub judged: bool,
    /// Time from one schedule to the next (ns); absent if the samples follow no schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Every sample as it was measured, except those below zero.
    pub histogram: Histogram,
    /// Samples below zero, by their magnitude; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_zero: Option<Histogram>,
    /// The corrected view: every sample, plus one for each schedule that a late wake-up skipped.
    /// Absent if no schedule was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Histogram>,
    /// Bounds on the error of every sample of the run; absent if both points are readings of the same clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<Uncertainty>,
    /// The source of an import counted its samples in bins of this width (ns), which begin at its multiples. A plot or a table
    /// of narrower bins would show gaps that nobody measured. Absent if the samples were counted to the nanosecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<u64>,
    /// Which value stands for what lies between two steps of the source.
    #[serde(default, skip_serializing_if = "Rounding::is_down")]
    pub rounding: Rounding,
    /// Events that were counted in addition to the samples.
    pub counters: Counters,
    /// When the maximum was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_at: Option<Moment>,
    /// Results that only some kinds of measurement have.
    #[serde(default, skip_serializing_if = "SeriesDetail::is_none")]
    pub detail: SeriesDetail,
    /// What was measured while something spoiled it: in none of the numbers above.
    #[serde(default, skip_serializing_if = "Spoiled::is_none")]
    pub spoiled: Spoiled,
    /// The intervals of the run in chronological order. In the file, one list holds the intervals of all series.
    #[serde(skip)]
    pub intervals: Vec<Interval>,
}

impl Default for Series {
    /// A series without samples to which a deadline applies.
    fn default() -> Self {
        Self {
            node: String::new(),
            place: Place::default(),
            name: String::new(),
            variant: String::new(),
            judged: true,
            interval_ns: None,
            histogram: Histogram::new(),
            below_zero: None,
            corrected: None,
            uncertainty: None,
            resolution_ns: None,
            rounding: Rounding::Down,
            counters: Counters::default(),
            max_at: None,
            detail: SeriesDetail::None,
            spoiled: Spoiled::default(),
            intervals: Vec::new(),
        }
    }
}

/// Which value stands for what lies between two steps of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// The lower one: 5 stands for 5 to just below 6.
    #[default]
    Down,
    /// The upper one: 5 stands for just above 4 to 5.
    Up,
}

impl Rounding {
    const fn is_down(&self) -> bool {
        matches!(self, Self::Down)
    }
}

/// Results of a series that only some kinds of measurement have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SeriesDetail {
    /// The kind has no such results.
    #[default]
    None,
    /// Consecutive readings of a clock.
    Readings {
        /// Median of the means of all blocks of 1,000 readings (ns).
        block_mean_median_ns: f64,
    },
    /// Gaps of a loop that never sleeps.
    Gaps(NoiseTotals),
    /// Hand-overs from one thread to another.
    HandOvers(HandOverTotals),
    /// Edges of an output, and the events of the input that is joined with it.
    Edges(EdgeTotals),
}

impl SeriesDetail {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// What the loop of `noise` counted on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseTotals {
    /// Iterations of the loop.
    pub turns: u64,
    /// Time that the loop ran (ns).
    pub observed_ns: u64,
    /// Sum of all gaps above the threshold (ns).
    pub stolen_ns: u64,
    /// Duration of the shortest iteration: the cost of the loop itself (ns).
    pub shortest_turn_ns: u64,
    /// Gaps that the kernel's limit on real-time threads (throttle, control group or fair server) was shown to cause.
    /// They are not among the samples. Gaps of which this is only likely stay among the samples.
    pub throttle_gaps: u64,
    /// Sum of the gaps in `throttle_gaps` (ns).
    pub throttle_ns: u64,
}

/// What a pair of threads counted of its hand-overs beside the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandOverTotals {
    /// Schedules that came up while the pair ran: each is a sample, a missed period, or one of `found_nobody`.
    pub schedules: u64,
    /// Hand-overs that found nobody asleep: the waiting call returned without a wake-up. They are not among the samples.
    pub found_nobody: u64,
    /// Missed periods at which the woken thread was not back from the hand-over before.
    pub not_back: u64,
    /// How often the woken thread was woken for nothing.
    pub spurious: u64,
}

/// What was counted of the edges of an output, and of the events that an input brought of them, beside the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeTotals {
    /// Edges that were made: each is a sample, one of `lost`, or one of `found_awake`.
    pub edges: u64,
    /// Edges of which no event came before they were given up.
    pub lost: u64,
    /// Edges whose event found the thread awake: the wait returned without a wake-up. They are not among the samples.
    pub found_awake: u64,
    /// Events that belong to no edge: a second one of the same edge, one that came after its edge was given up, or one that
    /// somebody else made.
    pub extra: u64,
    /// Events that the kernel had no room for, by the gaps in their numbers.
    pub overflowed: u64,
    /// Missed periods at which the waiting thread had not yet taken the event before.
    pub not_back: u64,
}

/// One interval of a run; by default min(5 minutes, duration / 60) long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Start of the interval, counted from the run's first schedule (ns).
    pub start_offset_ns: u64,
    /// Length (ns); the last interval can be shorter.
    pub length_ns: u64,
    /// Schedules that late wake-ups of this interval skipped.
    pub missed_periods: u64,
    /// The samples, except those below zero; their exact maximum is the interval maximum.
    pub histogram: Histogram,
    /// Samples below zero, by their magnitude; absent if there are none.
    pub below_zero: Option<Histogram>,
    /// Bounds on the error of the samples; absent if those of the series apply.
    pub uncertainty: Option<Uncertainty>,
    /// When the worst sample was taken; absent if that was not kept.
    pub max_at: Option<Moment>,
}

/// The intervals of a series that do not stand, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spoiled {
    /// Number of intervals.
    pub count: u64,
    /// Their length together (ns).
    pub length_ns: u64,
    /// Number of their samples, including those below zero.
    pub samples: u64,
    /// Schedules that late wake-ups of theirs skipped.
    pub missed_periods: u64,
    /// Each of them in chronological order, at most [`MOST`](Self::MOST): the first ones and the last one.
    pub intervals: Vec<SpoiledInterval>,
}

/// An interval that does not stand, with the figures that it would have had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpoiledInterval {
    /// Start of the interval, counted from the run's first schedule (ns).
    pub start_offset_ns: u64,
    /// Length (ns).
    pub length_ns: u64,
    /// Number of its samples, including those below zero.
    pub samples: u64,
    /// Schedules that late wake-ups skipped.
    pub missed_periods: u64,
    /// The worst of its samples (ns, with its sign); absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_ns: Option<i64>,
    /// When that one was taken; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_at: Option<Moment>,
    /// What spoiled it.
    pub reasons: Vec<Reason>,
}

impl SpoiledInterval {
    fn is_continued_by(&self, next: &Self) -> bool {
        self.start_offset_ns.saturating_add(self.length_ns) == next.start_offset_ns && self.reasons == next.reasons
    }
}

impl Spoiled {
    /// The largest number of intervals that are listed one by one, so that a run without an end needs no memory without one.
    pub const MOST: usize = 500;

    fn is_none(&self) -> bool {
        self.count == 0
    }

    /// The listed intervals with neighbors of the same reasons joined, for people.
    #[must_use]
    pub fn stretches(&self) -> Vec<SpoiledInterval> {
        let mut joined: Vec<SpoiledInterval> = Vec::new();
        for interval in &self.intervals {
            match joined.last_mut() {
                Some(last) if last.is_continued_by(interval) => {
                    last.length_ns = last.length_ns.saturating_add(interval.length_ns);
                    last.samples = last.samples.saturating_add(interval.samples);
                    last.missed_periods = last.missed_periods.saturating_add(interval.missed_periods);
                    if interval.worst_ns > last.worst_ns {
                        (last.worst_ns, last.worst_at) = (interval.worst_ns, interval.worst_at);
                    }
                }
                _ => joined.push(interval.clone()),
            }
        }
        joined
    }

    /// Adds an interval, which is not before the ones before it.
    pub fn add(&mut self, interval: SpoiledInterval) {
        self.count += 1;
        self.length_ns = self.length_ns.saturating_add(interval.length_ns);
        self.samples = self.samples.saturating_add(interval.samples);
        self.missed_periods = self.missed_periods.saturating_add(interval.missed_periods);
        if self.intervals.len() == Self::MOST {
            self.intervals.pop();
        }
        self.intervals.push(interval);
    }
}

/// The samples in the form that is compared with a deadline: one histogram without negative values.
fn judged<'a>(histogram: &'a Histogram, below_zero: Option<&'a Histogram>, sign: Sign) -> Cow<'a, Histogram> {
    let Some(below_zero) = below_zero.filter(|below| !below.is_empty()) else { return Cow::Borrowed(histogram) };
    let mut all = histogram.clone();
    match sign {
        Sign::Magnitude => all.merge(below_zero),
        Sign::NotNegative | Sign::NegativeIsEarly => all.record_n(0, below_zero.count()),
    }
    Cow::Owned(all)
}

impl Series {
    /// Whether another series, of a record of the same run, is this one at another time: it has the same name, place and node.
    #[must_use]
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        (&self.place, &self.name, &self.variant, &self.node) == (&other.place, &other.name, &other.variant, &other.node)
    }

    /// The series without anything that was measured: what it is of.
    #[must_use]
    pub fn identity(&self) -> Self {
        Self {
            node: self.node.clone(),
            name: self.name.clone(),
            variant: self.variant.clone(),
            place: self.place.clone(),
            ..Self::default()
        }
    }

    /// Number of samples, including those below zero.
    #[must_use]
    pub fn taken(&self) -> u64 {
        let below_zero = self.below_zero.as_ref().map_or(0, Histogram::count);
        self.histogram.count().saturating_add(below_zero)
    }

    /// All samples in the form that is compared with a deadline. Depending on `sign`, a sample below zero counts by its
    /// magnitude or as zero.
    #[must_use]
    pub fn judged_samples(&self, sign: Sign) -> Cow<'_, Histogram> {
        judged(&self.histogram, self.below_zero.as_ref(), sign)
    }

    /// The worst sample with its sign (ns); `None` if there are no samples.
    #[must_use]
    pub fn worst_ns(&self, sign: Sign) -> Option<i64> {
        worst_ns(&self.histogram, self.below_zero.as_ref(), sign)
    }

    /// The lowest sample with its sign (ns); `None` if there are no samples.
    #[must_use]
    pub fn lowest_ns(&self) -> Option<i64> {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let below_ns = self.below_zero.as_ref().and_then(Histogram::max_ns).map(|ns| -signed(ns));
        below_ns.or_else(|| self.histogram.min_ns().map(signed))
    }

    /// The value that a share of all samples (0 to 1) does not exceed, with its sign (ns); `None` if there are no samples.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        signed_quantile_ns(&self.histogram, self.below_zero.as_ref(), share)
    }

    /// What the loop of `noise` counted; `None` for other kinds of measurement.
    #[must_use]
    pub const fn gaps(&self) -> Option<&NoiseTotals> {
        match &self.detail {
            SeriesDetail::Gaps(totals) => Some(totals),
            _ => None,
        }
    }

    /// What a pair of threads counted of its hand-overs; `None` for other kinds of measurement.
    #[must_use]
    pub const fn hand_overs(&self) -> Option<&HandOverTotals> {
        match &self.detail {
            SeriesDetail::HandOvers(totals) => Some(totals),
            _ => None,
        }
    }

    /// What was counted of the edges of an output; `None` for other kinds of measurement.
    #[must_use]
    pub const fn edges(&self) -> Option<&EdgeTotals> {
        match &self.detail {
            SeriesDetail::Edges(totals) => Some(totals),
            _ => None,
        }
    }

    /// The median of the means of all blocks of 1,000 clock readings (ns); `None` for other kinds of measurement.
    #[must_use]
    pub const fn block_mean_median_ns(&self) -> Option<f64> {
        match self.detail {
            SeriesDetail::Readings { block_mean_median_ns } => Some(block_mean_median_ns),
            _ => None,
        }
    }
}

impl Interval {
    /// Number of samples, including those below zero.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.histogram.count().saturating_add(self.below_zero.as_ref().map_or(0, Histogram::count))
    }

    /// The samples in the form that is compared with a deadline, as [`Series::judged_samples`].
    #[must_use]
    pub fn judged_samples(&self, sign: Sign) -> Cow<'_, Histogram> {
        judged(&self.histogram, self.below_zero.as_ref(), sign)
    }

    /// The value that a share of the samples does not exceed, as [`Series::quantile_ns`].
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        signed_quantile_ns(&self.histogram, self.below_zero.as_ref(), share)
    }

    /// Joins this interval and the one that follows it.
    #[must_use]
    pub fn followed_by(&self, next: &Self) -> Self {
        let mut joined = self.clone();
        if next.worst_ns(Sign::NotNegative) > self.worst_ns(Sign::NotNegative) {
            joined.max_at = next.max_at;
        }
        joined.length_ns = joined.length_ns.saturating_add(next.length_ns);
        joined.missed_periods = joined.missed_periods.saturating_add(next.missed_periods);
        joined.histogram.merge(&next.histogram);
        if let Some(below_zero) = &next.below_zero {
            joined.below_zero.get_or_insert_default().merge(below_zero);
        }
        joined.uncertainty = match (self.uncertainty, next.uncertainty) {
            (Some(own), Some(other)) => Some(own.widest(other)),
            (one, other) => one.or(other),
        };
        joined
    }

    /// The interval maximum with its sign, as [`Series::worst_ns`].
    #[must_use]
    pub fn worst_ns(&self, sign: Sign) -> Option<i64> {
        worst_ns(&self.histogram, self.below_zero.as_ref(), sign)
    }
}

/// Samples below zero are kept by their magnitude: the largest magnitude is the lowest sample.
fn signed_quantile_ns(histogram: &Histogram, below_zero: Option<&Histogram>, share: f64) -> Option<i64> {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let below_count = below_zero.map_or(0, Histogram::count);
    let all = histogram.count().saturating_add(below_count);
    // The place of the value in the order, from 1, lowest first. Half a place less makes a share that no rounding moves on.
    let rank = units::round_u64((share.clamp(0.0, 1.0) * units::approx_f64(all)).ceil()).clamp(1, all.max(1));
    let share_of = |rank: u64, count: u64| (units::approx_f64(rank) - 0.5) / units::approx_f64(count);
    match below_zero {
        Some(below) if rank <= below_count => {
            below.quantile_ns(share_of(below_count - rank + 1, below_count)).map(|ns| -signed(ns))
        }
        _ => histogram.quantile_ns(share_of(rank - below_count, histogram.count())).map(signed),
    }
}

fn worst_ns(histogram: &Histogram, below_zero: Option<&Histogram>, sign: Sign) -> Option<i64> {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let above = histogram.max_ns().map(signed);
    let Some(below) = below_zero else { return above };
    match sign {
        Sign::Magnitude => {
            above.into_iter().chain(below.max_ns().map(|ns| -signed(ns))).max_by_key(|ns| ns.unsigned_abs())
        }
        // If no sample was late, the worst is the one that was least early.
        Sign::NotNegative | Sign::NegativeIsEarly => above.or_else(|| below.min_ns().map(|ns| -signed(ns))),
    }
}

/// Events that are counted in addition to the samples of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Number of samples that were recorded.
    pub samples: u64,
    /// Samples lost because the hand-over ring was full.
    pub dropped: u64,
    /// Schedules that late wake-ups skipped: the sum of floor(latency / interval).
    pub missed_periods: u64,
    /// Packets that were sent and did not arrive; of orders that a node was to carry out, those that it did not, for whatever reason.
    /// Absent if the samples are neither, or if the number is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Samples above the deadline; if none was stated, above the interval.
    pub late_samples: u64,
    /// Bursts: runs of consecutive periods that were missed or late.
    pub rows: u64,
    /// Length of the longest burst, in periods.
    pub longest_row_periods: u64,
    /// Longest time from the first missed schedule of a burst to the first wake-up that is again within one interval (ns).
    pub longest_recovery_ns: u64,
    /// Corrected samples that were not added, because one stall adds at most a million.
    #[serde(default)]
    pub corrections_left_out: u64,
    /// Voluntary context switches of the thread (one for each sleep). Absent if the run was cut short before they could be
    /// read; the same holds for the next three fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches after the thread started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// Minor page faults (served from memory) after the thread started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Major page faults (served from a disk) after the thread started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Migrations to another CPU after the thread started; absent if the kernel does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// Sleeps that ended early with an error or a signal.
    #[serde(default)]
    pub interrupted_sleeps: u64,
    /// Steal time of this CPU during the run, taken by the hypervisor (ns, in steps of a clock tick); absent if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// System management interrupts on this CPU during the run; absent if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smi: Option<u64>,
}

/// One of the worst samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorstSample {
    /// Name of the node in this run, as in the series.
    #[serde(default)]
    pub node: String,
    /// Where in the node the sample was taken.
    pub place: Place,
    /// Name of the latency that the sample is judged by.
    pub name: String,
    /// The latency (ns).
    pub latency_ns: i64,
    /// Other latencies of the same sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub besides: Vec<NamedLatency>,
    /// Number of the sample among those of its place, from 0.
    pub sample: u64,
    /// Schedules that the late wake-up skipped.
    pub missed_periods: u64,
    /// The first of the latency's two points.
    pub from: Point,
    /// The second of the latency's two points.
    pub to: Point,
}

/// A latency of a sample other than the one that the sample is judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedLatency {
    /// The latency, named by its two points as in the glossary.
    pub name: String,
    /// The latency's value (ns).
    pub ns: i64,
}

/// A burst: consecutive periods that were missed, or late beyond the deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissedRow {
    /// Name of the node in this run, as in the series.
    #[serde(default)]
    pub node: String,
    /// Where in the node the periods were missed.
    pub place: Place,
    /// When the first late wake-up was scheduled.
    pub first_scheduled: Moment,
    /// Periods in the burst: late wake-ups and the schedules that they skipped.
    pub periods: u64,
    /// Of these, schedules that were skipped.
    pub missed_periods: u64,
    /// The worst latency in the burst (ns).
    pub worst_ns: i64,
    /// Time from the first missed schedule to the first wake-up that was again within one interval (ns).
    /// Absent if no schedule was missed, or if the run ended first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_ns: Option<u64>,
}
