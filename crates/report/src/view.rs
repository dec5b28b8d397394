//! What the page embeds: a compact view of records, made for drawing.
//!
//! Not an archive: the records stay the truth. Histograms and intervals are columns (arrays of equal length).
//! Integers that can exceed 2^53 are [`Exact`], moments are [`Instant`].

mod calibration;
mod explanation;
mod load;
mod program;
mod rhythm;

use std::collections::BTreeMap;

use profile::check::Finding;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use self::calibration::{
    CalibrationCheckView, CalibrationMissedView, CalibrationOutcomeView, CalibrationRowView, CalibrationView,
};
pub use self::explanation::{
    CauseChangeView, CauseView, DelayPartView, ExplainedSampleView, ExplanationView, PartRowView, PartsView, ShareView,
    StretchView, TimelineView,
};
pub use self::load::{LoadPartView, LoadTurnView, LoadView};
pub use self::program::{FollowedThreadView, FollowingCostView, PreemptionView, ProgramView};
pub use self::rhythm::{RhythmScanView, RhythmView};
use crate::campaign::CampaignView;
use crate::comparison::ComparisonView;
use crate::tail::TailView;
use crate::{Exact, Instant};

/// The name of this schema.
pub const SCHEMA: &str = "punctual/view";
/// The version of this schema.
pub const VERSION: u32 = 2;

/// All that a page shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct View {
    /// `punctual/view`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The name that the page bears.
    pub title: String,
    /// By what it was made, and when.
    pub generated: GeneratedView,
    /// The first thing that a reader sees.
    pub headline: HeadlineView,
    /// What it tells of.
    pub page: PageView,
}

/// What a page tells of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PageView {
    /// Runs side by side.
    Runs {
        /// What was measured.
        results: ResultsView,
    },
    /// The conclusion over the runs of a machine.
    Assessment {
        /// The conclusion.
        assessment: AssessmentView,
        /// What was measured.
        results: ResultsView,
    },
    /// Runs of a user's own program.
    Program {
        /// What was measured.
        results: ResultsView,
    },
    /// Two groups of runs side by side.
    Comparison {
        /// Both of them; null where one has no run.
        comparison: Option<Box<ComparisonView>>,
    },
    /// Many conditions and what came of each.
    Campaign {
        /// All of them.
        campaign: Box<CampaignView>,
    },
    /// A calibration of the program itself.
    Calibration {
        /// Truth against reading.
        calibration: CalibrationView,
    },
}

impl PageView {
    /// What was measured of a machine, on pages that show it.
    pub(crate) const fn results(&self) -> Option<&ResultsView> {
        match self {
            Self::Runs { results } | Self::Assessment { results, .. } | Self::Program { results } => Some(results),
            Self::Comparison { .. } | Self::Campaign { .. } | Self::Calibration { .. } => None,
        }
    }
}

/// What was measured and read of a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResultsView {
    /// The runs in the order in which they are shown.
    pub runs: Vec<RunView>,
    /// How bad it can get: what each wake-up run says of the time to come, those under load first.
    pub tails: Vec<TailView>,
    /// The gravest first.
    pub findings: Vec<Finding>,
    /// Everything that was read from the node.
    pub profile: Option<Value>,
}

/// By what a page was made, and when.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GeneratedView {
    /// Program and version.
    pub tool: String,
    /// When.
    pub realtime_ns: Instant,
    /// The zone in which to show it.
    pub time_zone: Option<String>,
}

/// What the headline says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeadlineState {
    /// The deadline held.
    Holds,
    /// It did not.
    Broken,
    /// The runs cannot tell.
    CannotTell,
    /// No deadline was stated: there are numbers, and no verdict.
    NoDeadline,
    /// There is no run at all.
    Empty,
}

/// The verdict in words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeadlineView {
    /// Which shape and word stand before the sentence.
    pub state: HeadlineState,
    /// One or two words: "Holds".
    pub word: String,
    /// One sentence with the number that decides it.
    pub sentence: String,
    /// Lines under it.
    pub lines: Vec<String>,
    /// The limit (ns).
    pub deadline_ns: Option<Exact>,
}

