//! Captured exchanges of PTP and NTP, and what they show of the clock that stamped the capture.
//!
//! [`file`] takes a pcap or pcapng file apart as its bytes come, [`frame`] finds the messages in its frames, [`ptp`] and
//! [`ntp`] read them, and [`exchanges`] puts them together. No file and no clock here.
//!
//! # What a capture can show
//!
//! Its time stamps are those of one clock of one machine. A frame that this machine received was stamped after it came, one
//! that it sent was stamped before it left. So with `t1` (the master's stamp of a Sync) and `t2` (the capture's) the clock is
//! ahead of the master by at most `t2 - t1`: the stamp `t2` was taken no earlier than the message arrived, which is no earlier
//! than it was sent. With `t3` (the capture's stamp of a Delay_Req) and `t4` (the master's) it is ahead by at least
//! `-(t4 - t3)`: `t3` was taken no later than the message left, which is no later than it arrived. Both hold only where the
//! capture was made on the machine that received the one and sent the other, so they are stated only if the file itself says
//! which way each frame went.
//!
//! A capture taken elsewhere (at the master, at a mirror port) stamps a message at a third place. A mirror port may stamp a
//! Delay_Req after it has arrived, and a master's own capture stamps a Sync before `t1`: neither gives a bound.

pub mod bounds;
mod counts;
pub mod exchanges;
pub mod file;
pub mod frame;
pub mod ntp;
mod pair;
pub mod ptp;
mod waiting;
