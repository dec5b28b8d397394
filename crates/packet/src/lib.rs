#![forbid(unsafe_code)]
//! What packets between two nodes show: their header, what became of each of them, how far the clocks of the nodes are apart,
//! and the delays that follow.
//!
//! A delay between two nodes is a difference of two clocks. It is worth no more than what is known of how far these are apart:
//! that comes from [`relation`], with a hard bound that needs no trust in any time service, and goes along with each delay. What
//! time services say on both nodes is held against it in [`services`]. Stamps of network interfaces are on clocks of their own,
//! which [`hardware`] converts.

pub mod arrived;
pub mod dialog;
pub mod exchange;
pub mod hardware;
pub mod header;
pub mod join;
pub mod over_time;
pub mod probe;
pub mod receiving;
pub mod relation;
pub mod scale;
pub mod sequence;
pub mod services;
pub mod stamps;
pub mod stragglers;
mod tag;
pub mod told;
pub mod worst;
