//! What a pipeline asks: each answer is an exit code, and none is a pass that nothing has shown.

use record::{Measurement, ReasonCode, Record};

use super::synthetic::{PLAN, Plan, compared, run, runs};
use crate::compare::{
    CompareOptions, ComparisonState, Gate, GateAnswer, GateKind, GatePart, GateResult, GateSize, Group, PartState, gate,
};

const OPTIONS: CompareOptions =
    CompareOptions { level: 0.05, resamples: 199, seed: 5, wanted_ns: None, margin_ns: None, deadline_ns: None };
const BODY: Plan = Plan { level_ns: 5_000.0, wander: 0.01, intervals: 12, times: 50, ..PLAN };
/// Worst cases of 2.7 ms, and of 48 us with a median that is 0.3 us later.
const GENERIC: Plan = Plan { worst_ns: 1_800_000.0, worst_spread: 0.2, ..BODY };
const REALTIME: Plan = Plan { worst_ns: 42_000.0, worst_spread: 0.06, level_ns: 5_300.0, ..BODY };

pub(super) const FAIL: Gate = Gate { kind: GateKind::FailOnWorse, part: GatePart::WorstCase, size: None };
pub(super) const PASS_20_US: Gate =
    Gate { kind: GateKind::PassOnNotWorse, part: GatePart::WorstCase, size: Some(GateSize::Ns(20_000)) };
pub(super) const FAIL_BODY: Gate = Gate { part: GatePart::Body, ..FAIL };

pub(super) fn by(gate: Gate, size: GateSize) -> Gate {
    Gate { size: Some(size), ..gate }
}

pub(super) fn asked(a: &[Record], b: &[Record], question: Gate, options: &CompareOptions) -> GateResult {
    let group = |name: &str, runs| Group { name: name.to_owned(), runs };
    gate(&group("a", a.iter().collect()), &group("b", b.iter().collect()), options, &question).unwrap()
}

fn answer(a: &[Record], b: &[Record], question: Gate) -> GateAnswer {
    asked(a, b, question, &OPTIONS).answer
}

#[test]
fn a_worst_case_that_is_a_fiftieth_passes_and_the_other_way_round_fails() {
    let (generic, realtime) = (runs(&GENERIC, 0..8), runs(&REALTIME, 8..16));
    for (question, better, worse) in [
        (FAIL, GateAnswer::Holds, GateAnswer::Broken),
        (by(FAIL, GateSize::Ns(20_000)), GateAnswer::Holds, GateAnswer::Broken),
        (by(FAIL, GateSize::Percent(50.0)), GateAnswer::Holds, GateAnswer::Broken),
        (PASS_20_US, GateAnswer::Holds, GateAnswer::Broken),
        (FAIL_BODY, GateAnswer::Holds, GateAnswer::Holds),
    ] {
        let found = asked(&generic, &realtime, question, &OPTIONS);
        assert_eq!(found.answer, better, "{}: {}", found.question, found.reason);
        let found = asked(&realtime, &generic, question, &OPTIONS);
        assert_eq!(found.answer, worse, "{}: {}", found.question, found.reason);
    }
}

#[test]
fn one_run_on_each_side_never_passes_and_never_fails() {
    let (a, b) = ([run(&REALTIME, 1)], [run(&GENERIC, 2)]);
    for question in [FAIL, by(FAIL, GateSize::Ns(20_000)), PASS_20_US, FAIL_BODY] {
        let found = asked(&a, &b, question, &OPTIONS);
        assert_eq!(found.answer, GateAnswer::CannotTell, "{}", found.reason);
        assert!(found.reason.contains("take 3 repetitions") || found.gate.part == GatePart::Body, "{}", found.reason);
        assert!(found.reason.contains("What was seen: "), "{}", found.reason);
    }
    assert_eq!(compared(&a, &b, &OPTIONS).verdict.state, ComparisonState::Worse, "what the runs show is still said");
}

