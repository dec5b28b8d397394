//! What runs inside a guest of the virtual lab: this same program as its first process, and as the agent that does what
//! the lab asks.
//!
//! A crate of its own, since it is in the board's build too: what the lab tests there is the very file that goes onto
//! boards, and the lab itself does not.

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

/// The hidden command by which this program is a guest's first process.
pub const INIT_COMMAND: &str = "__lab-init";
/// The hidden command by which the first process starts the agent.
pub const AGENT_COMMAND: &str = "__lab-agent";
/// The hidden command by which an installed system's unit starts the agent.
pub const INSTALLED_COMMAND: &str = "__lab-installed";
/// The name of the port between agent and lab.
pub const PORT_NAME: &str = "punctual.lab";
