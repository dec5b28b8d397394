//! How far clocks are apart: the sources of time of a run, over time.

use schemars::JsonSchema;
use serde::Serialize;

use super::{HistogramView, MomentView};
use crate::exact::Exact;

/// What was seen of the sources of time during a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncView {
    /// How much the rate of an uncorrected clock is assumed to differ from the reference's at most (parts per billion).
    pub max_drift_ppb: u32,
    /// The sources, in the order in which they were found.
    pub sources: Vec<SyncSourceView>,
    /// What changed during the run, in the order of time.
    pub events: Vec<SyncEventView>,
    /// Events after the last one that was kept.
    pub events_left_out: Exact,
    /// Sources that are there and could not be followed, each with the reason, in words.
    pub not_followed: Vec<String>,
}

/// One source of time: a service, or a pair of clocks that are compared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncSourceView {
    /// Service and place, unique among the sources of the run: `ptp4l eth0 domain 0`.
    pub name: String,
    /// The program's version; null if it is not known.
    pub version: Option<String>,
    /// The place of its series, in words: `eth0 domain 0`.
    pub place: String,
    /// The clock that is compared with the reference.
    pub clock: String,
    /// What the clock is compared with, in words.
    pub reference: String,
    /// The state at the end of the run; null if none was seen.
    pub state: Option<SyncStateView>,
    /// Whether a stated limit applies to its offsets.
    pub judged: bool,
    /// Bounds on the offset that hold without trust in a servo; null if there are none.
    pub bound: Option<SyncBoundView>,
    /// The hard bound with what it trusts, or why there is none, as a sentence.
    pub bound_sentence: String,
    /// Spread of the offsets; null if there were none.
    pub spread: Option<SyncSpreadView>,
    /// What the service itself says of its offset, as a sentence that says whose view it is; null if it says nothing.
    pub own_estimate_sentence: Option<String>,
    /// By how much the offset would have grown without corrections; absent if that is not known.
    pub growth_sentence: Option<String>,
    /// Offsets of zero and above; null if there was no offset.
    pub from_zero: Option<HistogramView>,
    /// Offsets below zero, by their magnitude; null if there are none.
    pub below_zero: Option<HistogramView>,
    /// Allan deviation of the offsets, shortest averaging time first.
    pub allan: SyncAllanView,
    /// State of the source over time: each entry holds from its moment until the next one.
    pub states: Vec<SyncStateChangeView>,
    /// Offset, bound and path delay over time.
    pub track: SyncTrackView,
    /// What could be missed, in words.
    pub could_be_missed: Vec<String>,
}

/// State of a source of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncStateView {
    /// The source answers, and follows no reference yet.
    Starting,
    /// The clock follows its reference.
    Locked,
    /// This node is itself the reference of others.
    Reference,
    /// The reference is gone, and the clock runs on by what was learned.
    Holdover,
    /// Nothing steers the clock.
    Free,
    /// The source does not answer any more, or has lost its reference.
    Lost,
}

/// Bounds on an offset during a run.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SyncBoundView {
    /// The lowest lower bound of the run (ns).
    pub lowest_ns: Exact,
    /// The highest upper bound of the run (ns).
    pub highest_ns: Exact,
    /// The widest pair of bounds at one moment (ns).
    pub widest_ns: Exact,
}

/// How offsets are spread.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SyncSpreadView {
    /// Number of offsets.
    pub count: Exact,
    /// Their median (ns).
    pub median_ns: Exact,
    /// The lowest (ns).
    pub lowest_ns: Exact,
    /// The highest (ns).
    pub highest_ns: Exact,
    /// Standard deviation about the mean (ns).
    pub deviation_ns: f64,
}

/// Allan deviation of offsets as columns.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SyncAllanView {
    /// The averaging times (ns).
    pub averaging_ns: Vec<Exact>,
    /// The deviation at each: a ratio of frequencies, without unit.
    pub deviation: Vec<f64>,
    /// Number of second differences that each was computed from.
    pub count: Vec<Exact>,
}

/// A moment at which the state of a source changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncStateChangeView {
    /// When it was noticed.
    pub at: MomentView,
    /// The state from then on.
    pub state: SyncStateView,
}

/// What was seen of a source over time, as columns.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SyncTrackView {
    /// When the first offset of each point was taken, since the start of the run (ns).
    pub offset_ns: Vec<Exact>,
    /// Number of offsets that are joined in each point; 0 if only the bound was looked at.
    pub count: Vec<Exact>,
    /// The lowest offset of each point (ns); null if it has none.
    pub lowest_ns: Vec<Option<Exact>>,
    /// The highest offset of each point (ns); null if it has none.
    pub highest_ns: Vec<Option<Exact>>,
    /// The lowest lower bound of each point (ns); null if it has none.
    pub lower_bound_ns: Vec<Option<Exact>>,
    /// The highest upper bound of each point (ns); null if it has none.
    pub upper_bound_ns: Vec<Option<Exact>>,
    /// The longest path delay of each point, half of a round trip (ns); null if none was measured.
    pub delay_ns: Vec<Option<Exact>>,
}

/// Something that changed at one moment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncEventView {
    /// When it was noticed.
    pub at: MomentView,
    /// Name of the source that it concerns.
    pub source: String,
    /// What happened, in a word or two: `step`, `reference`.
    pub what: String,
    /// The details, in words.
    pub detail: String,
}
