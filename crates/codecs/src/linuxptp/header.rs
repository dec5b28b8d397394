//! The header of every PTP message (IEEE 1588-2019, 13.3; linuxptp `msg.h`).

use super::error::DecodeError;
use super::identity::PortIdentity;
use super::reader::Reader;
use super::time::TimeInterval;

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 34;
/// `versionPTP`: linuxptp accepts this major version with any minor one.
pub(super) const MAJOR_VERSION: u8 = 2;
pub(super) const SIGNALING: u8 = 0xc;
pub(super) const MANAGEMENT: u8 = 0xd;

/// What a header says besides type and length of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// `transportSpecific` of IEEE 1588-2008, `majorSdoId` of 2019: 0 for IEEE 1588, 1 for IEEE 802.1AS (0 to 15).
    pub transport_specific: u8,
    /// `minorVersionPTP`: 0 from linuxptp up to 3.x, 1 from 4.x (0 to 15).
    pub minor_version: u8,
    /// PTP domain (0 to 255).
    pub domain_number: u8,
    /// `minorSdoId` of IEEE 1588-2019, reserved in 2008 (0 to 255).
    pub minor_sdo_id: u8,
    /// `correctionField`; linuxptp writes 0 in management and signaling messages.
    pub correction: TimeInterval,
    /// The port that sent the message; port number 0 where the whole clock answers.
    pub source: PortIdentity,
    /// In an answer: that of the request. In a notification: a counter of the daemon.
    pub sequence_id: u16,
}

impl Header {
    /// Reads a header and returns it with the type of the message.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<(Self, u8), DecodeError> {
        let received = reader.len();
        let kind = reader.u8("message type")?;
        let at = reader.at();
        let version = reader.u8("PTP version")?;
        if version & 0xf != MAJOR_VERSION {
            let found = u64::from(version & 0xf);
            return Err(DecodeError::Value { what: "PTP version", at, found, expected: "2" });
        }
        let declared = usize::from(reader.u16("message length")?);
        let domain_number = reader.u8("domain number")?;
        let minor_sdo_id = reader.u8("minor SDO id")?;
        let _flags = reader.u16("flags")?;
        let correction = TimeInterval::read(reader, "correction")?;
        let _message_type_specific = reader.u32("reserved bytes")?;
        let source = PortIdentity::read(reader, "source port identity")?;
        let sequence_id = reader.u16("sequence id")?;
        let _control = reader.u8("control")?;
        let _log_message_interval = reader.i8("log message interval")?;
        if declared != received {
            return Err(DecodeError::MessageLength { declared, received });
        }
        let (transport_specific, minor_version) = (kind >> 4, version >> 4);
        let header =
            Self { transport_specific, minor_version, domain_number, minor_sdo_id, correction, source, sequence_id };
        Ok((header, kind & 0xf))
    }
}
