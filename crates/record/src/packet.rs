//! What became of the packets of a run between two nodes, and of the comparison of the nodes' clocks, beside the delays, which
//! are series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::format;

use units::format::latency;

use crate::{Explanation, Spread, SyncRun, TrackPoint};

/// What was seen of packets between two nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketRun {
    /// The flows: one for each direction in which packets were sent.
    pub flows: Vec<PacketFlow>,
    /// How the clocks of the nodes were compared, by each of them that received packets.
    #[serde(default)]
    pub clocks: Vec<ClockRelation>,
    /// What the time services of the nodes said before, during and after; empty if nobody asked them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<NodeServices>,
    /// Why receivers had packets late, of each node whose own user asked for it; empty if nobody did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<NodeExplanation>,
}

/// Why the receiver of a node had packets late that the node's kernel already had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeExplanation {
    /// Name of the node.
    pub node: String,
    /// The latency that is explained: `arrived_to_received`, the part of a packet's delay that is the receiver's own.
    pub latency: String,
    /// The causes, and the packets with the largest of these latencies.
    pub explanation: Explanation,
}

/// What the time services of a node said while packets were exchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeServices {
    /// Name of the node.
    pub node: String,
    /// Its addresses, by which another node may name it as its server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The sources of time, as `measure sync` follows them.
    pub run: SyncRun,
}

/// What the time services of two nodes together say of their clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRelation {
    /// What both are compared with, in words: "clock 0cc47a.fffe.8a1b2c", "true time".
    pub reference: String,
    /// The source on the node: "ptp4l eth0 domain 0".
    pub source: String,
    /// The source on its partner.
    pub partner_source: String,
    /// What has to be true for the bound to hold, a sentence for each source.
    pub trusts: Vec<String>,
    /// Bounds on the node's system clock less the partner's over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub track: Vec<TrackPoint>,
}

/// A flow of packets from one node to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketFlow {
    /// Number of the flow, as in the places of its series.
    pub flow: u32,
    /// Name of the node that sent.
    pub from: String,
    /// Name of the node that received.
    pub to: String,
    /// The way that the packets took through the sending system: "UDP", "AF_XDP, zero-copy"; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_by: Option<String>,
    /// The way that the packets took through the receiving system; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_by: Option<String>,
    /// Payload of each packet (bytes); 0 if it is not known, as in some imports.
    pub size_bytes: u32,
    /// From one packet to the next (ns); 0 if it is not known, as in some imports.
    pub interval_ns: u64,
    /// Packets that were sent; absent if the sender did not report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Schedules for which the sender was too late: no packet was sent for them. Absent if the sender did not report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<u64>,
    /// Packets that the sending system refused to take; absent if the sender did not report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Packets that arrived, each counted once; absent if the receiver did not report, as the following.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
    /// Packets that were sent and did not arrive; absent if one of the nodes did not report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Copies of packets that had arrived before.
    #[serde(default)]
    pub doubled: u64,
    /// Packets that arrived after one that was sent later.
    #[serde(default)]
    pub reordered: u64,
    /// Packets so old that they can no longer be told from copies.
    #[serde(default)]
    pub too_old: u64,
    /// Packets on the port that belong to something else.
    #[serde(default)]
    pub foreign: u64,
    /// Packets that claim to be of this run, with a wrong tag.
    #[serde(default)]
    pub forged: u64,
    /// Packets that arrived without the sending kernel's stamp: the parts of their delay are not known.
    #[serde(default)]
    pub without_transmitted: u64,
    /// Packets that arrived without the receiving kernel's stamp: the parts of their delay are not known.
    #[serde(default)]
    pub without_arrived: u64,
    /// What the receiver knew of the packets over time, at most [`PacketFlow::MOST_INTERVALS`] intervals in the order of time;
    /// those in which nothing came are left out. Empty if the receiver did not report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<FlowInterval>,
}

