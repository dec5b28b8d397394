//! What runs inside a guest: this same program as its first process, and as the agent that does what the lab asks.

mod agent;
mod console;
mod init;
mod installed;
pub mod protocol;

pub use agent::agent;
pub(crate) use console::end_of_console;
pub use init::{GUEST_FILE, GuestFile, init};
pub use installed::installed;

/// The hidden command by which this program is a guest's first process.
pub const INIT_COMMAND: &str = "__lab-init";
/// The hidden command by which the first process starts the agent.
pub const AGENT_COMMAND: &str = "__lab-agent";
/// The hidden command by which an installed system's unit starts the agent.
pub const INSTALLED_COMMAND: &str = "__lab-installed";
/// The name of the port between agent and lab.
pub const PORT_NAME: &str = "punctual.lab";
