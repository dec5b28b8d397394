//! A lab that runs: its keeper holds the guests and their ports, clients come and go.
//!
//! The keeper is a process of its own in a session of its own. Guests end with it, however it ends; and it ends when
//! the command that started it goes away before having said that the lab shall stay.

mod client;
mod clock_rate;
mod control;
mod guest;
mod keeper;
mod network;
mod place;
mod port;
mod power;
mod qemu;

pub use client::{ExecError, Streams, exec, restart};
pub use control::{ControlError, change_link, segments};
pub use keeper::{KEEPER_COMMAND, KeeperError, Started, keep, start};
pub use network::{LinkOrder, PortReport, SegmentReport};
pub use place::{Lab, PlaceError, all, find};
pub(crate) use qemu::BOOT;
