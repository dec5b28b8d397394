//! What is known of a late sample before anybody judges it.

use record::Moment;

use super::event::{Event, Thread};

/// What is drawn of the time before a schedule, at most (ns).
pub const LEAD_NS: i64 = 50_000;
/// A recorder notes a sleeper's timer down from this lateness on (ns): above what an idle CPU's takes.
pub const LATE_TIMER_NS: i64 = 5_000;

/// A late sample.
#[derive(Clone, Debug)]
pub struct Late {
    /// Which thread, from 0.
    pub thread: u32,
    /// The CPU that the thread woke on.
    pub cpu: u32,
    /// When the thread was to wake; of a packet, when the kernel had it.
    pub scheduled: Moment,
    /// When the thread was back in its own code.
    pub woke: Moment,
    /// The schedule on the measured clock (ns): by it its timer is known.
    pub scheduled_ns: i64,
    /// The latency (ns).
    pub latency_ns: i64,
    /// What half of this thread's wake-ups take (ns).
    pub typical_ns: i64,
    /// Between two of its schedules (ns); absent where that is not known.
    pub interval_ns: Option<i64>,
    /// The measuring thread.
    pub own: Thread,
}

/// What was recorded about it.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Events of its CPU in the order of time.
    pub events: Vec<Event>,
    /// Whether older events were overwritten or could not be read: then nothing is known of the time before the first.
    pub overwritten: bool,
    /// Whether a late timer of a sleeping thread is recorded, so that none means that it was on time.
    pub late_timers: bool,
    /// Whether switches between the idle task and the measuring thread are recorded too, so that it is known which of the
    /// two had the CPU.
    pub own_switches: bool,
    /// Other CPUs that matter before, in the order of time; none of a pinned thread that a timer wakes.
    pub legs: Vec<Leg>,
}

/// A CPU that the thread was on, or its timer, before it came to the one that it woke on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leg {
    /// The number of the CPU that it was on.
    pub cpu: u32,
    /// Its events in the order of time.
    pub events: Vec<Event>,
    /// Up to when what it did matters (ns, CLOCK_MONOTONIC).
    pub until_ns: i64,
    /// Whether the thread waited there, and was moved away at the end; else only its timer fired there.
    pub waited: bool,
}
