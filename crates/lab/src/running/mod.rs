//! Running labs: a keeper process runs the guests and serves their ports to clients.
//!
//! The keeper is a separate process in a separate session. Guests end with it, however it ends. The keeper ends if the
//! command that started it goes away without having ordered the lab to stay.

mod alone;
mod client;
mod clock_rate;
mod control;
mod fetch;
mod guest;
mod keeper;
mod network;
mod place;
mod port;
mod power;
mod qemu;
mod relay;

pub use alone::{AloneError, AloneGuest, Hardware};
pub use client::{ExecError, Streams, exec, restart};
pub use control::{ControlError, change_link, segments};
pub use fetch::{FetchError, Found, fetch, look, put};
pub use keeper::{KEEPER_COMMAND, KeeperError, Started, keep, start};
pub use network::{LinkOrder, PortReport, SegmentReport};
pub use place::{Lab, PlaceError, all, find};
pub(crate) use qemu::BOOT;
pub use relay::{RELAY_COMMAND, relay};
