//! What made the worst samples of a run late.

use record::{Activity, CauseClass, Certainty};
use schemars::JsonSchema;
use serde::Serialize;

use super::MomentView;
use crate::exact::Exact;

/// What the times of an explained sample are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExplainedFrom {
    /// The time for which a thread asked to be woken.
    Schedule,
    /// The receiving kernel's stamp of a packet.
    Arrival,
}

/// The causes of the worst samples of a run, with the evidence for them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExplanationView {
    /// What made most of the worst samples late and how certain that is, or why nothing is known.
    pub sentence: String,
    /// What to change first; null if no cause was found.
    pub change: Option<CauseChangeView>,
    /// Sources of the evidence; empty if none was available.
    pub sources: Vec<String>,
    /// Sources that would give better evidence, with what each of them needs.
    pub missing: Vec<String>,
    /// What the times of a sample are counted from.
    pub begin: ExplainedFrom,
    /// The cost of explaining, in one line; null if it was not measured.
    pub cost: Option<String>,
    /// Which samples were examined, in words: `samples above 50.0 us`.
    pub looked_at: String,
    /// Samples that were to be examined.
    pub outliers: Exact,
    /// Of these, samples that were explained and are counted in the causes.
    pub explained: Exact,
    /// Of these, samples that came while an earlier one was being read.
    pub not_recorded: Exact,
    /// How samples are distributed over the causes: one entry for each selection of samples.
    pub shares: Vec<ShareView>,
    /// The causes, the one with the most samples first.
    pub causes: Vec<CauseView>,
    /// The worst of the explained samples, worst first.
    pub samples: Vec<ExplainedSampleView>,
    /// The different activities in the timelines; the timelines refer to them by index.
    pub stretches: Vec<StretchView>,
    /// The parts of every wake-up; null if they were not recorded.
    pub parts: Option<PartsView>,
}

/// The parts of all wake-ups of a run, over all threads.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartsView {
    /// How many wake-ups were recorded with their parts, and how many were not.
    pub sentence: String,
    /// The parts, in chronological order.
    pub rows: Vec<PartRowView>,
}

/// One part of all wake-ups.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartRowView {
    /// Start and end of the part, in words.
    pub words: String,
    /// The part, named by its two points: `scheduled_to_timer`.
    pub name: String,
    /// Median length (ns); null if none was recorded.
    pub median_ns: Option<Exact>,
    /// 99.9 % quantile of the length (ns); null if fewer than ten are above it.
    pub p999_ns: Option<Exact>,
    /// Maximum length (ns); null if none was recorded.
    pub max_ns: Option<Exact>,
}

/// A recommended change against a cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CauseChangeView {
    /// What to change, in words.
    pub remedy: String,
    /// Name of a finding of `check` that has more about it.
    pub finding: Option<String>,
}

/// How a selection of samples is distributed over the causes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShareView {
    /// The selection, in words: `samples above the deadline of 100 us`.
    pub of: String,
    /// Number of samples in the selection.
    pub total: Exact,
    /// Number of these samples for each cause, in the order of the causes.
    pub causes: Vec<Exact>,
    /// The share of each cause in words, in the same order: "19 %". In whole percent, all shares of a selection add up to 100.
    pub percents: Vec<String>,
    /// Number of the other samples.
    pub not_explained: Exact,
    /// Their share in words.
    pub not_explained_percent: String,
}

/// One cause, summed over the run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CauseView {
    /// Class of the cause.
    pub class: CauseClass,
    /// The class in words.
    pub words: String,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// Certainty of the cause: the lowest of all its samples.
    pub certainty: Certainty,
    /// Explained samples with this cause.
    pub samples: Exact,
    /// The worst latency of these samples (ns).
    pub worst_ns: Exact,
    /// The time that the cause took in all of these samples together (ns).
    pub took_ns: Exact,
    /// What to change to avoid this cause.
    pub remedy: String,
    /// Name of a finding of `check` that has more about it.
    pub finding: Option<String>,
}

/// A late sample with its timeline and its cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExplainedSampleView {
    /// Number of the measuring thread, from 0.
    pub thread: u32,
    /// The measured CPU.
    pub cpu: u32,
    /// The latency (ns).
    pub latency_ns: Exact,
    /// When the thread was scheduled to wake.
    pub scheduled: MomentView,
    /// Class of the cause.
    pub class: CauseClass,
    /// The class in words.
    pub words: String,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// Certainty of the cause.
    pub certainty: Certainty,
    /// The evidence, in words.
    pub evidence: String,
    /// What took the time, the longest first.
    pub parts: Vec<DelayPartView>,
    /// Number of shorter parts that were left out.
    pub parts_left_out: Exact,
    /// What the CPU did around the delay.
    pub timeline: TimelineView,
    /// How many segments of the timeline were left out, in a sentence; null if none was.
    pub left_out: Option<String>,
    /// Call stack at the place where the delayed timer interrupt was finally taken, the innermost function first.
    pub stack: Vec<String>,
}

/// A share of a sample's latency.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DelayPartView {
    /// Class of the cause, in words.
    pub words: String,
    /// Name of the interrupt, the thread, the function or the idle state; empty if there is none.
    pub name: String,
    /// The time that it took, without the time of what interrupted it (ns).
    pub net_ns: Exact,
}

/// An activity of a CPU that occurs in the timelines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StretchView {
    /// Kind of activity.
    pub activity: Activity,
    /// Name of the activity: the thread with its ID, the interrupt, the function, the idle state.
    pub name: String,
}

/// What a CPU did around a sample: one segment per element of each column, in chronological order. Times are relative to
/// the scheduled wake-up.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct TimelineView {
    /// The activity: an index into `stretches` of the explanation, from 0.
    pub stretch: Vec<u32>,
    /// Start of each segment (ns, negative before the scheduled wake-up).
    pub from_ns: Vec<Exact>,
    /// End of each segment (ns).
    pub to_ns: Vec<Exact>,
    /// Nesting depth: the number of other segments that each segment interrupts.
    pub depth: Vec<u32>,
    /// Duration of each segment without the time of what interrupted it (ns).
    pub net_ns: Vec<Exact>,
}
