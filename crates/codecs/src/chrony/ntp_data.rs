//! The report of a single NTP source, which chronyd gives over its Unix socket alone.

use super::float::{Seconds, WireFloat};
use super::reply::DecodeError;
use super::reports::LeapStatus;
use super::wire::{Address, Fields, UtcTime};

/// Bytes of the longer form of the reply.
pub(super) const NTP_DATA2_BYTES: usize = 144;

/// The mode of a packet of NTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NtpMode {
    /// Symmetric active: a peer that was configured (RFC 5905, figure 10).
    SymmetricActive,
    /// Symmetric passive: a peer that answered one that was configured.
    SymmetricPassive,
    /// Server: it answered a client.
    Server,
    /// Another number; 0 where nothing was received.
    Other(u8),
}

/// Who took a timestamp of a packet on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimestampSource {
    /// chronyd itself read the clock, after the packet had left or come in.
    Daemon,
    /// The kernel stamped the packet on its way through the stack.
    Kernel,
    /// The network card.
    Hardware,
    /// Another byte; 0 where nothing was received.
    Other(u8),
}

impl TimestampSource {
    const fn from_wire(letter: u8) -> Self {
        match letter {
            b'D' => Self::Daemon,
            b'K' => Self::Kernel,
            b'H' => Self::Hardware,
            other => Self::Other(other),
        }
    }
}

/// The last valid measurement of an NTP source (`chronyc ntpdata`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtpData {
    /// Of the source.
    pub remote_address: Address,
    /// Of this machine, where the response was received; unspecified before the first one.
    pub local_address: Address,
    /// UDP port that requests are sent to.
    pub remote_port: u16,
    /// As the source states it.
    pub leap: LeapStatus,
    /// Version of NTP.
    pub version: u8,
    /// Mode of the response.
    pub mode: NtpMode,
    /// As the source states it.
    pub stratum: u8,
    /// Interval between two polls as the response states it, as a power of two of seconds.
    pub poll_log2_s: i8,
    /// Precision of the source's clock, as a power of two of seconds.
    pub precision_log2_s: i8,
    /// From the source to its stratum-1 server.
    pub root_delay: Seconds,
    /// From the source to its stratum-1 server.
    pub root_dispersion: Seconds,
    /// What the source itself follows; `7f7f0101` where it serves its own clock, which nothing else would reveal.
    pub reference_id: u32,
    /// When the source was last updated, by its own clock.
    pub reference_time: UtcTime,
    /// Measured offset. Positive: the system clock, as chronyd corrects it, is *behind* the source. This is the sign of
    /// NTP, opposite to [`super::SourceData::measured_offset`].
    pub offset: Seconds,
    /// Measured delay of the round trip.
    pub peer_delay: Seconds,
    /// Measured dispersion.
    pub peer_dispersion: Seconds,
    /// Between request and response on the source.
    pub response_time: Seconds,
    /// Which way the network's jitter falls, from -0.5 (to the source) to 0.5 (back).
    pub jitter_asymmetry: WireFloat,
    /// Results of the tests of the last packet as bits, set for passed; ten bits, the first test is bit 9.
    pub tests_passed: u16,
    /// Whether the response was in the interleaved mode.
    pub is_interleaved: bool,
    /// Whether the response was authenticated.
    pub is_authenticated: bool,
    /// Who took the time of transmission here.
    pub transmit_timestamps: TimestampSource,
    /// Who took the time of reception here.
    pub receive_timestamps: TimestampSource,
    /// Packets sent to the source.
    pub sent_packets: u32,
    /// Packets received from it.
    pub received_packets: u32,
    /// Received packets that were valid.
    pub valid_packets: u32,
    /// Received packets that passed all tests too; `None` where chronyd does not count them (before 4.3).
    pub good_packets: Option<u32>,
    /// Kernel timestamps of transmissions; `None`, as the three below, where chronyd does not count them (4.3 does not).
    pub kernel_transmit_timestamps: Option<u32>,
    /// Kernel timestamps of receptions.
    pub kernel_receive_timestamps: Option<u32>,
    /// Hardware timestamps of transmissions.
    pub hardware_transmit_timestamps: Option<u32>,
    /// Hardware timestamps of receptions.
    pub hardware_receive_timestamps: Option<u32>,
}

impl NtpData {
    const TESTS: u16 = 0x03ff;
    const INTERLEAVED: u16 = 0x4000;
    const AUTHENTICATED: u16 = 0x8000;

    /// `second_form`: the longer reply, number 26, has four counts more and four reserved words; the first one three.
    pub(super) fn read(fields: &mut Fields<'_>, second_form: bool) -> Result<Self, DecodeError> {
        let remote_address = fields.address()?;
        let local_address = fields.address()?;
        let remote_port = fields.u16()?;
        let leap = LeapStatus::from_wire(u16::from(fields.u8()?));
        let version = fields.u8()?;
        let mode = match fields.u8()? {
            1 => NtpMode::SymmetricActive,
            2 => NtpMode::SymmetricPassive,
            4 => NtpMode::Server,
            other => NtpMode::Other(other),
        };
        let stratum = fields.u8()?;
        let poll_log2_s = fields.i8()?;
        let precision_log2_s = fields.i8()?;
        let root_delay = fields.seconds()?;
        let root_dispersion = fields.seconds()?;
        let reference_id = fields.u32()?;
        let reference_time = fields.time()?;
        let offset = fields.seconds()?;
        let peer_delay = fields.seconds()?;
        let peer_dispersion = fields.seconds()?;
        let response_time = fields.seconds()?;
        let jitter_asymmetry = fields.float()?;
        let flags = fields.u16()?;
        let transmit_timestamps = TimestampSource::from_wire(fields.u8()?);
        let receive_timestamps = TimestampSource::from_wire(fields.u8()?);
        let sent_packets = fields.u32()?;
        let received_packets = fields.u32()?;
        let valid_packets = fields.u32()?;
        // A version that does not count them has reserved words here, whose bits are all set.
        let good_packets = fields.known_u32()?;
        let mut timestamps = [None; 4];
        if second_form {
            for count in &mut timestamps {
                *count = Some(fields.u32()?);
            }
            fields.take::<16>()?;
        } else {
            fields.take::<12>()?;
        }
        let [
            kernel_transmit_timestamps,
            kernel_receive_timestamps,
            hardware_transmit_timestamps,
            hardware_receive_timestamps,
        ] = timestamps;
        Ok(Self {
            remote_address,
            local_address,
            remote_port,
            leap,
            version,
            mode,
            stratum,
            poll_log2_s,
            precision_log2_s,
            root_delay,
            root_dispersion,
            reference_id,
            reference_time,
            offset,
            peer_delay,
            peer_dispersion,
            response_time,
            jitter_asymmetry,
            tests_passed: flags & Self::TESTS,
            is_interleaved: flags & Self::INTERLEAVED != 0,
            is_authenticated: flags & Self::AUTHENTICATED != 0,
            transmit_timestamps,
            receive_timestamps,
            sent_packets,
            received_packets,
            valid_packets,
            good_packets,
            kernel_transmit_timestamps,
            kernel_receive_timestamps,
            hardware_transmit_timestamps,
            hardware_receive_timestamps,
        })
    }
}
