//! What can be asked of `wakeup`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{ClockId, CpuSet, Ns};

use super::{KindRequest, time_of};
use crate::Measurement;

/// Which scheduling policy was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyChoice {
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_RR`.
    RoundRobin,
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_DEADLINE`; the interval is deadline and period.
    Deadline {
        /// CPU time in each period (ns).
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        runtime: Ns,
    },
}

/// Where the threads run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Each thread on one CPU of the set, in ascending order, round again where there are more threads.
    Pinned(CpuSet),
    /// Isolated CPUs if there are any, else all: one thread each.
    Default,
    /// Wherever the scheduler likes.
    Unpinned,
}

/// When a thread's first schedule is due, counted from the run's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stagger {
    /// The threads share the interval evenly: thread n of t waits n/t of its interval.
    Even,
    /// cyclictest's `--aligned` and `--secaligned`: one interval of its own, `all` more, and `each` more for each
    /// thread before it.
    AfterInterval {
        /// What every thread waits (ns).
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        all: Ns,
        /// What each next thread waits longer (ns).
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        each: Ns,
    },
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// After this time.
    After(
        #[serde(with = "units::duration_text")]
        #[schemars(with = "String")]
        Ns,
    ),
    /// After this many samples of each thread.
    Samples(u64),
    /// When it is told to.
    WhenTold,
}

/// What of a run is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExplainRequest {
    /// Samples above this; `None` follows the worst few of each thread.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub above: Option<Ns>,
    /// Where the evidence is to come from; `None` takes the best that there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<EvidenceSource>,
    /// Whether the kernel's events were found to cost too much on this machine, and are left out for that: never asked.
    #[serde(skip)]
    pub events_are_dear: bool,
    /// Whether the parts of every wake-up are recorded, where the evidence comes from programs.
    pub parts: bool,
}

/// A source of evidence, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// Programs of our own at the kernel's trace points.
    Programs,
    /// The kernel's events, in a trace instance of our own.
    Events,
    /// What the kernel counts.
    Counters,
}

/// How samples are counted into equal bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinearBins {
    /// Width of a bin, which is also the unit of all other numbers of the histogram (ns, 1 and more).
    pub width_ns: u64,
    /// How many bins there are; what lies beyond is counted as overflow.
    pub bins: usize,
    /// Of how many overflows the number of the sample is kept.
    pub kept_overflows: usize,
}

/// What was asked of `wakeup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WakeupRequest {
    /// Where the threads run.
    pub placement: Placement,
    /// How many threads; `None` is one a CPU (one where unpinned).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Scheduling policy.
    pub policy: PolicyChoice,
    /// Real-time priority of the first thread (1 to 99 for FIFO and RR).
    pub priority: u32,
    /// Whether each next thread runs one priority lower, as cyclictest does.
    pub descending_priorities: bool,
    /// Time from one schedule to the next (ns, 10 us and more).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// What each next thread's interval is longer by (ns).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval_step: Ns,
    /// The run starts at the next multiple of this on the measured clock (ns, above 0); `None` is at once.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub align_to: Option<Ns>,
    /// How the threads follow each other.
    pub stagger: Stagger,
    /// When the run ends.
    pub end: End,
    /// The clock to sleep on.
    pub clock: ClockId,
    /// The limit that a latency must not exceed.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// A latency below this counts as recovered; `None` is the interval.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub recovered_within: Option<Ns>,
    /// Length of an interval of the record; `None` is min(5 minutes, duration / 60).
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
    /// What to hold in `/dev/cpu_dma_latency` (us).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_dma_latency_us: Option<u32>,
    /// Stop, and mark and stop the kernel's trace, at the first latency above this.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub breaktrace: Option<Ns>,
    /// Whether the kernel's trace is marked and stopped then; without it the run only ends.
    pub breaktrace_marks: bool,
    /// Where the controller and the drain thread run; `None` is off the measured CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_cpus: Option<CpuSet>,
    /// Whether memory is locked.
    pub lock_memory: bool,
    /// Equal bins to fill beside the record's histogram, for output in the form of older tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_bins: Option<LinearBins>,
    /// Which samples' causes are looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<ExplainRequest>,
    /// Each schedule lies at random within its interval, by this seed; `None` is at equal distances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u64>,
    /// Whether rhythms are looked for among the late wake-ups.
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
            end: End::After(Ns::from_s(60)),
            clock: ClockId::Monotonic,
            deadline: None,
            recovered_within: None,
            interval_maximum: None,
            hold_dma_latency_us: None,
            breaktrace: None,
            breaktrace_marks: true,
            explain: None,
            jitter: None,
            scan_rhythms: true,
            controller_cpus: None,
            lock_memory: true,
            linear_bins: None,
        }
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
            End::After(duration) => Some(duration),
            End::Samples(samples) => time_of(samples, self.interval),
            End::WhenTold => None,
        }
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.end = End::After(duration);
        true
    }
}
