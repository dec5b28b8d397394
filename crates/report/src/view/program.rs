//! What following a user's own program told beside its latencies.

use schemars::JsonSchema;
use serde::Serialize;

use super::HistogramView;
use crate::Exact;

/// A program that was followed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramView {
    /// Its command, or the process that was named.
    pub what: String,
    /// How it ended; absent where it outlived the run.
    pub ended: Option<String>,
    /// Its threads.
    pub threads: Vec<FollowedThreadView>,
    /// Threads that were seen and are not among them.
    pub threads_left_out: Exact,
    /// What following cost.
    pub cost: FollowingCostView,
}

/// One followed thread.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FollowedThreadView {
    /// Which thread of the series.
    pub thread: u32,
    /// Its kernel id.
    pub tid: u32,
    /// The last name that it had.
    pub name: String,
    /// Scheduling policy by its name.
    pub policy: String,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
    /// What its loop waits for; absent where no loop was recognised.
    pub waits_by: Option<String>,
    /// Returns from that wait.
    pub activations: Exact,
    /// Its period (ns); absent where it has none.
    pub period_ns: Option<Exact>,
    /// The distances from one activation to the next.
    pub periods: HistogramView,
    /// Schedules that late wake-ups swallowed; absent where its moments are not known.
    pub missed_periods: Option<Exact>,
    /// Times that it was taken off its CPU while it wanted to go on.
    pub preempted: Exact,
    /// How long it then waited, in all (ns).
    pub preempted_ns: Exact,
    /// Who got the CPU then, the longest in all first.
    pub preempted_by: Vec<PreemptionView>,
    /// Whether it ended during the run.
    pub ended: bool,
}

/// A thread that took the CPU from another one that wanted to go on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PreemptionView {
    /// Its name.
    pub name: String,
    /// How often.
    pub times: Exact,
    /// Until the preempted thread ran again, in all (ns).
    pub total_ns: Exact,
    /// The longest (ns).
    pub longest_ns: Exact,
}

/// What following a program cost.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FollowingCostView {
    /// Events that the kernel recorded.
    pub events: Exact,
    /// Events that found no place in its buffers.
    pub lost_events: Exact,
    /// What one event costs the thread that makes it (ns).
    pub event_ns: Option<Exact>,
    /// From the event of a sleep's return to a reading of the clock in user space (ns).
    pub return_ns: Option<Exact>,
    /// Events for each activation.
    pub events_per_activation: Option<f64>,
    /// CPU time for reading them, in CPUs.
    pub own_cpu: f64,
}
