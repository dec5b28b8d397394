//! Periods among the late samples of a run.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Exact;

/// What a scan for periods found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RhythmScanView {
    /// What was looked for, and among how many, in a sentence; it says where nothing was found.
    pub sentence: String,
    /// The rhythms, that of the most late time first.
    pub rhythms: Vec<RhythmView>,
    /// Periods that the sampling interval hides, in words.
    pub hidden: Vec<String>,
}

/// One period, with its late samples folded into it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RhythmView {
    /// How many late samples come back how often, and what is likely to do that.
    pub sentence: String,
    /// The period with its uncertainty: `100.00 ms (±0.02)`.
    pub period: String,
    /// The period (ns).
    pub period_ns: f64,
    /// Width of the part of the period into which its samples fall (ns); its middle is the middle of the plot.
    pub width_ns: Exact,
    /// `begin` or `end`: which end of the delays keeps the phase.
    pub end: String,
    /// Where in the period each late sample lies (ns); the worst few hundred.
    pub folded_ns: Vec<Exact>,
    /// The latency of each of these (ns).
    pub folded_latency_ns: Vec<Exact>,
}
