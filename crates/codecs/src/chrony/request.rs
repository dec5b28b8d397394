//! Requests to chronyd.

use super::ntp_data::NTP_DATA2_BYTES;
use super::reply::{HEADER_BYTES, PROTOCOL_VERSION};
use super::reports::{
    ACTIVITY_BYTES, SMOOTHING_BYTES, SOURCE_COUNT_BYTES, SOURCE_DATA_BYTES, SOURCE_NAME_BYTES, SOURCE_STATS_BYTES,
    TRACKING_BYTES,
};
use super::wire::{ADDRESS_BYTES, Address};

/// Bytes before the arguments of a request.
const REQUEST_HEADER_BYTES: usize = 20;
const PACKET_TYPE_REQUEST: u8 = 1;

/// Bytes of the longest request, which asks for a name.
pub const MAX_REQUEST_BYTES: usize = HEADER_BYTES + SOURCE_NAME_BYTES;

/// A question to chronyd. All of them read; none changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// How many sources chronyd has, unresolved ones included.
    SourceCount,
    /// State and last measurement of the source with this index, counted from 0.
    SourceData {
        /// Below the answer to [`Request::SourceCount`].
        index: u32,
    },
    /// The estimates of drift and offset of the source with this index, counted from 0.
    SourceStats {
        /// Below the answer to [`Request::SourceCount`].
        index: u32,
    },
    /// How the system clock follows its reference.
    Tracking,
    /// How many sources are online and offline.
    Activity,
    /// The smoothing of the time that chronyd serves; refused with [`super::Status::NotEnabled`] without `smoothtime`.
    Smoothing,
    /// The last valid measurement of an NTP source. Only over the Unix socket, thus for root and chronyd's own user.
    NtpData {
        /// As [`super::SourceData::address`] states it.
        address: Address,
    },
    /// The name by which a source was configured. chrony 4.0 and newer.
    SourceName {
        /// As [`super::SourceData::address`] states it, also of an unresolved source.
        address: Address,
    },
}

/// A request as it is sent, in a buffer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedRequest {
    bytes: [u8; MAX_REQUEST_BYTES],
    length: usize,
}

impl EncodedRequest {
    /// The datagram to send.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }
}

impl Request {
    /// The number of the command, as it stands in request and reply.
    #[must_use]
    pub const fn command(self) -> u16 {
        match self {
            Self::SourceCount => 14,
            Self::SourceData { .. } => 15,
            Self::Tracking => 33,
            Self::SourceStats { .. } => 34,
            Self::Activity => 44,
            Self::Smoothing => 51,
            Self::NtpData { .. } => 57,
            Self::SourceName { .. } => 65,
        }
    }

    /// What `chronyc` calls the report that this asks for, for messages to a user.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SourceCount => "number of sources",
            Self::SourceData { .. } => "sources",
            Self::Tracking => "tracking",
            Self::SourceStats { .. } => "sourcestats",
            Self::Activity => "activity",
            Self::Smoothing => "smoothing",
            Self::NtpData { .. } => "ntpdata",
            Self::SourceName { .. } => "sourcename",
        }
    }

    /// Whether chronyd answers this only over its Unix socket, unless it is configured otherwise.
    #[must_use]
    pub const fn needs_unix_socket(self) -> bool {
        matches!(self, Self::NtpData { .. })
    }

    /// Bytes of the longest reply to this, its header included; chronyd refuses a request that is shorter.
    const fn reply_bytes(self) -> usize {
        HEADER_BYTES
            + match self {
                Self::SourceCount => SOURCE_COUNT_BYTES,
                Self::SourceData { .. } => SOURCE_DATA_BYTES,
                Self::Tracking => TRACKING_BYTES,
                Self::SourceStats { .. } => SOURCE_STATS_BYTES,
                Self::Activity => ACTIVITY_BYTES,
                Self::Smoothing => SMOOTHING_BYTES,
                // Older versions reply with less, and take a longer request.
                Self::NtpData { .. } => NTP_DATA2_BYTES,
                Self::SourceName { .. } => SOURCE_NAME_BYTES,
            }
    }

    /// The datagram of this request.
    ///
    /// The reply repeats `sequence`, which should be unpredictable: it is what a foreign reply does not know. `attempt` is
    /// how often the same request with the same `sequence` has been sent before; chronyd ignores it.
    #[must_use]
    pub fn encode(self, sequence: u32, attempt: u16) -> EncodedRequest {
        let mut bytes = [0; MAX_REQUEST_BYTES];
        bytes[0] = PROTOCOL_VERSION;
        bytes[1] = PACKET_TYPE_REQUEST;
        bytes[4..6].copy_from_slice(&self.command().to_be_bytes());
        bytes[6..8].copy_from_slice(&attempt.to_be_bytes());
        bytes[8..12].copy_from_slice(&sequence.to_be_bytes());
        let arguments = match self {
            Self::SourceData { index } | Self::SourceStats { index } => {
                bytes[REQUEST_HEADER_BYTES..REQUEST_HEADER_BYTES + 4].copy_from_slice(&index.to_be_bytes());
                4
            }
            Self::NtpData { address } | Self::SourceName { address } => {
                bytes[REQUEST_HEADER_BYTES..REQUEST_HEADER_BYTES + ADDRESS_BYTES].copy_from_slice(&address.encode());
                ADDRESS_BYTES
            }
            Self::SourceCount | Self::Tracking | Self::Activity | Self::Smoothing => 0,
        };
        EncodedRequest { bytes, length: self.reply_bytes().max(REQUEST_HEADER_BYTES + arguments) }
    }
}
