//! The samples of a run: one series for each latency at each place, cut into intervals.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Histogram, Moment, Place, Point, Sign, Uncertainty};

/// The samples of one latency at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The node by its name in this run; empty for the leading one where the record has not been put together yet.
    #[serde(default)]
    pub node: String,
    /// Where in the node it was measured.
    pub place: Place,
    /// The latency by its two points, as in the glossary: `scheduled_to_woke`, `read_to_read`, …
    pub name: String,
    /// What distinguishes this series from others of its name and place: `monotonic vdso`, …; empty where these do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Whether a deadline judges this latency. Of several latencies of the same samples only some are judged.
    pub judged: bool,
    /// Time from one schedule to the next (ns), where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Every sample as it was taken, save for those below zero.
    pub histogram: Histogram,
    /// Samples below zero, by their magnitude; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_zero: Option<Histogram>,
    /// The corrected view: besides every sample also one for each schedule that a late wake-up swallowed.
    /// Absent where nothing was swallowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Histogram>,
    /// How far any sample of the run can be from the truth; absent where both points are readings of one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<Uncertainty>,
    /// What was counted beside the samples.
    pub counters: Counters,
    /// When the maximum was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_at: Option<Moment>,
    /// What only some kinds of measurement have.
    #[serde(default, skip_serializing_if = "SeriesDetail::is_none")]
    pub detail: SeriesDetail,
    /// The run in pieces, in the order of time; they stand in a list of all series in the file.
    #[serde(skip)]
    pub intervals: Vec<Interval>,
}

impl Default for Series {
    /// One without a sample, which is judged.
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
            counters: Counters::default(),
            max_at: None,
            detail: SeriesDetail::None,
            intervals: Vec::new(),
        }
    }
}

/// What a series has that only some kinds of measurement have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SeriesDetail {
    /// Nothing.
    #[default]
    None,
    /// Readings of a clock one after the other.
    Readings {
        /// Mean of each block of 1,000 readings (ns): median over the blocks.
        block_mean_median_ns: f64,
    },
    /// Gaps of a loop that never sleeps.
    Gaps(NoiseTotals),
}

impl SeriesDetail {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// What the loop of `noise` counted on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseTotals {
    /// Turns of the loop.
    pub turns: u64,
    /// Time that the loop ran (ns).
    pub observed_ns: u64,
    /// The sum of all gaps above the threshold (ns).
    pub stolen_ns: u64,
    /// The shortest turn: what the loop itself costs (ns).
    pub shortest_turn_ns: u64,
    /// Gaps that were shown to be stops by a limit of the kernel's on real-time threads (throttle, control group or fair
    /// server), kept apart from the samples. Those that are only likely stops stay among the samples.
    pub throttle_gaps: u64,
    /// Their sum (ns).
    pub throttle_ns: u64,
}

/// One piece of a run: min(5 minutes, duration / 60) long unless set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Its start, counted from the run's first schedule (ns).
    pub start_offset_ns: u64,
    /// Its length (ns); the last can be shorter.
    pub length_ns: u64,
    /// Schedules that a late wake-up of this interval swallowed.
    pub missed_periods: u64,
    /// Its samples, save for those below zero; their exact maximum is the interval maximum.
    pub histogram: Histogram,
    /// Its samples below zero, by their magnitude; absent where there are none.
    pub below_zero: Option<Histogram>,
    /// How far any of its samples can be from the truth; absent where the series' own holds for all of them.
    pub uncertainty: Option<Uncertainty>,
}

/// The samples as a deadline judges them: one histogram without a sign.
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
    /// All its samples, those below zero included.
    #[must_use]
    pub fn taken(&self) -> u64 {
        let below_zero = self.below_zero.as_ref().map_or(0, Histogram::count);
        self.histogram.count().saturating_add(below_zero)
    }

    /// All its samples as a deadline judges them: by their magnitude, or those below zero as zero.
    #[must_use]
    pub fn judged_samples(&self, sign: Sign) -> Cow<'_, Histogram> {
        judged(&self.histogram, self.below_zero.as_ref(), sign)
    }

    /// The sample that is farthest from what it should be, with its sign (ns); `None` where there is none.
    #[must_use]
    pub fn worst_ns(&self, sign: Sign) -> Option<i64> {
        worst_ns(&self.histogram, self.below_zero.as_ref(), sign)
    }

    /// What the loop of `noise` counted; `None` where it is another kind's series.
    #[must_use]
    pub const fn gaps(&self) -> Option<&NoiseTotals> {
        match &self.detail {
            SeriesDetail::Gaps(totals) => Some(totals),
            _ => None,
        }
    }

    /// The median over the blocks of 1,000 readings of their means (ns); `None` where it is another kind's series.
    #[must_use]
    pub const fn block_mean_median_ns(&self) -> Option<f64> {
        match self.detail {
            SeriesDetail::Readings { block_mean_median_ns } => Some(block_mean_median_ns),
            _ => None,
        }
    }
}

