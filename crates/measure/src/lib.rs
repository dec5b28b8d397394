//! The measurements: plan, arm, hot loop, drain.

#![forbid(unsafe_code)]
