//! What `app` records about a user's own program in addition to the latencies of its threads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::format;

use crate::Finding;
use crate::Histogram;

/// A program whose threads were followed; only in runs of `app`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppRun {
    /// The command that started the program; absent if it was running already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The process that was named, or the first process of the command.
    pub pid: u32,
    /// How the program ended; absent if it outlived the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The threads of the series, with the same thread numbers.
    pub threads: Vec<AppThread>,
    /// Threads of the program that were seen and are not in `threads`.
    pub threads_left_out: u64,
    /// Of those the real-time threads that ended after a few wake-ups, as programs have them that make one for each turn.
    #[serde(default)]
    pub real_time_threads_left_out: u64,
    /// What tracing cost the program.
    pub tracing: TracingCost,
    /// What was looked for of calls of the memory allocator inside the loops; absent in records of older versions, which
    /// looked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<AllocationLook>,
    /// What else of the audit could not be told, each with whom it concerns and why: the program had ended before the kernel
    /// was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_for: Vec<String>,
    /// Audit of the program: what prevents it from acting on time, the most severe first.
    pub findings: Vec<Finding>,
}

impl AppRun {
    /// What was and what was not looked for, for the reader of a result: without that, no finding reads as no fault.
    #[must_use]
    pub fn looked_for(&self) -> Vec<String> {
        let others = self.not_looked_for.iter().map(|what| format!("not looked for: {what}"));
        self.allocations.iter().flat_map(AllocationLook::sentences).chain(others).collect()
    }
}

/// Where calls of the memory allocator were counted, and where they were not. What the allocator serves from the memory that
/// it has makes no system call, so nothing else shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocationLook {
    /// The threads in whose loops the calls were counted, by name and kernel thread ID.
    pub threads: Vec<String>,
    /// The functions that were counted, each with its file: `malloc (libc.so.6)`.
    pub functions: Vec<String>,
    /// What one counted call takes longer by being counted (ns), measured during the run with calls in a row of the instrument's
    /// own malloc. With cold caches it is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_ns: Option<u64>,
    /// Where nothing was counted, or not everything, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_for: Vec<String>,
}

impl AllocationLook {
    /// What was and what was not looked for, for the reader of a result.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if !self.threads.is_empty() {
            let cost = self.call_ns.map_or_else(String::new, |ns| {
                format!(
                    "; while it was counted, each call took at least {} longer, those of the process's other threads too",
                    format::span(ns)
                )
            });
            sentences.push(format!(
                "looked for: allocations from the heap, by probes on {}, in {}{cost}",
                self.functions.join(", "),
                self.threads.join(", ")
            ));
        }
        sentences
            .extend(self.not_looked_for.iter().map(|why| format!("not looked for: allocations from the heap ({why})")));
        sentences
    }
}

/// One followed thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppThread {
    /// Number of the thread in the series, from 0.
    pub thread: u32,
    /// Kernel thread ID.
    pub tid: u32,
    /// Process ID, as the kernel counts outside of containers.
    pub pid: u32,
    /// Name of the thread (comm), the last one if it changed.
    pub name: String,
    /// Earlier names of the thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_names: Vec<String>,
    /// Name of the scheduling policy, the last one if it changed.
    pub policy: String,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// How often policy or priority changed after the thread was first seen with the values given here.
    pub policy_changes: u64,
    /// The system call in which its loop waits, with the arguments that matter; absent if no loop was recognized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_by: Option<String>,
    /// Number of returns from that call.
    pub activations: u64,
    /// Median time between the wake-up times that the thread asked for; if it named none, between its activations (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// What ended the waits of its loop, of all its waits if no loop was recognized.
    #[serde(default)]
    pub turn_causes: TurnCauses,
    /// Times from one activation to the next (ns).
    pub periods: Histogram,
    /// How often the thread was preempted: it lost its CPU while it was still runnable.
    pub preempted: u64,
    /// Total time that it waited after preemptions until it ran again (ns).
    pub preempted_ns: u64,
    /// The threads that preempted it, the one with the longest total time first, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted_by: Vec<Preemption>,
    /// Whether the thread ended during the run.
    pub ended: bool,
}

/// What ended the waits of a thread. Only a timer says when a turn was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnCauses {
    /// Ended by a timer; each is a sample of `scheduled_to_returned`.
    pub timer: u64,
    /// Ended by a timer that was set before the run, or unseen: for when is not known.
    pub timer_of_unknown_time: u64,
    /// Ended by another thread.
    pub thread: u64,
    /// Of those, ended by a thread that a timer had woken, directly or through others.
    pub thread_after_timer: u64,
    /// The longest time of those from the moment of that timer to the return (ns): what the other thread did is part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_after_timer_max_ns: Option<u64>,
    /// Ended by an interrupt that was no timer's: a packet, a device.
    pub interrupt: u64,
    /// Ended by what was not seen.
    pub unknown: u64,
}

impl TurnCauses {
    /// Counts those of another wait too.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in [
            (&mut self.timer, other.timer),
            (&mut self.timer_of_unknown_time, other.timer_of_unknown_time),
            (&mut self.thread, other.thread),
            (&mut self.thread_after_timer, other.thread_after_timer),
            (&mut self.interrupt, other.interrupt),
            (&mut self.unknown, other.unknown),
        ] {
            *count = count.saturating_add(more);
        }
        self.thread_after_timer_max_ns = self.thread_after_timer_max_ns.max(other.thread_after_timer_max_ns);
    }

    /// Turns for which it was not measured how late they were, from the moment when they were due.
    #[must_use]
    pub const fn undated(&self) -> u64 {
        self.timer_of_unknown_time
            .saturating_add(self.thread)
            .saturating_add(self.interrupt)
            .saturating_add(self.unknown)
    }
}

/// A thread that preempted a followed thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preemption {
    /// Name of the preempting thread.
    pub name: String,
    /// Number of preemptions by this thread.
    pub times: u64,
    /// Total time until the preempted thread ran again (ns).
    pub total_ns: u64,
    /// Longest time until the preempted thread ran again (ns).
    pub longest_ns: u64,
}

/// What tracing cost the followed program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracingCost {
    /// Events that the kernel recorded for the run.
    pub events: u64,
    /// Events that were lost because the kernel's buffers were full, or because they were overwritten before being read.
    pub lost_events: u64,
    /// Cost of one event for the thread that causes it (ns), measured before the run: system calls with and without events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_ns: Option<u64>,
    /// Time from the kernel's event for the return of a sleep to a reading of the clock in user space (ns). It is the median
    /// of a thread of the instrument, measured before the run, and is part of each `scheduled_to_returned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_ns: Option<u64>,
    /// Events of the followed threads per activation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_per_activation: Option<f64>,
    /// CPU time that the instrument itself used, in CPUs (1.0 is one CPU all the time).
    pub own_cpu: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_for_is_said_with_its_reason() {
        let mut look = AllocationLook {
            threads: vec!["thread control (7)".to_owned()],
            functions: vec!["malloc (libc.so.6)".to_owned(), "free (libc.so.6)".to_owned()],
            call_ns: Some(3_000),
            not_looked_for: vec!["thread motor (8): the run was too short".to_owned()],
        };
        let said = look.sentences();
        assert_eq!(said.len(), 2);
        assert!(said[0].starts_with("looked for: allocations from the heap, by probes on malloc (libc.so.6), free"));
        assert!(said[0].contains("3.0 us longer"), "{}", said[0]);
        assert_eq!(said[1], "not looked for: allocations from the heap (thread motor (8): the run was too short)");
        look.threads.clear();
        assert_eq!(look.sentences().len(), 1, "nothing was looked for");
    }
}
