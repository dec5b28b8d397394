//! What is known about a followed program in addition to its latencies.

use schemars::JsonSchema;
use serde::Serialize;

use super::HistogramView;
use crate::exact::Exact;

/// A followed program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramView {
    /// The command, or the process that was named.
    pub what: String,
    /// How the program ended; null if it outlived the run.
    pub ended: Option<String>,
    /// The followed threads.
    pub threads: Vec<FollowedThreadView>,
    /// Threads of the program that were seen and are not in `threads`.
    pub threads_left_out: Exact,
    /// What the audit looked for inside the loops and what it could not tell, in sentences; empty if nothing is to be said.
    pub looked_for: Vec<String>,
    /// What tracing cost the program.
    pub cost: FollowingCostView,
}

/// One followed thread.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FollowedThreadView {
    /// Number of the thread in the series, from 0.
    pub thread: u32,
    /// Kernel thread ID.
    pub tid: u32,
    /// Name of the thread (comm), the last one if it changed.
    pub name: String,
    /// Name of the scheduling policy.
    pub policy: String,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// The system call in which its loop waits; null if no loop was recognized.
    pub waits_by: Option<String>,
    /// Number of returns from that call.
    pub activations: Exact,
    /// Period of the loop (ns); null if it has none.
    pub period_ns: Option<Exact>,
    /// Times from one activation to the next.
    pub periods: HistogramView,
    /// Schedules that late wake-ups skipped; null if the requested wake-up times are unknown.
    pub missed_periods: Option<Exact>,
    /// How often the thread was preempted: it lost its CPU while it was still runnable.
    pub preempted: Exact,
    /// Total time that it waited after preemptions until it ran again (ns).
    pub preempted_ns: Exact,
    /// The threads that preempted it, the one with the longest total time first.
    pub preempted_by: Vec<PreemptionView>,
    /// Whether the thread ended during the run.
    pub ended: bool,
}

/// A thread that preempted a followed thread.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PreemptionView {
    /// Name of the preempting thread.
    pub name: String,
    /// Number of preemptions by this thread.
    pub times: Exact,
    /// Total time until the preempted thread ran again (ns).
    pub total_ns: Exact,
    /// Longest time until the preempted thread ran again (ns).
    pub longest_ns: Exact,
}

/// What tracing cost the followed program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FollowingCostView {
    /// Events that the kernel recorded.
    pub events: Exact,
    /// Events that were lost because the kernel's buffers were full.
    pub lost_events: Exact,
    /// Cost of one event for the thread that causes it (ns).
    pub event_ns: Option<Exact>,
    /// Time from the kernel's event for the return of a sleep to a reading of the clock in user space (ns).
    pub return_ns: Option<Exact>,
    /// Events per activation.
    pub events_per_activation: Option<f64>,
    /// CPU time for reading the events, in CPUs (1.0 is one CPU all the time).
    pub own_cpu: f64,
}
