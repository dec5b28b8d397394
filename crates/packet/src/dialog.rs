//! What the two programs of a run say to each other beside the measured packets.
//!
//! ```text
//! initiator ── Ask ─────► partner     what is wanted, the key, and where the initiator receives
//! initiator ◄── Ready ─── partner     where the partner receives; or Refused
//! initiator ── Begin ───► partner     both begin
//! each      ── Sent ────► the other   it has sent all of its packets
//! each      ── Half ────► the other   its half of the record
//! ```
//! Either side may say `Stop` in between: both then end early.

use std::net::IpAddr;

use record::PacketRequest;
use serde::{Deserialize, Serialize};

use crate::header::Session;

/// What is asked of the partner.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketJob {
    /// What is measured, and how.
    pub request: PacketRequest,
    /// Number of the session.
    pub session: u64,
    /// Key of the session's tags.
    pub key: [u8; 16],
    /// Where the initiator sends and receives.
    pub initiator: Endpoints,
}

impl std::fmt::Debug for PacketJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PacketJob").field("request", &self.request).field("initiator", &self.initiator).finish_non_exhaustive()
    }
}

impl PacketJob {
    /// The session of the packets.
    #[must_use]
    pub const fn session(&self) -> Session {
        Session { number: self.session, key: self.key }
    }
}

/// Where a node sends and receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Endpoints {
    /// Name of the node.
    pub node: String,
    /// Its address, as it sees it itself. A link-local one is without its scope, which differs from node to node.
    pub address: IpAddr,
    /// Port of the exchange that compares the clocks.
    pub clock_port: u16,
    /// Port of the measured packets; of the link layer's packets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_port: Option<u16>,
    /// Hardware address of the interface; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_address: Option<[u8; 6]>,
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
    /// Both begin.
    Begin,
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
