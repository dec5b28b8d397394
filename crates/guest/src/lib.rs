//! What runs inside a guest of the virtual lab: this same program as its first process, and as the agent that runs
//! programs for the lab.
//!
//! It is a separate crate because the build for boards contains it too, unlike the lab itself: the lab then tests
//! exactly the file that goes onto boards.

#![forbid(unsafe_code)]

mod agent;
mod init;
mod installed;
mod interfaces;
pub mod protocol;

pub use agent::agent;
pub use init::{GUEST_FILE, GuestFile, init};
pub use installed::installed;
pub use interfaces::Interface;

/// The hidden command that runs this program as a guest's first process.
pub const INIT_COMMAND: &str = "__lab-init";
/// The hidden command with which the first process starts the agent.
pub const AGENT_COMMAND: &str = "__lab-agent";
/// The hidden command with which an installed system's unit starts the agent.
pub const INSTALLED_COMMAND: &str = "__lab-installed";
/// The name of the virtio-serial port between agent and lab.
pub const PORT_NAME: &str = "punctual.lab";
