//! What a pipeline asks: each answer is an exit code, and none is a pass that nothing has shown.

use record::{ReasonCode, Record};

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
    assert_eq!(answer(&a, &b, FAIL), GateAnswer::Holds, "without a size only what is shown fails");
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
        runs.iter_mut().for_each(|run| run.manifest.requested.deadline_ns = Some(deadline_ns));
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
    assert_eq!(asked(&never, &runs(&BODY, 30..35), FAIL, &deadline).answer, GateAnswer::Holds);
    // A size that is a time asks for the worst case.
    assert_eq!(asked(&b, &a, by(FAIL, GateSize::Ns(20_000)), &deadline).answer, GateAnswer::CannotTell);
}

#[test]
fn unlike_loads_unlike_lengths_and_invalid_runs_cannot_be_told() {
    let (a, b) = (runs(&REALTIME, 0..4), runs(&GENERIC, 4..8));
    let mut loaded = b.clone();
    loaded.iter_mut().for_each(|run| "paper".clone_into(&mut run.manifest.load.name));
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
    let told = asked.map(|gate| gate.to_string());
    let wanted =
        ["--fail-on worse", "--fail-on worse:20.0us", "--fail-on worse-body:2.5%", "--pass-on not-worse:20.0us"];
    assert_eq!(told, wanted);
}
