//! The view of what nodes that act together have done: what witnesses saw, what sweeps came to, and both beside what others published.

use schemars::JsonSchema;
use serde::Serialize;
use summary::shift::{ShownLine, WitnessVerdict};
use summary::sweep::SweepStep;
use summary::together::{PulseRow, ScenarioColumn};

use super::HistogramView;
use crate::exact::Exact;

/// Nodes that act together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TogetherView {
    /// What each witness saw.
    pub shifts: Vec<ShiftView>,
    /// What each sweep came to.
    pub sweeps: Vec<SweepView>,
    /// How far apart nodes switched, by witnesses; those that others published last.
    pub shift_rows: Vec<PulseRow>,
    /// What the nodes say of themselves.
    pub own_rows: Vec<PulseRow>,
    /// Where the published rows are from.
    pub rows_source: String,
    /// The cost of setting and clearing a line, by scenario; empty without a run of it.
    pub costs: Vec<ScenarioColumn>,
    /// The shift between nodes by scenario; empty without a witness.
    pub apart: Vec<ScenarioColumn>,
    /// Where the published columns are from.
    pub columns_source: String,
}

/// What a witness saw of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShiftView {
    /// Its name among others.
    pub name: String,
    /// What was ordered and on which line each node was seen, as a sentence without its full stop.
    pub about: String,
    /// What it came to.
    pub verdict: WitnessVerdict,
    /// The same as a sentence.
    pub sentence: String,
    /// What makes it no result, each as a sentence without its full stop.
    pub contradictions: Vec<String>,
    /// How far a shift may be from none (ns); null without a limit.
    pub limit_ns: Option<Exact>,
    /// What each line shows, the first node's first.
    pub lines: Vec<ShownLine>,
    /// Each node against the first.
    pub pairs: Vec<ShiftPairView>,
}

/// The shift of a node against the first one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShiftPairView {
    /// The node that the other is held against.
    pub first: String,
    /// The node whose shift it is: positive if it was later.
    pub second: String,
    /// How pulses of one order were told, or why nothing can be said, as a sentence without its full stop.
    pub paired: String,
    /// What the number of the worst is of: "order", or "pulse" where orders have no numbers.
    pub counted: String,
    /// Orders that are not in the figures, as a sentence without its full stop; null if there are none.
    pub not_matched: Option<String>,
    /// The shift; null if nothing can be said.
    pub figures: Option<ShiftFiguresView>,
    /// What its mean is made of; empty if that is not known. They add up to the mean.
    pub parts: Vec<ShiftPartView>,
    /// Why that is not known, as a sentence without its full stop.
    pub not_split: Option<String>,
    /// The shift over time.
    pub over_time: ShiftTrackView,
    /// Shifts at which the second node was later, or at the same time.
    pub from_zero: HistogramView,
    /// Shifts at which it was earlier, by their magnitude; null if there are none.
    pub below_zero: Option<HistogramView>,
}

/// The figures of a shift.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShiftFiguresView {
    /// Orders of which both lines have a pulse.
    pub orders: Exact,
    /// Least shift (ns).
    pub min_ns: f64,
    /// Median of the shift (ns).
    pub median_ns: Option<Exact>,
    /// Mean shift (ns).
    pub mean_ns: f64,
    /// Greatest shift (ns).
    pub max_ns: f64,
    /// Standard deviation (ns).
    pub sd_ns: f64,
    /// What 99 of 100 shifts are within, to either side (ns); null of too few orders.
    pub within_p99_ns: Option<Exact>,
    /// The shift farthest from none (ns).
    pub worst_ns: f64,
    /// The order that had it.
    pub worst_order: Exact,
    /// When that was, from the first order that both lines show (ns).
    pub worst_at_ns: Exact,
    /// By how much each shift may be off, to either side (ns); null if that is not known.
    pub error_ns: Option<f64>,
    /// How exact each shift is, as a sentence without its full stop.
    pub exactness: String,
    /// From the first to the last order (ns).
    pub span_ns: Exact,
}

/// A part of the mean shift.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShiftPartView {
    /// What it is, in a few words.
    pub words: String,
    /// What it most likely is (ns).
    pub likely_ns: f64,
    /// The least that it can be (ns).
    pub lower_ns: f64,
    /// The most that it can be (ns).
    pub upper_ns: f64,
}

/// The shift over time, as columns of equal length; stretches without an order are left out.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ShiftTrackView {
    /// Length of a stretch (ns).
    pub length_ns: f64,
    /// Where each begins, from the first order that both lines show (ns).
    pub from_ns: Vec<Exact>,
    /// Orders in each.
    pub orders: Vec<Exact>,
    /// Least shift of each (ns).
    pub min_ns: Vec<f64>,
    /// Mean shift of each (ns).
    pub mean_ns: Vec<f64>,
    /// Greatest shift of each (ns).
    pub max_ns: Vec<f64>,
}

/// What a sweep for the smallest lead came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SweepView {
    /// Its name among others.
    pub name: String,
    /// What it came to, as a sentence.
    pub sentence: String,
    /// Each cycle.
    pub cycles: Vec<SweepCycleView>,
}

/// What a sweep found at a cycle.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SweepCycleView {
    /// From one order to the next (ns).
    pub cycle_ns: Exact,
    /// What came of it, in a word or two: "confirmed", "loses orders".
    pub word: String,
    /// The same as a sentence.
    pub sentence: String,
    /// The lead that is confirmed (ns); null if none is.
    pub lead_ns: Option<Exact>,
    /// The lead that orders needed beside the one that they had, run by run.
    pub leads: Vec<LeadRowView>,
    /// The runs that it rests on, whose records are on this page.
    pub runs: Vec<SweepRunView>,
}

/// The lead that the orders of a run needed, beside the one that they had.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeadRowView {
    /// What the run was for and how it ended, in a few words.
    pub words: String,
    /// Whether it confirmed the lead.
    pub confirmed: bool,
    /// How long before its moment each order was sent (ns).
    pub lead_ns: Exact,
    /// Schedules that were ordered.
    pub orders: Exact,
    /// Schedules that were missed.
    pub missed: Exact,
    /// What half of the schedules needed at most (ns); null where it is not known.
    pub p50_ns: Option<Exact>,
    /// What 99 % of them needed at most (ns).
    pub p99_ns: Option<Exact>,
    /// What 99.9 % of them needed at most (ns).
    pub p99_9_ns: Option<Exact>,
    /// What the worst of them needed (ns); null if all were lost.
    pub worst_ns: Option<Exact>,
}

/// A run of a sweep.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SweepRunView {
    /// What it was for.
    pub step: SweepStep,
    /// Which run of the sweep it is, from 1 on.
    pub number: u32,
    /// How long before its moment each order was sent (ns).
    pub lead_ns: Exact,
    /// Its place among the runs of the page.
    pub run: u32,
}
