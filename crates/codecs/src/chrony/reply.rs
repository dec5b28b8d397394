//! Replies of chronyd: their header, and what can be wrong with them.

use std::fmt;

use super::ntp_data::NtpData;
use super::reports::{Activity, Smoothing, SourceData, SourceName, SourceStats, Tracking};
use super::request::Request;
use super::wire::Fields;

/// The version of the protocol that this module speaks, as chronyd 4.3 and 4.6.1 do.
pub const PROTOCOL_VERSION: u8 = 6;
/// Bytes before the fields of a reply.
pub const HEADER_BYTES: usize = 28;
const PACKET_TYPE_REPLY: u8 = 2;

/// Why chronyd did not do as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It failed, without a reason.
    Failed,
    /// The request is allowed over the Unix socket alone.
    Unauthorised,
    /// chronyd does not know the command: it is older than the command.
    UnknownCommand,
    /// No source has this index or this address; sources come and go between two requests.
    NoSuchSource,
    /// The function is not configured.
    NotEnabled,
    /// chronyd speaks another version of the protocol, and replied with ours.
    BadVersion,
    /// The request is shorter than this chronyd wants it.
    BadLength,
    /// Any other status, by its number in chrony's `candm.h`.
    Other(u16),
}

impl Status {
    /// `None` for success.
    fn from_wire(status: u16) -> Option<Self> {
        Some(match status {
            0 => return None,
            1 => Self::Failed,
            2 => Self::Unauthorised,
            3 => Self::UnknownCommand,
            4 => Self::NoSuchSource,
            6 => Self::NotEnabled,
            18 => Self::BadVersion,
            19 => Self::BadLength,
            other => Self::Other(other),
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed => f.write_str("it failed"),
            Self::Unauthorised => {
                f.write_str("not authorised; ask over the Unix socket, as root or as chronyd's own user")
            }
            Self::UnknownCommand => f.write_str("unknown command; this chronyd is older than the command"),
            Self::NoSuchSource => f.write_str("no such source"),
            Self::NotEnabled => f.write_str("not enabled in its configuration"),
            Self::BadVersion => f.write_str("it speaks another version of the protocol"),
            Self::BadLength => f.write_str("the request has a wrong length"),
            Self::Other(number) => write!(f, "status {number}"),
        }
    }
}

/// Why a datagram is not the reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The datagram ends inside of the reply.
    #[error("the reply has {bytes} bytes, and at least {needed} are needed")]
    Truncated {
        /// Bytes of the datagram.
        bytes: usize,
        /// Bytes up to the end of what was to be read.
        needed: usize,
    },
    /// Not a reply of this protocol: its fixed bytes differ.
    #[error("the datagram is no reply of chronyd: it begins with {first:02x?}, and a reply with [version, 02, 00, 00]")]
    Foreign {
        /// The first four bytes.
        first: [u8; 4],
    },
    /// chronyd speaks a version of the protocol that is not ours.
    #[error("chronyd speaks version {answered} of the command protocol, {} than version {PROTOCOL_VERSION}, which this program speaks", if *.answered < PROTOCOL_VERSION { "older" } else { "newer" })]
    WrongVersion {
        /// The version that the reply is written in.
        answered: u8,
    },
    /// A reply to another request, such as one that came after its time; the one awaited may follow.
    #[error(
        "the reply is to command {command} with sequence number {sequence:08x}, not to command {asked_command} with {asked_sequence:08x}"
    )]
    OtherRequest {
        /// Command of the reply.
        command: u16,
        /// Sequence number of the reply.
        sequence: u32,
        /// Command of the request.
        asked_command: u16,
        /// Sequence number of the request.
        asked_sequence: u32,
    },
    /// chronyd refused the request.
    #[error("chronyd refuses '{request}': {status}")]
    Refused {
        /// What was asked, as [`Request::name`] calls it.
        request: &'static str,
        /// The reason that chronyd gives.
        status: Status,
    },
    /// chronyd was successful with a form of reply that this module does not know.
    #[error("chronyd answers '{request}' with reply form {reply}, which is unknown to this program")]
    UnknownReply {
        /// What was asked, as [`Request::name`] calls it.
        request: &'static str,
        /// The number of the form.
        reply: u16,
    },
    /// A field holds a value that it cannot have.
    #[error("the reply's {field} at byte {offset} is {value}, which it cannot be")]
    Malformed {
        /// The meaning of the field.
        field: &'static str,
        /// Bytes before it in the datagram.
        offset: usize,
        /// Its value.
        value: u32,
    },
}

/// A successful reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To [`Request::SourceCount`].
    SourceCount(u32),
    /// To [`Request::SourceData`].
    SourceData(SourceData),
    /// To [`Request::SourceStats`].
    SourceStats(SourceStats),
    /// To [`Request::Tracking`].
    Tracking(Tracking),
    /// To [`Request::Activity`].
    Activity(Activity),
    /// To [`Request::Smoothing`].
    Smoothing(Smoothing),
    /// To [`Request::NtpData`].
    NtpData(NtpData),
    /// To [`Request::SourceName`].
    SourceName(SourceName),
}

/// Reads the reply to a request that was sent with this sequence number. Bytes behind its fields are ignored.
///
/// # Errors
///
/// For every datagram that is not a whole, successful reply to just this request. On [`DecodeError::OtherRequest`] and
/// [`DecodeError::Foreign`] the awaited reply may still come.
pub fn decode(datagram: &[u8], request: Request, sequence: u32) -> Result<Reply, DecodeError> {
    let mut fields = Fields::new(datagram, 0);
    let first @ [version, packet_type, reserved_1, reserved_2] = fields.take::<4>()?;
    if packet_type != PACKET_TYPE_REPLY || reserved_1 != 0 || reserved_2 != 0 {
        return Err(DecodeError::Foreign { first });
    }
    if version != PROTOCOL_VERSION {
        return Err(DecodeError::WrongVersion { answered: version });
    }
    let command = fields.u16()?;
    let reply = fields.u16()?;
    let status = fields.u16()?;
    fields.take::<6>()?;
    let answered_sequence = fields.u32()?;
    fields.take::<8>()?;
    if command != request.command() || answered_sequence != sequence {
        return Err(DecodeError::OtherRequest {
            command,
            sequence: answered_sequence,
            asked_command: request.command(),
            asked_sequence: sequence,
        });
    }
    if let Some(status) = Status::from_wire(status) {
        return Err(DecodeError::Refused { request: request.name(), status });
    }
    match (request, reply) {
        (Request::SourceCount, 2) => fields.u32().map(Reply::SourceCount),
        (Request::SourceData { .. }, 3) => SourceData::read(&mut fields).map(Reply::SourceData),
        (Request::Tracking, 5) => Tracking::read(&mut fields).map(Reply::Tracking),
        (Request::SourceStats { .. }, 6) => SourceStats::read(&mut fields).map(Reply::SourceStats),
        (Request::Activity, 12) => Activity::read(&mut fields).map(Reply::Activity),
        (Request::Smoothing, 13) => Smoothing::read(&mut fields).map(Reply::Smoothing),
        (Request::NtpData { .. }, 16) => NtpData::read(&mut fields, false).map(Reply::NtpData),
        (Request::NtpData { .. }, 26) => NtpData::read(&mut fields, true).map(Reply::NtpData),
        (Request::SourceName { .. }, 19) => SourceName::read(&mut fields).map(Reply::SourceName),
        (request, reply) => Err(DecodeError::UnknownReply { request: request.name(), reply }),
    }
}
