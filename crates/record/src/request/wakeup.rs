//! The request for a run of `wakeup`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockId, CpuSet, Ns};

use super::{KindRequest, time_of};
use crate::Measurement;

/// The scheduling policy of the measuring threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyChoice {
    /// `SCHED_FIFO`, real-time without time slices.
    Fifo,
    /// `SCHED_RR`, real-time with time slices.
    RoundRobin,
    /// `SCHED_OTHER`, the ordinary policy.
    Other,
    /// `SCHED_DEADLINE`; the interval is both its deadline and its period.
    Deadline {
        /// CPU time in each period.
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        runtime: Ns,
    },
}

/// On which CPUs the measuring threads run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Each thread on one CPU of the set, in ascending order. If there are more threads than CPUs, it starts over.
    Pinned(CpuSet),
    /// One thread on each isolated CPU, or on each CPU if none is isolated.
    Default,
    /// Not pinned: the scheduler places the threads.
    Unpinned,
}

/// When a thread's first schedule is due, counted from the run's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stagger {
    /// Spread evenly over the interval: thread n of t starts after n/t of its interval.
    Even,
    /// As cyclictest's `--aligned` and `--secaligned`: each thread starts after one of its own intervals, plus `all`, plus
    /// `each` for every thread before it.
    AfterInterval {
        /// Additional delay of every thread.
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        all: Ns,
        /// Further delay of each thread relative to the one before it.
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        each: Ns,
    },
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// After this time.
    After(
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        Ns,
    ),
    /// After this many samples of each thread.
    Samples(u64),
    /// When it is stopped from outside.
    WhenTold,
}

/// Which late samples of a run are explained, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExplainRequest {
    /// Explain samples above this latency; `None`: a moving threshold selects the worst few of each thread.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub above: Option<Ns>,
    /// Source of the evidence; `None`: the best one available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<EvidenceSource>,
    /// Whether kernel events are left out because they cost too much on this machine. It is measured, never requested.
    #[serde(skip)]
    pub events_are_dear: bool,
    /// Whether the worst of each interval are explained rather than those of the run, which may have no end: what was explained is
    /// handed on with the intervals, and nothing of it is kept. For a monitoring that takes the intervals over; never requested.
    #[serde(skip)]
    pub each_interval: bool,
    /// Whether the parts of every wake-up are recorded; this needs [`EvidenceSource::Programs`].
    pub parts: bool,
}

/// A source of evidence about late samples, from the best to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// The instrument's own BPF programs, attached to the kernel's tracepoints.
    Programs,
    /// Kernel trace events, in a tracefs instance of the instrument's own.
    Events,
    /// The kernel's counters.
    Counters,
}

/// The parameters of a run of `wakeup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WakeupRequest {
    /// On which CPUs the measuring threads run.
    pub placement: Placement,
    /// Number of measuring threads; `None`: one per CPU, or a single one if unpinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Scheduling policy of the measuring threads.
    pub policy: PolicyChoice,
    /// Real-time priority of the first thread (1 to 99 for FIFO and RR).
    pub priority: u32,
    /// Whether each next thread runs one priority lower, as cyclictest does.
    pub descending_priorities: bool,
    /// Time from one schedule to the next (at least 10 us).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// How much longer the interval of each thread is than that of the thread before it.
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval_step: Ns,
    /// The run starts at the next multiple of this on the measured clock (above 0); `None`: immediately.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub align_to: Option<Ns>,
    /// How the first schedules of the threads are spread.
    pub stagger: Stagger,
    /// When the run ends.
    pub end: RunEnd,
    /// A claim about the time to come, such as "100us for 1 day at 99%": the run ends as soon as it is decided, and by `end` at the
    /// latest; `None`: by `end` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_sure: Option<String>,
    /// The clock to sleep on.
    pub clock: ClockId,
    /// The deadline: the latency that no sample may exceed.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// A latency below this ends a burst of missed periods (recovery); `None`: the interval.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub recovered_within: Option<Ns>,
    /// Length of an interval of the record, each of which has its own maximum and histogram. `None`:
    /// min(5 minutes, duration / 60).
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
    /// Whether intervals begin and end at multiples of their length on UTC, so that those of several runs and nodes are of the same
    /// times. The first and the last are shorter, and so is the one in which the wall clock is set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub intervals_on_utc: bool,
    /// Value to hold in `/dev/cpu_dma_latency` during the run (us); `None`: hold nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_dma_latency_us: Option<u32>,
    /// Stop the run at the first latency above this, after marking and stopping the kernel's trace.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub breaktrace: Option<Ns>,
    /// Whether `breaktrace` marks and stops the kernel's trace; if not, it only ends the run.
    pub breaktrace_marks: bool,
    /// CPUs of the controller and the drain thread; `None`: all but the measured CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_cpus: Option<CpuSet>,
    /// Whether to lock the process's memory.
    pub lock_memory: bool,
    /// Which late samples to explain; `None`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<ExplainRequest>,
    /// Seed that places each schedule at random within its interval; `None`: schedules at equal distances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u64>,
    /// Whether to look for rhythms among the late wake-ups.
    pub scan_rhythms: bool,
}

impl Default for WakeupRequest {
    fn default() -> Self {
        Self {
            placement: Placement::Default,
            threads: None,
            policy: PolicyChoice::Fifo,
            priority: 98,
            descending_priorities: false,
            interval: crate::DEFAULT_INTERVAL,
            interval_step: Ns::ZERO,
            align_to: None,
            stagger: Stagger::Even,
            end: RunEnd::After(Ns::from_s(60)),
            until_sure: None,
            clock: ClockId::Monotonic,
            deadline: None,
            recovered_within: None,
            interval_maximum: None,
            intervals_on_utc: false,
            hold_dma_latency_us: None,
            breaktrace: None,
            breaktrace_marks: true,
            explain: None,
            jitter: None,
            scan_rhythms: true,
            controller_cpus: None,
            lock_memory: true,
        }
    }
}

impl WakeupRequest {
    /// The interval of a thread, by its number from 0.
    #[must_use]
    pub fn interval_of(&self, thread: u32) -> Ns {
        Ns(self.interval.0.saturating_add(self.interval_step.0.saturating_mul(i64::from(thread))))
    }

    /// The priority of a thread, by its number from 0, where its policy has one.
    #[must_use]
    pub fn priority_of(&self, thread: u32) -> u32 {
        if self.descending_priorities { self.priority.saturating_sub(thread).max(1) } else { self.priority }
    }
}

impl KindRequest for WakeupRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Wakeup
    }

    fn deadline(&self) -> Option<Ns> {
        self.deadline
    }

    fn takes(&self) -> Option<Ns> {
        match self.end {
            RunEnd::After(duration) => Some(duration),
            RunEnd::Samples(samples) => time_of(samples, self.interval),
            RunEnd::WhenTold => None,
        }
    }

    fn real_time_priority(&self) -> Option<u32> {
        match self.policy {
            PolicyChoice::Fifo | PolicyChoice::RoundRobin => Some(self.priority),
            // SCHED_DEADLINE stands above all priorities and has none.
            PolicyChoice::Other | PolicyChoice::Deadline { .. } => None,
        }
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.end = RunEnd::After(duration);
        true
    }
}
