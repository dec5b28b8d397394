#![forbid(unsafe_code)]
//! How far clocks are apart: what time services say over their sockets, in their logs and on the network, and the bounds and spread that follow from it.

pub mod allan;
pub mod bound;
pub mod capture;
pub mod chrony;
pub mod clockbound;
pub mod exchange;
pub mod facts;
pub mod fbclock;
pub mod follow;
mod followed;
pub mod growth;
mod intervals;
pub mod judge;
pub mod linuxptp;
pub mod signed;
mod stretch;
pub mod track;
pub mod vmclock;
