#![forbid(unsafe_code)]
//! How far clocks are apart: what time services say over their sockets, in their logs and on the network, and the bounds and spread that follow from it.

pub mod allan;
pub mod bound;
pub mod capture;
pub mod chrony;
pub mod clockbound;
pub mod exchange;
pub mod fbclock;
pub mod follow;
pub mod growth;
pub mod judge;
pub mod linuxptp;
mod signed;
pub mod track;
pub mod vmclock;
