//! What a clock says of one of its ports (IEEE 1588-2019, 15.5.3.7; linuxptp `ds.h`, `tlv.h`, `ddt.h`).

use std::fmt;

use super::super::error::DecodeError;
use super::super::identity::PortIdentity;
use super::super::reader::Reader;
use super::super::time::TimeInterval;

/// State of a port (IEEE 1588-2019, table 20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PortState {
    /// Starts up.
    Initializing,
    /// Has a fault and waits to be reset.
    Faulty,
    /// Takes no part.
    Disabled,
    /// Waits for an Announce message.
    Listening,
    /// Is about to become master.
    PreMaster,
    /// Gives time to others.
    Master,
    /// Neither gives nor takes time, since another port does.
    Passive,
    /// Follows a master, but the servo has not locked. A linuxptp with `free_running` never leaves this state.
    Uncalibrated,
    /// Follows a master, and the servo has locked.
    Slave,
    /// Gives time as grandmaster; linuxptp's own state of IEEE 802.1AS (`fsm.h`).
    GrandMaster,
}

impl PortState {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (what, at) = ("port state", reader.at());
        Ok(match reader.u8(what)? {
            1 => Self::Initializing,
            2 => Self::Faulty,
            3 => Self::Disabled,
            4 => Self::Listening,
            5 => Self::PreMaster,
            6 => Self::Master,
            7 => Self::Passive,
            8 => Self::Uncalibrated,
            9 => Self::Slave,
            10 => Self::GrandMaster,
            found => return Err(DecodeError::Value { what, at, found: found.into(), expected: "1 to 10" }),
        })
    }
}

impl fmt::Display for PortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initializing => "INITIALIZING",
            Self::Faulty => "FAULTY",
            Self::Disabled => "DISABLED",
            Self::Listening => "LISTENING",
            Self::PreMaster => "PRE_MASTER",
            Self::Master => "MASTER",
            Self::Passive => "PASSIVE",
            Self::Uncalibrated => "UNCALIBRATED",
            Self::Slave => "SLAVE",
            Self::GrandMaster => "GRAND_MASTER",
        })
    }
}

/// How a port measures delay (IEEE 1588-2019, table 21; linuxptp `dm.h` for `Auto`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DelayMechanism {
    /// Not decided yet.
    Auto,
    /// Delay_Req and Delay_Resp with the master.
    EndToEnd,
    /// Pdelay messages with the neighbor.
    PeerToPeer,
    /// Delay of the link as the common mean link delay service measures it.
    CommonPeerToPeer,
    /// No delay is measured.
    None,
    /// A number that this module does not know.
    Other(u8),
}

impl From<u8> for DelayMechanism {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::Auto,
            1 => Self::EndToEnd,
            2 => Self::PeerToPeer,
            3 => Self::CommonPeerToPeer,
            0xfe => Self::None,
            other => Self::Other(other),
        }
    }
}

/// State and intervals of one port (`PORT_DATA_SET`). Intervals are powers of two of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortDataSet {
    /// The port.
    pub port_identity: PortIdentity,
    /// The state of the port's protocol engine.
    pub port_state: PortState,
    /// Least interval between Delay_Req messages (log2 s).
    pub log_min_delay_req_interval: i8,
    /// Mean delay to the neighbor (2^-16 ns); 0 with the end-to-end mechanism.
    pub peer_mean_path_delay: TimeInterval,
    /// Interval between Announce messages (log2 s).
    pub log_announce_interval: i8,
    /// Announce intervals without a message after which the master is lost.
    pub announce_receipt_timeout: u8,
    /// Interval between Sync messages (log2 s).
    pub log_sync_interval: i8,
    /// How delay is measured.
    pub delay_mechanism: DelayMechanism,
    /// Least interval between Pdelay_Req messages (log2 s).
    pub log_min_pdelay_req_interval: i8,
    /// Major version of PTP that the port speaks (0 to 15).
    pub version: u8,
    /// Minor version of PTP that the port speaks (0 to 15).
    pub minor_version: u8,
}

impl PortDataSet {
    pub(super) const BYTES: usize = 26;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_identity = PortIdentity::read(reader, "port identity")?;
        let port_state = PortState::read(reader)?;
        let log_min_delay_req_interval = reader.i8("log min delay request interval")?;
        let peer_mean_path_delay = TimeInterval::read(reader, "peer mean path delay")?;
        let log_announce_interval = reader.i8("log announce interval")?;
        let announce_receipt_timeout = reader.u8("announce receipt timeout")?;
        let log_sync_interval = reader.i8("log sync interval")?;
        let delay_mechanism = reader.u8("delay mechanism")?.into();
        let log_min_pdelay_req_interval = reader.i8("log min peer delay request interval")?;
        let version = reader.u8("version number")?;
        Ok(Self {
            port_identity,
            port_state,
            log_min_delay_req_interval,
            peer_mean_path_delay,
            log_announce_interval,
            announce_receipt_timeout,
            log_sync_interval,
            delay_mechanism,
            log_min_pdelay_req_interval,
            version: version & 0xf,
            minor_version: version >> 4,
        })
    }
}

/// Whether a port can run IEEE 802.1AS (`PORT_DATA_SET_NP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortDataSetNp {
    /// Delay to the neighbor above which the port is not capable (ns).
    pub neighbor_prop_delay_thresh_ns: u32,
    /// The neighbor answers and is near enough; always so without IEEE 802.1AS.
    pub as_capable: bool,
}

