//! A comparison as the page shows it: its document, and both groups as curves of one plot.

use analyse::compare::{Comparison, ComparisonState};
use record::{Record, Series};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{assemble, merge};
use crate::view::{HeadlineState, HeadlineView, RunView};

/// What a page of a comparison is made of.
#[derive(Clone, Debug)]
pub struct ComparisonInput {
    /// What it says.
    pub comparison: Comparison,
    /// The runs of A.
    pub a: Vec<Record>,
    /// The runs of B.
    pub b: Vec<Record>,
}

/// A comparison of two groups of runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparisonView {
    /// What `punctual compare --json` prints.
    pub document: Comparison,
    /// Both groups, each as one series with all samples of its runs.
    pub plot: RunView,
    /// How it was judged, in a line.
    pub how: String,
    /// What could have been seen, a sentence for each quantity.
    pub reach: Vec<String>,
}

pub(crate) fn view(input: &ComparisonInput) -> Option<ComparisonView> {
    let document = &input.comparison;
    let mut both = input.a.first()?.clone();
    let is_it = |series: &Series| series.name == document.latency;
    let group = |runs: &[Record], thread| {
        merge::series(&document.latency, "", thread, runs.iter().flat_map(|run| &run.series), is_it)
    };
    both.validity = merge::validity(&[("A", input.a.iter().collect()), ("B", input.b.iter().collect())]);
    both.label = "A and B".to_owned();
    both.verdict = None;
    both.manifest.requested.deadline_ns = None;
    both.series = vec![group(&input.a, 0), group(&input.b, 1)];
    (both.worst, both.rows) = (Vec::new(), Vec::new());
    let mut plot = assemble::run(&both);
    for (series, name) in plot.series.iter_mut().zip([("A", &document.a.name), ("B", &document.b.name)]) {
        series.lane = format!("{}: {}", name.0, name.1);
    }
    Some(ComparisonView { document: document.clone(), plot, how: document.how(), reach: document.reach_sentences() })
}

pub(crate) fn headline(comparison: &Comparison) -> HeadlineView {
    HeadlineView {
        state: match comparison.verdict.state {
            ComparisonState::Worse => HeadlineState::Broken,
            ComparisonState::Better => HeadlineState::Holds,
            ComparisonState::NoDifferenceShown => HeadlineState::NoDeadline,
            ComparisonState::Invalid => HeadlineState::CannotTell,
        },
        word: comparison.word().to_owned(),
        sentence: comparison.verdict.reason.clone(),
        lines: comparison.notes.clone(),
        deadline_ns: None,
    }
}
