//! What the two programs of a run say to each other beside the measured packets.
//!
//! ```text
//! initiator ── Job ─────► partner     what is wanted, and where the initiator receives
//! initiator ◄── Ready ─── partner     where the partner receives; or Refused
//! initiator ── Begin ───► partner     its threads are ready; the partner says the same once its own are, and both begin
//! each      ── Told ────► the other   pieces of its half so far, where the other one asked for that; each telling is answered by Heard
//! each      ── HardwareClock ──► the other   where its interface stamps what it sends: that clock, a few times a second
//! each      ── Sent ────► the other   it has sent all of its packets
//! each      ── Half ────► the other   its half of the record
//! ```
//! Either side may say `Stop` in between: both then end early.

use record::{PacketDirection, PacketPath, PacketRequest, ReceiveMode, RunEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use crate::hardware::HardwareReading;
use crate::header::Session;
use crate::told::Piece;

/// What is asked of the partner. The key of the packets is not in it: both programs derive it from their connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PacketJob {
    /// What is measured, and how.
    pub request: AskedPackets,
    /// Where the initiator sends and receives.
    pub initiator: Endpoints,
}

/// The session of two programs that share 32 random bytes.
#[must_use]
pub fn session(shared: &[u8; 32]) -> Session {
    let mut key = [0; 16];
    key.copy_from_slice(&shared[..16]);
    Session { number: crate::header::word(shared, 16), key }
}

/// The parameters of a run of `packet` that both nodes share. Each has the meaning of the field of its name in
/// [`PacketRequest`]; threads, CPUs and stamps of interfaces are each node's own choice, and no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedPackets {
    /// The way that packets take through the system.
    pub path: PacketPath,
    /// Which of the two nodes sends, as seen by the one that asks.
    pub direction: PacketDirection,
    /// From one packet to the next (10 us to 10 s).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// When the run ends.
    pub end: RunEnd,
    /// Payload of each packet (bytes, 64 to 65507).
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
    /// How long after its schedule the network is to send each packet; absent: as soon as it can.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub launch_time: Option<Ns>,
    /// Whether time services of both nodes are asked how far their clocks are apart.
    pub sync: bool,
    /// How much the rates of the two uncorrected clocks differ at most (parts per billion, 1 to 100000000).
    pub max_drift_ppb: u32,
}

impl From<PacketRequest> for AskedPackets {
    fn from(request: PacketRequest) -> Self {
        Self {
            path: request.path,
            direction: request.direction,
            interval: request.interval,
            end: request.end,
            size: request.size,
            receive: request.receive,
            limit: request.limit,
            priority: request.priority,
            vlan: request.vlan,
            dscp: request.dscp,
            launch_time: request.launch_time,
            sync: request.sync,
            max_drift_ppb: request.max_drift_ppb,
        }
    }
}

impl Default for AskedPackets {
    fn default() -> Self {
        PacketRequest::default().into()
    }
}

impl From<AskedPackets> for PacketRequest {
    /// What is each node's own has its default, and has to be chosen.
    fn from(asked: AskedPackets) -> Self {
        Self {
            path: asked.path,
            direction: asked.direction,
            interval: asked.interval,
            end: asked.end,
            size: asked.size,
            receive: asked.receive,
            limit: asked.limit,
            priority: asked.priority,
            vlan: asked.vlan,
            dscp: asked.dscp,
            launch_time: asked.launch_time,
            sync: asked.sync,
            max_drift_ppb: asked.max_drift_ppb,
            ..Self::default()
        }
    }
}

/// Where a node receives, at the address of the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Endpoints {
    /// Name of the node.
    pub node: String,
    /// Port of the exchange that compares the clocks.
    pub clock_port: u16,
    /// Port of the measured packets; of the link layer's packets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_port: Option<u16>,
    /// Hardware address of the interface; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_address: Option<[u8; 6]>,
    /// Whether its network interface stamps what it sends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hardware_stamps: bool,
    /// Whether it wants to be told of the other half while the run goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_half: bool,
}

/// What a node has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SentReport {
    /// Packets that it sent.
    pub sent: u64,
    /// Schedules for which it was too late.
    pub skipped: u64,
    /// Packets that its system refused to take.
    pub refused: u64,
}

/// A message from one program to the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum Message {
    /// The partner is ready.
    Ready {
        /// Where it sends and receives.
        partner: Endpoints,
    },
    /// The partner does not take part.
    Refused {
        /// Why not, with the remedy, as a sentence.
        why: String,
    },
    /// The node's threads are ready. Said back by the partner: both begin.
    Begin,
    /// The clock of the node's network interface, whose stamps its packets bring, read together with the node's.
    HardwareClock {
        /// Both clocks.
        reading: HardwareReading,
    },
    /// A piece of the node's half as it is so far.
    Told {
        /// A part of what the half has come to, packed.
        piece: Piece,
    },
    /// The node has heard all pieces of a telling.
    Heard,
    /// The node has sent all of its packets, and those that bring their stamps.
    Sent {
        /// What it sent.
        report: SentReport,
    },
    /// The node ends before its time, and wants the other one to end too.
    Stop {
        /// Why, in words.
        why: String,
    },
    /// The node's half of the record, as JSON.
    Half {
        /// The record, in the form of its file.
        record: String,
    },
}
