//! The causes of the worst samples, with the evidence for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Histogram, Moment, WorstSample};

/// What a run knows of the causes of its worst samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Sources of the evidence, the best first; empty if none was available.
    pub sources: Vec<String>,
    /// Sources that would give better evidence, with what each of them needs: a kernel option, a permission.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Samples above this were examined (ns); absent if a moving threshold selected the worst few of each thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_ns: Option<u64>,
    /// The cost of explaining, measured right before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<ExplainingCost>,
    /// Samples that were above the threshold when they were taken.
    pub outliers: u64,
    /// Of these, samples that were explained: each is counted in a cause, and the worst have a timeline below.
    pub explained: u64,
    /// Of these, samples that came while an earlier one was being read, so that nothing was recorded for them.
    pub not_recorded: u64,
    /// The causes, the one with the most samples first.
    pub causes: Vec<CauseTotal>,
    /// The worst of the explained samples, worst first, at most 64.
    pub samples: Vec<ExplainedSample>,
    /// The parts of every wake-up; absent if they were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<WakeupParts>,
}

impl Explanation {
    /// Which samples were examined, in words: "samples above 100 us".
    #[must_use]
    pub fn looked_at(&self) -> String {
        self.above_ns.map_or_else(
            || "samples that were among the worst when they came".to_owned(),
            |ns| format!("samples above {}", units::format::latency(ns)),
        )
    }

    /// The explained sample that one of the run's worst samples is; `None` if that sample was not explained, or its
    /// timeline was not kept.
    #[must_use]
    pub fn sample_of(&self, worst: &WorstSample) -> Option<&ExplainedSample> {
        let is_it = |sample: &&ExplainedSample| {
            Some(sample.thread) == worst.place.thread_number()
                && sample.scheduled.monotonic == worst.from.at.monotonic
                && sample.latency_ns == worst.latency_ns
        };
        self.samples.iter().find(is_it)
    }
}

/// Histograms of the parts of all wake-ups of a run. The parts of a wake-up add up to its latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakeupParts {
    /// Wake-ups whose parts were recorded.
    pub seen: u64,
    /// Wake-ups whose parts are unknown: one of their points was not recorded, or belongs to an earlier wake-up.
    pub not_seen: u64,
    /// One entry for each thread and part, the parts in chronological order.
    pub histograms: Vec<PartHistogram>,
}

impl WakeupParts {
    /// The name and the histogram over all threads of each part, in chronological order.
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

/// The histogram of one part of the wake-ups of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartHistogram {
    /// The part, named by its two points as in the glossary: `scheduled_to_timer`, `timer_to_runnable`,
    /// `runnable_to_running`, `running_to_woke`.
    pub name: String,
    /// Number of the thread, from 0.
    pub thread: u32,
    /// The thread's CPU.
    pub cpu: u32,
    /// The lengths of the part (ns), one for each wake-up whose parts were recorded.
    pub histogram: Histogram,
}

/// The cost of explaining: latencies without and with it, from short runs that alternate right before the run itself; of packets
/// before the nodes are connected, over the loopback interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainingCost {
    /// Median latency without explaining (ns).
    pub median_without_ns: u64,
    /// Median latency with explaining (ns).
    pub median_with_ns: u64,
    /// Mean latency without explaining (ns).
    pub mean_without_ns: f64,
    /// Mean latency with explaining (ns).
    pub mean_with_ns: f64,
    /// Largest difference between the means of two runs that were both with, or both without explaining (ns). A smaller
    /// cost cannot be distinguished from noise.
    pub mean_differs_ns: f64,
    /// Number of samples without explaining, and as many with it.
    pub samples: u64,
}

/// One cause, summed over the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTotal {
    /// Class of the cause.
    pub class: CauseClass,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// Certainty of the cause: the lowest of all its samples.
    pub certainty: Certainty,
    /// Explained samples with this cause.
    pub samples: u64,
    /// The worst latency of these samples (ns).
    pub worst_ns: i64,
    /// The time that the cause took in all of these samples together (ns).
    pub took_ns: u64,
    /// Explained samples with this cause that exceeded the deadline; absent if none was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_deadline: Option<u64>,
    /// Whose thread it is, if the cause is a thread.
    #[serde(default, skip_serializing_if = "Owner::is_other")]
    pub owner: Owner,
    /// The latencies of all its explained samples; empty in records of earlier versions, which did not keep them.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub latencies: Histogram,
    /// What to change to avoid this cause.
    pub remedy: String,
    /// Name of a finding of `check` that has more about the cause; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
}

