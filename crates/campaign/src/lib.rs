//! Campaigns, from the file to the result.
//!
//! - [`Campaign`]: what is compared, read from a file.
//! - [`Campaign::layout`]: the conditions and the order in which they are measured.
//! - [`Campaign::fitted`]: the campaign as one machine can run it.
//! - [`journal`]: what has been done so far.
//! - [`result`]: what the campaign showed.
//!
//! Everything here is pure: the same file and seed give the same runs in the same order, also after a kill or a reboot.

#![forbid(unsafe_code)]

pub mod ab;
mod bounds;
mod choice;
mod file;
mod fitted;
mod influence;
pub mod journal;
mod measured;
mod needs;
mod order;
pub mod result;
pub mod shipped;
mod sight;

pub use choice::{Choice, ChoiceError, declared};
pub use file::{
    Asked, Campaign, CampaignError, Confirm, Design, Duration, Factor, Level, Measurement, Order, Stop, in_words,
};
pub use fitted::{FitError, Overrides, Planned};
pub use influence::cannot_matter;
pub use order::{Condition, Layout, Phase, Visit};
pub use sight::Sight;
