//! The messages of PTP that exchange time, as they are on the network (IEEE 1588-2019, clause 13; IEEE 802.1AS-2020).

use crate::linuxptp::{
    ClockIdentity, ClockQuality, DecodeError, PortIdentity, Reader, TimeInterval, TimeProperties, TimeSource, Timestamp,
};

/// A message that exchanges time, or says whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtpMessage {
    /// `transportSpecific` or `majorSdoId`: 0 for IEEE 1588, 1 for IEEE 802.1AS (0 to 15).
    pub transport_specific: u8,
    /// PTP domain (0 to 255).
    pub domain: u8,
    /// Time that relays added, or the part of a stamp below a nanosecond.
    pub correction: TimeInterval,
    /// The port that sent it.
    pub source: PortIdentity,
    /// Number of the message.
    pub sequence: u16,
    /// What it says.
    pub body: PtpBody,
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtpBody {
    /// From the master; its time is in it, or follows.
    Sync {
        /// When it was sent; of no use if a Follow_Up comes.
        origin: Timestamp,
        /// Whether a Follow_Up comes.
        is_two_step: bool,
    },
    /// When the Sync of the same number was sent.
    FollowUp(Timestamp),
    /// To the master; when it was sent is known by its sender.
    DelayReq,
    /// When the Delay_Req of the same number arrived, and which port sent that.
    DelayResp {
        /// When it arrived.
        received: Timestamp,
        /// Who sent it.
        requester: PortIdentity,
    },
    /// A message between neighbors.
    PeerDelay,
    /// Whose time the master gives.
    Announce(Announce),
}

/// Whose time a master gives, and what is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announce {
    /// The clock at the top.
    pub grandmaster: ClockIdentity,
    /// What that clock claims to be.
    pub quality: ClockQuality,
    /// First criterion of the choice of a master; the lower one wins (0 to 255).
    pub priority1: u8,
    /// Criterion after the quality; the lower one wins (0 to 255).
    pub priority2: u8,
    /// How many clocks are between.
    pub steps_removed: u16,
    /// Its time scale.
    pub time: TimeProperties,
}

const TWO_STEP: u16 = 0x0200;
const LEAP_61: u16 = 0x0001;
const LEAP_59: u16 = 0x0002;
const UTC_OFFSET_VALID: u16 = 0x0004;
const PTP_TIMESCALE: u16 = 0x0008;
const TIME_TRACEABLE: u16 = 0x0010;
const FREQUENCY_TRACEABLE: u16 = 0x0020;

/// Reads a message; `Ok(None)` for one that exchanges no time. Bytes after the end that it declares are no part of it:
/// Ethernet fills short frames up.
///
/// # Errors
/// If it is cut off, or of another version than 2.
pub fn decode(bytes: &[u8]) -> Result<Option<PtpMessage>, DecodeError> {
    let mut reader = Reader::new(bytes, 0);
    let kind = reader.u8("message type")?;
    let version = reader.u8("PTP version")?;
    if version & 0xf != 2 {
        return Err(DecodeError::Value { what: "PTP version", at: 1, found: u64::from(version & 0xf), expected: "2" });
    }
    let declared = usize::from(reader.u16("message length")?);
    if declared > bytes.len() {
        return Err(DecodeError::MessageLength { declared, received: bytes.len() });
    }
    let domain = reader.u8("domain number")?;
    reader.u8("minor SDO id")?;
    let flags = reader.u16("flags")?;
    let correction = TimeInterval::read(&mut reader, "correction")?;
    reader.u32("reserved bytes")?;
    let source = PortIdentity::read(&mut reader, "source port identity")?;
    let sequence = reader.u16("sequence id")?;
    reader.u16("control and interval")?;
    let body = match kind & 0xf {
        0x0 => PtpBody::Sync { origin: Timestamp::read(&mut reader, "origin")?, is_two_step: flags & TWO_STEP != 0 },
        0x1 => PtpBody::DelayReq,
        0x2 | 0x3 | 0xa => PtpBody::PeerDelay,
        0x8 => PtpBody::FollowUp(Timestamp::read(&mut reader, "precise origin")?),
        0x9 => PtpBody::DelayResp {
            received: Timestamp::read(&mut reader, "receive time")?,
            requester: PortIdentity::read(&mut reader, "requesting port identity")?,
        },
        0xb => {
            Timestamp::read(&mut reader, "origin")?;
            let current_utc_offset_s = reader.i16("UTC offset")?;
            reader.u8("reserved byte")?;
            let priority1 = reader.u8("priority 1")?;
            let quality = ClockQuality::read(&mut reader)?;
            let priority2 = reader.u8("priority 2")?;
            let grandmaster = ClockIdentity::read(&mut reader, "grand master")?;
            let steps_removed = reader.u16("steps removed")?;
            let flag = |bit: u16| flags & bit != 0;
            let time = TimeProperties {
                current_utc_offset_s,
                leap61: flag(LEAP_61),
                leap59: flag(LEAP_59),
                current_utc_offset_valid: flag(UTC_OFFSET_VALID),
                ptp_timescale: flag(PTP_TIMESCALE),
                time_traceable: flag(TIME_TRACEABLE),
                frequency_traceable: flag(FREQUENCY_TRACEABLE),
                time_source: TimeSource(reader.u8("time source")?),
            };
            PtpBody::Announce(Announce { grandmaster, quality, priority1, priority2, steps_removed, time })
        }
        _ => return Ok(None),
    };
    Ok(Some(PtpMessage { transport_specific: kind >> 4, domain, correction, source, sequence, body }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Follow_Up of an exchange between two ptp4l of 3.1.1, with the filling of its Ethernet frame.
    const FOLLOW_UP: &str =
        "0802002c000000000000000000000000000000000200 5efffe0000010001 0007 02ff 000065000000 3b9ac9ff 0000";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let message = decode(&bytes(FOLLOW_UP)).unwrap().unwrap();
        assert_eq!(
            (message.domain, message.sequence, message.source.to_string()),
            (0, 7, "02005e.fffe.000001-1".into())
        );
        let PtpBody::FollowUp(at) = message.body else { panic!("{message:?}") };
        assert_eq!((at.seconds, at.nanoseconds), (0x6500_0000, 999_999_999));
    }

    #[test]
    fn what_is_cut_or_of_another_version_is_refused() {
        let whole = bytes(FOLLOW_UP);
        for end in 0..44 {
            assert!(decode(&whole[..end]).is_err(), "{end}");
        }
        let mut other = whole.clone();
        other[1] = 1;
        assert!(decode(&other).is_err());
        let mut late = whole;
        late[40] = 0xff;
        assert!(decode(&late).is_err(), "more than a second of nanoseconds");
    }
}
