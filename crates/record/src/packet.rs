//! What became of the packets of a run between two nodes, and of the comparison of the nodes' clocks, beside the delays, which
//! are series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::format::latency;
use units::{ClockId, ClockName, format};

use crate::{ClockStep, Explanation, Spread, SyncRun, TrackPoint};

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
    /// What the network interface of each node stamped; empty if nobody asked for its stamps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hardware: Vec<HardwareStamps>,
    /// Why receivers had packets late, of each node whose own user asked for it; empty if nobody did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<NodeExplanation>,
}

/// Which of a run's packets the network interface of a node stamped by its own clock, and how that clock was compared with the
/// node's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HardwareStamps {
    /// Name of the node.
    pub node: String,
    /// The interface by which it reaches its partner; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The interface's clock: `ptp0`; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Whether it stamps packets of this run that the node sends.
    pub sent: bool,
    /// Whether it stamps packets of this run that the node receives.
    pub received: bool,
    /// Whether it was set to stamp for this run. It stamped nothing before and was set back afterwards.
    #[serde(default)]
    pub was_set: bool,
    /// Why some packets, or all, are not stamped, or no stamp could be used; each is a sentence without its full stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// The kernel's request by which its clock was read; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_by: Option<String>,
    /// How often its clock was read together with the node's.
    #[serde(default)]
    pub readings: u64,
    /// How often that failed.
    #[serde(default)]
    pub failed_readings: u64,
    /// The largest error of a reading (ns).
    #[serde(default)]
    pub reading_error_ns: u64,
    /// Steps of its clock. Stamps at about that time are not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ClockStep>,
}

impl HardwareStamps {
    /// What it stamped, as a sentence without its full stop: "eth0 of a stamped sent packets by ptp0 (read 240 times, …)".
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { node, interface, clock, sent, received, .. } = self;
        let what = match (sent, received) {
            (true, true) => "sent and received packets",
            (true, false) => "sent packets",
            (false, true) => "received packets",
            (false, false) => "no packet",
        };
        let by = clock.as_ref().filter(|_| *sent || *received).map_or_else(String::new, |clock| {
            let error = latency(self.reading_error_ns.try_into().unwrap_or(i64::MAX));
            format!(" by {clock} (read {} times, with an error of at most {error})", format::count(self.readings))
        });
        let name =
            interface.as_ref().map_or_else(|| format!("The interface of {node}"), |name| format!("{name} of {node}"));
        let set = if self.was_set { "was set to stamp for this run, and " } else { "" };
        let mut text = format!("{name} {set}stamped {what}{by}");
        if self.failed_readings > 0 {
            text.push_str(&format!("; {} readings failed", format::count(self.failed_readings)));
        }
        for why in &self.without {
            text.push_str(&format!("; {why}"));
        }
        if let Some(first) = self.steps.first() {
            let times = if self.steps.len() == 1 { "once".to_owned() } else { format!("{} times", self.steps.len()) };
            text.push_str(&format!(
                "; its clock was set {times}, by {} at first: stamps at about that time are not used",
                format::span(first.step_ns)
            ));
        }
        text
    }
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
    /// When the sending system was to let each packet go; absent if the sender gave no launch times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<PacketLaunch>,
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
    /// Packets that arrived, each counted once; absent if the receiver did not report, as the following, or was stopped before the
    /// end, so that it did not take all that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
    /// Packets that were sent and did not arrive; absent if one of the nodes did not report, or some that are missing may have
    /// arrived too late to tell (`too_old`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// How long the receiver waited for what is missing, after the sender had said that it sent the last packet (ns); absent if
    /// nothing was missing, or nobody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited_ns: Option<u64>,
    /// Whether what is missing may have been on its way still when that wait ended: then nothing of it is counted as lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_still_come: bool,
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
    /// Packets that arrived without a usable stamp of the sending interface, where that stamps: there is none, the kernel's is
    /// missing, or the interface's clock was not known then.
    #[serde(default)]
    pub without_hw_transmitted: u64,
    /// Packets that arrived without a usable stamp of the receiving interface, where that stamps.
    #[serde(default)]
    pub without_hw_arrived: u64,
    /// Stamps of interfaces that were not used since they contradict those of the kernels beyond all errors.
    #[serde(default)]
    pub hw_contradicting: u64,
    /// What the receiver knew of the packets over time, at most [`PacketFlow::MOST_INTERVALS`] intervals in the order of time;
    /// those in which nothing came are left out. Empty if the receiver did not report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<FlowInterval>,
}

