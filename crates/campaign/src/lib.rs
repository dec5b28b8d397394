//! Campaigns: what is compared ([`Campaign`], from a file), which conditions that makes, and in which order they are
//! measured ([`Campaign::runs`]).
//!
//! Everything here is pure: the same file and seed give the same runs in the same order, after a kill or a restart too.

#![forbid(unsafe_code)]

mod file;
mod order;

pub use file::{Campaign, CampaignError, Design, Factor, Level, Measurement, Order};
pub use order::{Condition, Run};