#[test]
fn four_and_four_that_do_not_overlap_are_enough_and_two_and_two_are_not() {
    let (a, b) = (runs(&REALTIME, 0..4), runs(&GENERIC, 4..8));
    let question = by(FAIL, GateSize::Ns(20_000));
    let found = asked(&a, &b, question, &OPTIONS);
    assert_eq!((found.answer, found.least_runs), (GateAnswer::Broken, 3), "{}", found.reason);
    assert!((found.p.unwrap() - 1.0 / 70.0).abs() < 1e-12);
    assert_eq!(answer(&a[..3], &b[..3], question), GateAnswer::Broken);
    let few = asked(&a[..2], &b[..2], question, &OPTIONS);
    assert_eq!(few.answer, GateAnswer::CannotTell);
    assert!(few.reason.contains("2 and 2 runs are too few"), "{}", few.reason);
    assert_eq!(answer(&b[..2], &a[..2], question), GateAnswer::CannotTell, "nor do two and two pass");
    assert_eq!(answer(&a[..1], &b, question), GateAnswer::CannotTell, "nor one against four");
}

#[test]
fn what_was_worse_by_the_size_and_is_not_shown_is_no_pass() {
    // Worst cases that overlap, and a difference of medians beyond the size.
    let wide = Plan { worst_ns: 100_000.0, worst_spread: 0.6, ..BODY };
    let (a, b) = (runs(&wide, 0..4), runs(&Plan { worst_ns: 130_000.0, ..wide }, 10..14));
    let found = asked(&a, &b, by(FAIL, GateSize::Ns(1_000)), &OPTIONS);
    assert_eq!(found.answer, GateAnswer::CannotTell, "{}", found.reason);
    assert!(found.reason.contains("can neither show nor exclude"), "{}", found.reason);
    // The medians and the largest of all are less than twice apart, as they are between equal groups too.
    assert_eq!(answer(&a, &b, FAIL), GateAnswer::Holds, "without a size only what is shown fails");
}

/// One more sample in a run.
fn add(run: &mut Record, ns: u64, times: u64) {
    run.series[0].intervals[2].histogram.record_n(ns, times);
    run.series[0].histogram.record_n(ns, times);
}

#[test]
fn one_run_that_is_far_worse_than_all_others_is_no_pass_without_a_size_either() {
    // Seven of eight are better, and the worst of all is B's by a factor of a hundred.
    let (a, mut b) = (runs(&REALTIME, 0..8), runs(&Plan { worst_ns: 30_000.0, ..REALTIME }, 8..16));
    assert_eq!(answer(&a, &b, FAIL), GateAnswer::Holds);
    add(&mut b[3], 5_000_000, 1);
    let found = asked(&a, &b, FAIL, &OPTIONS);
    assert_eq!(found.answer, GateAnswer::CannotTell, "{}", found.reason);
    assert!(found.reason.contains("but its largest of all is over twice A's: median of maxima"), "{}", found.reason);
    assert!(found.p.is_some_and(|p| p > 0.5), "{found:?}");
    // A typical worst case of twenty times, whose ranks one run of A hides.
    let (mut a, mut b) = (runs(&BODY, 0..4), runs(&BODY, 4..8));
    a.iter_mut().zip([40_000, 50_000, 60_000, 2_000_000]).for_each(|(run, ns)| add(run, ns, 1));
    b.iter_mut().zip([900_000, 1_000_000, 1_100_000, 1_500_000]).for_each(|(run, ns)| add(run, ns, 1));
    let found = asked(&a, &b, FAIL, &OPTIONS);
    assert_eq!(found.answer, GateAnswer::CannotTell, "{}", found.reason);
    assert!(found.reason.contains("but its median of maxima is over twice A's"), "{}", found.reason);
    assert_eq!(answer(&b, &a, FAIL), GateAnswer::Holds, "a largest of all that is a third larger is none");
}

