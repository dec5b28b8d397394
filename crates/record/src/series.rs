//! The samples of a run: one series per measuring thread, cut into intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Histogram, Moment};

/// The samples of one kind from one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The latency by its two points, as in the glossary: `scheduled_to_woke`, `read_to_read`, …
    pub name: String,
    /// What tells this series from others of its name: `monotonic vdso`, …; empty where the CPU does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The measured CPU; absent where the thread was not pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The measuring thread, from 0.
    pub thread: u32,
    /// Time from one schedule to the next of this thread (ns), where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Every sample as it was taken.
    pub histogram: Histogram,
    /// Samples below zero, by their magnitude; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_zero: Option<Histogram>,
    /// The corrected view: besides every sample also one for each schedule that a late wake-up swallowed.
    /// Absent where nothing was swallowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Histogram>,
    /// The run in pieces, in the order of time.
    #[serde(default)]
    pub intervals: Vec<Interval>,
    /// What was counted beside the samples.
    pub counters: Counters,
    /// When the maximum was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_at: Option<Moment>,
    /// Mean of each block of 1,000 readings (ns): median over the blocks; `clock` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_mean_median_ns: Option<f64>,
    /// What the loop that never sleeps counted; `noise` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseTotals>,
}

/// What the loop of `noise` counted on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseTotals {
    /// Turns of the loop.
    pub turns: u64,
    /// Time that the loop ran (ns).
    pub observed_ns: u64,
    /// The sum of all gaps above the threshold (ns).
    pub stolen_ns: u64,
    /// The shortest turn: what the loop itself costs (ns).
    pub shortest_turn_ns: u64,
    /// Gaps that were shown to be stops by a limit of the kernel's on real-time threads (throttle, control group or fair
    /// server), kept apart from the samples. Those that are only likely stops stay among the samples.
    pub throttle_gaps: u64,
    /// Their sum (ns).
    pub throttle_ns: u64,
}

/// One piece of a run: min(5 minutes, duration / 60) long unless set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its start, counted from the run's first schedule (ns).
    pub start_offset_ns: u64,
    /// Its length (ns); the last can be shorter.
    pub length_ns: u64,
    /// Schedules that a late wake-up of this interval swallowed.
    pub missed_periods: u64,
    /// Its samples; their exact maximum is the interval maximum.
    pub histogram: Histogram,
}

/// What is counted beside the samples of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// Samples taken.
    pub samples: u64,
    /// Samples that found no place in the hand-over ring.
    pub dropped: u64,
    /// Schedules swallowed by late wake-ups: the sum of floor(latency / interval).
    pub missed_periods: u64,
    /// Samples beyond the deadline; without one, beyond the interval.
    pub late_samples: u64,
    /// Rows of consecutive periods that were missed or late.
    pub rows: u64,
    /// The longest row, in periods.
    pub longest_row_periods: u64,
    /// The longest time from a first missed schedule to the first wake-up that is again within one interval (ns).
    pub longest_recovery_ns: u64,
    /// Corrected samples that were not added, beyond a million for one stall.
    #[serde(default)]
    pub corrections_left_out: u64,
    /// Context switches that the thread asked for (one each sleep).
    pub voluntary_switches: u64,
    /// Context switches forced upon it after it started.
    pub involuntary_switches: u64,
    /// Page faults served from memory after it started.
    pub minor_faults: u64,
    /// Page faults served from a disk after it started.
    pub major_faults: u64,
    /// Moves to another CPU after it started; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// Sleeps that ended early with an error or a signal.
    #[serde(default)]
    pub interrupted_sleeps: u64,
    /// Time that the hypervisor took from this CPU during the run (ns, in steps of a clock tick); absent where unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// System management interrupts on this CPU during the run; absent where unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smi: Option<u64>,
}

/// One of the worst samples of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorstSample {
    /// Which thread, from 0.
    pub thread: u32,
    /// The measured CPU; absent where the thread was not pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The latency (ns).
    pub latency_ns: i64,
    /// Its number among the thread's samples, from 0.
    pub sample: u64,
    /// Schedules that it swallowed.
    pub missed_periods: u64,
    /// When the thread was scheduled to wake.
    pub scheduled: Moment,
    /// When it did.
    pub woke: Moment,
}

/// A run of consecutive periods that were missed or late beyond the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissedRow {
    /// Which thread, from 0.
    pub thread: u32,
    /// The measured CPU; absent where the thread was not pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The first late schedule.
    pub first_scheduled: Moment,
    /// Periods in the row: late wake-ups and the schedules that they swallowed.
    pub periods: u64,
    /// Of these, schedules that were swallowed.
    pub missed_periods: u64,
    /// The worst latency in it (ns).
    pub worst_ns: i64,
    /// From the first missed schedule to the first wake-up that was again within one interval (ns);
    /// absent where no schedule was missed, or the run ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_ns: Option<u64>,
}
