//! A comparison as the page shows it: its document, and both groups as curves of one plot.

use analyse::compare::{Comparison, ComparisonState};
use record::{Histogram, Record, Series, Validity};
use schemars::JsonSchema;
use serde::Serialize;

use crate::assemble;
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
    let group = |runs: &[Record], thread| {
        let mut histogram = Histogram::new();
        let series = runs.iter().flat_map(|run| &run.series).filter(|series| series.name == document.latency);
        series.for_each(|series| histogram.merge(&series.histogram));
        Series { name: document.latency.clone(), thread, histogram, ..Series::default() }
    };
    let reasons = input.a.iter().chain(&input.b).flat_map(|run| run.validity.reasons().to_vec());
    let mut seen: Vec<record::Reason> = Vec::new();
    for reason in reasons {
        // The same reason is told once, with what was seen first.
        if seen.iter().all(|other| other.code != reason.code) {
            seen.push(reason);
        }
    }
    both.validity = Validity::of(seen);
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
