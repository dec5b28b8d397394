//! What a clock says of itself, its master and its grandmaster (IEEE 1588-2019, 15.5.3.3 to 15.5.3.6; linuxptp `ds.h`).

use super::super::error::DecodeError;
use super::super::identity::{ClockIdentity, PortIdentity};
use super::super::reader::Reader;
use super::super::time::{ScaledNs, TimeInterval};

/// How good a clock claims to be (IEEE 1588-2019, 5.3.7). The numbers are claims of its configuration, not measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockQuality {
    /// `clockClass`: 6 locked to a primary reference, 7 holdover, 248 default, 255 client only (table 4).
    pub class: u8,
    /// `clockAccuracy`: 0x20 within 25 ns to 0x31 above 10 s, 0xfe unknown (table 5).
    pub accuracy: u8,
    /// `offsetScaledLogVariance`: stability as a scaled logarithm; 0xffff unknown (7.6.3.3).
    pub offset_scaled_log_variance: u16,
}

impl ClockQuality {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            class: reader.u8("clock class")?,
            accuracy: reader.u8("clock accuracy")?,
            offset_scaled_log_variance: reader.u16("offset scaled log variance")?,
        })
    }
}

/// Attributes of the clock itself (`DEFAULT_DATA_SET`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultDataSet {
    /// The clock sends Follow_Up messages.
    pub two_step: bool,
    /// The clock never becomes master (`clientOnly`).
    pub client_only: bool,
    /// Ports of the clock (1 to 65535).
    pub number_of_ports: u16,
    /// First criterion of the choice of a master; the lower one wins (0 to 255).
    pub priority1: u8,
    /// What the clock would announce as master.
    pub clock_quality: ClockQuality,
    /// Criterion after the quality; the lower one wins (0 to 255).
    pub priority2: u8,
    /// The clock that answers.
    pub clock_identity: ClockIdentity,
    /// PTP domain (0 to 255).
    pub domain_number: u8,
}

impl DefaultDataSet {
    pub(super) const BYTES: usize = 20;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let flags = reader.u8("default data set flags")?;
        let _reserved = reader.u8("reserved byte")?;
        let data = Self {
            two_step: flags & 1 != 0,
            client_only: flags & 2 != 0,
            number_of_ports: reader.u16("number of ports")?,
            priority1: reader.u8("priority 1")?,
            clock_quality: ClockQuality::read(reader)?,
            priority2: reader.u8("priority 2")?,
            clock_identity: ClockIdentity::read(reader, "clock identity")?,
            domain_number: reader.u8("domain number")?,
        };
        let _reserved = reader.u8("reserved byte")?;
        Ok(data)
    }
}

/// What the daemon believes after its filters (`CURRENT_DATA_SET`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentDataSet {
    /// Boundary clocks between this clock and the grandmaster (0 on the grandmaster).
    pub steps_removed: u16,
    /// Time of this clock minus that of its master (2^-16 ns); linuxptp fills in whole nanoseconds.
    pub offset_from_master: TimeInterval,
    /// Mean delay of the path to the master, filtered (2^-16 ns); 0 on linuxptp that uses peer delay.
    pub mean_path_delay: TimeInterval,
}

impl CurrentDataSet {
    pub(super) const BYTES: usize = 18;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            steps_removed: reader.u16("steps removed")?,
            offset_from_master: TimeInterval::read(reader, "offset from master")?,
            mean_path_delay: TimeInterval::read(reader, "mean path delay")?,
        })
    }
}

/// The port that this clock follows, and the grandmaster (`PARENT_DATA_SET`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentDataSet {
    /// The master's port; on a grandmaster its own identity with port 0.
    pub parent_port_identity: PortIdentity,
    /// The two observed values below are measured; linuxptp never measures them.
    pub parent_stats: bool,
    /// Observed stability of the parent, as a scaled logarithm; 0xffff unknown.
    pub observed_parent_offset_scaled_log_variance: u16,
    /// Observed rate of change of the parent's phase, scaled; 0x7fffffff unknown.
    pub observed_parent_clock_phase_change_rate: i32,
    /// `priority1` of the grandmaster (0 to 255).
    pub grandmaster_priority1: u8,
    /// What the grandmaster claims to be.
    pub grandmaster_clock_quality: ClockQuality,
    /// `priority2` of the grandmaster (0 to 255).
    pub grandmaster_priority2: u8,
    /// The grandmaster.
    pub grandmaster_identity: ClockIdentity,
}

