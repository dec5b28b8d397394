//! The data that the page embeds: a compact view of records, made for drawing.
//!
//! It is not an archive and does not replace the records. Histograms and intervals are columns (arrays of equal length).
//! Integers that can exceed 2^53 are [`Exact`], times are [`Instant`].

mod answer;
mod calibration;
mod campaign;
mod comparison;
mod explanation;
mod load;
mod overview;
mod packet;
mod program;
mod pulse;
mod rhythm;
mod sync;
mod tail;
mod together;
mod top;

use std::collections::BTreeMap;

use profile::check::Finding;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
pub use summary::HeadlineState;

pub use self::answer::{AnswerView, WitnessSecondView};
pub use self::calibration::{
    CalibrationCheckView, CalibrationMissedView, CalibrationOutcomeView, CalibrationRowView, CalibrationView,
};
pub use self::campaign::{CampaignReasonView, CampaignView};
pub use self::comparison::{ComparisonView, SidesView, SignedRunView, SignedSamplesView};
pub use self::explanation::{
    CauseChangeView, CauseView, DelayPartView, ExplainedFrom, ExplainedSampleView, ExplanationView, PartRowView,
    PartsView, ShareView, StretchView, TimelineView,
};
pub use self::load::{LoadPartView, LoadTurnView, LoadView};
pub use self::overview::{BasisView, GroupView, OverviewView, RunRowView, TallyView, WorstOfView};
pub use self::packet::{
    PacketArrivalsView, PacketClocksView, PacketDelayView, PacketDelaysView, PacketErrorView, PacketExplanationView,
    PacketFlowView, PacketPartView, PacketView, PacketWorstView,
};
pub use self::program::{FollowedThreadView, FollowingCostView, PreemptionView, ProgramView};
pub use self::pulse::{ActingNodeView, ActingRowView, PulseView};
pub use self::rhythm::{RhythmScanView, RhythmView};
pub use self::sync::{
    SyncAllanView, SyncBoundView, SyncEventView, SyncSourceView, SyncSpreadView, SyncStateChangeView, SyncStateView,
    SyncTrackView, SyncView,
};
pub use self::tail::{ByCauseView, ClaimView, CurveView, ExpectationView, MaximaView, SeenView, TailView};
pub use self::together::{
    LeadRowView, ShiftFiguresView, ShiftPairView, ShiftPartView, ShiftTrackView, ShiftView, SweepCycleView,
    SweepRunView, SweepView, TogetherView,
};
pub use self::top::{AssessmentView, ChangeView, ConditionView, LateCauseView, LateCausesView, TotalsView};
use crate::exact::{Exact, Instant};

/// The name of this schema.
pub const SCHEMA: &str = "punctual/view";
/// The version of this schema.
pub const VERSION: u32 = 4;

/// Everything that a page shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct View {
    /// Name of the schema: `punctual/view`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// Title of the page.
    pub title: String,
    /// The program that made the page, and the time.
    pub generated: GeneratedView,
    /// The verdict at the top of the page.
    pub headline: HeadlineView,
    /// The conditions of the measurement, in the order in which they are shown: machine, kernel, processor, load, policy,
    /// deadline. Empty if the page has no run.
    pub conditions: Vec<ConditionView>,
    /// The content, which depends on the kind of the page.
    pub page: PageView,
}

/// The content of a page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PageView {
    /// Runs side by side.
    Runs {
        /// The measured runs.
        results: ResultsView,
    },
    /// An assessment: the runs of a machine, with the conclusion from them.
    Assessment {
        /// The changes that the assessment recommends.
        assessment: AssessmentView,
        /// The measured runs.
        results: ResultsView,
    },
    /// Runs of a user's own program.
    Program {
        /// The measured runs.
        results: ResultsView,
    },
    /// Nodes that act together: what witnesses saw and sweeps came to, with their runs.
    Together {
        /// What they saw and came to.
        together: Box<TogetherView>,
        /// The measured runs.
        results: ResultsView,
    },
    /// Two groups of runs side by side.
    Comparison {
        /// The comparison; null if a group has no run.
        comparison: Option<Box<ComparisonView>>,
    },
    /// A campaign: several conditions, with the results of each.
    Campaign {
        /// The campaign and its results.
        campaign: Box<CampaignView>,
    },
    /// A calibration of the program itself.
    Calibration {
        /// Injected delays compared with readings.
        calibration: CalibrationView,
    },
}

