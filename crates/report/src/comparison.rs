//! The view of a comparison: its document, and both groups as curves of one plot.

use analysis::compare::{self, Comparison, ComparisonState};
use record::{Interval, Record, Series};
use serde_json::Value;

use crate::exact::Exact;
use crate::page::ComparisonInput;
use crate::view::{
    Bins, ComparisonView, HeadlineState, HeadlineView, RunView, SidesView, SignedRunView, SignedSamplesView,
};
use crate::{merge, run};

impl SignedRunView {
    fn of(record: &Record, latency: &str, label: String, of_a: bool) -> Self {
        let intervals = merge::intervals(record.series.iter().filter(|series| series.name == latency));
        let below = |interval: &Interval| interval.below_zero.clone().unwrap_or_default();
        let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let lowest = |interval: &Interval| {
            let below = below(interval).max_ns().map(|magnitude| -ns(magnitude));
            below.or_else(|| interval.histogram.min_ns().map(ns))
        };
        let highest = |interval: &Interval| {
            let above = interval.histogram.max_ns().map(ns);
            above.or_else(|| below(interval).min_ns().map(|magnitude| -ns(magnitude)))
        };
        Self {
            label,
            of_a,
            start_offset_ns: intervals.iter().map(|interval| interval.start_offset_ns.into()).collect(),
            length_ns: intervals.iter().map(|interval| interval.length_ns.into()).collect(),
            lowest_ns: intervals.iter().map(|interval| lowest(interval).map(Exact::from)).collect(),
            highest_ns: intervals.iter().map(|interval| highest(interval).map(Exact::from)).collect(),
        }
    }
}

impl SidesView {
    fn of(series: &Series) -> Self {
        let unit_ns = series.resolution_ns.unwrap_or(1);
        Self {
            from_zero: run::histogram(&series.histogram, unit_ns),
            below_zero: series.below_zero.as_ref().map(|below| run::histogram(below, unit_ns)),
        }
    }
}

pub(crate) fn view(input: &ComparisonInput) -> Option<ComparisonView> {
    let document = &input.comparison;
    let narrowed = |runs: &[Record]| -> Vec<Record> {
        let place = document.place.as_ref();
        runs.iter().map(|run| compare::compared(run, &document.latency, place).into_owned()).collect()
    };
    let input = &ComparisonInput { comparison: document.clone(), a: narrowed(&input.a), b: narrowed(&input.b) };
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
    let signed_runs = || {
        let a = (1..).zip(&input.a).map(|(number, run)| (format!("A {number}"), run, true));
        let b = (1..).zip(&input.b).map(|(number, run)| (format!("B {number}"), run, false));
        a.chain(b).map(|(label, run, of_a)| SignedRunView::of(run, &document.latency, label, of_a)).collect()
    };
    let signed = document.signed.is_some().then(|| SignedSamplesView {
        a: SidesView::of(&both.series[0]),
        b: SidesView::of(&both.series[1]),
        runs: signed_runs(),
    });
    (both.worst, both.rows) = (Vec::new(), Vec::new());
    let mut plot = run::run(&both);
    let lanes = [format!("A: {}", document.a.name), format!("B: {}", document.b.name)];
    for (series, lane) in plot.series.iter_mut().zip(&lanes) {
        series.lane.clone_from(lane);
    }
    let mut runs = Vec::new();
    for ((letter, group), lane) in [("A", &input.a), ("B", &input.b)].into_iter().zip(&lanes) {
        runs.extend((1..).zip(group).map(|(number, run)| over_time(run, document, format!("{letter} {number}"), lane)));
    }
    let (how, reach) = (document.how(), document.reach_sentences());
    let tables = summary::comparison::tables(document);
    Some(ComparisonView { document: document.clone(), tables, plot, runs, signed, how, reach })
}

/// One run of a group, with the samples of all its threads in one series.
fn over_time(record: &Record, document: &Comparison, label: String, lane: &str) -> RunView {
    let is_compared = |series: &Series| series.name == document.latency;
    let mut one = merge::series(&document.latency, "", 0, record.series.iter(), is_compared);
    one.intervals = merge::intervals(record.series.iter().filter(|series| is_compared(series)));
    let mut run = run::run(&Record { series: vec![one], worst: Vec::new(), rows: Vec::new(), ..record.clone() });
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
    // As on a terminal: what is in the files and what that shows come first, then why.
    let reason = || comparison.verdict.reason.clone();
    let first: Vec<String> = comparison.description().into_iter().chain(comparison.standing()).collect();
    let (sentence, then) = if first.is_empty() { (reason(), None) } else { (first.join(" "), Some(reason())) };
    let gates = comparison.gates.iter().map(|gate| format!("{}: {}. {}.", gate.question, gate.answer, gate.reason));
    HeadlineView {
        state: match comparison.verdict.state {
            ComparisonState::Worse | ComparisonState::WorseBody => HeadlineState::Broken,
            ComparisonState::Better => HeadlineState::Holds,
            ComparisonState::BetterBody
            | ComparisonState::NotBeyondMargin
            | ComparisonState::NoDifferenceShown
            | ComparisonState::Elsewhere => HeadlineState::NoDeadline,
            ComparisonState::Trade | ComparisonState::Invalid => HeadlineState::CannotTell,
        },
        word: comparison.word().to_owned(),
        sentence,
        lines: then.into_iter().chain(gates).chain(comparison.notes.iter().cloned()).collect(),
        deadline_ns: None,
    }
}
