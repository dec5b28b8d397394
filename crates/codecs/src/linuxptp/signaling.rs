//! Slave event monitoring: the raw time stamps of every Sync and Delay_Req, sent as signaling messages to the socket that
//! `slave_event_monitor` names (IEEE 1588-2019, 16.11; linuxptp `monitor.c`, `tlv.h`).
//!
//! linuxptp 3.1 to 4.2 sends one record a message. Sync and Delay_Req are counted apart, so the sequence ids of the two
//! kinds of records have nothing to do with each other: whoever forms pairs does it by time. With the peer-to-peer
//! mechanism there are only Sync records.
//!
//! Corrections in these records are whole nanoseconds: linuxptp rounds that of Sync, that of Follow_Up and that of
//! Delay_Resp toward minus infinity (`tmv.h`). The transit times below are therefore never too short on that account.
//! They include a configured `delayAsymmetry`.

use super::error::DecodeError;
use super::header::Header;
use super::identity::PortIdentity;
use super::reader::Reader;
use super::time::{TimeInterval, Timestamp};
use super::tlv::split;

const TLV_SLAVE_RX_SYNC_TIMING_DATA: u16 = 0x8004;
const TLV_SLAVE_DELAY_TIMING_DATA_NP: u16 = 0x7f00;

/// A signaling message; its TLVs are decoded as they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct SignalingMessage<'a> {
    /// Who sent it; the sequence id counts messages of one kind.
    pub header: Header,
    /// For whom it is; all bits set from linuxptp.
    pub target: PortIdentity,
    suffix: Reader<'a>,
}

impl<'a> SignalingMessage<'a> {
    pub(super) fn read(header: Header, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let target = PortIdentity::read(reader, "target port identity")?;
        Ok(Self { header, target, suffix: *reader })
    }

    /// Its TLVs in order; the first error ends them.
    pub fn tlvs(&self) -> SignalingTlvs<'a> {
        SignalingTlvs { rest: Some(self.suffix) }
    }
}

/// One TLV of a signaling message.
#[derive(Debug, Clone, Copy)]
pub enum SignalingTlv<'a> {
    /// `SLAVE_RX_SYNC_TIMING_DATA`: Sync messages that this clock received.
    SyncTiming {
        /// The master's port that sent them.
        source: PortIdentity,
        /// A record for each.
        records: Records<'a, SyncRecord>,
    },
    /// `SLAVE_DELAY_TIMING_DATA_NP`: Delay_Req messages that this clock sent and that were answered.
    DelayTiming {
        /// The master's port that answered them.
        source: PortIdentity,
        /// A record for each.
        records: Records<'a, DelayRecord>,
    },
    /// A TLV of another type.
    Unknown {
        /// `tlvType`.
        tlv_type: u16,
        /// Bytes of its value.
        length: usize,
    },
}

impl<'a> SignalingTlv<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (tlv_type, mut value) = split(reader)?;
        Ok(match tlv_type {
            TLV_SLAVE_RX_SYNC_TIMING_DATA => Self::SyncTiming {
                source: PortIdentity::read(&mut value, "source port identity")?,
                records: Records::read(value)?,
            },
            TLV_SLAVE_DELAY_TIMING_DATA_NP => Self::DelayTiming {
                source: PortIdentity::read(&mut value, "source port identity")?,
                records: Records::read(value)?,
            },
            _ => Self::Unknown { tlv_type, length: value.len() },
        })
    }
}

/// TLVs of a signaling message.
#[derive(Debug, Clone)]
pub struct SignalingTlvs<'a> {
    /// None once the list is at its end or broken.
    rest: Option<Reader<'a>>,
}

impl<'a> Iterator for SignalingTlvs<'a> {
    type Item = Result<SignalingTlv<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.rest.take()?;
        if reader.len() == 0 {
            return None;
        }
        let tlv = SignalingTlv::read(&mut reader);
        if tlv.is_ok() {
            self.rest = Some(reader);
        }
        Some(tlv)
    }
}

impl std::iter::FusedIterator for SignalingTlvs<'_> {}

/// Records of one TLV in order; a record out of range is an error and ends them.
#[derive(Debug, Clone, Copy)]
pub struct Records<'a, R> {
    rest: Reader<'a>,
    kind: std::marker::PhantomData<R>,
}

