#![forbid(unsafe_code)]
//! What time services say: over their sockets, in shared memory, in their logs, and on the network; what logic analyzers
//! saw, and what a witness of answers says. It opens no socket, reads no clock.

pub mod capture;
pub mod chrony;
pub mod clockbound;
pub mod fbclock;
pub mod latmon;
pub mod linuxptp;
pub mod logic;
pub mod stated;
pub mod vmclock;