#[test]
fn a_rate_that_is_far_higher_by_one_run_is_no_pass() {
    let deadline = CompareOptions { deadline_ns: Some(100_000), ..OPTIONS };
    let group = |first: u64, beyond: [u64; 8]| {
        let mut runs = runs(&BODY, first..first + 8);
        let late = runs.iter_mut().zip(beyond).filter(|(_, times)| *times > 0);
        late.for_each(|(run, times)| add(run, 150_000, times));
        runs
    };
    let answers = |a: [u64; 8], b: [u64; 8]| {
        let found = asked(&group(0, a), &group(8, b), FAIL, &deadline);
        (found.answer, found.reason)
    };
    let (answer, reason) = answers([5; 8], [4, 4, 4, 400, 4, 4, 4, 4]);
    assert_eq!(answer, GateAnswer::CannotTell, "{reason}");
    assert!(reason.contains("over the whole runs it is over twice A's (40 of "), "{reason}");
    assert_eq!(answers([1, 0, 0, 0, 0, 0, 0, 0], [9, 0, 0, 0, 0, 0, 0, 0]).0, GateAnswer::CannotTell);
    // What so few come to by chance.
    assert_eq!(answers([1, 0, 0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0]).0, GateAnswer::Holds);
    assert_eq!(answers([3, 4, 3, 4, 3, 4, 3, 4], [4, 3, 4, 3, 4, 3, 4, 5]).0, GateAnswer::Holds);
}

#[test]
fn a_pass_by_ranks_that_one_run_contradicts_is_none() {
    let (a, mut b) = (runs(&REALTIME, 0..8), runs(&REALTIME, 8..16));
    assert_eq!(answer(&a, &b, PASS_20_US), GateAnswer::Holds);
    let piece = &mut b[3].series[0].intervals[2];
    piece.histogram.record_n(5_000_000, 1);
    b[3].series[0].histogram.record_n(5_000_000, 1);
    let found = asked(&a, &b, PASS_20_US, &OPTIONS);
    assert_eq!(found.answer, GateAnswer::CannotTell, "{}", found.reason);
    assert!(found.reason.contains("the largest of all contradicts the ranks"), "{}", found.reason);
    assert_eq!(answer(&a, &b, by(FAIL, GateSize::Ns(20_000))), GateAnswer::CannotTell);
    // Nor is B better where seven of eight are, and the worst of all is its.
    let better = Plan { worst_ns: 30_000.0, ..REALTIME };
    let mut b = runs(&better, 8..16);
    b[3].series[0].intervals[2].histogram.record_n(5_000_000, 1);
    b[3].series[0].histogram.record_n(5_000_000, 1);
    let verdict = compared(&a, &b, &OPTIONS).verdict;
    assert_eq!(verdict.worst_case, PartState::CannotTell, "{}", verdict.reason);
    assert!(verdict.reason.contains("the largest of all is B's"), "{}", verdict.reason);
    // A p that is contradicted is not "within chance".
    let parts = verdict.reason.split_once("What differs is within chance: the most striking row has p ");
    let p = parts.map(|(_, rest)| rest.split(',').next().and_then(|p| p.parse::<f64>().ok()).unwrap_or(0.0));
    assert!(p.is_none_or(|p| p > OPTIONS.level), "{}", verdict.reason);
}

/// A run of noise with so many gaps of 10 us in each second.
fn noise(seed: u64, gaps: u64) -> Record {
    let mut run = run(&Plan { intervals: 4, samples: 1, ..PLAN }, seed);
    run.measurement = Measurement::Noise;
    let series = &mut run.series[0];
    "left_to_resumed".clone_into(&mut series.name);
    series.histogram = record::Histogram::new();
    for interval in &mut series.intervals {
        interval.histogram = record::Histogram::new();
        interval.histogram.record_n(10_000, gaps);
        series.histogram.merge(&interval.histogram);
    }
    run
}

