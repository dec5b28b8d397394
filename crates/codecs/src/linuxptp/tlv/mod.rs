//! TLVs of management messages (IEEE 1588-2019, 15.5; linuxptp `tlv.h`).

mod clock;
mod events;
mod port;

pub use clock::{
    ClockQuality, CurrentDataSet, DefaultDataSet, GrandmasterSettings, ParentDataSet, TimeProperties, TimeSource,
    TimeStatus,
};
pub use events::{Event, EventSet, SubscribeEvents};
pub use port::{
    CmldsInfo, DelayMechanism, MessageCounts, PortDataSet, PortDataSetNp, PortHwClock, PortProperties, PortState,
    PortStats, Timestamping,
};

use super::error::DecodeError;
use super::id::{ManagementErrorId, ManagementId};
use super::reader::Reader;

pub(super) const TLV_MANAGEMENT: u16 = 1;
const TLV_MANAGEMENT_ERROR_STATUS: u16 = 2;

/// One TLV of a management message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagementTlv<'a> {
    /// `DEFAULT_DATA_SET`.
    DefaultDataSet(DefaultDataSet),
    /// `CURRENT_DATA_SET`.
    CurrentDataSet(CurrentDataSet),
    /// `PARENT_DATA_SET`.
    ParentDataSet(ParentDataSet),
    /// `TIME_PROPERTIES_DATA_SET`.
    TimeProperties(TimeProperties),
    /// `PORT_DATA_SET`.
    PortDataSet(PortDataSet),
    /// `TIME_STATUS_NP`.
    TimeStatus(TimeStatus),
    /// `GRANDMASTER_SETTINGS_NP`.
    GrandmasterSettings(GrandmasterSettings),
    /// `PORT_DATA_SET_NP`.
    PortDataSetNp(PortDataSetNp),
    /// `SUBSCRIBE_EVENTS_NP`.
    SubscribeEvents(SubscribeEvents),
    /// `PORT_PROPERTIES_NP`.
    PortProperties(PortProperties<'a>),
    /// `PORT_STATS_NP`.
    PortStats(PortStats),
    /// `PORT_HWCLOCK_NP`.
    PortHwClock(PortHwClock),
    /// `CMLDS_INFO_NP`.
    CmldsInfo(CmldsInfo),
    /// The daemon refused.
    Error(ManagementErrorStatus<'a>),
    /// A management TLV without data: a GET, or an answer that has nothing to say.
    Empty {
        /// `managementId`, known or not.
        id: u16,
    },
    /// A management TLV with data whose layout this module does not know.
    Unknown {
        /// `managementId`.
        id: u16,
        /// Bytes of its data.
        length: usize,
    },
    /// A TLV of another type than management.
    Foreign {
        /// `tlvType`.
        tlv_type: u16,
        /// Bytes of its value.
        length: usize,
    },
}

/// Why the daemon refused a request (`MANAGEMENT_ERROR_STATUS`, IEEE 1588-2019, 15.5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagementErrorStatus<'a> {
    /// The reason.
    pub error: ManagementErrorId,
    /// `managementId` of the request, known or not.
    pub id: u16,
    /// A text for people, empty where there is none; linuxptp sends none.
    pub text: &'a [u8],
}

/// Splits off one TLV: its type and its value. Lengths are even (IEEE 1588-2019, 14.1.1).
pub(super) fn split<'a>(reader: &mut Reader<'a>) -> Result<(u16, Reader<'a>), DecodeError> {
    let tlv_type = reader.u16("TLV type")?;
    let at = reader.at();
    let length = usize::from(reader.u16("TLV length")?);
    if length % 2 != 0 {
        return Err(DecodeError::OddLength { at, found: length });
    }
    let at = reader.at();
    Ok((tlv_type, Reader::new(reader.slice("TLV value", length)?, at)))
}