impl PacketFlow {
    /// The largest number of intervals in which a flow is followed; in a longer run they are longer.
    pub const MOST_INTERVALS: usize = 4_096;

    /// Size and schedule in words: "128 bytes every 1 ms".
    #[must_use]
    pub fn schedule_words(&self) -> String {
        match (self.size_bytes, self.interval_ns) {
            (0, 0) => "size and interval are not known".to_owned(),
            (size, 0) => format!("{size} bytes, the interval is not known"),
            (0, every) => format!("a packet every {}, the size is not known", format::span(every)),
            (size, every) => format!("{size} bytes every {}", format::span(every)),
        }
    }
}

/// What a receiver learned of the packets of a flow during a short time. What it knows of the number that was sent it has from
/// the packets themselves: each says how many were sent before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowInterval {
    /// Start of the interval, counted from the start of the run on the receiver (ns).
    pub start_offset_ns: u64,
    /// Length (ns).
    pub length_ns: u64,
    /// Packets of which the receiver learned in this interval that they were sent.
    pub sent: u64,
    /// Packets that arrived, each counted once.
    pub arrived: u64,
    /// Packets of which the receiver knew at the end of the interval that they were sent, and that had not arrived since the
    /// start of the run: lost, or still on their way.
    pub missing: u64,
    /// Copies of packets that had arrived before.
    #[serde(default)]
    pub doubled: u64,
    /// Packets that arrived after one that was sent later.
    #[serde(default)]
    pub reordered: u64,
}

impl ServiceRelation {
    /// As [`ServiceRelation::in_words`], with what has to be true for it.
    #[must_use]
    pub fn in_words_with_trust(&self, node: &str, partner: &str) -> String {
        let words = self.in_words(node, partner);
        if self.trusts.is_empty() { words } else { format!("{words}; trusts that {}", self.trusts.join("; ")) }
    }

    /// What both services say, as a sentence without its full stop: "By PTP clock …, ptp4l eth0 domain 0 on a and … say: -3 us to 4 us".
    #[must_use]
    pub fn in_words(&self, node: &str, partner: &str) -> String {
        let Self { reference, source, partner_source, track, .. } = self;
        let bounds = || track.iter().filter_map(|point| point.bound_ns);
        let hull = bounds().reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let narrowest_ns = track
            .iter()
            .filter_map(TrackPoint::narrowest_bound_ns)
            .map(|(lower_ns, upper_ns)| upper_ns.abs_diff(lower_ns))
            .min();
        let both = format!("By {reference}, {source} on {node} and {partner_source} on {partner}");
        match hull.zip(narrowest_ns) {
            Some(((lower_ns, upper_ns), narrowest_ns)) => format!(
                "{both} say: {} to {}, narrowest bound {} wide",
                latency(lower_ns),
                latency(upper_ns),
                latency(narrowest_ns)
            ),
            None => format!("{both} say nothing of the time in which packets were exchanged"),
        }
    }
}

/// How the clock of one node was compared with that of its partner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRelation {
    /// Name of the node.
    pub node: String,
    /// Name of its partner.
    pub partner: String,
    /// How much the rates of the two uncorrected clocks were assumed to differ at most (parts per billion).
    pub max_drift_ppb: u32,
    /// Exchanges of messages that were complete.
    pub exchanges: u64,
    /// Exchanges of which a message did not come.
    pub incomplete: u64,
    /// The node's system clock less the partner's (ns); absent without an exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Spread>,
    /// Offset, bound and half of the round trip over time, at most [`SyncSource::MOST_POINTS`](crate::SyncSource::MOST_POINTS).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub track: Vec<TrackPoint>,
    /// How wrong the two times of a delay can be beside the offset of the clocks, at most (ns): by the comparisons of each
    /// node's clocks.
    #[serde(default)]
    pub reading_error_ns: u64,
    /// What the time services of both nodes together say; empty if they say nothing that can be held against each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceRelation>,
}