impl PageView {
    /// What was measured on a machine; `None` for pages that do not show it.
    pub(crate) const fn results(&self) -> Option<&ResultsView> {
        match self {
            Self::Runs { results }
            | Self::Assessment { results, .. }
            | Self::Program { results }
            | Self::Together { results, .. } => Some(results),
            Self::Comparison { .. } | Self::Campaign { .. } | Self::Calibration { .. } => None,
        }
    }
}

/// What was measured and read of a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResultsView {
    /// The runs in the order in which they are shown.
    pub runs: Vec<RunView>,
    /// What the page begins with if it has many runs; null if they are few, and shown side by side.
    pub overview: Option<OverviewView>,
    /// The sums over all runs of wake-ups that are not invalid; null if there is none. The sentence of the headline uses the
    /// same numbers.
    pub totals: Option<TotalsView>,
    /// What makes wake-ups late; null if the deadline holds, or if no run was examined for it.
    pub late_causes: Option<LateCausesView>,
    /// Predicted worst cases of each wake-up run, those under load first.
    pub tails: Vec<TailView>,
    /// Findings from the profile, the most severe first.
    pub findings: Vec<Finding>,
    /// Everything that was read from the node.
    pub profile: Option<Value>,
}

/// The program that made a page, and the time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GeneratedView {
    /// Program and version.
    pub tool: String,
    /// When the page was made.
    pub realtime_ns: Instant,
    /// IANA name of the time zone in which to show that time; null: UTC.
    pub time_zone: Option<String>,
}

/// The verdict at the top of a page, in words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeadlineView {
    /// The verdict, which determines the symbol before the sentence.
    pub state: HeadlineState,
    /// The large line: "Holds", "Holds 100 us on CPU 2-3".
    pub word: String,
    /// One sentence with the number that decides the verdict.
    pub sentence: String,
    /// Further lines below the sentence.
    pub lines: Vec<String>,
    /// The deadline (ns); null if there is none, or if the runs have different ones.
    pub deadline_ns: Option<Exact>,
}

/// How far the numbers of a run can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateView {
    /// The run measured what was requested.
    Valid,
    /// The numbers are usable, with the caveats that the reasons state.
    Degraded,
    /// The run did not measure what was requested: its numbers must not be used as the answer.
    Invalid,
}

/// A reason why a run is degraded or invalid.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReasonView {
    /// Name of the reason in the table of reasons: `rt-throttled`.
    pub code: String,
    /// The state that the reason causes.
    pub state: StateView,
    /// What happened to the run, as a sentence.
    pub meaning: String,
    /// What to do about it.
    pub remedy: String,
    /// What was seen in this run, with numbers and places.
    pub detail: String,
}

/// The verdict of a run on its deadline.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerdictView {
    /// The verdict: `holds`, `broken` or `cannot-tell`.
    pub state: HeadlineState,
    /// The verdict in words, with its reason.
    pub reason: String,
    /// Samples above the deadline.
    pub beyond: Option<Exact>,
}

/// One run of the page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunView {
    /// Unique identifier of the run.
    pub id: String,
    /// The kind of measurement: `wakeup`, `clock`, `noise`, `app`, `sync`.
    pub measurement: String,
    /// A label for people: `idle`, `under paper load`.
    pub label: String,
    /// Whether a load ran during the run.
    pub loaded: bool,
    /// Host name of the machine.
    pub node: String,
    /// How far the numbers can be trusted.
    pub state: StateView,
    /// The reasons for that state, the worst first.
    pub reasons: Vec<ReasonView>,
    /// Why the run is no result, as the end of a sentence; null if it is one.
    pub invalid_because: Option<String>,
    /// What the source of an imported run does not contain, in words; empty for this program's own runs.
    pub lacks: Vec<String>,
    /// Disturbances that could not be observed on this machine, in words; they do not change the state.
    pub not_observable: Vec<String>,
    /// The verdict on the deadline; null if none was stated.
    pub verdict: Option<VerdictView>,
    /// Time of the first schedule.
    pub started_realtime_ns: Instant,
    /// Time from the first schedule to the end (ns).
    pub duration_ns: Exact,
    /// IANA name of the node's time zone.
    pub time_zone: Option<String>,
    /// The deadline (ns).
    pub deadline_ns: Option<Exact>,
    /// Time from one schedule to the next (ns).
    pub interval_ns: Option<Exact>,
    /// Number of samples of all series.
    pub samples: Exact,
    /// One series for each latency, place and variant.
    pub series: Vec<SeriesView>,
    /// The worst samples, worst first.
    pub worst: Vec<WorstView>,
    /// The longest bursts of missed or late periods, those that missed the most first.
    pub rows: Vec<RowView>,
    /// How many spoiled intervals the record did not keep one by one, as a sentence; null if it kept all.
    pub spoiled_not_kept: Option<String>,
    /// What made the worst samples late; null if no explanation was requested.
    pub explanation: Option<ExplanationView>,
    /// Rhythms among the late samples; null if no scan was requested.
    pub rhythm: Option<RhythmScanView>,
    /// The followed program; null except in runs of `app`.
    pub program: Option<ProgramView>,
    /// What was seen of time services and clocks; null except in runs of `sync`.
    pub sync: Option<SyncView>,
    /// What was seen of packets between nodes; null except in runs of `packet`.
    pub packets: Option<PacketView>,
    /// Nodes that act together; null except in runs of `pulse`.
    pub pulses: Option<PulseView>,
    /// Edges that were answered; null except in runs of `answer`.
    pub answers: Option<AnswerView>,
    /// What the load did; null unless the load consists of parts.
    pub load: Option<LoadView>,
    /// What was requested, what the kernel granted, and the conditions of the run: the manifest of the record.
    pub manifest: Value,
}

