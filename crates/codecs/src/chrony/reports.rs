//! The reports that chronyd replies with. Signs were verified on clocks with a known offset, see each field.

use core::net::Ipv4Addr;

use super::float::{Seconds, WireFloat};
use super::reply::DecodeError;
use super::wire::{Address, Fields, UtcTime};

// Bytes of the fields of each reply.
pub(super) const SOURCE_COUNT_BYTES: usize = 4;
pub(super) const SOURCE_DATA_BYTES: usize = 48;
pub(super) const SOURCE_STATS_BYTES: usize = 56;
pub(super) const TRACKING_BYTES: usize = 76;
pub(super) const ACTIVITY_BYTES: usize = 20;
pub(super) const SMOOTHING_BYTES: usize = 24;
pub(super) const SOURCE_NAME_BYTES: usize = 256;

/// Reference ID of a chronyd that serves the machine's own clock (`local`): 127.127.1.1.
const REFERENCE_ID_LOCAL: u32 = 0x7f7f_0101;

/// Whether a leap second is near, and whether the clock is synchronized at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeapStatus {
    /// Synchronized; the day ends as usual.
    Normal,
    /// Synchronized; a second is inserted at the end of the day in UTC.
    InsertSecond,
    /// Synchronized; the last second of the day in UTC is left out.
    DeleteSecond,
    /// Not synchronised.
    Unsynchronized,
    /// A number that has no meaning in NTP.
    Other(u16),
}

impl LeapStatus {
    pub(super) const fn from_wire(leap: u16) -> Self {
        match leap {
            0 => Self::Normal,
            1 => Self::InsertSecond,
            2 => Self::DeleteSecond,
            3 => Self::Unsynchronized,
            other => Self::Other(other),
        }
    }

    /// Whether the clock follows a reference.
    #[must_use]
    pub const fn is_synchronized(self) -> bool {
        matches!(self, Self::Normal | Self::InsertSecond | Self::DeleteSecond)
    }
}

/// How the system clock follows its reference (`chronyc tracking`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracking {
    /// An IPv4 server's address, the start of the MD5 sum of an IPv6 server's, a reference clock's four letters,
    /// `7f7f0101` for the machine's own clock, and 0 where not synchronized.
    pub reference_id: u32,
    /// Of the server that is followed; unspecified for a reference clock, the machine's own clock and none.
    pub address: Address,
    /// Hops from a clock of reference, 1 for one that is attached; 0 where not synchronized.
    pub stratum: u16,
    /// Whether the clock is synchronized, and whether a leap second is near.
    pub leap: LeapStatus,
    /// When the last measurement of the reference was processed, by chronyd's estimate; zero where not synchronized.
    pub reference_time: UtcTime,
    /// chronyd's estimate of true time minus the system clock: what it still has to add to the system clock.
    ///
    /// Positive is what `chronyc` calls "slow of NTP time", negative "fast of NTP time". A server 50 ms behind the system
    /// clock, seen by an NTP query at -0.050411 s, gave -0.050411 s here and "0.050411377 seconds fast".
    pub system_offset: Seconds,
    /// Estimated offset at the last update. The other sign: positive is a clock that is ahead of its reference.
    pub last_offset: Seconds,
    /// Long-term root mean square of the offset at updates.
    pub rms_offset: Seconds,
    /// How fast the system clock would run without correction, in parts per million; positive is "fast" in `chronyc`.
    pub frequency_ppm: WireFloat,
    /// What the measurements say of the frequency beyond the correction in use, in parts per million.
    pub residual_frequency_ppm: WireFloat,
    /// Estimated bound of the frequency's error, in parts per million.
    pub skew_ppm: WireFloat,
    /// Delay of the round trips to the stratum-1 server, all hops together; 1 s where not synchronized.
    pub root_delay: Seconds,
    /// Dispersion of all hops to the stratum-1 server, grown up to the moment of the reply; 1 s where not synchronized.
    pub root_dispersion: Seconds,
    /// Between the last two updates of the clock.
    pub last_update_interval: Seconds,
}

