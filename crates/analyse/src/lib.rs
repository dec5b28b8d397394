//! Stalls, verdicts and statistics over records.

#![forbid(unsafe_code)]

mod assess;
mod assessment;
pub mod audit;
pub mod compare;
mod stall;
#[cfg(test)]
mod tests_support;
mod verdict;

pub use assess::{AssessmentInput, assess};
pub use assessment::{Answer, Assessment, Change};
pub use stall::{KEPT_ROWS, Row, StallRules, StallTotals, StallTracker};
pub use verdict::{RunOutcome, outcome, verdict};