/// The samples of one latency at one place.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeriesView {
    /// The latency, named by its two points: `scheduled_to_woke`.
    pub name: String,
    /// Label of the series, unique among those of the same name: `CPU 3`, or `CPU 3, thread 1` if threads share a CPU.
    pub lane: String,
    /// Distinguishes series of the same name and place; empty if there is only one.
    pub variant: String,
    /// Whether a deadline applies to this latency; one that stands beside it is not what the run is judged by.
    pub judged: bool,
    /// Where it was measured, in words: `CPU 3`, `CPU 1 to 2`.
    pub place: String,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// Number of the thread, from 0; null if the place is no thread.
    pub thread: Option<u32>,
    /// The figures of every sample with its sign, as tables state them. If a deadline applies to the magnitude: of all magnitudes,
    /// as the histogram.
    pub figures: FiguresView,
    /// Schedules that late wake-ups skipped; null if the samples follow no schedule, or if the source did not count them.
    pub missed_periods: Option<Exact>,
    /// Every sample as it was measured, except those below zero. If a deadline applies to the magnitude: all magnitudes.
    pub histogram: HistogramView,
    /// Samples below zero, by their magnitude; null if there are none.
    pub below_zero: Option<HistogramView>,
    /// The corrected view: every sample, plus one for each schedule that a late wake-up skipped. Null if none was skipped.
    pub corrected: Option<HistogramView>,
    /// The intervals of the run.
    pub intervals: IntervalsView,
    /// Intervals that something spoiled: in none of the numbers of the series.
    pub spoiled: Vec<SpoiledView>,
    /// Counters by name; a counter is absent if it was not counted.
    pub counters: BTreeMap<String, Exact>,
    /// When the maximum was taken.
    pub max_at: Option<MomentView>,
    /// Median of the means of all blocks of 1,000 clock readings, in words; only for `clock`.
    pub mean_of_blocks: Option<String>,
    /// The share of the time that gaps took from a thread that never sleeps, in words; only for `noise`.
    pub stolen: Option<String>,
}

/// The figures of some samples with their signs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FiguresView {
    /// Number of samples, including those below zero.
    pub samples: Exact,
    /// Exact lowest sample (ns).
    pub lowest_ns: Option<Exact>,
    /// Mean of the samples (ns).
    pub mean_ns: Option<f64>,
    /// Population standard deviation (ns).
    pub sd_ns: Option<f64>,
    /// The median, and the quantiles with at least ten samples above them.
    pub quantiles: Vec<QuantileView>,
    /// Exact highest sample (ns).
    pub highest_ns: Option<Exact>,
}

/// A histogram with exact statistics.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistogramView {
    /// Number of samples.
    pub count: Exact,
    /// Samples that are in no bin, because an import's source gave only their range.
    pub unplaced: Option<Exact>,
    /// The lowest value that these samples can have (ns); the highest is the maximum. Null if there are none.
    pub unplaced_from_ns: Option<Exact>,
    /// Exact smallest sample (ns).
    pub min_ns: Option<Exact>,
    /// Exact largest sample (ns).
    pub max_ns: Option<Exact>,
    /// Mean of the samples (ns).
    pub mean_ns: Option<f64>,
    /// Population standard deviation (ns).
    pub sd_ns: Option<f64>,
    /// The quantiles for which there are enough samples.
    pub quantiles: Vec<QuantileView>,
    /// The non-empty bins.
    pub bins: Bins,
}

