//! What made the worst samples late, as far as it was seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Histogram, Moment};

/// What a run knows of the causes of its worst samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Where the evidence comes from, the best first; empty where nothing could be seen.
    pub sources: Vec<String>,
    /// What would show more, and what it takes: a kernel option, a permission.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Samples above this were looked at (ns); absent where the threshold followed the worst few of each thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_ns: Option<u64>,
    /// What explaining costs, measured right before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<ExplainingCost>,
    /// Samples that were above the threshold when they were taken.
    pub outliers: u64,
    /// Of these, those that are told of: each has its timeline below, or is counted in a cause.
    pub explained: u64,
    /// Of these, those that came while an earlier one was being read, so that nothing was recorded.
    pub not_recorded: u64,
    /// The causes, that of the most samples first.
    pub causes: Vec<CauseTotal>,
    /// The worst of the explained samples, worst first, at most 64.
    pub samples: Vec<ExplainedSample>,
    /// Every wake-up in its parts; absent where they were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<WakeupParts>,
}

impl Explanation {
    /// Which samples were looked at, in words: "samples above 100 us".
    #[must_use]
    pub fn looked_at(&self) -> String {
        self.above_ns.map_or_else(
            || "samples that were among the worst when they came".to_owned(),
            |ns| format!("samples above {}", units::format::latency(ns)),
        )
    }
}

/// Every wake-up of a run in its parts, which add up to its latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakeupParts {
    /// Wake-ups whose parts were recorded.
    pub seen: u64,
    /// Wake-ups without: one of the moments was not recorded, or belongs to an earlier wake-up.
    pub not_seen: u64,
    /// One entry for each thread and part, the parts in the order of time.
    pub histograms: Vec<PartHistogram>,
}

impl WakeupParts {
    /// Each part over all threads, by its name, in the order of time.
    #[must_use]
    pub fn over_all_threads(&self) -> Vec<(&str, Histogram)> {
        let mut parts: Vec<(&str, Histogram)> = Vec::new();
        for one in &self.histograms {
            match parts.iter_mut().find(|(name, _)| *name == one.name) {
                Some((_, all)) => all.merge(&one.histogram),
                None => parts.push((&one.name, one.histogram.clone())),
            }
        }
        parts
    }
}

/// One part of the wake-ups of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartHistogram {
    /// The part by its two points, as in the glossary: `scheduled_to_timer`, `timer_to_runnable`, `runnable_to_running`,
    /// `running_to_woke`.
    pub name: String,
    /// Which thread, from 0.
    pub thread: u32,
    /// The CPU.
    pub cpu: u32,
    /// Every wake-up whose parts were recorded (ns).
    pub histogram: Histogram,
}

/// What explaining costs: wake-ups without and with it, in runs that alternate right before the run itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainingCost {
    /// Median latency without (ns).
    pub median_without_ns: u64,
    /// Median latency with it (ns).
    pub median_with_ns: u64,
    /// Mean latency without (ns).
    pub mean_without_ns: f64,
    /// Mean latency with it (ns).
    pub mean_with_ns: f64,
    /// By how much the means of equal halves differ (ns): a cost below this is not told from nothing.
    pub mean_differs_ns: f64,
    /// Samples of each kind.
    pub samples: u64,
}

/// One cause, summed over the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTotal {
    /// Its class.
    pub class: CauseClass,
    /// Its name: the interrupt, the thread, the function, the idle state; empty where there is none.
    pub name: String,
    /// How sure that is: that of its least sure sample.
    pub certainty: Certainty,
    /// Explained samples of it.
    pub samples: u64,
    /// The worst of them (ns).
    pub worst_ns: i64,
    /// The time that it took of all of them together (ns).
    pub took_ns: u64,
    /// Explained samples of it that were beyond the deadline; absent where none was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_deadline: Option<u64>,
    /// Whose thread it is, where the cause is a thread.
    #[serde(default, skip_serializing_if = "Owner::is_other")]
    pub owner: Owner,
    /// The latencies of all its explained samples; empty in records of programs that did not keep them.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub latencies: Histogram,
    /// What to change.
    pub remedy: String,
    /// Finding of `check` that tells more, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
}

