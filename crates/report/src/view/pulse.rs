//! The view of nodes that act together.

use schemars::JsonSchema;
use serde::Serialize;

use crate::exact::Exact;

/// Nodes that act together at ordered times.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PulseView {
    /// What was ordered, as a sentence without its full stop.
    pub ordered: String,
    /// How long after its schedule each order was to be carried out (ns).
    pub lead_ns: Exact,
    /// An act that is later than this is a miss (ns).
    pub tolerance_ns: Exact,
    /// The nodes that act.
    pub nodes: Vec<ActingNodeView>,
    /// What the counts of a node are called, in the order of `counts`.
    pub counted: Vec<String>,
    /// What became of the schedules, as a sentence without its full stop.
    pub trials: String,
    /// How often misses come, as a sentence without its full stop.
    pub bursts: String,
    /// How far from each other any two nodes acted, as a sentence without its full stop; null where that is not known.
    pub apart: Option<String>,
}

/// A node that acts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActingNodeView {
    /// Name of the node.
    pub node: String,
    /// What it switches.
    pub output: String,
    /// How many of its orders became what, in the order of `counted`.
    pub counts: Vec<Exact>,
    /// How late it acted, what switching takes and the lead that was needed: those of which there is an order.
    pub rows: Vec<ActingRowView>,
    /// The lead that its orders needed, as a sentence without its full stop; null if none arrived.
    pub needed: Option<String>,
    /// How far from the ordered time its edges lie, as a sentence without its full stop; null if it did not act.
    pub within: Option<String>,
    /// Index of the series of how late it acted, in the series of the run; null if there is none.
    pub act_series: Option<u32>,
    /// Index of the series of the lead that was needed; null if there is none.
    pub needed_series: Option<u32>,
}

/// Figures of a latency of a node that acts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ActingRowView {
    /// What lies between its points, in a few words.
    pub words: String,
    /// Orders of which it is known.
    pub count: Exact,
    /// The lowest (ns).
    pub lowest_ns: Option<Exact>,
    /// Median (ns).
    pub median_ns: Option<Exact>,
    /// What 99.9 % do not exceed (ns); null of too few orders.
    pub p99_9_ns: Option<Exact>,
    /// The worst (ns).
    pub worst_ns: Option<Exact>,
}
