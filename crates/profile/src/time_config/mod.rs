//! What programs that steer clocks were started with: arguments and configuration files.

pub mod chrony;
mod linuxptp;
mod ptp4l;

pub use linuxptp::{Program, Settings};
pub use ptp4l::Config;