/// A late sample with its timeline and its cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedSample {
    /// Which thread, from 0.
    pub thread: u32,
    /// The CPU.
    pub cpu: u32,
    /// The latency (ns).
    pub latency_ns: i64,
    /// When the thread was scheduled to wake.
    pub scheduled: Moment,
    /// When it did.
    pub woke: Moment,
    /// The class of the cause.
    pub class: CauseClass,
    /// Its name.
    pub name: String,
    /// How sure that is.
    pub certainty: Certainty,
    /// Whose thread it is, where the cause is a thread.
    #[serde(default, skip_serializing_if = "Owner::is_other")]
    pub owner: Owner,
    /// The evidence, in words.
    pub evidence: String,
    /// What took the time, the longest first, at most 12.
    pub parts: Vec<DelayPart>,
    /// Parts that took less than these and were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts_left_out: u64,
    /// What the CPU did around it, in the order of time, at most 200 stretches; what lies within another has a greater
    /// depth.
    pub timeline: Vec<TimelineSegment>,
    /// Stretches of the CPU's time around it that were shorter than these and were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stretches_left_out: u64,
    /// Functions that led to where the timer's interrupt was taken at last, the innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whose a thread is that made a sample late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// Of another program, or of the kernel; also where that is not known.
    #[default]
    Other,
    /// Of the load that this measurement started.
    Load,
    /// Of this program itself.
    Instrument,
}

impl Owner {
    /// Whether it belongs to neither the load nor this program.
    #[must_use]
    pub const fn is_other(&self) -> bool {
        matches!(self, Self::Other)
    }
}

/// A share of a sample's latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelayPart {
    /// Its class.
    pub class: CauseClass,
    /// Its name.
    pub name: String,
    /// The time that it took, without what interrupted it (ns).
    pub net_ns: u64,
}

/// One stretch of what a CPU did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineSegment {
    /// What it was.
    pub activity: Activity,
    /// Which: the thread with its number, the interrupt, the function, the idle state.
    pub name: String,
    /// Its start, counted from the moment that the thread was scheduled to wake (ns; before it is negative).
    pub from_ns: i64,
    /// Its end, counted so too (ns).
    pub to_ns: i64,
    /// How many others it interrupts.
    pub depth: u32,
    /// Its time without what interrupted it (ns).
    pub net_ns: u64,
}

/// What a CPU can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Nothing.
    Idle,
    /// A thread.
    Thread,
    /// The measuring thread itself.
    Measuring,
    /// A softirq.
    Softirq,
    /// An interrupt.
    Interrupt,
    /// A timer's function, with interrupts off.
    TimerFunction,
    /// A non-maskable interrupt.
    Nmi,
    /// It is not told: the kernel left out a switch between threads.
    Untold,
}

/// What makes a wake-up late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseClass {
    /// A thread kept interrupts off.
    InterruptsOff,
    /// A thread of lower priority kept preemption off.
    PreemptionOff,
    /// An interrupt.
    Interrupt,
    /// A softirq.
    Softirq,
    /// A thread of the same or a higher priority.
    Thread,
    /// A timer's function, in the interrupt of the timer.
    TimerFunction,
    /// A non-maskable interrupt.
    Nmi,
    /// Firmware: a system management interrupt.
    Smi,
    /// The way out of an idle state.
    IdleExit,
    /// A change of the frequency, or heat.
    Frequency,
    /// A page fault of the measuring thread.
    PageFault,
    /// The measuring thread moved to another CPU.
    Migration,
    /// The kernel let a thread of lower priority run on purpose: throttle of real-time threads, or fair server.
    Throttle,
    /// The hypervisor ran something else.
    Steal,
    /// Not known.
    #[default]
    Unknown,
}

impl CauseClass {
    /// What people read.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::InterruptsOff => "interrupts off",
            Self::PreemptionOff => "preemption off",
            Self::Interrupt => "interrupt",
            Self::Softirq => "softirq",
            Self::Thread => "thread",
            Self::TimerFunction => "timer function",
            Self::Nmi => "non-maskable interrupt",
            Self::Smi => "firmware (SMI)",
            Self::IdleExit => "idle-state exit",
            Self::Frequency => "frequency or heat",
            Self::PageFault => "page fault",
            Self::Migration => "migration",
            Self::Throttle => "throttle or fair server",
            Self::Steal => "hypervisor",
            Self::Unknown => "unknown",
        }
    }

    /// The class together with the name of the cause: "interrupt: eth0 (interrupt 126)", "softirq NET_RX".
    #[must_use]
    pub fn with_name(self, name: &str) -> String {
        match self.words() {
            words if name.is_empty() => words.to_owned(),
            words if name.starts_with(words) => name.to_owned(),
            words => format!("{words}: {name}"),
        }
    }
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// It covers the time, on what was recorded.
    Shown,
    /// Counters, or that all else is excluded, say so.
    Likely,
    /// Nothing says so.
    #[default]
    Unknown,
}

impl Certainty {
    /// The word that people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Likely => "likely",
            Self::Unknown => "unknown",
        }
    }
}
