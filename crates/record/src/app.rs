//! What following the threads of a user's own program told beside their latencies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Finding;
use crate::Histogram;

/// A program that was followed; `app` alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppRun {
    /// The command by which it was started; absent where it ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The process that was named, or that the command began as.
    pub pid: u32,
    /// How it ended; absent where it outlived the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The threads of the series, by the same numbers.
    pub threads: Vec<AppThread>,
    /// Threads that were seen and are not among them.
    pub threads_left_out: u64,
    /// What following cost the program.
    pub tracing: TracingCost,
    /// How the program is written: what stands in the way of acting on time, the gravest first.
    pub findings: Vec<Finding>,
}

/// One followed thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppThread {
    /// Which thread of the series, from 0.
    pub thread: u32,
    /// Its kernel id.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its name, the last that it had.
    pub name: String,
    /// The names that it had before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_names: Vec<String>,
    /// Scheduling policy by its name, the last that it had.
    pub policy: String,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
    /// How often policy or priority changed after it was first seen as what it is here.
    pub policy_changes: u64,
    /// What its loop waits for: the system call with what matters of its arguments; absent where no loop was recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_by: Option<String>,
    /// Returns from that call.
    pub activations: u64,
    /// The median distance of the moments that it asked for, or else of its activations (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// The distances from one activation to the next (ns).
    pub periods: Histogram,
    /// Times that it was taken off its CPU while it wanted to go on.
    pub preempted: u64,
    /// How long it then waited, in all (ns).
    pub preempted_ns: u64,
    /// Who got the CPU then, the longest in all first, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted_by: Vec<Preemption>,
    /// Whether it ended during the run.
    pub ended: bool,
}

/// A thread that took the CPU from another one that wanted to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preemption {
    /// Its name.
    pub name: String,
    /// How often.
    pub times: u64,
    /// Until the preempted thread ran again, in all (ns).
    pub total_ns: u64,
    /// The longest (ns).
    pub longest_ns: u64,
}

/// What following cost the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracingCost {
    /// Events that the kernel recorded for the run.
    pub events: u64,
    /// Events that found no place in its buffers, or were overwritten before they were read.
    pub lost_events: u64,
    /// What one event costs the thread that makes it (ns), measured before the run: system calls with and without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_ns: Option<u64>,
    /// From the kernel's event of a sleep's return to a reading of the clock in user space (ns): the median of a thread of
    /// this program's own, measured before the run, and part of each `scheduled_to_returned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_ns: Option<u64>,
    /// Events of the followed threads for each of their activations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_per_activation: Option<f64>,
    /// CPU time that this program used itself, in CPUs (1.0 is one CPU all the time).
    pub own_cpu: f64,
}
