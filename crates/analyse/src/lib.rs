//! Stalls, verdicts and statistics over records.

#![forbid(unsafe_code)]

mod assessment;
mod stall;
mod verdict;

pub use assessment::{Answer, Assessment, Change};
pub use stall::{KEPT_ROWS, Row, StallRules, StallTotals, StallTracker};
pub use verdict::{RunOutcome, outcome, verdict};