impl<'a, R: Record> Records<'a, R> {
    fn read(reader: Reader<'a>) -> Result<Self, DecodeError> {
        let (at, found, record) = (reader.at(), reader.len(), R::BYTES);
        if found % record != 0 {
            return Err(DecodeError::PartialRecord { what: R::NAME, at, found, record });
        }
        Ok(Self { rest: reader, kind: std::marker::PhantomData })
    }
}

impl<R: Record> Iterator for Records<'_, R> {
    type Item = Result<R, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.len() == 0 {
            return None;
        }
        let record = R::read(&mut self.rest);
        if record.is_err() {
            self.rest = Reader::new(&[], self.rest.at());
        }
        Some(record)
    }
}

impl<R: Record> std::iter::FusedIterator for Records<'_, R> {}

/// A record of fixed size.
pub trait Record: Sized + sealed::Sealed {
    #[doc(hidden)]
    const BYTES: usize;
    #[doc(hidden)]
    const NAME: &'static str;
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "the trait is sealed, so that nothing outside calls this")]
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::SyncRecord {}
    impl Sealed for super::DelayRecord {}
}

/// One Sync, from the master's clock to this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRecord {
    /// `sequenceId` of the Sync.
    pub sequence_id: u16,
    /// t1: when the master sent it, on the master's clock, without the correction.
    pub t1: Timestamp,
    /// What t1 lacks: the sum of the corrections of Sync and Follow_Up (2^-16 ns).
    pub correction: TimeInterval,
    /// Rate of the grandmaster against this clock, minus 1 (2^-41); linuxptp writes 0.
    pub scaled_cumulative_rate_offset: i32,
    /// t2: when this clock received it, on this clock.
    pub t2: Timestamp,
}

impl SyncRecord {
    /// t2 - (t1 + correction), in units of 2^-16 ns: the transit time plus the offset of this clock from the master.
    pub fn transit_and_offset_scaled_ns(&self) -> i128 {
        difference_scaled_ns(self.t2, self.t1) - i128::from(self.correction.scaled_ns)
    }
}

impl Record for SyncRecord {
    const BYTES: usize = 34;
    const NAME: &'static str = "sync timing records";

    #[expect(private_interfaces, reason = "the trait is sealed, so that nothing outside calls this")]
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            sequence_id: reader.u16("sync sequence id")?,
            t1: Timestamp::read(reader, "sync origin timestamp")?,
            correction: TimeInterval::read(reader, "total correction")?,
            scaled_cumulative_rate_offset: reader.i32("scaled cumulative rate offset")?,
            t2: Timestamp::read(reader, "sync ingress timestamp")?,
        })
    }
}

/// One Delay_Req, from this clock to the master's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayRecord {
    /// `sequenceId` of the Delay_Req.
    pub sequence_id: u16,
    /// t3: when this clock sent it, on this clock.
    pub t3: Timestamp,
    /// What t4 has too much: the correction of Delay_Resp (2^-16 ns).
    pub correction: TimeInterval,
    /// t4: when the master received it, on the master's clock, without the correction.
    pub t4: Timestamp,
}

impl DelayRecord {
    /// (t4 - correction) - t3, in units of 2^-16 ns: the transit time minus the offset of this clock from the master.
    pub fn transit_minus_offset_scaled_ns(&self) -> i128 {
        difference_scaled_ns(self.t4, self.t3) - i128::from(self.correction.scaled_ns)
    }
}

impl Record for DelayRecord {
    const BYTES: usize = 30;
    const NAME: &'static str = "delay timing records";

    #[expect(private_interfaces, reason = "the trait is sealed, so that nothing outside calls this")]
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            sequence_id: reader.u16("delay request sequence id")?,
            t3: Timestamp::read(reader, "delay origin timestamp")?,
            correction: TimeInterval::read(reader, "total correction")?,
            t4: Timestamp::read(reader, "delay response timestamp")?,
        })
    }
}

/// `later` minus `earlier`, in units of 2^-16 ns. Neither can overflow: 48 bits of seconds are below 2^94 of them.
fn difference_scaled_ns(later: Timestamp, earlier: Timestamp) -> i128 {
    (later.as_ns() - earlier.as_ns()) << 16
}