/// A late sample with its timeline and its cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedSample {
    /// Number of the measuring thread, from 0.
    pub thread: u32,
    /// The measured CPU.
    pub cpu: u32,
    /// The latency (ns).
    pub latency_ns: i64,
    /// When the thread was scheduled to wake; of a packet, the receiving kernel's stamp.
    pub scheduled: Moment,
    /// When the thread woke; of a packet, when the receiving program had it.
    pub woke: Moment,
    /// Class of the cause.
    pub class: CauseClass,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// Certainty of the cause.
    pub certainty: Certainty,
    /// Whose thread it is, if the cause is a thread.
    #[serde(default, skip_serializing_if = "Owner::is_other")]
    pub owner: Owner,
    /// The evidence, in words.
    pub evidence: String,
    /// What took the time, the longest first, at most 12 entries.
    pub parts: Vec<DelayPart>,
    /// Number of shorter parts that were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts_left_out: u64,
    /// What the CPU did around the delay, in chronological order, at most 200 segments. A segment within another one has a
    /// greater depth.
    pub timeline: Vec<TimelineSegment>,
    /// Number of shorter timeline segments that were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stretches_left_out: u64,
    /// Call stack at the place where the delayed timer interrupt was finally taken, the innermost function first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The owner of a thread that made a sample late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// Another program, or the kernel; also if the owner is unknown.
    #[default]
    Other,
    /// The load that this measurement started.
    Load,
    /// This program itself.
    Instrument,
}

impl Owner {
    /// Whether the thread belongs to neither the load nor this program.
    #[must_use]
    pub const fn is_other(&self) -> bool {
        matches!(self, Self::Other)
    }
}

/// A share of a sample's latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelayPart {
    /// Class of the cause.
    pub class: CauseClass,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// The time that it took, without the time of what interrupted it (ns).
    pub net_ns: u64,
}

/// One segment of a timeline: what a CPU did for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineSegment {
    /// Kind of activity.
    pub activity: Activity,
    /// Name of the activity: the thread with its ID, the interrupt, the function, the idle state.
    pub name: String,
    /// Start of the segment relative to [`ExplainedSample::scheduled`] (ns, negative if earlier).
    pub from_ns: i64,
    /// End of the segment relative to [`ExplainedSample::scheduled`] (ns).
    pub to_ns: i64,
    /// Nesting depth: the number of other segments that this one interrupts.
    pub depth: u32,
    /// Duration without the time of what interrupted it (ns).
    pub net_ns: u64,
}

/// What a CPU can be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// It is idle.
    Idle,
    /// It runs a thread other than the measuring one.
    Thread,
    /// It runs the measuring thread.
    Measuring,
    /// It handles a softirq.
    Softirq,
    /// It handles a hardware interrupt.
    Interrupt,
    /// It runs the callback of a timer, with interrupts off.
    TimerFunction,
    /// It handles a non-maskable interrupt.
    Nmi,
    /// Unknown: the kernel did not report a switch between threads.
    Untold,
}

/// What makes a wake-up late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseClass {
    /// A thread disabled interrupts for a time.
    InterruptsOff,
    /// A thread of lower priority disabled preemption for a time.
    PreemptionOff,
    /// A device's or the processor's interrupt.
    Interrupt,
    /// A softirq, in interrupt context or in its thread.
    Softirq,
    /// A thread of the same or a higher priority.
    Thread,
    /// The callback of a timer, run in the timer interrupt.
    TimerFunction,
    /// A non-maskable interrupt.
    Nmi,
    /// Firmware: a system management interrupt.
    Smi,
    /// The exit from an idle state.
    IdleExit,
    /// A change of the CPU frequency, or thermal throttling.
    Frequency,
    /// A page fault of the measuring thread.
    PageFault,
    /// The measuring thread moved to another CPU.
    Migration,
    /// The kernel let a thread of lower priority run on purpose: real-time throttling, or the fair server.
    Throttle,
    /// The hypervisor ran something else on the CPU.
    Steal,
    /// The receiver of a packet slept by its own schedule when the packet came.
    OwnSleep,
    /// The cause is unknown.
    #[default]
    Unknown,
}

impl CauseClass {
    /// The class in words, as reports print it.
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
            Self::OwnSleep => "own sleep",
            Self::Unknown => "unknown",
        }
    }

    /// The class together with the name of the cause: "interrupt: eth0 (interrupt 126)", "softirq NET_RX".
    /// A name that starts with the class is returned unchanged.
    #[must_use]
    pub fn with_name(self, name: &str) -> String {
        match self.words() {
            words if name.is_empty() => words.to_owned(),
            words if name.starts_with(words) => name.to_owned(),
            words => format!("{words}: {name}"),
        }
    }
}

/// How certain a cause is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The recorded events show that the cause took the time.
    Shown,
    /// Counters indicate the cause, or every other cause was ruled out.
    Likely,
    /// There is no evidence for any cause.
    #[default]
    Unknown,
}

impl Certainty {
    /// The certainty as one word, as reports print it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Likely => "likely",
            Self::Unknown => "unknown",
        }
    }
}
