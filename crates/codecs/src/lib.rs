#![forbid(unsafe_code)]
//! What time services say: over their sockets, in shared memory, in their logs, and on the network; and what logic analyzers saw. It
//! opens no socket, reads no clock.

pub mod capture;
pub mod chrony;
pub mod clockbound;
pub mod fbclock;
pub mod linuxptp;
pub mod logic;
pub mod stated;
pub mod vmclock;
