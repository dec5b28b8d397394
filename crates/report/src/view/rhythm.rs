//! Rhythms: late samples of a run that recur with a fixed period.

use schemars::JsonSchema;
use serde::Serialize;

use crate::exact::Exact;

/// The result of a scan for rhythms among late samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RhythmScanView {
    /// The range of periods that was scanned, the number of samples, and whether there are no further rhythms, in a
    /// sentence.
    pub sentence: String,
    /// The rhythms found, the one with the largest summed latency first.
    pub rhythms: Vec<RhythmView>,
    /// Periods that the sampling interval hides, in words.
    pub hidden: Vec<String>,
}

/// One rhythm, with the late samples folded into its period.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RhythmView {
    /// How many late samples recur with which period, and the likely cause.
    pub sentence: String,
    /// The period with its uncertainty: `100.00 ms (±0.02)`.
    pub period: String,
    /// The period (ns).
    pub period_ns: f64,
    /// Width of the part of the period into which its samples fall (ns); its middle is the middle of the plot.
    pub width_ns: Exact,
    /// The end of the delays that has a constant phase: `begin` or `end`.
    pub end: String,
    /// Position in the period of each late sample (ns); the worst few hundred.
    pub folded_ns: Vec<Exact>,
    /// The latency of each sample in `folded_ns` (ns).
    pub folded_latency_ns: Vec<Exact>,
}
