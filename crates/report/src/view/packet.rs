//! Packets between nodes: what became of them, how long they took with what error, in which parts, and how the nodes' clocks were
//! compared.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ExplanationView, MomentView, SyncSourceView};
use crate::exact::Exact;

/// What was seen of the packets of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketView {
    /// The flows: one for each direction in which packets were sent.
    pub flows: Vec<PacketFlowView>,
    /// The worst packets of all flows, worst first.
    pub worst: Vec<PacketWorstView>,
    /// The comparison of the nodes' clocks, as each of the nodes saw it.
    pub clocks: Vec<PacketClocksView>,
    /// What the network interface of each node stamped, as a sentence without its full stop; empty if nobody asked for its stamps.
    pub hardware: Vec<String>,
    /// Why receivers had packets late that their kernels already had, of each node whose user asked for it.
    pub explanations: Vec<PacketExplanationView>,
}

/// Why the receiver of a node had packets late.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketExplanationView {
    /// Name of the node.
    pub node: String,
    /// The latency that is explained.
    pub latency: String,
    /// That latency and the node in words.
    pub words: String,
    /// The causes, and the packets with the largest of these latencies.
    pub explanation: ExplanationView,
}

/// One flow of packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketFlowView {
    /// Number of the flow.
    pub flow: u32,
    /// Name of the node that sent.
    pub from: String,
    /// Name of the node that received.
    pub to: String,
    /// The way through both systems, in words: "UDP over IPv4"; null if it is not known.
    pub path: Option<String>,
    /// How the receiver waited for packets: `block`, `poll` or `schedule`; null if it is not known.
    pub receiver: Option<String>,
    /// Payload of each packet (bytes).
    pub size_bytes: u32,
    /// From one packet to the next (ns).
    pub interval_ns: Exact,
    /// Both in words; what is not known is named: "128 bytes every 1 ms".
    pub schedule: String,
    /// Packets that were sent; null if the sender did not report.
    pub sent: Option<Exact>,
    /// Schedules for which the sender was too late; null if the sender did not report.
    pub skipped: Option<Exact>,
    /// Packets that the sending system refused; null if the sender did not report.
    pub refused: Option<Exact>,
    /// Packets that arrived, each counted once; null if the receiver did not report.
    pub arrived: Option<Exact>,
    /// Packets that were sent and did not arrive; null if one of the nodes did not report.
    pub lost: Option<Exact>,
    /// Copies of packets that had arrived before.
    pub doubled: Exact,
    /// Packets that arrived after one that was sent later.
    pub reordered: Exact,
    /// Packets so old that they can no longer be told from copies.
    pub too_old: Exact,
    /// Packets that belong to something else.
    pub foreign: Exact,
    /// Packets that claim to be of this run, with a wrong tag.
    pub forged: Exact,
    /// What was counted, as a sentence.
    pub counts_sentence: String,
    /// Number of the series of its delays among those of the run, from 0; null if no packet has a delay.
    pub series: Option<u32>,
    /// From the sending program to the receiving program; null if no packet has a delay.
    pub delay: Option<PacketDelayView>,
    /// The parts of the delay in the order in which a packet passes them.
    pub parts: Vec<PacketPartView>,
    /// The parts as a sentence, with what is missing of them; null if no part is known.
    pub parts_sentence: Option<String>,
    /// How late packets were sent; null if the sender did not report.
    pub lateness: Option<PacketDelayView>,
    /// When packets were to leave, in words: "to leave 500 us after their schedule (fq on the clock monotonic)"; null if they had
    /// no launch times.
    pub launch: Option<String>,
    /// How long after its launch time the driver had each packet; null if there was none, or no stamp.
    pub launched: Option<PacketDelayView>,
    /// Delays over time.
    pub over_time: PacketDelaysView,
    /// Arrivals over time.
    pub arrivals: PacketArrivalsView,
}

/// By how much a value can be wrong.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketErrorView {
    /// By how much the true value can be lower (ns).
    pub below_ns: Exact,
    /// By how much the true value can be higher (ns).
    pub above_ns: Exact,
    /// Both in words: "±10.9 us".
    pub words: String,
}