/// When the sending system was to let the packets of a flow go (SO_TXTIME).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketLaunch {
    /// How long after its schedule each packet was to leave (ns).
    pub after_ns: u64,
    /// The clock of these times.
    pub clock: ClockName,
    /// That clock less CLOCK_REALTIME at the start, as the sending kernel has it (ns).
    pub clock_ahead_ns: i64,
    /// The queueing discipline that keeps packets until then: "etf", "fq"; absent where it was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<String>,
    /// How long before that time the discipline hands them to the driver (ns): the `delta` of etf.
    #[serde(default)]
    pub ahead_ns: u64,
    /// Whether the network interface then keeps them until their time (`offload` of etf).
    #[serde(default)]
    pub is_offloaded: bool,
}

impl PacketLaunch {
    /// As a part of a sentence: "to leave 500 us after their schedule (etf on the clock tai, 37 s ahead of realtime; it hands
    /// them to the driver 200 us before)".
    #[must_use]
    pub fn in_words(&self) -> String {
        let by = self.kept_by.as_ref().map_or_else(String::new, |by| format!("{by} "));
        let mut words =
            format!("to leave {} after their schedule ({by}on the clock {}", format::span(self.after_ns), self.clock);
        // How far the monotonic clock is away says nothing to anybody.
        if self.clock == ClockName::System(ClockId::Tai) {
            words.push_str(&match self.clock_ahead_ns {
                0 => ", which this kernel was never told to be ahead of realtime".to_owned(),
                ahead => format!(", {} ahead of realtime", format::span(ahead.unsigned_abs())),
            });
        }
        if self.ahead_ns > 0 {
            words.push_str(&format!("; it hands them to the driver {} before", format::span(self.ahead_ns)));
        }
        if self.is_offloaded {
            words.push_str("; the interface keeps them until then");
        }
        words.push(')');
        words
    }
}

impl PacketFlow {
    /// The largest number of intervals in which a flow is followed; in a longer run they are longer.
    pub const MOST_INTERVALS: usize = 4_096;

    /// How many of the packets that were sent did not arrive, of those that both nodes reported: `None` where that is not known,
    /// also because some came so late that they may be copies, or may still come.
    #[must_use]
    pub fn lost_of(&self) -> Option<u64> {
        let missing = self.sent?.saturating_sub(self.arrived?);
        (missing == 0 || (self.too_old == 0 && !self.may_still_come)).then_some(missing)
    }

    /// How it is known that packets are lost, or why it is not, as a sentence without its full stop; `None` if nothing is missing.
    #[must_use]
    pub fn awaited_words(&self) -> Option<String> {
        let awaited = format::span(self.awaited_ns?);
        let missing = self.sent?.saturating_sub(self.arrived?);
        match (missing, self.may_still_come) {
            (0, _) => None,
            (_, false) => Some(format!("lost: not there {awaited} after the sender had said that it sent the last")),
            (_, true) => Some(format!(
                "{} were not there {awaited} after the sender had said that it sent the last, when others were still coming: \
                 they may be lost, or on their way",
                format::count(missing)
            )),
        }
    }

    /// How many of the packets that were sent certainly did not arrive; `None` if one of the nodes did not report, or they may
    /// still come.
    #[must_use]
    pub fn lost_at_least(&self) -> Option<u64> {
        if self.may_still_come {
            return None;
        }
        Some(self.sent?.saturating_sub(self.arrived?.saturating_add(self.too_old)))
    }

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
    /// As `reading_error_ns`, of delays between the stamps of both network interfaces (ns): by the readings of their clocks too.
    #[serde(default)]
    pub hw_reading_error_ns: u64,
    /// What the time services of both nodes together say; empty if they say nothing that can be held against each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceRelation>,
}
