//! Monitors a node for ever: a measurement without an end whose intervals go to the disk as they end, and from there to a hub.
//!
//! Four threads, none of which the measurement waits for. The measurement hands intervals to the keeper; the keeper makes entries of
//! them and brings them to the disk, once an interval; the sender sends what is on the disk and takes the hub's marks; the listener waits
//! for what the hub tells. As long as a run lasts, a fifth one follows the services of time, and the keeper takes over what they say.
//!
//! - [`Settings`]: the node's own file, which says what is measured.
//! - [`State`]: the node's key, its enrolment, the lock of its folder.
//! - [`DiskSpool`]: what is kept of the node's streams, in segments that survive a kill and a power cut.
//! - [`enrol`]: a token becomes an enrolment.
//! - [`Sender`]: sends what the spool keeps, and takes the hub's marks.
//! - [`Listener`]: waits for what the hub tells of itself.
//! - [`monitor`]: all of it, until it is stopped.
//!
//! What an entry is, and what a mark means, is decided in `farm`.

#![forbid(unsafe_code)]

mod clocks;
mod enrol;
mod enrolment;
mod explaining;
mod facts;
mod finding;
mod guests;
mod http;
mod hub;
mod keeper;
mod key;
mod known_hub;
mod listener;
mod monitor;
mod open_file;
mod sender;
mod settings;
mod signals;
mod sources;
mod spool;
mod state;
mod status;

pub use enrol::{EnrolError, enrol};
pub use enrolment::{DEFAULT_HUB_PORT, Enrolment};
pub use explaining::ExplainChoice;
pub use hub::HubError;
pub use key::NodeIdentity;
pub use listener::Listener;
pub use monitor::{MonitorError, Program, monitor};
pub use sender::{Sender, send_once};
pub use settings::{SETTINGS_FILE, Settings, SettingsError};
pub use signals::{SendError, Signals};
pub use spool::segment;
pub use spool::{DiskSpool, Found, SpoolError, SpoolLimits};
pub use state::{STATE_FOLDER, State, StateError};
pub use status::{SenderStatus, Status};
