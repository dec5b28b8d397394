//! A comparison of two groups of runs as it is drawn.

use analysis::compare::Comparison;
use schemars::JsonSchema;
use serde::Serialize;
use summary::comparison::ComparisonTables;

use super::{HistogramView, RunView};
use crate::exact::Exact;

/// A comparison of two groups of runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparisonView {
    /// The document that `punctual compare --json` prints.
    pub document: Comparison,
    /// Its numbers in words.
    pub tables: ComparisonTables,
    /// Both groups, each as one series with all samples of its runs.
    pub plot: RunView,
    /// The runs of A, then those of B. Each has one series, named as its group, with the maximum over all CPUs in each
    /// interval; its histogram has no bins.
    pub runs: Vec<RunView>,
    /// The samples of both groups with their sign; null unless the comparison is of samples of both signs, where the plots above are
    /// of magnitudes.
    pub signed: Option<SignedSamplesView>,
    /// The method of the comparison, in one line.
    pub how: String,
    /// The smallest difference that could have been detected, one sentence per quantity.
    pub reach: Vec<String>,
}

/// The samples of both groups with their sign.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SignedSamplesView {
    /// The samples of A.
    pub a: SidesView,
    /// The samples of B.
    pub b: SidesView,
    /// The runs of A, then those of B.
    pub runs: Vec<SignedRunView>,
}

/// The lowest and the highest sample of each interval of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SignedRunView {
    /// `A 1`, `B 2`.
    pub label: String,
    /// Whether it is one of A's.
    pub of_a: bool,
    /// Start of each interval, counted from the run's start (ns).
    pub start_offset_ns: Vec<Exact>,
    /// Length of each interval (ns).
    pub length_ns: Vec<Exact>,
    /// The lowest sample of each interval (ns); null if it has none.
    pub lowest_ns: Vec<Option<Exact>>,
    /// The highest sample of each interval (ns); null if it has none.
    pub highest_ns: Vec<Option<Exact>>,
}

/// Samples on both sides of zero.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SidesView {
    /// Samples from zero on.
    pub from_zero: HistogramView,
    /// Samples below zero, by their magnitude; null if there are none.
    pub below_zero: Option<HistogramView>,
}
