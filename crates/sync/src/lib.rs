#![forbid(unsafe_code)]
//! How far clocks are apart: what time services say over their sockets, and the bounds and spread that follow from it.

pub mod chrony;
pub mod linuxptp;
