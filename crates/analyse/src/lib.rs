//! Stalls, verdicts and statistics over records.

#![forbid(unsafe_code)]

mod assessment;

pub use assessment::{Answer, Assessment, Change};
