//! The view of a comparison: its document, and both groups as curves of one plot.

use analyse::compare::{Comparison, ComparisonState};
use record::{Record, Series};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::view::{Bins, HeadlineState, HeadlineView, RunView};
use crate::{assemble, merge};

/// The input for the page of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonInput {
    /// The result of the comparison.
    pub comparison: Comparison,
    /// The runs of A.
    pub a: Vec<Record>,
    /// The runs of B.
    pub b: Vec<Record>,
}

/// A comparison of two groups of runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparisonView {
    /// The document that `punctual compare --json` prints.
    pub document: Comparison,
    /// Both groups, each as one series with all samples of its runs.
    pub plot: RunView,
    /// The runs of A, then those of B. Each has one series, named as its group, with the maximum over all CPUs in each
    /// interval; its histogram has no bins.
    pub runs: Vec<RunView>,
    /// The method of the comparison, in one line.
    pub how: String,
    /// The smallest difference that could have been detected, one sentence per quantity.
    pub reach: Vec<String>,
}

pub(crate) fn view(input: &ComparisonInput) -> Option<ComparisonView> {
    let document = &input.comparison;
    let mut both = input.a.first()?.clone();
    let is_compared = |series: &Series| series.name == document.latency;
    let group = |runs: &[Record], thread| {
        merge::series(&document.latency, "", thread, runs.iter().flat_map(|run| &run.series), is_compared)
    };
    both.validity = merge::validity(&[("A", input.a.iter().collect()), ("B", input.b.iter().collect())]);
    both.label = "A and B".to_owned();
    both.verdict = None;
    both.manifest_mut().requested.deadline_ns = None;
    both.series = vec![group(&input.a, 0), group(&input.b, 1)];
    (both.worst, both.rows) = (Vec::new(), Vec::new());
    let mut plot = assemble::run(&both);
    let lanes = [format!("A: {}", document.a.name), format!("B: {}", document.b.name)];
    for (series, lane) in plot.series.iter_mut().zip(&lanes) {
        series.lane.clone_from(lane);
    }
    let mut runs = Vec::new();
    for ((letter, group), lane) in [("A", &input.a), ("B", &input.b)].into_iter().zip(&lanes) {
        runs.extend((1..).zip(group).map(|(number, run)| over_time(run, document, format!("{letter} {number}"), lane)));
    }
    let (how, reach) = (document.how(), document.reach_sentences());
    Some(ComparisonView { document: document.clone(), plot, runs, how, reach })
}

/// One run of a group, with the samples of all its threads in one series.
fn over_time(record: &Record, document: &Comparison, label: String, lane: &str) -> RunView {
    let is_compared = |series: &Series| series.name == document.latency;
    let mut one = merge::series(&document.latency, "", 0, record.series.iter(), is_compared);
    one.intervals = merge::intervals(record.series.iter().filter(|series| is_compared(series)));
    let mut run = assemble::run(&Record { series: vec![one], worst: Vec::new(), rows: Vec::new(), ..record.clone() });
    (run.label, run.manifest, run.verdict, run.deadline_ns) = (label, Value::Null, None, None);
    // All runs of a comparison may be under load, so the mark would not distinguish them.
    run.loaded = false;
    for series in &mut run.series {
        lane.clone_into(&mut series.lane);
        series.histogram.bins = Bins::default();
        series.below_zero = None;
    }
    run
}

pub(crate) fn headline(comparison: &Comparison) -> HeadlineView {
    let gates = comparison.gates.iter().map(|gate| format!("{}: {}. {}.", gate.question, gate.answer, gate.reason));
    HeadlineView {
        state: match comparison.verdict.state {
            ComparisonState::Worse | ComparisonState::WorseBody => HeadlineState::Broken,
            ComparisonState::Better => HeadlineState::Holds,
            ComparisonState::BetterBody | ComparisonState::NotBeyondMargin | ComparisonState::NoDifferenceShown => {
                HeadlineState::NoDeadline
            }
            ComparisonState::Trade | ComparisonState::Invalid => HeadlineState::CannotTell,
        },
        word: comparison.word().to_owned(),
        sentence: comparison.verdict.reason.clone(),
        lines: gates.chain(comparison.notes.iter().cloned()).collect(),
        deadline_ns: None,
    }
}