/// The conclusion over all runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AssessmentView {
    /// What stands over the changes: where the deadline holds they add margin.
    pub changes_heading: String,
    /// What to change, the most promising first.
    pub changes: Vec<ChangeView>,
}

/// One thing to change.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangeView {
    /// What, in a few words.
    pub title: String,
    /// Why it matters here.
    pub why: String,
    /// Commands or settings.
    pub how: Vec<String>,
    /// The finding behind it.
    pub finding: Option<String>,
    /// About what share of the samples beyond the deadline it would remove (0 to 1); absent where nothing measured says so.
    pub removes_share_of_beyond: Option<f64>,
    /// The worst latency that it is found to cause (ns).
    pub worst_ns: Option<Exact>,
    /// How sure it is: "shown" or "likely".
    pub sureness: Option<String>,
    /// Samples that this rests on.
    pub basis_samples: Option<Exact>,
}

/// How far a run can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateView {
    /// The numbers mean what was asked.
    Valid,
    /// The numbers stand, with a caveat beside them.
    Degraded,
    /// The numbers do not mean what was asked.
    Invalid,
}

/// Why a run is not simply valid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReasonView {
    /// Its name in the table of reasons.
    pub code: String,
    /// What it makes of the run.
    pub state: StateView,
    /// What happened.
    pub meaning: String,
    /// What mends it.
    pub remedy: String,
    /// What was seen, with numbers and places.
    pub detail: String,
}

/// What a run says of its deadline.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerdictView {
    /// `holds`, `broken` or `cannot-tell`.
    pub state: HeadlineState,
    /// In words.
    pub reason: String,
    /// Samples beyond the limit.
    pub beyond: Option<Exact>,
}

/// One run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunView {
    /// Its unique name.
    pub id: String,
    /// `wakeup`, `clock`, `noise`.
    pub measurement: String,
    /// A word for people: `idle`, `under paper load`.
    pub label: String,
    /// Whether anything else ran on purpose.
    pub loaded: bool,
    /// Host name.
    pub node: String,
    /// How far it can be trusted.
    pub state: StateView,
    /// Why, the worst first.
    pub reasons: Vec<ReasonView>,
    /// What the program that measured does not tell, in plain words; empty for this program's own runs.
    pub lacks: Vec<String>,
    /// What this machine gives no means to see, in words; it makes no run worse.
    pub not_observable: Vec<String>,
    /// What it says of the deadline.
    pub verdict: Option<VerdictView>,
    /// First schedule.
    pub started_realtime_ns: Instant,
    /// From the first schedule to the end (ns).
    pub duration_ns: Exact,
    /// The node's time zone, an IANA name.
    pub time_zone: Option<String>,
    /// The limit (ns).
    pub deadline_ns: Option<Exact>,
    /// From one schedule to the next (ns).
    pub interval_ns: Option<Exact>,
    /// Samples of all series.
    pub samples: Exact,
    /// One for each measuring thread and variant.
    pub series: Vec<SeriesView>,
    /// The worst samples, worst first.
    pub worst: Vec<WorstView>,
    /// The longest rows of missed or late periods, longest first.
    pub rows: Vec<RowView>,
    /// What made the worst samples late; absent where nobody asked.
    pub explanation: Option<ExplanationView>,
    /// Periods among the late samples; absent where nobody looked for them.
    pub rhythm: Option<RhythmScanView>,
    /// A user's own program that was followed, where the run is one of `app`.
    pub program: Option<ProgramView>,
    /// What the load did, where it is made of parts.
    pub load: Option<LoadView>,
    /// What was asked, granted and around.
    pub manifest: Value,
}

