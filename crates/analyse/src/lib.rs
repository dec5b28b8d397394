//! Stalls, verdicts and statistics over records.

#![forbid(unsafe_code)]
