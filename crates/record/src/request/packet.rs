//! The request for a run of `packet`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::{KindRequest, RunEnd, time_of};
use crate::Measurement;

/// The parameters of a run of `packet`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PacketRequest {
    /// The way that packets take through the system.
    pub path: PacketPath,
    /// Which of the two nodes sends.
    pub direction: PacketDirection,
    /// From one packet to the next (10 us to 10 s).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// When the run ends.
    pub end: RunEnd,
    /// Payload of each packet (bytes, 64 to 65507); the headers of the network come on top.
    pub size: u32,
    /// How the receiver waits for packets.
    pub receive: ReceiveMode,
    /// The delay that no packet may exceed, within the error that the clocks allow.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub limit: Option<Ns>,
    /// Priority of the packets within the sending system (SO_PRIORITY, 0 to 15).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// VLAN of the packets (1 to 4094), on the path `l2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Differentiated services code point of the packets (0 to 63), on paths with IP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// How long after its schedule the network is to send each packet (SO_TXTIME); absent: as soon as it can.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub launch_time: Option<Ns>,
    /// The CPU of the sending and receiving threads; absent: the first isolated one, or none in particular. Each node has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Priority of these threads under SCHED_FIFO (1 to 99); absent: SCHED_OTHER.
    pub sched_priority: Option<u32>,
    /// Whether stamps of the network interface are used, and whether it may be set for that. Each node has its own.
    #[serde(skip_serializing_if = "HardwareMode::is_off")]
    pub hardware_stamps: HardwareMode,
    /// Whether time services of both nodes are asked how far their clocks are apart.
    pub sync: bool,
    /// How much the rates of the two uncorrected clocks differ at most (parts per billion, 1 to 100000000).
    pub max_drift_ppb: u32,
}

/// The way that packets take through the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketPath {
    /// UDP sockets.
    #[default]
    Udp,
    /// Sockets of the link layer (AF_PACKET).
    L2,
    /// Sockets that the network's driver fills (AF_XDP).
    Xdp,
}

impl PacketPath {
    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::L2 => "l2",
            Self::Xdp => "xdp",
        }
    }
}

/// Which of the two nodes sends, as seen by the one that asks for the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketDirection {
    /// It sends to its partner.
    #[default]
    To,
    /// Its partner sends.
    From,
    /// Both send at the same time.
    Both,
}

/// How a receiver waits for packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiveMode {
    /// It sleeps until a packet wakes it.
    #[default]
    Block,
    /// It asks without a pause.
    Poll,
    /// It knows the schedule: it sleeps until shortly before a packet is due, and then asks without a pause.
    Schedule,
}

impl ReceiveMode {
    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Poll => "poll",
            Self::Schedule => "schedule",
        }
    }
}

/// Whether stamps of a network interface are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HardwareMode {
    /// They are not asked for.
    #[default]
    Off,
    /// Those are used that the interface takes anyway.
    Auto,
    /// An interface that takes none is set to, until the end of the run.
    On,
}

impl HardwareMode {
    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::On => "on",
        }
    }

    /// Whether they are not asked for.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }
}

impl Default for PacketRequest {
    fn default() -> Self {
        Self {
            path: PacketPath::Udp,
            direction: PacketDirection::To,
            interval: Ns::from_ms(1),
            end: RunEnd::After(Ns::from_s(60)),
            size: 128,
            receive: ReceiveMode::Block,
            limit: None,
            priority: None,
            vlan: None,
            dscp: None,
            launch_time: None,
            cpu: None,
            sched_priority: Some(98),
            hardware_stamps: HardwareMode::Off,
            sync: true,
            max_drift_ppb: super::sync::DEFAULT_MAX_DRIFT_PPB,
        }
    }
}

impl KindRequest for PacketRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Packet
    }

    fn deadline(&self) -> Option<Ns> {
        self.limit
    }

    fn takes(&self) -> Option<Ns> {
        match self.end {
            RunEnd::After(duration) => Some(duration),
            RunEnd::Samples(samples) => time_of(samples, self.interval),
            RunEnd::WhenTold => None,
        }
    }

    fn real_time_priority(&self) -> Option<u32> {
        self.sched_priority
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.end = RunEnd::After(duration);
        true
    }
}
