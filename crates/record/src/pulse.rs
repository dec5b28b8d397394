//! What became of the orders of a run in which nodes act at ordered times, beside the latencies, which are series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PacketRun;
use crate::request::{ActsBy, PulseShape};

/// What was seen of nodes that act at ordered times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PulseRun {
    /// The packets that brought the orders, a flow for each node, and how the clocks of the nodes were compared with the server's.
    pub packets: PacketRun,
    /// From one order to the next (ns).
    pub interval_ns: u64,
    /// How long after its schedule on the server each order is to be carried out (ns).
    pub lead_ns: u64,
    /// How long the output stays active (ns).
    pub width_ns: u64,
    /// What the outputs do.
    pub shape: PulseShape,
    /// By which clock the nodes act.
    pub by: ActsBy,
    /// An act that is later than this is a miss (ns).
    pub tolerance_ns: u64,
    /// From one mark to the next, in orders: by a mark, which is pulses of twice the width, whoever sees the edges finds the numbers of
    /// orders.
    /// Absent if there are no marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<u32>,
    /// The nodes that act, in the order in which the server sends to them.
    pub nodes: Vec<PulseNode>,
    /// The schedules, each of which is missed if any node misses it.
    #[serde(default)]
    pub trials: PulseTrials,
}

/// A node that acts at ordered times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PulseNode {
    /// Name of the node.
    pub node: String,
    /// Number of its flow, as in the places of its series.
    pub flow: u32,
    /// What it switches, as its policy names it; `none` switches nothing.
    pub output: String,
    /// What that is on the node, in words: "gpiochip0 line 17, active high"; absent for `none`, or where its half is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_words: Option<String>,
    /// What it takes from an order that has arrived until the thread waits for its time (ns), measured before the run: an order
    /// that leaves less is not carried out. Absent where its half is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arming_ns: Option<u64>,
    /// How long before an ordered time its thread asks the clock without a pause (ns).
    pub spin_ns: u64,
    /// From an ordered time to the end of the switching, at most, on the clock that the node acts by (ns): the edge lies before that.
    /// Absent where nothing was carried out, or its half is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered_to_returned_max_ns: Option<i64>,
    /// Between what the clock that it acts by lay, less the server's CLOCK_REALTIME, by the exchange of both (ns). Absent where the
    /// clocks were not compared, or its half is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ahead_ns: Option<(i64, i64)>,
    /// What became of its orders.
    pub orders: OrderCounts,
    /// The orders that it carried out within the tolerance, as its half tells them to be joined with those of other nodes; absent
    /// from whole runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// As `kept`, the orders that were too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_late: Option<String>,
    /// Of the orders from this number on its half says nothing, since it was told while the run went on; absent where it is whole, and
    /// from whole runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_below: Option<u64>,
}

/// What became of the orders for a node. Each scheduled one is one of those from `skipped` to `unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderCounts {
    /// Orders that the server was to send.
    pub scheduled: u64,
    /// Orders for which the server was too late: it sent nothing.
    pub skipped: u64,
    /// Orders that were carried out.
    pub acted: u64,
    /// Orders that were sent and did not arrive.
    pub lost: u64,
    /// Orders that arrived when less than the arming time was left: they were not carried out.
    pub too_late: u64,
    /// Orders that the server's system did not take, or that the node refused: more than 64 waited, or it was not as its output allows.
    pub refused: u64,
    /// Orders that were dropped while they waited, since the node's clock was stepped, the run was stopped or the output lost its guard.
    pub dropped: u64,
    /// Orders of which nobody knows what became, since what one of the nodes knew is missing.
    pub unknown: u64,
    /// Of those that were carried out, those later than the tolerance.
    pub beyond: u64,
}

impl PulseRun {
    /// What became of the orders of all nodes together.
    #[must_use]
    pub fn orders(&self) -> OrderCounts {
        self.nodes.iter().fold(OrderCounts::default(), |all, node| all.and(node.orders))
    }
}

impl PulseNode {
    /// How far the edges of the orders that were carried out lay from their ordered times by the server's clock, at most (ns): with
    /// all that the clocks leave open. `None` where that is not known.
    #[must_use]
    pub fn within_ns(&self) -> Option<u64> {
        let (lower_ns, upper_ns) = self.clock_ahead_ns?;
        let latest_ns = self.ordered_to_returned_max_ns?.saturating_sub(lower_ns);
        Some(latest_ns.max(upper_ns).max(0).unsigned_abs())
    }
}

impl OrderCounts {
    /// What became of the orders that were not carried out, each with its word; those of which there is none are left out.
    pub fn not_carried_out(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let all = [
            (self.skipped, "skipped by the server"),
            (self.lost, "lost"),
            (self.too_late, "too late"),
            (self.refused, "refused"),
            (self.dropped, "dropped"),
            (self.unknown, "of unknown fate"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0)
    }

    /// The counts of two nodes together. A record may come from anywhere, so that sums stop at what 64 bits hold.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            scheduled: self.scheduled.saturating_add(other.scheduled),
            skipped: self.skipped.saturating_add(other.skipped),
            acted: self.acted.saturating_add(other.acted),
            lost: self.lost.saturating_add(other.lost),
            too_late: self.too_late.saturating_add(other.too_late),
            refused: self.refused.saturating_add(other.refused),
            dropped: self.dropped.saturating_add(other.dropped),
            unknown: self.unknown.saturating_add(other.unknown),
            beyond: self.beyond.saturating_add(other.beyond),
        }
    }

    /// Orders that were carried out within the tolerance.
    #[must_use]
    pub const fn kept(&self) -> u64 {
        self.acted.saturating_sub(self.beyond)
    }

    /// Orders that were not carried out in time, of those of which it is known what became.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.skipped
            .saturating_add(self.lost)
            .saturating_add(self.too_late)
            .saturating_add(self.refused)
            .saturating_add(self.dropped)
            .saturating_add(self.beyond)
    }
}

/// The schedules of a run, each a trial of all nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PulseTrials {
    /// Schedules of the run.
    pub scheduled: u64,
    /// Schedules at which every node acted within the tolerance.
    pub kept: u64,
    /// Schedules that at least one node missed.
    pub missed: u64,
    /// Of those, the ones that were missed for no other reason than that an order was too late: a longer lead would have mended them.
    #[serde(default)]
    pub too_late: u64,
    /// Schedules that no node is known to have missed, and of which one does not tell.
    pub unknown: u64,
    /// The most missed schedules of which each came less than a second after the one before.
    pub longest_burst: u64,
    /// From the first of them to the last (ns); 0 for a single one.
    #[serde(default)]
    pub longest_burst_ns: u64,
    /// How many such bursts there were, single ones among them.
    pub bursts: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_within_what_the_node_saw_and_its_clock_leaves_open() {
        let node = |returned_ns, ahead_ns| PulseNode {
            ordered_to_returned_max_ns: returned_ns,
            clock_ahead_ns: ahead_ns,
            ..PulseNode::default()
        };
        // A clock that is behind acts late, and one that is ahead early.
        assert_eq!(node(Some(50), Some((-200, 10))).within_ns(), Some(250));
        assert_eq!(node(Some(50), Some((-10, 200))).within_ns(), Some(200));
        assert_eq!(node(Some(50), Some((100, 300))).within_ns(), Some(300));
        assert_eq!(node(Some(50), None).within_ns(), None);
        assert_eq!(node(None, Some((0, 0))).within_ns(), None);
    }
}