/// The samples of one kind from one thread.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeriesView {
    /// The latency by its two points.
    pub name: String,
    /// What a reader calls it, unique among the series of its name: `CPU 3`; `CPU 3, thread 1` where two share a CPU.
    pub lane: String,
    /// What tells it from others of its name.
    pub variant: String,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// The measuring thread; null where the place is none of a thread.
    pub thread: Option<u32>,
    /// Every sample as it was taken.
    pub histogram: HistogramView,
    /// Samples below zero, by their magnitude.
    pub below_zero: Option<HistogramView>,
    /// With one sample for each schedule that a late wake-up swallowed.
    pub corrected: Option<HistogramView>,
    /// The run in pieces.
    pub intervals: IntervalsView,
    /// What was counted beside the samples, by name; a name is absent where nobody counted it.
    pub counters: BTreeMap<String, Exact>,
    /// When the maximum was taken.
    pub max_at: Option<MomentView>,
    /// Mean of each block of 1,000 readings (ns): median over the blocks.
    pub block_mean_median_ns: Option<f64>,
}

/// A histogram with its exact numbers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistogramView {
    /// Number of samples.
    pub count: Exact,
    /// Samples that stand in no bin, since their source told only the range that they lie in.
    pub unplaced: Option<Exact>,
    /// Exact smallest (ns).
    pub min_ns: Option<Exact>,
    /// Exact largest (ns).
    pub max_ns: Option<Exact>,
    /// Mean (ns).
    pub mean_ns: Option<f64>,
    /// Population standard deviation (ns).
    pub sd_ns: Option<f64>,
    /// Those that the number of samples can support.
    pub quantiles: Vec<QuantileView>,
    /// The non-empty bins.
    pub bins: Bins,
}

/// A quantile.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QuantileView {
    /// Share of all samples, 0 to 1.
    pub share: f64,
    /// Not exceeded by that share (ns).
    pub value_ns: Exact,
}

/// Non-empty bins as columns. A bin reaches to the next multiple of its width: 1 ns below 512 ns,
/// and 1/256 of the power of two at or below its start above that.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Bins {
    /// Lowest value of each (ns).
    pub from_ns: Vec<Exact>,
    /// Samples in each.
    pub count: Vec<Exact>,
}

/// The pieces of a run as columns.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct IntervalsView {
    /// Start of each, from the run's first schedule (ns).
    pub start_offset_ns: Vec<Exact>,
    /// Length of each (ns).
    pub length_ns: Vec<Exact>,
    /// Exact maximum of each (ns); null where it holds no sample.
    pub max_ns: Vec<Option<Exact>>,
    /// Samples in each.
    pub count: Vec<Exact>,
    /// Schedules that late wake-ups swallowed.
    pub missed_periods: Vec<Exact>,
    /// For the heat map.
    pub heat: HeatView,
}

/// Coarse bins of each interval: bin `i` starts at `i` below 32, and above that each doubling has 16 bins.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct HeatView {
    /// For each interval the numbers of its non-empty bins.
    pub bin: Vec<Vec<u32>>,
    /// For each interval the samples in them.
    pub count: Vec<Vec<Exact>>,
}

/// A moment of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MomentView {
    /// From the run's first schedule (ns).
    pub offset_ns: Exact,
    /// On the wall.
    pub realtime_ns: Instant,
}

/// One of the worst samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorstView {
    /// Where, in words: `CPU 3`.
    pub place: String,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// The measuring thread; null where the place is none of a thread.
    pub thread: Option<u32>,
    /// The latency (ns).
    pub latency_ns: Exact,
    /// Its number among the thread's samples, from 0.
    pub sample: Exact,
    /// Schedules that it swallowed.
    pub missed_periods: Exact,
    /// The first of the latency's two points: of a wake-up, when it was scheduled.
    pub from: MomentView,
}

/// A run of consecutive periods that were missed or late.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowView {
    /// Where, in words: `CPU 3`.
    pub place: String,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// The measuring thread; null where the place is none of a thread.
    pub thread: Option<u32>,
    /// The first late schedule.
    pub first_scheduled: MomentView,
    /// Periods in the row.
    pub periods: Exact,
    /// Of these, schedules that were swallowed.
    pub missed_periods: Exact,
    /// The worst latency in it (ns).
    pub worst_ns: Exact,
    /// From the first missed schedule to the first wake-up in time (ns).
    pub recovery_ns: Option<Exact>,
}
