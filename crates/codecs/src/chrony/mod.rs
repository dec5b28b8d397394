//! Messages of the command protocol of chronyd, version 6: what `chronyc` asks over UDP port 323 on the loopback and over
//! the Unix datagram socket `/run/chrony/chronyd.sock`.
//!
//! No socket and no clock here: [`Request::encode`] fills a buffer on the stack, [`decode`] reads a datagram into a value
//! that is [`Copy`], without allocating. [`log`] reads the files that chronyd writes where `log` is configured.
//!
//! # Which requests need a right
//!
//! | request | over UDP from 127.0.0.1 or ::1 | over the Unix socket |
//! |---|---|---|
//! | [`Request::SourceCount`], [`Request::SourceData`], [`Request::SourceStats`], [`Request::Tracking`], [`Request::Activity`], [`Request::Smoothing`] | any user | root and chronyd's own user |
//! | [`Request::SourceName`] | any user | root and chronyd's own user |
//! | [`Request::NtpData`] | refused with [`Status::Unauthorised`] | root and chronyd's own user |
//!
//! Newer versions have the directive `opencommands`, which changes the second column. From other addresses chronyd answers
//! UDP only where `cmdallow` permits it, and is silent otherwise. `cmdport 0` leaves the Unix socket alone.
//!
//! A client of the Unix socket has to bind a path of its own that chronyd, after it has given up root, can write to: mode
//! 0666, in a folder that chronyd can enter. A client without such a path gets no answer and no error.
//!
//! # Format
//!
//! All integers are big-endian. A request is a header of 20 bytes and its arguments, filled with zeros to the length of
//! the reply that it asks for, so that nobody can make chronyd send more bytes than it was sent. A reply is a header of
//! 28 bytes and its fields. The facts are from chrony's `candm.h`, `pktlength.c` and `util.c`, and from captures of
//! chronyd 4.3 and 4.6.1, which are the fixtures of the tests.

mod float;
pub mod log;
mod ntp_data;
mod reply;
mod reports;
mod request;
mod wire;

pub use float::{Seconds, WireFloat};
pub use ntp_data::{NtpData, NtpMode, TimestampSource};
pub use reply::{DecodeError, HEADER_BYTES, PROTOCOL_VERSION, Reply, Status, decode};
pub use reports::{
    Activity, LeapStatus, Smoothing, SourceData, SourceMode, SourceName, SourceState, SourceStats, Tracking,
};
pub use request::{EncodedRequest, MAX_REQUEST_BYTES, Request};
pub use wire::{Address, UtcTime};

/// What has to be true for the bound that chronyd's own report gives ([`Tracking::bound_ns`]), as the end of a sentence.
pub const BOUND_TRUSTS: &str = "chronyd's server is right, and it and every server up to stratum 1 report their delay and dispersion \
                                truthfully (remaining correction ± (root dispersion + root delay / 2), chronyc(1), tracking)";