impl Tracking {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            reference_id: fields.u32()?,
            address: fields.address()?,
            stratum: fields.u16()?,
            leap: LeapStatus::from_wire(fields.u16()?),
            reference_time: fields.time()?,
            system_offset: fields.seconds()?,
            last_offset: fields.seconds()?,
            rms_offset: fields.seconds()?,
            frequency_ppm: fields.float()?,
            residual_frequency_ppm: fields.float()?,
            skew_ppm: fields.float()?,
            root_delay: fields.seconds()?,
            root_dispersion: fields.seconds()?,
            last_update_interval: fields.seconds()?,
        })
    }

    /// Whether chronyd serves the machine's own clock (`local`), perhaps set by hand, and follows nothing.
    #[must_use]
    pub fn is_local_clock(&self) -> bool {
        self.reference_id == REFERENCE_ID_LOCAL && self.address == Address::Unspecified
    }

    /// Largest error of the system clock at the moment of the reply, in nanoseconds, rounded up: the magnitude of the
    /// remaining correction, the root dispersion and half the root delay.
    ///
    /// `None` where there is no such bound: chronyd is not synchronized, serves the machine's own clock, or a part is
    /// beyond the range.
    ///
    /// chrony documents this sum under `tracking` in chronyc(1) as an absolute bound, provided that the stratum-1 computer
    /// is correct. It holds where all of this does:
    ///
    /// - The stratum-1 server is right, and each server between reports its own delay and dispersion truthfully. A server
    ///   that serves its own clock (`local`) looks like one that is right.
    /// - Packets and timestamps are delayed as they are measured; which way the delay falls does not matter, as half of it
    ///   covers the worst asymmetry. chronyd's options `asymmetry`, `offset`, `delay` and `correction` change what it
    ///   measures, and are trusted.
    /// - The oscillator stays within chronyd's estimate of its frequency error and `maxclockerror`, 1 ppm unless
    ///   configured, since the last measurement. Parts of the dispersion are statistical estimates.
    /// - Nothing but chronyd sets the clock, and no leap second is being smeared.
    ///
    /// It is the error at the moment of the reply, and grows from then on.
    #[must_use]
    pub fn bound_ns(&self) -> Option<u64> {
        if !self.leap.is_synchronized() || self.reference_id == 0 || self.is_local_clock() {
            return None;
        }
        let half_delay_ns = self.root_delay.magnitude_upper_ns()?.div_ceil(2);
        self.system_offset
            .magnitude_upper_ns()?
            .checked_add(self.root_dispersion.magnitude_upper_ns()?)?
            .checked_add(half_delay_ns)
    }
}

/// What kind of source it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceMode {
    /// An NTP server, of which this machine is a client.
    Server,
    /// An NTP peer.
    Peer,
    /// A reference clock of this machine.
    ReferenceClock,
    /// A number that this module does not know.
    Other(u16),
}

/// What chronyd does with a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceState {
    /// Followed as the best one (`*` in `chronyc`).
    Selected,
    /// Cannot be selected, such as one that is unreachable, has too few samples or is not to be selected (`?`).
    Nonselectable,
    /// In contradiction with a majority of the others (`x`).
    Falseticker,
    /// Varies too much (`~`).
    Jittery,
    /// Combined with the selected one (`+`).
    Combined,
    /// Acceptable, and left out of the combination (`-`).
    NotCombined,
    /// A number that this module does not know.
    Other(u16),
}

/// State and last measurement of a source (a line of `chronyc sources`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceData {
    /// Of a server or peer; a reference clock has its reference ID in an IPv4 address, see
    /// [`SourceData::reference_clock_id`].
    pub address: Address,
    /// Interval between two polls, as a power of two of seconds.
    pub poll_log2_s: i16,
    /// As the source states it.
    pub stratum: u16,
    /// What chronyd does with it.
    pub state: SourceState,
    /// What kind of source it is.
    pub mode: SourceMode,
    /// Which of the last eight polls had a valid answer: the latest one is bit 0. 255: all of them.
    pub reachability: u16,
    /// Whole seconds since the last good measurement; `None` where there was none, and the offsets then mean nothing.
    pub since_sample_s: Option<u32>,
    /// The offset as it was measured. Positive: the system clock, as chronyd corrects it, is ahead of the source.
    pub measured_offset: Seconds,
    /// The same, changed by the corrections of the clock since.
    pub adjusted_offset: Seconds,
    /// Margin of error of the measurement.
    pub offset_error: Seconds,
}

impl SourceData {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        let address = fields.address()?;
        let poll_log2_s = fields.i16()?;
        let stratum = fields.u16()?;
        let state = match fields.u16()? {
            0 => SourceState::Selected,
            1 => SourceState::Nonselectable,
            2 => SourceState::Falseticker,
            3 => SourceState::Jittery,
            4 => SourceState::Combined,
            5 => SourceState::NotCombined,
            other => SourceState::Other(other),
        };
        let mode = match fields.u16()? {
            0 => SourceMode::Server,
            1 => SourceMode::Peer,
            2 => SourceMode::ReferenceClock,
            other => SourceMode::Other(other),
        };
        // Flags that no version sets any more.
        fields.u16()?;
        Ok(Self {
            address,
            poll_log2_s,
            stratum,
            state,
            mode,
            reachability: fields.u16()?,
            since_sample_s: fields.known_u32()?,
            measured_offset: fields.seconds()?,
            adjusted_offset: fields.seconds()?,
            offset_error: fields.seconds()?,
        })
    }

    /// The four letters of a reference clock, as a number; `None` for a server or peer.
    #[must_use]
    pub fn reference_clock_id(&self) -> Option<u32> {
        match (self.mode, self.address) {
            (SourceMode::ReferenceClock, Address::V4(letters)) => Some(Ipv4Addr::to_bits(letters)),
            _ => None,
        }
    }
}