/// A `PTPText` that ends the value, with the byte that makes its length even (IEEE 1588-2019, 5.3.9).
fn read_text<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<&'a [u8], DecodeError> {
    let length = usize::from(reader.u8(what)?);
    let text = reader.slice(what, length)?;
    if reader.len() == 1 {
        reader.u8("padding")?;
    }
    Ok(text)
}

impl<'a> ManagementTlv<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (tlv_type, mut value) = split(reader)?;
        match tlv_type {
            TLV_MANAGEMENT => Self::read_management(&mut value),
            TLV_MANAGEMENT_ERROR_STATUS => ManagementErrorStatus::read(&mut value).map(Self::Error),
            _ => Ok(Self::Foreign { tlv_type, length: value.len() }),
        }
    }

    fn read_management(value: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let number = value.u16("management id")?;
        if value.len() == 0 {
            return Ok(Self::Empty { id: number });
        }
        let Some(id) = ManagementId::from_number(number) else {
            return Ok(Self::Unknown { id: number, length: value.len() });
        };
        let (start, found) = (value.at(), value.len());
        let expected = match id {
            ManagementId::DefaultDataSet => DefaultDataSet::BYTES,
            ManagementId::CurrentDataSet => CurrentDataSet::BYTES,
            ManagementId::ParentDataSet => ParentDataSet::BYTES,
            ManagementId::TimePropertiesDataSet => TimeProperties::BYTES,
            ManagementId::PortDataSet => PortDataSet::BYTES,
            ManagementId::TimeStatus => TimeStatus::BYTES,
            ManagementId::GrandmasterSettings => GrandmasterSettings::BYTES,
            ManagementId::PortDataSetNp => PortDataSetNp::BYTES,
            ManagementId::SubscribeEvents => SubscribeEvents::BYTES,
            ManagementId::PortStats => PortStats::BYTES,
            ManagementId::PortHwClock => PortHwClock::BYTES,
            ManagementId::CmldsInfo => CmldsInfo::BYTES,
            // As long as the name of the interface.
            ManagementId::PortProperties => found,
        };
        if found != expected {
            return Err(DecodeError::Length { what: id.name(), at: start, found, expected });
        }
        let tlv = match id {
            ManagementId::DefaultDataSet => DefaultDataSet::read(value).map(Self::DefaultDataSet),
            ManagementId::CurrentDataSet => CurrentDataSet::read(value).map(Self::CurrentDataSet),
            ManagementId::ParentDataSet => ParentDataSet::read(value).map(Self::ParentDataSet),
            ManagementId::TimePropertiesDataSet => TimeProperties::read(value).map(Self::TimeProperties),
            ManagementId::PortDataSet => PortDataSet::read(value).map(Self::PortDataSet),
            ManagementId::TimeStatus => TimeStatus::read(value).map(Self::TimeStatus),
            ManagementId::GrandmasterSettings => GrandmasterSettings::read(value).map(Self::GrandmasterSettings),
            ManagementId::PortDataSetNp => PortDataSetNp::read(value).map(Self::PortDataSetNp),
            ManagementId::SubscribeEvents => SubscribeEvents::read(value).map(Self::SubscribeEvents),
            ManagementId::PortProperties => PortProperties::read(value).map(Self::PortProperties),
            ManagementId::PortStats => PortStats::read(value).map(Self::PortStats),
            ManagementId::PortHwClock => PortHwClock::read(value).map(Self::PortHwClock),
            ManagementId::CmldsInfo => CmldsInfo::read(value).map(Self::CmldsInfo),
        }?;
        value.end(id.name(), start, found - value.len())?;
        Ok(tlv)
    }
}

impl<'a> ManagementErrorStatus<'a> {
    fn read(value: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (what, start, found) = ("MANAGEMENT_ERROR_STATUS", value.at(), value.len());
        let error = value.u16("management error id")?.into();
        let id = value.u16("management id")?;
        let _reserved = value.u32("reserved bytes")?;
        let text = if value.len() == 0 { &[] } else { read_text(value, "error text")? };
        value.end(what, start, found - value.len())?;
        Ok(Self { error, id, text })
    }
}
