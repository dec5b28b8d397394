//! Campaigns: what is compared ([`Campaign`], from a file), which conditions that makes and in which order they are
//! measured ([`Campaign::layout`]), what has been done ([`journal`]), and what came of it ([`result`]).
//!
//! Everything here is pure: the same file and seed give the same runs in the same order, after a kill or a restart too.

#![forbid(unsafe_code)]

mod bounds;
mod choice;
mod file;
pub mod journal;
mod order;
pub mod result;
pub mod shipped;

pub use choice::{Choice, ChoiceError, declared};
pub use file::{Campaign, CampaignError, Confirm, Design, Duration, Factor, Level, Measurement, Order, Stop};
pub use order::{Condition, Layout, Phase, Visit};
