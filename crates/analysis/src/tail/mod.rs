//! Predicts the worst case of a future time span from the maxima of a run's intervals.
//!
//! Blocks (from records) -> stationarity -> two fits, resampled -> prediction, or a refusal with its reason -> claim.
//! What is refused, and why, is documented at each step and in `docs/decisions/0010-when-a-worst-case-may-be-predicted.md`.
//! Events that never occurred in the run cannot be predicted.

mod answer;
mod assemble;
mod blocks;
mod by_cause;
mod causes;
mod claim;
mod clocks;
mod document;
mod falling;
mod gev;
mod gpd;
mod heavy;
mod judge;
mod lmoments;
mod outlook;
mod plateau;
mod prediction;
mod rate;
mod recombine;
mod refusal;
mod regimes;
mod rehearse;
mod resample;
mod sequential;
mod simplex;
mod simulate;
mod span;
mod spans;
mod stationarity;
#[cfg(test)]
mod tests;
mod watch;
mod words;

use record::Record;

pub use assemble::{TailError, TailOptions, tail};
pub use claim::{Basis, Claim, ClaimAnswer, ClaimError, ClaimState, Exceeded};
pub use document::{
    ByCause, CauseTail, Curve, Expectation, Fit, FitSummary, Maxima, Observed, Stationarity, TAIL_SCHEMA, TAIL_VERSION,
    Tail, TailMethod, TailRun, Without, WorstBasis, WorstCase,
};
pub use refusal::{Refusal, RefusalCode};
pub use rehearse::{
    REHEARSAL_SCHEMA, REHEARSAL_VERSION, RefusedCount, Rehearsal, RehearsalOptions, RehearsalRow, TOGETHER, rehearse,
    rehearse_records,
};
pub use sequential::DecisionRow;
pub use watch::Watch;

pub use span::{DAY_NS, YEAR_NS, parse_span, span_words};

/// The latencies of a run for which a prediction is possible; the first one is the default.
#[must_use]
pub fn latencies(record: &Record) -> Vec<&'static str> {
    let all = record.measurement.kind().predicted;
    let recorded = |name: &str| record.series.iter().any(|series| series.name == name);
    let found: Vec<&str> = all.iter().copied().filter(|name| recorded(name)).collect();
    // A run without a sample still has a latency.
    if found.is_empty() { all.iter().rev().take(1).copied().collect() } else { found }
}
