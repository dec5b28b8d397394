//! How an agent is, for 'punctual agent status'.

use farm::monitor::Explaining;
use farm::stream::StreamId;
use serde::{Deserialize, Serialize};

/// How an agent was when it last said so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Number of its process.
    pub pid: u32,
    /// Version of its program.
    pub version: String,
    /// When this was written (ns, CLOCK_BOOTTIME).
    pub written_boottime_ns: i64,
    /// The boot in which it was written.
    pub boot: String,
    /// The stream that it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamId>,
    /// The last sequence of that stream that the hub has acknowledged.
    pub acknowledged: u64,
    /// Entries that are kept, of all streams.
    pub entries: u64,
    /// Of these, entries that the hub has not acknowledged.
    pub waiting: u64,
    /// What it does: measures, or why it does not.
    pub doing: String,
    /// Whether causes are sought, by what, and what that costs; absent where no run has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explaining: Option<Explaining>,
    /// What the disk refused last; absent where it refuses nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_error: Option<String>,
    /// Where damaged segments of the spool were set aside to when it started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// How the sending goes.
    pub sender: SenderStatus,
}

/// How the sending goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SenderStatus {
    /// Addresses of the hub.
    pub addresses: Vec<String>,
    /// Whether the agent is connected to the hub, and hears what it tells.
    pub is_connected: bool,
    /// Batches that were acknowledged since the start.
    pub batches: u64,
    /// Why the last attempt failed; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
