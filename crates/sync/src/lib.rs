#![forbid(unsafe_code)]
//! How far clocks are apart: what time services say over their sockets, and the bounds and spread that follow from it.

pub mod allan;
pub mod bound;
pub mod chrony;
pub mod clockbound;
pub mod exchange;
pub mod fbclock;
pub mod follow;
pub mod growth;
pub mod linuxptp;
mod signed;
pub mod track;
pub mod vmclock;
