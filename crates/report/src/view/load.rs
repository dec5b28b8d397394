//! What the load of a run did, and the latencies while each of its parts ran.

use schemars::JsonSchema;
use serde::Serialize;

use crate::exact::Exact;

/// A load, with what it did and what its parts achieved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadView {
    /// What it consisted of, where, and how much CPU time it used, as a clause: "load 'hard': …; it used 0.83 CPUs".
    pub sentence: String,
    /// Name of the load: `hard`, `paper`, …
    pub name: String,
    /// What the load consisted of, in words: `stress-ng: 3 CPU workers at 25 %, 1 timer worker`; null if unknown.
    pub description: Option<String>,
    /// Fraction of the time during which the load's programs ran (above 0, up to 1); null if they ran all the time.
    pub share: Option<f64>,
    /// The parts, including those that did not run; empty if the load does not consist of parts.
    pub parts: Vec<LoadPartView>,
    /// Which parts ran when; empty if all ran all the time.
    pub turns: Vec<LoadTurnView>,
    /// The times of switching from one turn to the next; null if there were no turns.
    pub between: Option<LoadTurnView>,
    /// Conclusions from the turns, in whole sentences.
    pub sentences: Vec<String>,
}

/// One part of a load.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadPartView {
    /// Name of the part: `memory`, `network`, …
    pub name: String,
    /// Why the part did not run, in words; null if it ran.
    pub dropped: Option<String>,
    /// What was missing for the part on this machine, in words; it ran without that.
    pub lacks: Vec<String>,
    /// CPU time that the part used while it was active, in CPUs (1.0 is one CPU all the time).
    pub cpu_used: Option<f64>,
    /// What the part did while it was active, in words: `61 493 packets received per second`.
    pub achieved: Vec<String>,
}

/// The latencies during one turn, while certain parts ran.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadTurnView {
    /// Name of the part or parts that ran.
    pub name: String,
    /// Start of the turn, counted from the run's first schedule (ns, negative if earlier); null for the time between turns.
    pub from_offset_ns: Option<Exact>,
    /// End of the turn, counted from the run's first schedule (ns); null for the time between turns.
    pub to_offset_ns: Option<Exact>,
    /// The observed time that the numbers cover (ns).
    pub observed_ns: Exact,
    /// Samples of all measuring threads.
    pub samples: Exact,
    /// The worst latency (ns).
    pub worst_ns: Option<Exact>,
    /// The CPU on which the worst latency occurred.
    pub worst_cpu: Option<u32>,
    /// Samples above the deadline; null if none was stated.
    pub beyond: Option<Exact>,
    /// Schedules that late wake-ups skipped.
    pub missed_periods: Exact,
}
