//! The codec against what real daemons sent, and what `pmc` of the same version printed of the same data a moment later.
//!
//! `fixtures/linuxptp/VERSION/MECHANISM.txt` has one section for each request to two daemons, master and slave, joined by
//! a pair of virtual interfaces, with software time stamps and `free_running 1`. A line `hex` is a datagram that came, a
//! line `pmc` is a line that `pmc` printed.

mod fixture;
mod golden;
mod pmc;
mod properties;
mod refused;
