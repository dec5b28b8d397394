//! How sure, how long: the worst case to be expected in a time to come, out of the maxima of a run's intervals.
//!
//! blocks (out of records) -> stationarity -> two fits, resampled -> prediction, or a refusal with its reason -> claim.
//! What is refused, and why, stands with each step and in `docs/decisions/0010-when-a-worst-case-may-be-foretold.md`.
//! What did not happen in the run at all cannot be foreseen by any of this.

mod answer;
mod assemble;
mod blocks;
mod claim;
mod document;
mod falling;
mod gev;
mod gpd;
mod judge;
mod lmoments;
mod prediction;
mod refusal;
mod regimes;
mod rehearse;
mod resample;
mod simplex;
mod simulate;
mod span;
mod stationarity;
#[cfg(test)]
mod tests;
mod watch;
mod words;

use record::Measurement;

pub use assemble::{TailError, TailOptions, tail};
pub use claim::{Basis, Claim, ClaimAnswer, ClaimError, ClaimState};
pub use document::{
    Curve, Expectation, Fit, FitSummary, Maxima, Observed, Stationarity, TAIL_SCHEMA, TAIL_VERSION, Tail, TailMethod,
    TailRun, WorstCase,
};
pub use refusal::{Refusal, RefusalCode};
pub use rehearse::{
    REHEARSAL_SCHEMA, REHEARSAL_VERSION, RefusedCount, Rehearsal, RehearsalOptions, RehearsalRow, rehearse,
    rehearse_records,
};
pub use watch::Watch;

pub use span::{DAY_NS, YEAR_NS, parse_span, span_words};

/// The latency whose tail is looked at; `None` where a measurement has none.
pub(crate) const fn latency_of(measurement: Measurement) -> Option<&'static str> {
    match measurement {
        Measurement::Wakeup => Some("scheduled_to_woke"),
        Measurement::Noise => Some("left_to_resumed"),
        Measurement::App => Some("runnable_to_running"),
        Measurement::Clock => None,
    }
}
