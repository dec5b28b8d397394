//! Campaigns: what is compared ([`Campaign`], from a file), which conditions that makes and in which order they are
//! measured ([`Campaign::layout`]), what of it fits a machine ([`Campaign::fitted`]), what has been done ([`journal`]), and what came of it ([`result`]).
//!
//! Everything here is pure: the same file and seed give the same runs in the same order, after a kill or a restart too.

#![forbid(unsafe_code)]

mod bounds;
mod choice;
mod file;
mod fitted;
mod influence;
pub mod journal;
mod needs;
mod order;
pub mod result;
pub mod shipped;
mod sight;

pub use choice::{Choice, ChoiceError, declared};
pub use file::{
    Asked, Campaign, CampaignError, Confirm, Design, Duration, Factor, Level, Measurement, Order, Stop, What,
};
pub use fitted::{FitError, Planned, Wanted};
pub use influence::cannot_matter;
pub use order::{Condition, Layout, Phase, Visit};
pub use sight::Sight;
