//! What the two programs of a run say to each other beside the measured packets.
//!
//! ```text
//! initiator ── Job ─────► partner     what is wanted, and where the initiator receives
//! initiator ◄── Ready ─── partner     where the partner receives; or Refused
//! initiator ── Begin ───► partner     its threads are ready; the partner says the same once its own are, and both begin
//! each      ── HardwareClock ──► the other   where its interface stamps what it sends: that clock, a few times a second
//! each      ── Sent ────► the other   it has sent all of its packets
//! each      ── Half ────► the other   its half of the record
//! ```
//! Either side may say `Stop` in between: both then end early.

use record::PacketRequest;
use serde::{Deserialize, Serialize};

use crate::hardware::HardwareReading;
use crate::header::Session;

/// What is asked of the partner. The key of the packets is not in it: both programs derive it from their connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketJob {
    /// What is measured, and how.
    pub request: PacketRequest,
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

/// Where a node receives, at the address of the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