impl Interval {
    /// All its samples, those below zero included.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.histogram.count().saturating_add(self.below_zero.as_ref().map_or(0, Histogram::count))
    }

    /// Its samples as a deadline judges them, as [`Series::judged_samples`].
    #[must_use]
    pub fn judged_samples(&self, sign: Sign) -> Cow<'_, Histogram> {
        judged(&self.histogram, self.below_zero.as_ref(), sign)
    }

    /// This interval and the one after it as one.
    #[must_use]
    pub fn followed_by(&self, next: &Self) -> Self {
        let mut joined = self.clone();
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

fn worst_ns(histogram: &Histogram, below_zero: Option<&Histogram>, sign: Sign) -> Option<i64> {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let above = histogram.max_ns().map(signed);
    let Some(below) = below_zero else { return above };
    match sign {
        Sign::Magnitude => {
            above.into_iter().chain(below.max_ns().map(|ns| -signed(ns))).max_by_key(|ns| ns.unsigned_abs())
        }
        // The least early of them, where nothing was late at all.
        Sign::NotNegative | Sign::NegativeIsEarly => above.or_else(|| below.min_ns().map(|ns| -signed(ns))),
    }
}

/// What is counted beside the samples of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Samples taken.
    pub samples: u64,
    /// Samples that found no place in the hand-over ring.
    pub dropped: u64,
    /// Schedules swallowed by late wake-ups: the sum of floor(latency / interval).
    pub missed_periods: u64,
    /// Samples beyond the deadline; without one, beyond the interval.
    pub late_samples: u64,
    /// Rows of consecutive periods that were missed or late.
    pub rows: u64,
    /// The longest row, in periods.
    pub longest_row_periods: u64,
    /// The longest time from a first missed schedule to the first wake-up that is again within one interval (ns).
    pub longest_recovery_ns: u64,
    /// Corrected samples that were not added, beyond a million for one stall.
    #[serde(default)]
    pub corrections_left_out: u64,
    /// Context switches that the thread asked for (one each sleep); absent where the run was cut short before it could say so,
    /// as in the following three.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<u64>,
    /// Context switches forced upon it after it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// Page faults served from memory after it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Page faults served from a disk after it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Moves to another CPU after it started; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// Sleeps that ended early with an error or a signal.
    #[serde(default)]
    pub interrupted_sleeps: u64,
    /// Time that the hypervisor took from this CPU during the run (ns, in steps of a clock tick); absent where unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// System management interrupts on this CPU during the run; absent where unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smi: Option<u64>,
}

/// One of the worst samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorstSample {
    /// The node by its name in this run, as the series have it.
    #[serde(default)]
    pub node: String,
    /// Where in the node it was taken.
    pub place: Place,
    /// Which latency: the one that the samples are judged by.
    pub name: String,
    /// The latency (ns).
    pub latency_ns: i64,
    /// Other latencies of the same sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub besides: Vec<NamedLatency>,
    /// Its number among the samples of its place, from 0.
    pub sample: u64,
    /// Schedules that it swallowed.
    pub missed_periods: u64,
    /// The first of the latency's two points.
    pub from: Point,
    /// The second of them.
    pub to: Point,
}

/// A latency of a sample that is not the one it is judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedLatency {
    /// Which, by its two points.
    pub name: String,
    /// How long (ns).
    pub ns: i64,
}

/// A run of consecutive periods that were missed or late beyond the deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissedRow {
    /// The node by its name in this run, as the series have it.
    #[serde(default)]
    pub node: String,
    /// Where in the node.
    pub place: Place,
    /// The first late schedule.
    pub first_scheduled: Moment,
    /// Periods in the row: late wake-ups and the schedules that they swallowed.
    pub periods: u64,
    /// Of these, schedules that were swallowed.
    pub missed_periods: u64,
    /// The worst latency in it (ns).
    pub worst_ns: i64,
    /// From the first missed schedule to the first wake-up that was again within one interval (ns);
    /// absent where no schedule was missed, or the run ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_ns: Option<u64>,
}
