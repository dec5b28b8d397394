//! The overview of a page of many runs: its groups, and one line for each run.

use schemars::JsonSchema;
use serde::Serialize;

use super::{HeadlineState, HistogramView, StateView};
use crate::{Exact, Instant};

/// What a page of many runs begins with. The details of its runs are shown one at a time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OverviewView {
    /// What the runs are grouped by, in words: `label`, `node and load`.
    pub grouped_by: String,
    /// How many runs there are of each verdict and of each state.
    pub tally: TallyView,
    /// The groups, worst first; those without a result last.
    pub groups: Vec<GroupView>,
    /// One line for each run, worst first; runs without a result last.
    pub rows: Vec<RunRowView>,
}

/// Numbers of runs. Of the verdicts those of all runs, with the invalid ones among `cannot_tell`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TallyView {
    /// All runs.
    pub runs: u32,
    /// Runs that exceeded their deadline.
    pub broken: u32,
    /// Runs with a deadline that are inconclusive.
    pub cannot_tell: u32,
    /// Runs that kept their deadline.
    pub holds: u32,
    /// Runs without a deadline.
    pub not_judged: u32,
    /// Degraded runs.
    pub degraded: u32,
    /// Invalid runs, which are in no other number of the overview.
    pub invalid: u32,
}

/// Runs that belong together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupView {
    /// Name of the group, unique on the page: its label, or what distinguishes its runs.
    pub name: String,
    /// Its color and mark, from 0; null if too many groups are worse: then it is drawn in a neutral tone.
    pub slot: Option<u32>,
    /// What the samples of its runs are called: `wake-ups`.
    pub what: String,
    /// How many runs there are of each verdict and of each state.
    pub tally: TallyView,
    /// The tally in words: `10 runs: 2 broken, 1 invalid`.
    pub tally_words: String,
    /// Number of samples of runs that are not invalid.
    pub samples: Exact,
    /// Schedules that late wake-ups skipped; null if no source counted them.
    pub missed_periods: Option<Exact>,
    /// The worst sample of runs that are not invalid; null if there is none.
    pub worst: Option<WorstOfView>,
    /// The samples of all its runs that are not invalid, as those of their plot; null if they cannot be in one histogram.
    pub histogram: Option<HistogramView>,
}

/// The worst sample of a run or of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorstOfView {
    /// The latency (ns), with its sign.
    pub latency_ns: Exact,
    /// Where it was measured, in words: `CPU 3`.
    pub place: String,
    /// Key of its run.
    pub run: String,
}

/// A run as one line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunRowView {
    /// Identifies the run on this page, and among other data of the same page: its identifier, with a number if that is not
    /// unique.
    pub key: String,
    /// Place of the run among the runs of the results, from 0.
    pub run: u32,
    /// Place of its group among the groups, from 0.
    pub group: u32,
    /// What distinguishes it from the others of its group, in a few words.
    pub name: String,
    /// The machine; null if it is not known.
    pub node: Option<String>,
    /// The kernel's release; null if it is not known.
    pub kernel: Option<String>,
    /// Time of the first schedule.
    pub started_realtime_ns: Instant,
    /// The same to the minute, in UTC: `2026-03-02 07:00`; null if it is not known.
    pub started_utc: Option<String>,
    /// The kind of measurement.
    pub measurement: String,
    /// Name of the load; null if it is not known.
    pub load: Option<String>,
    /// The worst sample; null if there is none, or if the run is invalid and no result.
    pub worst: Option<WorstOfView>,
    /// What the conclusion is based on besides the worst sample; null if there is nothing, or if the run is invalid.
    pub basis: Option<BasisView>,
    /// Number of samples.
    pub samples: Exact,
    /// Schedules that late wake-ups skipped; null if the source did not count them.
    pub missed_periods: Option<Exact>,
    /// How far the numbers can be trusted.
    pub state: StateView,
    /// The state in words with its first reason: `degraded: virtual machine steal, +1` if there is one more.
    pub validity: String,
    /// The verdict on its deadline.
    pub verdict: HeadlineState,
    /// The verdict in a few words: `holds 100 us`, `7 beyond 100 us`.
    pub verdict_words: String,
    /// The samples of the run, if the page is of so few runs that each is drawn by itself; else null.
    pub histogram: Option<HistogramView>,
}

/// A number that a conclusion is based on besides the worst sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BasisView {
    /// What it is: `p99.99`, or a lower quantile if there are too few samples for that one; `bound` of a clock's error.
    pub name: String,
    /// Its value (ns).
    pub value_ns: Exact,
}