impl PortDataSetNp {
    pub(super) const BYTES: usize = 8;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            neighbor_prop_delay_thresh_ns: reader.u32("neighbor propagation delay threshold")?,
            as_capable: reader.bool32("802.1AS capable")?,
        })
    }
}

/// Who takes the time stamps of a port (linuxptp `transport.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timestamping {
    /// The kernel's network stack, on the system clock.
    Software,
    /// The network adapter, on its own clock.
    Hardware,
    /// An adapter with the interface of old kernels.
    LegacyHardware,
    /// The adapter writes the stamp into Sync messages as they leave.
    OneStep,
    /// As `OneStep`, for the answers to peer delay requests too.
    PeerToPeerOneStep,
    /// A number that this module does not know.
    Other(u8),
}

impl From<u8> for Timestamping {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::Software,
            1 => Self::Hardware,
            2 => Self::LegacyHardware,
            3 => Self::OneStep,
            4 => Self::PeerToPeerOneStep,
            other => Self::Other(other),
        }
    }
}

/// Interface and kind of time stamps of one port (`PORT_PROPERTIES_NP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortProperties<'a> {
    /// The port.
    pub port_identity: PortIdentity,
    /// The state of the port's protocol engine.
    pub port_state: PortState,
    /// Who takes its time stamps.
    pub timestamping: Timestamping,
    /// Name of its interface; a name in Linux may hold any bytes but '/', ':' and white space.
    pub interface: &'a [u8],
}

impl<'a> PortProperties<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let port_identity = PortIdentity::read(reader, "port identity")?;
        let port_state = PortState::read(reader)?;
        let timestamping = reader.u8("time stamping")?.into();
        let interface = super::read_text(reader, "interface name")?;
        Ok(Self { port_identity, port_state, timestamping, interface })
    }
}

/// Messages counted by type since the port was last initialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageCounts {
    /// Sync.
    pub sync: u64,
    /// Delay_Req.
    pub delay_req: u64,
    /// Pdelay_Req.
    pub pdelay_req: u64,
    /// Pdelay_Resp.
    pub pdelay_resp: u64,
    /// Follow_Up.
    pub follow_up: u64,
    /// Delay_Resp.
    pub delay_resp: u64,
    /// Pdelay_Resp_Follow_Up.
    pub pdelay_resp_follow_up: u64,
    /// Announce.
    pub announce: u64,
    /// Signaling.
    pub signaling: u64,
    /// Management.
    pub management: u64,
}

impl MessageCounts {
    /// Sixteen counters, one for each number of a message type (IEEE 1588-2019, table 36). linuxptp writes them least
    /// significant byte first, unlike everything else.
    fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let mut next = || reader.array(what).map(u64::from_le_bytes);
        let (sync, delay_req, pdelay_req, pdelay_resp) = (next()?, next()?, next()?, next()?);
        for _reserved in 4..8 {
            next()?;
        }
        let (follow_up, delay_resp, pdelay_resp_follow_up) = (next()?, next()?, next()?);
        let (announce, signaling, management) = (next()?, next()?, next()?);
        for _reserved in 14..16 {
            next()?;
        }
        Ok(Self {
            sync,
            delay_req,
            pdelay_req,
            pdelay_resp,
            follow_up,
            delay_resp,
            pdelay_resp_follow_up,
            announce,
            signaling,
            management,
        })
    }
}

/// Messages received and sent by one port (`PORT_STATS_NP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortStats {
    /// The port.
    pub port_identity: PortIdentity,
    /// Received.
    pub received: MessageCounts,
    /// Sent.
    pub sent: MessageCounts,
}

impl PortStats {
    pub(super) const BYTES: usize = 266;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            port_identity: PortIdentity::read(reader, "port identity")?,
            received: MessageCounts::read(reader, "messages received")?,
            sent: MessageCounts::read(reader, "messages sent")?,
        })
    }
}

/// The hardware clock of one port (`PORT_HWCLOCK_NP`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortHwClock {
    /// The port.
    pub port_identity: PortIdentity,
    /// N of `/dev/ptpN`; none with software time stamps.
    pub phc_index: Option<u32>,
    /// The clock is a virtual one, made from the clock of the adapter.
    pub is_virtual: bool,
}

impl PortHwClock {
    pub(super) const BYTES: usize = 16;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_identity = PortIdentity::read(reader, "port identity")?;
        // -1 means none.
        let phc_index = u32::try_from(reader.i32("hardware clock index")?).ok();
        let is_virtual = reader.u8("hardware clock flags")? & 1 != 0;
        let _reserved = reader.u8("reserved byte")?;
        Ok(Self { port_identity, phc_index, is_virtual })
    }
}

/// Link delay of the common mean link delay service (`CMLDS_INFO_NP`, linuxptp 4.3 and later).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CmldsInfo {
    /// Mean delay of the link (2^-16 ns).
    pub mean_link_delay: TimeInterval,
    /// Rate of the neighbor against this clock, minus 1 (2^-41).
    pub scaled_neighbor_rate_ratio: i32,
    /// The neighbor can run IEEE 802.1AS.
    pub as_capable: bool,
}

impl CmldsInfo {
    pub(super) const BYTES: usize = 16;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            mean_link_delay: TimeInterval::read(reader, "mean link delay")?,
            scaled_neighbor_rate_ratio: reader.i32("scaled neighbor rate ratio")?,
            as_capable: reader.bool32("802.1AS capable")?,
        })
    }
}
