//! What made the worst samples of a run late.

use record::{Activity, CauseClass, Certainty};
use schemars::JsonSchema;
use serde::Serialize;

use super::MomentView;
use crate::Exact;

/// What a run knows of the causes of its worst samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExplanationView {
    /// What made most of the worst late and how sure that is, or why nothing can be said.
    pub sentence: String,
    /// What to change first; absent where no cause was found.
    pub change: Option<CauseChangeView>,
    /// Where the evidence comes from; empty where nothing could be seen.
    pub sources: Vec<String>,
    /// What would show more, and what it takes.
    pub missing: Vec<String>,
    /// What explaining costs, in a line; absent where it was not measured.
    pub cost: Option<String>,
    /// Which samples were looked at: `samples above 50.0 us`.
    pub looked_at: String,
    /// Samples that were to be looked at.
    pub outliers: Exact,
    /// Of these, those whose causes are summed here.
    pub explained: Exact,
    /// Of these, those that came while an earlier one was being read.
    pub not_recorded: Exact,
    /// How samples divide among the causes, once for each kind of samples.
    pub shares: Vec<ShareView>,
    /// That of the most samples first.
    pub causes: Vec<CauseView>,
    /// The worst of the explained samples, worst first.
    pub samples: Vec<ExplainedSampleView>,
    /// What a CPU did in any of the timelines.
    pub stretches: Vec<StretchView>,
    /// Every wake-up in its parts; absent where they were not recorded.
    pub parts: Option<PartsView>,
}

/// Every wake-up of a run in its parts, over all threads.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartsView {
    /// How many wake-ups that holds, and how many more there were.
    pub sentence: String,
    /// The parts, in the order of time.
    pub rows: Vec<PartRowView>,
}

/// One part of all wake-ups.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartRowView {
    /// From where to where, in words.
    pub words: String,
    /// Its name by its two points.
    pub name: String,
    /// Half of the wake-ups stay within this (ns); absent where none was recorded.
    pub median_ns: Option<Exact>,
    /// 99.9 % of them stay within this (ns); absent where none was recorded.
    pub p999_ns: Option<Exact>,
    /// The longest (ns); absent where none was recorded.
    pub max_ns: Option<Exact>,
}

/// What to change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CauseChangeView {
    /// In words.
    pub remedy: String,
    /// Finding of `check` that tells more.
    pub finding: Option<String>,
}

/// How samples of one kind divide among the causes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShareView {
    /// Which samples: `above the deadline of 100 us`.
    pub of: String,
    /// How many there are.
    pub total: Exact,
    /// Of these, those of each cause, in the order of the causes.
    pub causes: Vec<Exact>,
    /// The others.
    pub not_explained: Exact,
}

/// One cause, summed over the run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CauseView {
    /// Its class.
    pub class: CauseClass,
    /// The class in words.
    pub words: String,
    /// The interrupt, the thread, the function, the idle state; empty where there is none.
    pub name: String,
    /// How sure that is: that of its least sure sample.
    pub certainty: Certainty,
    /// Explained samples of it.
    pub samples: Exact,
    /// The worst of them (ns).
    pub worst_ns: Exact,
    /// The time that it took of all of them together (ns).
    pub took_ns: Exact,
    /// What to change.
    pub remedy: String,
    /// Finding of `check` that tells more.
    pub finding: Option<String>,
}

/// A late sample with its timeline and its cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExplainedSampleView {
    /// Which thread, from 0.
    pub thread: u32,
    /// The CPU.
    pub cpu: u32,
    /// The latency (ns).
    pub latency_ns: Exact,
    /// When the thread was scheduled to wake.
    pub scheduled: MomentView,
    /// The class of the cause.
    pub class: CauseClass,
    /// The class in words.
    pub words: String,
    /// Its name.
    pub name: String,
    /// How sure that is.
    pub certainty: Certainty,
    /// The evidence, in words.
    pub evidence: String,
    /// What took the time, the longest first.
    pub parts: Vec<DelayPartView>,
    /// Parts that took less and were left out.
    pub parts_left_out: Exact,
    /// What the CPU did around it.
    pub timeline: TimelineView,
    /// What of that was left out, in a sentence; absent where nothing was.
    pub left_out: Option<String>,
    /// Functions that led to where the timer's interrupt was taken at last, the innermost first.
    pub stack: Vec<String>,
}

/// A share of a sample's latency.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DelayPartView {
    /// Its class in words.
    pub words: String,
    /// Its name.
    pub name: String,
    /// The time that it took, without what interrupted it (ns).
    pub net_ns: Exact,
}

/// Something that a CPU did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StretchView {
    /// What it was.
    pub activity: Activity,
    /// Which.
    pub name: String,
}

/// What a CPU did around a sample, as columns in the order of time; counted from the schedule.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct TimelineView {
    /// Which of the explanation's stretches, from 0.
    pub stretch: Vec<u32>,
    /// Start of each (ns; negative before the schedule).
    pub from_ns: Vec<Exact>,
    /// End of each (ns).
    pub to_ns: Vec<Exact>,
    /// How many others it interrupts.
    pub depth: Vec<u32>,
    /// Its time without what interrupted it (ns).
    pub net_ns: Vec<Exact>,
}