impl ParentDataSet {
    pub(super) const BYTES: usize = 32;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let parent_port_identity = PortIdentity::read(reader, "parent port identity")?;
        let parent_stats = reader.u8("parent stats")? & 1 != 0;
        let _reserved = reader.u8("reserved byte")?;
        Ok(Self {
            parent_port_identity,
            parent_stats,
            observed_parent_offset_scaled_log_variance: reader.u16("observed parent offset scaled log variance")?,
            observed_parent_clock_phase_change_rate: reader.i32("observed parent clock phase change rate")?,
            grandmaster_priority1: reader.u8("grandmaster priority 1")?,
            grandmaster_clock_quality: ClockQuality::read(reader)?,
            grandmaster_priority2: reader.u8("grandmaster priority 2")?,
            grandmaster_identity: ClockIdentity::read(reader, "grandmaster identity")?,
        })
    }
}

/// Time scale of the grandmaster (`TIME_PROPERTIES_DATA_SET`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeProperties {
    /// TAI minus UTC (s); meaningful where `current_utc_offset_valid`.
    pub current_utc_offset_s: i16,
    /// The last minute of this UTC day has 61 seconds.
    pub leap61: bool,
    /// The last minute of this UTC day has 59 seconds.
    pub leap59: bool,
    /// The UTC offset is known to be right.
    pub current_utc_offset_valid: bool,
    /// The time scale is TAI with the PTP epoch; otherwise it is arbitrary, and may be UTC.
    pub ptp_timescale: bool,
    /// Time is traceable to a primary reference.
    pub time_traceable: bool,
    /// Frequency is traceable to a primary reference.
    pub frequency_traceable: bool,
    /// Where the grandmaster has its time from.
    pub time_source: TimeSource,
}

impl TimeProperties {
    pub(super) const BYTES: usize = 4;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let current_utc_offset_s = reader.i16("current UTC offset")?;
        let flags = reader.u8("time flags")?;
        Ok(Self {
            current_utc_offset_s,
            leap61: flags & 1 != 0,
            leap59: flags & 1 << 1 != 0,
            current_utc_offset_valid: flags & 1 << 2 != 0,
            ptp_timescale: flags & 1 << 3 != 0,
            time_traceable: flags & 1 << 4 != 0,
            frequency_traceable: flags & 1 << 5 != 0,
            time_source: TimeSource(reader.u8("time source")?),
        })
    }
}

/// Where a grandmaster has its time from (IEEE 1588-2019, table 6), as its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeSource(pub u8);

impl TimeSource {
    /// The name in table 6; none for numbers of profiles and reserved ones.
    pub fn name(self) -> Option<&'static str> {
        sync::facts::time_source_name(self.0)
    }
}

/// Last synchronization of the clock (`TIME_STATUS_NP`, linuxptp `tlv.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeStatus {
    /// Time of this clock minus that of its master at the last Sync (ns): one sample, which uses the filtered delay.
    pub master_offset_ns: i64,
    /// When this clock received that Sync (ns on the time stamping clock); 0 before the first.
    pub ingress_time_ns: i64,
    /// Rate of the grandmaster against the master, minus 1 (2^-41), from IEEE 802.1AS's Follow_Up information.
    pub cumulative_scaled_rate_offset: i32,
    /// Last change of the grandmaster's frequency (2^-41), from the same.
    pub scaled_last_gm_phase_change: i32,
    /// Counts changes of the grandmaster's time base.
    pub gm_time_base_indicator: u16,
    /// Last change of the grandmaster's phase. Only the upper 16 bits are what the daemon received: the conversion in
    /// linuxptp (`tlv.c`, 3.1 to 4.2) overwrites the 64 bits below them.
    pub last_gm_phase_change: ScaledNs,
    /// Another clock is grandmaster.
    pub gm_present: bool,
    /// The grandmaster.
    pub gm_identity: ClockIdentity,
}

impl TimeStatus {
    pub(super) const BYTES: usize = 50;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            master_offset_ns: reader.i64("master offset")?,
            ingress_time_ns: reader.i64("ingress time")?,
            cumulative_scaled_rate_offset: reader.i32("cumulative scaled rate offset")?,
            scaled_last_gm_phase_change: reader.i32("scaled last grandmaster phase change")?,
            gm_time_base_indicator: reader.u16("grandmaster time base indicator")?,
            last_gm_phase_change: ScaledNs(reader.array("last grandmaster phase change")?),
            gm_present: reader.bool32("grandmaster present")?,
            gm_identity: ClockIdentity::read(reader, "grandmaster identity")?,
        })
    }
}

/// What the clock announces when it is grandmaster (`GRANDMASTER_SETTINGS_NP`, linuxptp `tlv.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrandmasterSettings {
    /// Quality that it claims.
    pub clock_quality: ClockQuality,
    /// Time scale that it announces.
    pub time_properties: TimeProperties,
}

impl GrandmasterSettings {
    pub(super) const BYTES: usize = 8;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { clock_quality: ClockQuality::read(reader)?, time_properties: TimeProperties::read(reader)? })
    }
}
