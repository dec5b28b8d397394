//! Stalls, verdicts and statistics over records.

#![forbid(unsafe_code)]

pub mod audit;
pub mod cause;
pub mod compare;
mod dependence;
mod load_turns;
pub mod rhythm;
mod stall;
pub mod tail;
mod verdict;

pub use load_turns::{LoadTurn, LoadTurns, load_turns};
pub use stall::{KEPT_ROWS, Row, StallRules, StallTotals, StallTracker, keep_longest};
pub use verdict::{RunOutcome, outcome, verdict};

/// A count as a float.
pub(crate) fn float(count: usize) -> f64 {
    units::approx_f64(count as u64)
}