#[test]
fn a_gate_gives_what_is_stolen_the_margin_of_the_verdict() {
    // 4 ms stolen in a second: the margin is a tenth of it, and not 1 us.
    let group = |first: u64, gaps: u64| (first..first + 6).map(|seed| noise(seed, gaps)).collect::<Vec<_>>();
    let (a, little, much) = (group(0, 400), group(10, 412), group(20, 500));
    let found = asked(&a, &little, FAIL_BODY, &OPTIONS);
    assert_eq!(found.answer, GateAnswer::Holds, "{}", found.reason);
    assert!(found.reason.contains("stolen in 1 s +120 us (margin 400 us)"), "{}", found.reason);
    let verdict = compared(&a, &little, &OPTIONS).verdict;
    assert_eq!(verdict.body, PartState::NotBeyondMargin, "{}", verdict.reason);
    assert!(verdict.reason.contains("the margin of 1.0 us (of stolen in 1 s: 400 us)"), "{}", verdict.reason);
    assert_eq!(answer(&a, &much, FAIL_BODY), GateAnswer::Broken);
    assert_eq!(answer(&a, &little, by(FAIL_BODY, GateSize::Ns(1_000))), GateAnswer::Broken, "a stated size is meant");
    // A CPU that lost nothing.
    let (quiet, alike) = (group(30, 0), group(40, 0));
    assert_eq!([answer(&quiet, &alike, FAIL_BODY), answer(&much, &quiet, FAIL_BODY)], [GateAnswer::Holds; 2]);
    assert_eq!(answer(&quiet, &much, FAIL_BODY), GateAnswer::Broken);
}

#[test]
fn a_body_that_is_not_worse_takes_fewer_runs_than_one_that_is() {
    let pass = by(Gate { kind: GateKind::PassOnNotWorse, ..FAIL_BODY }, GateSize::Ns(20_000));
    let found = asked(&runs(&BODY, 0..3), &runs(&BODY, 3..6), pass, &OPTIONS);
    assert_eq!((found.answer, found.least_runs), (GateAnswer::Holds, 3), "{}", found.reason);
}

#[test]
fn a_trade_names_both_numbers_and_the_margin_decides_whether_it_is_one() {
    let slower = Plan { level_ns: 12_000.0, ..REALTIME };
    let (a, b) = (runs(&GENERIC, 0..8), runs(&slower, 8..16));
    let verdict = compared(&a, &b, &OPTIONS).verdict;
    assert_eq!(
        (verdict.state, verdict.worst_case, verdict.body),
        (ComparisonState::Trade, PartState::Better, PartState::Worse)
    );
    assert!(
        verdict.reason.contains("worst case -") && verdict.reason.contains("but mean +6.4 us"),
        "{}",
        verdict.reason
    );
    assert!(verdict.reason.contains("beyond the margin of 1.0 us"), "{}", verdict.reason);
    let wider = CompareOptions { margin_ns: Some(30_000), ..OPTIONS };
    let verdict = compared(&a, &b, &wider).verdict;
    assert_eq!(
        (verdict.state, verdict.body),
        (ComparisonState::Better, PartState::NotBeyondMargin),
        "{}",
        verdict.reason
    );
    assert_eq!(answer(&a, &b, FAIL), GateAnswer::Holds);
    assert_eq!(answer(&a, &b, FAIL_BODY), GateAnswer::Broken);
    assert_eq!(asked(&a, &b, FAIL_BODY, &wider).answer, GateAnswer::Holds);
    assert_eq!(answer(&a, &b, by(FAIL_BODY, GateSize::Percent(300.0))), GateAnswer::Holds);
}