/// A quantile of the samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QuantileView {
    /// The share of samples that do not exceed the value (0 to 1).
    pub share: f64,
    /// The value (ns).
    pub value_ns: Exact,
}

/// Non-empty bins as columns. A bin extends to the next multiple of its width. The width is one unit below 512 units; above
/// that it is 1/256 of the largest power of two (units) that does not exceed the start of the bin. A drawing must not be finer.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Bins {
    /// The unit (ns): 1, or the width of the bins in which the source of an import counted.
    pub unit_ns: Exact,
    /// Lowest value of each bin (ns).
    pub from_ns: Vec<Exact>,
    /// Samples in each bin.
    pub count: Vec<Exact>,
}

/// An interval that does not stand, with the figures that it would have had.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SpoiledView {
    /// Start, counted from the run's first schedule (ns).
    pub start_offset_ns: Exact,
    /// Length (ns).
    pub length_ns: Exact,
    /// Number of its samples.
    pub samples: Exact,
    /// The worst of its samples in words; null if there are none.
    pub worst: Option<String>,
    /// Schedules that late wake-ups skipped.
    pub missed_periods: Exact,
    /// What spoiled it, in words.
    pub why: String,
}

/// The intervals of a run as columns.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct IntervalsView {
    /// Start of each interval, counted from the run's first schedule (ns).
    pub start_offset_ns: Vec<Exact>,
    /// Length of each interval (ns).
    pub length_ns: Vec<Exact>,
    /// Exact maximum of each interval (ns); null if it has no samples.
    pub max_ns: Vec<Option<Exact>>,
    /// Samples in each interval.
    pub count: Vec<Exact>,
    /// Schedules that late wake-ups of each interval skipped.
    pub missed_periods: Vec<Exact>,
    /// Coarse histograms of the intervals, for the heat map.
    pub heat: HeatView,
}

/// Coarse histograms of the intervals. Bin `i` starts at `i` ns for `i` below 32; above that each octave has 16 bins.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct HeatView {
    /// For each interval: the indices of its non-empty bins.
    pub bin: Vec<Vec<u32>>,
    /// For each interval: the samples in each of these bins.
    pub count: Vec<Vec<Exact>>,
}

/// A point in time during a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MomentView {
    /// Time since the run's first schedule (ns).
    pub offset_ns: Exact,
    /// The time on `CLOCK_REALTIME`.
    pub realtime_ns: Instant,
}

/// One of the worst samples of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorstView {
    /// Where the sample was taken, in words: `CPU 3`.
    pub place: String,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// Number of the thread, from 0; null if the place is no thread.
    pub thread: Option<u32>,
    /// The latency (ns).
    pub latency_ns: Exact,
    /// Number of the sample among those of its place, from 0.
    pub sample: Exact,
    /// Schedules that the late wake-up skipped.
    pub missed_periods: Exact,
    /// The first of the latency's two points; for a wake-up, when it was scheduled.
    pub from: MomentView,
    /// The cause with its certainty, `unknown` if it was examined without finding one, `not explained` if nothing was recorded of
    /// it; null if the run did not look for causes.
    pub cause: Option<String>,
}

/// A burst: consecutive periods that were missed or late.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RowView {
    /// Where the periods were missed, in words: `CPU 3`.
    pub place: String,
    /// The measured CPU.
    pub cpu: Option<u32>,
    /// Number of the thread, from 0; null if the place is no thread.
    pub thread: Option<u32>,
    /// When the first late wake-up was scheduled.
    pub first_scheduled: MomentView,
    /// Periods in the burst: late wake-ups and the schedules that they skipped.
    pub periods: Exact,
    /// Of these, schedules that were skipped.
    pub missed_periods: Exact,
    /// The worst latency in the burst (ns).
    pub worst_ns: Exact,
    /// Time from the first missed schedule to the first wake-up that was again in time (ns); null if there is none.
    pub recovery_ns: Option<Exact>,
    /// That time in words, or that the run ended before; null if nothing was missed.
    pub recovery: Option<String>,
}

schemars::only_where_made! {
    impl View {
        /// The published JSON Schema, from which the viewer's types are generated.
        #[must_use]
        pub fn json_schema() -> Value {
            schemars::schema_for!(Self).to_value()
        }
    }
}