/// What the measurements of a source say of drift and offset (a line of `chronyc sourcestats`).
///
/// Without a sample the skew is 2000 ppm and the standard deviation 4 s, which are chronyd's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStats {
    /// Of a reference clock its four letters; of others as in [`Tracking::reference_id`].
    pub reference_id: u32,
    /// Unspecified for a reference clock.
    pub address: Address,
    /// Measurements in the regression.
    pub samples: u32,
    /// Runs of residuals with the same sign; few of them say that a line does not fit.
    pub runs: u32,
    /// From the oldest measurement to the latest one, in seconds.
    pub span_s: u32,
    /// Standard deviation of the measurements about the line.
    pub standard_deviation: Seconds,
    /// Frequency against the source, as corrected, in parts per million. Positive: the clock is faster than the source.
    pub residual_frequency_ppm: WireFloat,
    /// Estimated bound of the frequency's error, in parts per million.
    pub skew_ppm: WireFloat,
    /// Estimated offset now. Positive: the system clock, as chronyd corrects it, is ahead of the source.
    pub estimated_offset: Seconds,
    /// Estimated error of this offset.
    pub estimated_offset_error: Seconds,
}

impl SourceStats {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            reference_id: fields.u32()?,
            address: fields.address()?,
            samples: fields.u32()?,
            runs: fields.u32()?,
            span_s: fields.u32()?,
            standard_deviation: fields.seconds()?,
            residual_frequency_ppm: fields.float()?,
            skew_ppm: fields.float()?,
            estimated_offset: fields.seconds()?,
            estimated_offset_error: fields.seconds()?,
        })
    }
}

/// How many NTP sources are in which state (`chronyc activity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Polled.
    pub online: u32,
    /// Not polled, since they are taken to be out of reach.
    pub offline: u32,
    /// In a burst of measurements, online after it.
    pub burst_online: u32,
    /// In a burst of measurements, offline after it.
    pub burst_offline: u32,
    /// Names that are not resolved yet.
    pub unresolved: u32,
}

impl Activity {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            online: fields.u32()?,
            offline: fields.u32()?,
            burst_online: fields.u32()?,
            burst_offline: fields.u32()?,
            unresolved: fields.u32()?,
        })
    }
}

/// The smoothing of the time that chronyd serves to its clients (`chronyc smoothing`). It does not touch this machine's
/// clock: clients are served a time that is off by [`Smoothing::offset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smoothing {
    /// Whether it is in effect.
    pub is_active: bool,
    /// Whether only leap seconds are smoothed.
    pub is_leap_only: bool,
    /// The offset that is being served now, as `chronyc` states it.
    pub offset: Seconds,
    /// The frequency offset that is being served, in parts per million.
    pub frequency_ppm: WireFloat,
    /// Change of this frequency, in parts per million per second.
    pub wander_ppm_per_s: WireFloat,
    /// Since the last change of the served time.
    pub last_update_ago: Seconds,
    /// Until the served time is chronyd's own.
    pub remaining_time: Seconds,
}

impl Smoothing {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        let flags = fields.u32()?;
        Ok(Self {
            is_active: flags & 1 != 0,
            is_leap_only: flags & 2 != 0,
            offset: fields.seconds()?,
            frequency_ppm: fields.float()?,
            wander_ppm_per_s: fields.float()?,
            last_update_ago: fields.seconds()?,
            remaining_time: fields.seconds()?,
        })
    }
}

/// The name by which a source was configured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SourceName {
    bytes: [u8; SOURCE_NAME_BYTES],
    length: usize,
}

impl SourceName {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, DecodeError> {
        let bytes: [u8; SOURCE_NAME_BYTES] = fields.take()?;
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(SOURCE_NAME_BYTES);
        Ok(Self { bytes, length })
    }

    /// The name; `None` where it cannot be shown: empty, cut off, or of other than visible ASCII characters.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        let name = self.bytes.get(..self.length)?;
        // A name of the whole length was cut off.
        let visible = !name.is_empty() && self.length < SOURCE_NAME_BYTES && name.iter().all(u8::is_ascii_graphic);
        if visible { std::str::from_utf8(name).ok() } else { None }
    }
}

impl std::fmt::Debug for SourceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SourceName").field(&self.as_str()).finish()
    }
}