#[test]
fn the_rate_beyond_a_stated_deadline_decides_in_the_place_of_the_worst_case() {
    // One sample an interval beyond 100 us, or none; the worst of all is B's.
    let often = Plan { worst_ns: 150_000.0, worst_spread: 0.01, ..BODY };
    let deadline = CompareOptions { deadline_ns: Some(100_000), ..OPTIONS };
    let (a, mut b) = (runs(&often, 0..5), runs(&BODY, 5..10));
    b[0].series[0].intervals[0].histogram.record_n(900_000, 1);
    b[0].series[0].histogram.record_n(900_000, 1);
    let verdict = compared(&a, &b, &deadline).verdict;
    assert_eq!(verdict.state, ComparisonState::Better, "{}", verdict.reason);
    assert!(
        verdict.reason.contains("beyond 100 us: A 60 of") && verdict.reason.contains("B 1 of"),
        "{}",
        verdict.reason
    );
    assert!(verdict.better.contains(&"beyond the deadline".to_owned()), "{verdict:?}");
    assert_eq!(asked(&a, &b, FAIL, &deadline).answer, GateAnswer::Holds);
    assert_eq!(asked(&b, &a, FAIL, &deadline).answer, GateAnswer::Broken);
    // The records' own deadline serves as well, where all state the same one.
    let state = |runs: &[Record], deadline_ns| {
        let mut runs = runs.to_vec();
        runs.iter_mut().for_each(|run| run.manifest_mut().requested.deadline_ns = Some(deadline_ns));
        runs
    };
    let stated = compared(&state(&a, 100_000), &state(&b, 100_000), &OPTIONS);
    assert_eq!(stated.worst.rate.map(|rate| rate.deadline_ns), Some(100_000));
    let unequal = compared(&state(&a, 100_000), &state(&b, 200_000), &OPTIONS);
    assert!(unequal.worst.rate.is_none() && unequal.notes.iter().any(|note| note.contains("--deadline states one")));
    // Never against once: no pass, and too little to fail by.
    let never = runs(&BODY, 20..25);
    let found = asked(&never, &b, FAIL, &deadline);
    assert_eq!(found.answer, GateAnswer::CannotTell, "{}", found.reason);
    let neither = runs(&BODY, 30..35);
    assert_eq!(asked(&never, &neither, FAIL, &deadline).answer, GateAnswer::Holds);
    let part = Gate { size: Some(GateSize::Percent(10.0)), ..PASS_20_US };
    let found = asked(&never, &neither, part, &deadline);
    assert_eq!(found.answer, GateAnswer::CannotTell);
    assert!(found.reason.contains("neither side exceeded it") && !found.reason.contains("more repetitions"));
    // A size that is a time asks for the worst case.
    assert_eq!(asked(&b, &a, by(FAIL, GateSize::Ns(20_000)), &deadline).answer, GateAnswer::CannotTell);
}

#[test]
fn unlike_loads_unlike_lengths_and_invalid_runs_cannot_be_told() {
    let (a, b) = (runs(&REALTIME, 0..4), runs(&GENERIC, 4..8));
    let mut loaded = b.clone();
    loaded.iter_mut().for_each(|run| "paper".clone_into(&mut run.manifest_mut().load.name));
    let found = asked(&a, &loaded, FAIL, &OPTIONS);
    assert_eq!(found.answer, GateAnswer::CannotTell);
    assert!(found.reason.contains("different loads ('' of A, 'paper' of B)"), "{}", found.reason);
    let mut short = b.clone();
    short.iter_mut().for_each(|run| run.series[0].intervals.clear());
    short[0].series[0].histogram = runs(&Plan { intervals: 2, ..GENERIC }, 4..5)[0].series[0].histogram.clone();
    let found = asked(&a, &short, FAIL, &OPTIONS);
    assert_eq!(found.answer, GateAnswer::CannotTell);
    assert!(found.reason.contains("unequally many schedules"), "{}", found.reason);
    let mut invalid = b.clone();
    invalid[2].validity.add(ReasonCode::RtThrottled, "CPU 0");
    assert_eq!(answer(&a, &invalid, FAIL), GateAnswer::CannotTell);
    let mut empty = b;
    empty[1].series.clear();
    assert_eq!(answer(&a, &empty, FAIL_BODY), GateAnswer::CannotTell);
}

#[test]
fn a_coarse_clock_with_equal_maxima_alarms_no_one() {
    let coarse = Plan { tick_ns: 10_000, ..REALTIME };
    let (a, b) = (runs(&coarse, 0..6), runs(&coarse, 6..12));
    assert!(compared(&a, &b, &OPTIONS).worst.p.unwrap() > 0.2);
    assert_eq!((answer(&a, &b, FAIL), answer(&a, &b, PASS_20_US)), (GateAnswer::Holds, GateAnswer::Holds));
}

#[test]
fn a_question_reads_as_it_was_asked() {
    let asked = [FAIL, by(FAIL, GateSize::Ns(20_000)), by(FAIL_BODY, GateSize::Percent(2.5)), PASS_20_US];
    let texts = asked.map(|gate| gate.to_string());
    let wanted =
        ["--fail-on worse", "--fail-on worse:20.0us", "--fail-on worse-body:2.5%", "--pass-on not-worse:20.0us"];
    assert_eq!(texts, wanted);
}