/// The distribution of a latency in a few numbers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketDelayView {
    /// Number of packets.
    pub count: Exact,
    /// The lowest (ns). Within the error it can be below what is possible.
    pub lowest_ns: Exact,
    /// The median (ns).
    pub median_ns: Exact,
    /// The mean (ns).
    pub mean_ns: f64,
    /// The value that 99.9 % do not exceed (ns); null if there are too few packets for it.
    pub p99_9_ns: Option<Exact>,
    /// The highest (ns).
    pub highest_ns: Exact,
    /// Between which points it is: "one way" from program to program.
    pub way: String,
    /// The largest error of a packet; null if both points are readings of one clock, which has none, and if nothing is known of it.
    pub error: Option<PacketErrorView>,
    /// The error of the highest; null if there is none, and if nothing is known of it.
    pub error_of_highest: Option<PacketErrorView>,
}

/// One part of the way from program to program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketPartView {
    /// The latency, named by its two points: `sent_to_transmitted`.
    pub name: String,
    /// The part in words: "sending program to driver".
    pub words: String,
    /// Its distribution; null if no packet has it.
    pub delay: Option<PacketDelayView>,
    /// Packets that arrived, and of which this part is not known; null if that was not counted.
    pub missing: Option<Exact>,
    /// This part of the worst packet (ns); null if it is not known.
    pub of_worst_ns: Option<Exact>,
}

/// One of the worst packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketWorstView {
    /// The flow, in words: "vm → press-7".
    pub flow: String,
    /// When the program sent it, on the receiver's clock.
    pub at: MomentView,
    /// The delay (ns).
    pub delay_ns: Exact,
    /// The error of the delay; null if it is not known.
    pub error: Option<PacketErrorView>,
    /// The parts of the delay (ns), in the order of [`PacketFlowView::parts`] of its flow; null where one is not known.
    pub parts_ns: Vec<Option<Exact>>,
}

/// Delays over time as columns.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PacketDelaysView {
    /// Start of each interval, counted from the start of the run (ns).
    pub start_offset_ns: Vec<Exact>,
    /// Length of each interval (ns).
    pub length_ns: Vec<Exact>,
    /// Packets that arrived in each interval and have a delay.
    pub count: Vec<Exact>,
    /// The median of each interval (ns); null if it has no packet.
    pub median_ns: Vec<Option<Exact>>,
    /// The highest of each interval (ns); null if it has no packet.
    pub highest_ns: Vec<Option<Exact>>,
    /// By how much the true values of each interval can be lower (ns); null if that is not known.
    pub below_ns: Vec<Option<Exact>>,
    /// By how much the true values of each interval can be higher (ns); null if that is not known.
    pub above_ns: Vec<Option<Exact>>,
}

/// Arrivals over time as columns. Intervals in which nothing came are left out.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PacketArrivalsView {
    /// Start of each interval, counted from the start of the run on the receiver (ns).
    pub start_offset_ns: Vec<Exact>,
    /// Length of each interval (ns).
    pub length_ns: Vec<Exact>,
    /// Packets of which the receiver learned that they were sent.
    pub sent: Vec<Exact>,
    /// Packets that arrived.
    pub arrived: Vec<Exact>,
    /// Packets known to be sent and not arrived until the end of the interval, since the start of the run.
    pub missing: Vec<Exact>,
    /// Copies of packets that had arrived before.
    pub doubled: Vec<Exact>,
    /// Packets that arrived after one that was sent later.
    pub reordered: Vec<Exact>,
}

/// The comparison of a node's clock with its partner's.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PacketClocksView {
    /// Name of the node.
    pub node: String,
    /// Name of its partner.
    pub partner: String,
    /// What the comparison came to, as a sentence.
    pub sentence: String,
    /// Offset, bound and round trip over time, in the form of a source of time.
    pub source: SyncSourceView,
    /// What the time services of both nodes together say, for each pair of them that has one reference: their bound over time, and
    /// as a sentence, in the form of a source of time.
    pub services: Vec<SyncSourceView>,
}
