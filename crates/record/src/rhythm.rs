//! Rhythms: late samples of a run that recur with a fixed period.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// The result of a scan for rhythms among the late samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RhythmScan {
    /// Late samples that were scanned. In a rhythm, late samples in direct succession count as one.
    pub late_samples: u64,
    /// Latency that each of these samples exceeded (ns).
    pub above_ns: u64,
    /// The shortest period that the scan could find (ns); the sampling interval limits it.
    pub shortest_period_ns: u64,
    /// The longest period that the scan could find (ns): a third of the run.
    pub longest_period_ns: u64,
    /// Why no scan took place; absent if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_scanned: Option<String>,
    /// The rhythms found, the one with the largest summed latency first.
    #[serde(default)]
    pub rhythms: Vec<Rhythm>,
    /// Periods that the sampling interval hides on this machine, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

/// The end of a delay that has a constant phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RhythmEnd {
    /// The moment at which the first late thread should have woken, known to within one sampling interval.
    Begins,
    /// The moment at which the late thread woke.
    Ends,
}

/// Late samples that recur with a fixed period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rhythm {
    /// The period on the machine's monotonic clock (ns).
    pub period_ns: f64,
    /// Half the width of the period's 95 % confidence interval (ns).
    pub period_uncertainty_ns: f64,
    /// The end of the delays that has a constant phase.
    pub end: RhythmEnd,
    /// Time from the run's first schedule to the first event of the rhythm (ns); between 0 and the period.
    pub phase_ns: u64,
    /// Width of the part of the period into which the events fall (ns).
    pub width_ns: u64,
    /// The rhythm was found among the samples above this latency (ns).
    pub above_ns: u64,
    /// Late samples above that latency on `cpus`; those in direct succession count as one.
    pub late: u64,
    /// Of these, samples that belong to the rhythm.
    pub in_rhythm: u64,
    /// Periods that the scanned part of the run spans.
    pub cycles: u64,
    /// The rhythm's share of the summed latency of all these late samples (0 to 1).
    pub late_time_share: f64,
    /// Median latency of the late samples in the rhythm (ns).
    pub median_ns: u64,
    /// Maximum latency in the rhythm (ns).
    pub max_ns: u64,
    /// Upper bound on the probability that a run without any rhythm shows one as clear as this (0 to 1), corrected for the
    /// number of trials.
    pub false_alarm: f64,
    /// CPUs on which the rhythm was found; empty if the threads were not pinned.
    pub cpus: CpuSet,
    /// Whether it has the same phase on all of them; `false` if there is only one CPU.
    pub in_phase: bool,
    /// Likely causes: everything known on this machine that has this period and that no evidence contradicts. None of them
    /// is shown to be the cause. Empty if nothing known fits.
    #[serde(default)]
    pub likely: Vec<String>,
    /// What this machine is known to have with this period although the samples speak against it, each with what does.
    /// Given only if `likely` is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicted: Vec<String>,
    /// The cause that `--explain` showed for most of its samples; absent if there is none. It outranks `likely`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// For the plot: position in the period of each late sample (ns), with the rhythm in the middle; the worst few hundred.
    #[serde(default)]
    pub folded_ns: Vec<u64>,
    /// For the plot: the latency of each sample in `folded_ns` (ns).
    #[serde(default)]
    pub folded_latency_ns: Vec<u64>,
}
