//! What the load of a run did, and which of its parts made it late.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Exact;

/// A load that is made of parts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadView {
    /// Its name.
    pub name: String,
    /// Part of the time for which its programs were let run (above 0, up to 1).
    pub share: Option<f64>,
    /// Its parts, those that did not run too.
    pub parts: Vec<LoadPartView>,
    /// Which parts ran when; empty where all ran all the time.
    pub turns: Vec<LoadTurnView>,
    /// The time in which the turn passed on; absent where no turns were taken.
    pub between: Option<LoadTurnView>,
    /// What is to be concluded of the turns, in whole sentences.
    pub sentences: Vec<String>,
}

/// One part of a load.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadPartView {
    /// Its name.
    pub name: String,
    /// Why it did not run, in words; absent where it did.
    pub dropped: Option<String>,
    /// What it had to do without, in words.
    pub lacks: Vec<String>,
    /// CPU time that it used while it was its turn, in CPUs.
    pub cpu_used: Option<f64>,
    /// What it did while it was its turn, in words: `61 493 packets received a second`.
    pub achieved: Vec<String>,
}

/// What was seen while certain parts ran.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LoadTurnView {
    /// The part, or parts.
    pub name: String,
    /// From the run's first schedule to the turn's start (ns, below zero where it began before); absent for the time
    /// between turns.
    pub from_offset_ns: Option<Exact>,
    /// To its end (ns).
    pub to_offset_ns: Option<Exact>,
    /// Time that is told of (ns).
    pub observed_ns: Exact,
    /// Samples of all measuring threads.
    pub samples: Exact,
    /// The worst latency (ns).
    pub worst_ns: Option<Exact>,
    /// The CPU on which it happened.
    pub worst_cpu: Option<u32>,
    /// Samples beyond the deadline; absent where none was stated.
    pub beyond: Option<Exact>,
    /// Schedules that late wake-ups swallowed.
    pub missed_periods: Exact,
}
