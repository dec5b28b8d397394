//! Periods among the late samples of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// What a scan for periods among the late samples of a run found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RhythmScan {
    /// Late samples that were scanned; late samples that follow each other directly count once in a rhythm.
    pub late_samples: u64,
    /// Each of them exceeded this latency (ns).
    pub above_ns: u64,
    /// The shortest period that the scan could find (ns): what the sampling interval allows.
    pub shortest_period_ns: u64,
    /// The longest period that the scan could find (ns): a third of the run.
    pub longest_period_ns: u64,
    /// Why no scan took place; absent where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_scanned: Option<String>,
    /// The rhythms, that of the most late time first.
    #[serde(default)]
    pub rhythms: Vec<Rhythm>,
    /// Periods that the sampling interval hides on this machine, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

/// Which end of a delay keeps the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RhythmEnd {
    /// The moment at which the first late thread should have woken, known to within one sampling interval.
    Begins,
    /// The moment at which the late thread woke.
    Ends,
}

/// Late samples that come back with one period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rhythm {
    /// The period on the machine's monotonic clock (ns).
    pub period_ns: f64,
    /// Half the width of the period's 95 % confidence interval (ns).
    pub period_uncertainty_ns: f64,
    /// Which end of the delays keeps the phase.
    pub end: RhythmEnd,
    /// From the run's first schedule to the first moment of the rhythm (ns), between 0 and the period.
    pub phase_ns: u64,
    /// Width of the part of the period into which the moments fall (ns).
    pub width_ns: u64,
    /// The rhythm was found among the samples above this latency (ns).
    pub above_ns: u64,
    /// Late samples above that latency on these CPUs; those that follow each other directly count once.
    pub late: u64,
    /// Of these, those in the rhythm.
    pub in_rhythm: u64,
    /// Periods that the scanned part of the run spans.
    pub cycles: u64,
    /// Share of the summed latency of all these late samples that the rhythm holds (0 to 1).
    pub late_time_share: f64,
    /// Median latency of the late samples in the rhythm (ns).
    pub median_ns: u64,
    /// Maximum latency in the rhythm (ns).
    pub max_ns: u64,
    /// Bound on the probability that a run without any rhythm shows one as clear as this, all trials counted (0 to 1).
    pub false_alarm: f64,
    /// CPUs on which it was found; empty where the threads were not pinned.
    pub cpus: CpuSet,
    /// Whether it has the same phase on all of them; `false` where there is one CPU.
    pub in_phase: bool,
    /// What has this period on this machine and is not contradicted, each of them likely and none shown; empty where
    /// nothing known has it.
    #[serde(default)]
    pub likely: Vec<String>,
    /// The cause that `--explain` showed for most of its samples, where it did; it stands above what is likely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// For the plot: where in the period each late sample lies (ns), the rhythm in the middle; the worst few hundred.
    #[serde(default)]
    pub folded_ns: Vec<u64>,
    /// For the plot: the latency of each of these (ns).
    #[serde(default)]
    pub folded_latency_ns: Vec<u64>,
}
