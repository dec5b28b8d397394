//! Single comparisons, each for one promise.

use record::ReasonCode;
use units::Timestamp;

use super::synthetic::{PLAN, Plan, compared, run, runs};
use crate::compare::{CompareError, CompareOptions, ComparisonState, Group, PartState, Unit, compare};

const OPTIONS: CompareOptions =
    CompareOptions { level: 0.05, resamples: 499, seed: 5, wanted_ns: None, margin_ns: None, deadline_ns: None };

#[test]
fn later_is_worse_earlier_is_better_and_the_numbers_are_the_runs_own() {
    let slower = Plan { level_ns: 12_000.0, ..PLAN };
    let (a, b) = (run(&PLAN, 1), run(&slower, 2));
    let worse = compared(std::slice::from_ref(&a), std::slice::from_ref(&b), &OPTIONS);
    assert_eq!(worse.verdict.state, ComparisonState::Worse);
    assert!(worse.verdict.worse.contains(&"mean".to_owned()), "{:?}", worse.verdict);
    let mean = &worse.quantities[0];
    let exact = |record: &record::Record| record.series[0].histogram.mean_ns().unwrap();
    assert!((mean.a_ns - exact(&a)).abs() < 0.06 && (mean.b_ns - exact(&b)).abs() < 0.06, "{mean:?}");
    assert!((mean.difference_ns - 2_000.0).abs() < 400.0, "{mean:?}");
    let interval = mean.interval.unwrap();
    assert!(interval.low_ns > 1_000.0 && interval.high_ns < 3_000.0, "{interval:?}");
    assert_eq!(compared(&[b], &[a], &OPTIONS).verdict.state, ComparisonState::Better);
}

#[test]
fn the_same_seed_gives_the_same_document_and_another_seed_another_interval() {
    let (a, b) = (vec![run(&PLAN, 1)], vec![run(&PLAN, 2)]);
    let first = compared(&a, &b, &OPTIONS);
    assert_eq!(first, compared(&a, &b, &OPTIONS));
    let other = compared(&a, &b, &CompareOptions { seed: 6, ..OPTIONS });
    assert_ne!(first.quantities[0].interval, other.quantities[0].interval);
}

#[test]
fn a_document_reads_back() {
    let comparison = compared(&[run(&PLAN, 1)], &[run(&PLAN, 2)], &OPTIONS);
    let text = serde_json::to_string(&comparison).unwrap();
    assert_eq!(serde_json::from_str::<crate::compare::Comparison>(&text).unwrap(), comparison);
}

#[test]
fn too_few_repetitions_are_told_whatever_they_show() {
    let twice = Plan { level_ns: 20_000.0, intervals: 10, ..PLAN };
    let plan = Plan { intervals: 10, ..PLAN };
    let three = compared(&runs(&plan, 0..3), &runs(&twice, 3..6), &OPTIONS);
    assert_eq!(three.verdict.state, ComparisonState::NoDifferenceShown);
    assert!(three.verdict.reason.contains("with 3 and 3 repetitions no p below 0.05"), "{}", three.verdict.reason);
    assert!(three.verdict.reason.contains("take at least 4 of each"), "{}", three.verdict.reason);
    assert!(three.quantities[0].interval.unwrap().low_ns > 8_000.0, "the interval still says what was seen");
    let four = compared(&runs(&plan, 0..4), &runs(&twice, 4..8), &OPTIONS);
    assert_eq!((four.verdict.state, four.worst.unit), (ComparisonState::Worse, Unit::Run));
    assert!(four.verdict.worse.contains(&"worst case".to_owned()), "{:?}", four.verdict);
    assert_eq!(four.worst.a_maxima_ns.len(), 4);
}

/// All runs of B are slower than all of A, one of them by far: chance seldom orders them so, and were they drawn again the difference
/// could be none.
#[test]
fn no_row_is_better_or_worse_whose_own_interval_contains_no_difference() {
    let (mut doubtful, mut told) = (0, 0);
    for seed in 0..12 {
        let plan = Plan { intervals: 3, samples: 20, wander: 0.0, ..PLAN };
        let slower = |of: u32| Plan { level_ns: 11_000.0 + 500.0 * 4.0_f64.powf(f64::from(of)), ..plan };
        let a = runs(&plan, seed * 10..seed * 10 + 5);
        let b: Vec<record::Record> = (0..5).map(|of| run(&slower(of), seed * 10 + 5 + u64::from(of))).collect();
        let found = compared(&a, &b, &OPTIONS);
        let is_named = |name: &String| found.verdict.worse.contains(name) || found.verdict.better.contains(name);
        let rows: Vec<_> = found.quantities.iter().filter(|row| row.is_unlikely(OPTIONS.level)).collect();
        for row in &rows {
            let interval = row.interval.unwrap();
            let contains_none = interval.low_ns <= 0.0 && interval.high_ns >= 0.0;
            doubtful += u32::from(contains_none);
            assert!(!(contains_none && is_named(&row.name)), "{row:?}: {:?}", found.verdict);
        }
        let is_all = !rows.is_empty() && rows.iter().all(|row| row.is_doubtful());
        if is_all && found.verdict.state == ComparisonState::NoDifferenceShown {
            assert!(found.verdict.reason.contains("but its interval contains 0"), "{:?}", found.verdict);
            told += 1;
        }
    }
    assert!(doubtful >= 3 && told >= 1, "{doubtful} rows, {told} of them alone");
}

/// Samples are known to 1 us; B's worst cases lie far above A's but in one run, where they are one step apart, and so does its body.
#[test]
fn what_the_step_of_a_source_takes_away_is_never_said_to_be_as_small_as_that() {
    let counted = |maximum_us: u64, middle_us: u64, seed: u64| {
        let mut run = run(&Plan { intervals: 1, samples: 1, ..PLAN }, seed);
        let series = &mut run.series[0];
        (series.histogram, series.resolution_ns) = (record::Histogram::new(), Some(1_000));
        series.intervals.clear();
        let middle = (0..9).map(|at| middle_us + at % 3);
        middle.chain([maximum_us]).for_each(|us| series.histogram.record_n(us * 1_000 + 999, 6));
        run
    };
    let a: Vec<_> =
        [(14, 8), (15, 9), (15, 8), (14, 9), (15, 10)].iter().zip(0..).map(|(of, n)| counted(of.0, of.1, n)).collect();
    let mut told = [0, 0];
    for worst_of_b in [[16, 17, 26, 60, 182], [16, 16, 40, 90, 500], [15, 16, 30, 31, 32], [17, 18, 40, 60, 80]] {
        for middle in [10, 11, 12, 40] {
            let b: Vec<_> =
                worst_of_b.iter().zip(0..).map(|(worst, n)| counted(*worst, middle + n * n * n, 20 + n)).collect();
            let found = compared(&a, &b, &OPTIONS);
            let reason = &found.verdict.reason;
            if reason.contains("would not be shown were one side 1.0 us later") {
                assert_eq!(found.verdict.worst_case, PartState::CannotTell, "{reason}");
                told[0] += 1;
            }
            if let Some((before, _)) = reason.split_once(", but it is no more than the sources can tell apart") {
                let (_, named) = before.split_once("not shown for sure: ").unwrap();
                let row =
                    found.quantities.iter().find(|row| named.starts_with(&format!("{} has p", row.name))).unwrap();
                assert!(row.difference_ns.abs() <= 1_000.0 + row.a_ns.max(row.b_ns) * 0.001, "{row:?}: {reason}");
                told[1] += 1;
            }
        }
    }
    assert!(told[0] > 0, "{told:?}");
}

#[test]
fn every_reason_of_degraded_runs_is_named_that_of_the_worst_sample_first() {
    let a = runs(&PLAN, 1..4);
    let mut b = runs(&PLAN, 11..14);
    for (run, at) in b.iter_mut().zip(1..) {
        run.validity.add(ReasonCode::VirtualMachineSteal, format!("CPU {at}: {at} ms"));
    }
    b[2].series[0].histogram.record_n(40_200_000, 1);
    b[2].series[0].intervals[0].histogram.record_n(40_200_000, 1);
    b[2].validity.add(ReasonCode::RtThrottleLikely, "one stop of 40.2 ms");
    b[0].validity.add(ReasonCode::VirtualMachine, "kvm");
    let notes = compared(&a, &b, &OPTIONS).notes;
    let note = notes.iter().find(|note| note.starts_with("B: 3 of 3 runs degraded (")).unwrap();
    let at = |part: &str| note.find(part).unwrap_or_else(|| panic!("{part} in {note}"));
    assert!(at("in the run with the worst sample: ") < at("one stop of 40.2 ms"), "{note}");
    assert!(at("one stop of 40.2 ms") < at("in all: ") && at("in all: ") < at("CPU 3: 3 ms"), "{note}");
    assert!(at("CPU 3: 3 ms") < at("in 1: "), "{note}");
    assert!(at("in 1: ") < at("kvm") && !note.contains("CPU 1: 1 ms"), "{note}");
}

#[test]
fn an_invalid_run_makes_the_comparison_invalid_and_a_degraded_one_is_told() {
    let (a, mut b) = (run(&PLAN, 1), run(&Plan { level_ns: 90_000.0, ..PLAN }, 2));
    b.validity.add(ReasonCode::VirtualMachine, "kvm");
    let degraded = compared(std::slice::from_ref(&a), std::slice::from_ref(&b), &OPTIONS);
    assert_eq!(degraded.verdict.state, ComparisonState::Worse);
    assert!(degraded.notes.iter().any(|note| note.starts_with("B: 1 of 1 runs degraded")), "{:?}", degraded.notes);
    b.validity.add(ReasonCode::RtThrottled, "CPU 2");
    let invalid = compared(std::slice::from_ref(&a), std::slice::from_ref(&b), &OPTIONS);
    assert_eq!(invalid.verdict.state, ComparisonState::Invalid);
    assert!(
        invalid.quantities.iter().all(|row| row.interval.is_none() && row.p.is_none()),
        "nothing like a conclusion"
    );
    assert!(invalid.reach.is_empty() && invalid.worst.p.is_none());
    assert!(invalid.verdict.reason.contains("CPU 2"), "{}", invalid.verdict.reason);
    b.validity = record::Validity::default();
    b.series.clear();
    let empty = compared(&[a], &[b], &OPTIONS);
    assert_eq!(empty.verdict.state, ComparisonState::Invalid, "a run without a sample");
    // What no sample says is absent, and no 0.
    assert_eq!((empty.b.min_ns, empty.b.max_ns, empty.b.runs[0].max_ns), (None, None, None));
    assert_eq!((empty.worst.b_median_ns, empty.worst.median_difference_ns), (None, None));
    assert!(empty.worst.b_maxima_ns.is_empty() && empty.worst.a_median_ns > Some(0.0), "{:?}", empty.worst);
    assert!(!serde_json::to_string(&empty.worst).unwrap().contains("b_median_ns"));
}

#[test]
fn unequal_lengths_are_cut_alike_and_maxima_are_those_of_equally_long_parts() {
    // Twice as long, with nothing worse in it: the maxima of whole runs are larger by that alone.
    let heavy = Plan { worst_ns: 50_000.0, worst_spread: 0.8, ..PLAN };
    let long = Plan { intervals: 600, ..heavy };
    let mixed = compared(&runs(&heavy, 0..6), &runs(&long, 20..26), &OPTIONS);
    assert!(mixed.worst.note.contains("each counts by its first 60 s"), "{}", mixed.worst.note);
    assert!(mixed.worst.p.unwrap() > 0.1, "{:?}", mixed.worst);
    let whole = |runs: &[crate::compare::RunSummary]| runs.iter().map(|run| run.max_ns.unwrap()).min().unwrap();
    assert!(whole(&mixed.b.runs) > mixed.worst.b_maxima_ns.iter().copied().min().unwrap());
    // Without intervals no part is known, and nothing is compared.
    let mut whole_runs = runs(&long, 20..26);
    whole_runs.iter_mut().for_each(|run| run.series[0].intervals.clear());
    let refused = compared(&runs(&heavy, 0..6), &whole_runs, &OPTIONS);
    assert_eq!((refused.worst.p, refused.verdict.worst_case), (None, PartState::CannotTell));
    assert!(refused.worst.note.contains("unequally many schedules"), "{}", refused.worst.note);
    let long = Plan { intervals: 120, ..PLAN };
    let mut coarse = run(&long, 9);
    let intervals = &mut coarse.series[0].intervals;
    *intervals = intervals
        .chunks(4)
        .map(|four| {
            let mut joined = four[0].clone();
            four[1..].iter().for_each(|other| joined.histogram.merge(&other.histogram));
            joined.length_ns *= 4;
            joined
        })
        .collect();
    let alike = compared(&[run(&PLAN, 1)], &[coarse], &OPTIONS);
    assert_eq!((alike.a.runs[0].pieces, alike.b.runs[0].pieces), (15, 30));
    assert_eq!(alike.method.piece_ns, 4_000_000_000);
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_remedy() {
    let (a, mut b) = (run(&PLAN, 1), run(&PLAN, 2));
    fn group<'a>(runs: &[&'a record::Record]) -> Group<'a> {
        Group { name: "g".to_owned(), runs: runs.to_vec() }
    }
    let error = |b: &record::Record| compare(&group(&[&a]), &group(&[b]), &OPTIONS).unwrap_err();
    assert_eq!(error(&a), CompareError::SameRun("run-1".to_owned()));
    b.measurement = record::Measurement::Noise;
    assert!(error(&b).to_string().contains("only runs of one measurement"), "{}", error(&b));
    // One run named four times is no repetition.
    let c = run(&PLAN, 3);
    let twice = compare(&group(&[&a]), &group(&[&c, &c]), &OPTIONS).unwrap_err();
    assert_eq!(twice, CompareError::RepeatedRun("run-3".to_owned()));
    let none = compare(&group(&[&a]), &group(&[]), &OPTIONS).unwrap_err();
    assert_eq!(none, CompareError::NoRun("g".to_owned()));
}

#[test]
fn a_body_that_is_better_in_one_row_and_worse_in_another_is_told_as_both() {
    let plan = Plan { worst_ns: 400_000.0, worst_spread: 0.6, intervals: 12, times: 50, ..PLAN };
    let (a, mut b) = (runs(&plan, 0..8), runs(&Plan { level_ns: 6_000.0, ..plan }, 8..16));
    // One wake-up of fifty is late by 60 us: mean and median are better, p99 and p99.9 worse, the worst case alike.
    for series in b.iter_mut().map(|run| &mut run.series[0]) {
        for interval in &mut series.intervals {
            interval.histogram.record_n(60_000, 40);
            series.histogram.record_n(60_000, 40);
        }
    }
    let verdict = compared(&a, &b, &OPTIONS).verdict;
    assert_eq!((verdict.state, verdict.body), (ComparisonState::WorseBody, PartState::Worse), "{}", verdict.reason);
    assert!(verdict.reason.contains("B - A: worse in p99 +"), "{}", verdict.reason);
    assert!(verdict.reason.contains(") and better in mean -"), "{}", verdict.reason);
    assert!(verdict.reason.contains("each beyond the margin of 1.0 us, where"), "{}", verdict.reason);
}

#[test]
fn what_differs_between_the_sides_is_told_from_what_differs_within_both() {
    let (a, mut b) = (runs(&PLAN, 0..4), runs(&PLAN, 4..8));
    let mixed = |runs: &[record::Record]| {
        let mut runs = runs.to_vec();
        "6.12.1".clone_into(&mut runs[0].manifest_mut().node.kernel_release);
        runs
    };
    let notes = |a: &[record::Record], b: &[record::Record]| compared(a, b, &OPTIONS).notes.join(" ");
    let said = notes(&mixed(&a), &mixed(&b));
    assert!(said.contains("The runs of each side differ among themselves in kernel,"), "{said}");
    assert!(!said.contains("A and B differ"), "{said}");
    b.iter_mut().for_each(|run| "6.12.2".clone_into(&mut run.manifest_mut().node.kernel_release));
    let said = notes(&a, &b);
    assert!(said.contains("A and B differ in kernel:") && !said.contains("among themselves"), "{said}");
}

/// A run at 200 us and a deadline of 5 ms, with six wake-ups beyond it and stalls of 1 ms that skip schedules.
fn run_with_skipped_schedules(stalls: u64, seed: u64) -> record::Record {
    let mut record = run(&Plan { intervals: 4, ..PLAN }, seed);
    record.manifest_mut().requested.deadline_ns = Some(5_000_000);
    let series = &mut record.series[0];
    series.interval_ns = Some(200_000);
    let interval = &mut series.intervals[0];
    interval.histogram.record_n(6_150_000, 6);
    interval.histogram.record_n(1_050_000, stalls);
    interval.missed_periods = 6 * 30 + stalls * 5;
    series.counters.missed_periods = interval.missed_periods;
    series.histogram.record_n(6_150_000, 6);
    series.histogram.record_n(1_050_000, stalls);
    record
}

#[test]
fn a_schedule_that_a_short_stall_skipped_is_not_beyond_a_long_deadline() {
    let group = |stalls: u64, first: u64| -> Vec<record::Record> {
        (first..first + 6).map(|seed| run_with_skipped_schedules(stalls, seed)).collect()
    };
    let (few, many) = (group(1, 1), group(10, 11));
    let comparison = compared(&few, &many, &CompareOptions::default());
    let rate = comparison.worst.rate.as_ref().unwrap();
    // 6.15 ms skips schedules that were late by 5.95, 5.75 … ms: five of them by more than 5 ms. None of 1.05 ms was.
    assert_eq!((&rate.a_beyond, &rate.b_beyond), (&vec![36; 6], &vec![36; 6]));
    assert_eq!(rate.missed_beyond, [180, 180]);
    let of_a = format!("A 216 of {} periods (180 of them skipped)", units::format::count(2_112));
    assert!(rate.text.contains(&of_a), "{}", rate.text);
    assert!(!comparison.verdict.worse.contains(&"beyond the deadline".to_owned()), "{}", comparison.verdict.reason);
    assert!(comparison.notes.iter().any(|note| note.contains("those schedules they skipped")));
}

/// A run of noise, of which so many of four intervals have no gap.
fn noise(seed: u64, quiet: u64) -> record::Record {
    let mut record = run(&PLAN, seed);
    record.measurement = record::Measurement::Noise;
    let series = &mut record.series[0];
    "left_to_resumed".clone_into(&mut series.name);
    series.histogram = record::Histogram::new();
    for (at, interval) in (0_u64..).zip(&mut series.intervals) {
        if at % 4 < quiet {
            interval.histogram = record::Histogram::new();
        }
        series.histogram.merge(&interval.histogram);
    }
    record
}

#[test]
fn a_cpu_that_lost_nothing_is_compared() {
    let side = |seeds: std::ops::Range<u64>, quiet| seeds.map(|seed| noise(seed, quiet)).collect::<Vec<_>>();
    let (noisy, quiet) = (side(0..8, 0), side(8..16, 4));
    let better = compared(&noisy, &quiet, &OPTIONS);
    assert_eq!(better.verdict.state, ComparisonState::Better, "{}", better.verdict.reason);
    assert!(better.verdict.better.contains(&"stolen in 1 s".to_owned()), "{:?}", better.verdict);
    assert_eq!(compared(&quiet, &noisy, &OPTIONS).verdict.state, ComparisonState::Worse);
    let neither = compared(&quiet, &side(16..24, 4), &OPTIONS);
    assert_eq!(neither.verdict.state, ComparisonState::NoDifferenceShown, "{}", neither.verdict.reason);
    assert_eq!(neither.quantities.len(), 1, "{:?}", neither.quantities);
}

#[test]
fn noise_is_judged_by_stolen_time_first_and_quiet_intervals_count() {
    // The gaps are as long; there are half as many.
    let comparison = compared(&[noise(1, 0)], &[noise(2, 2)], &OPTIONS);
    let stolen = &comparison.quantities[0];
    assert_eq!(stolen.name, "stolen in 1 s");
    assert!((stolen.a_ns / (40.0 * 10_460.0) - 1.0).abs() < 0.05, "40 gaps in a second: {stolen:?}");
    assert!((stolen.b_ns / stolen.a_ns - 0.5).abs() < 0.05, "{stolen:?}");
    assert!(comparison.verdict.better.contains(&"stolen in 1 s".to_owned()), "{:?}", comparison.verdict);
    // What decides is the worst case of equally long times, and not of equally many gaps.
    assert!(comparison.worst.p.is_some(), "{}", comparison.worst.note);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    #[test]
    fn odd_records_are_compared_without_a_panic(
        values in proptest::collection::vec((0_u64..4, proptest::num::u64::ANY, proptest::num::u64::ANY), 0..24),
        lengths in proptest::num::u64::ANY, offset in 0_u64..3, runs_of_b in 1_usize..4,
    ) {
        let odd = |seed: u64, side: u64| {
            let mut record = run(&Plan { intervals: 2, samples: 3, ..PLAN }, seed);
            let series = &mut record.series[0];
            for (at, &(interval, value, count)) in (0_u64..).zip(&values) {
                let mut histogram = record::Histogram::new();
                histogram.record_n(value.rotate_left(u32::try_from(side).unwrap()), count);
                series.histogram.merge(&histogram);
                let start_offset_ns = interval.wrapping_add(at).wrapping_mul(offset);
                series.intervals.push(record::Interval { start_offset_ns, length_ns: lengths, missed_periods: count, histogram, ..record::Interval::default() });
            }
            record.manifest_mut().ended.monotonic = Timestamp::from_ns(i64::MIN);
            record
        };
        let b: Vec<record::Record> = (0..runs_of_b).map(|at| odd(2 + at as u64, 5)).collect();
        let comparison = compared(&[odd(1, 0)], &b, &CompareOptions { resamples: 100, ..OPTIONS });
        // JSON has no word for what is no number.
        let text = serde_json::to_string(&comparison).unwrap();
        proptest::prop_assert!(serde_json::from_str::<crate::compare::Comparison>(&text).is_ok(), "{}", text);
    }
}

#[test]
fn a_run_without_intervals_tells_its_numbers_and_no_more() {
    let (mut a, mut b) = (run(&PLAN, 1), run(&Plan { level_ns: 30_000.0, ..PLAN }, 2));
    a.series[0].intervals.clear();
    b.series[0].intervals.clear();
    let comparison = compared(&[a], &[b], &OPTIONS);
    assert_eq!(comparison.verdict.state, ComparisonState::NoDifferenceShown);
    assert!(comparison.quantities.iter().all(|row| row.interval.is_none()));
    assert!(comparison.verdict.reason.contains("cannot decide"), "{}", comparison.verdict.reason);
    assert_eq!(comparison.word(), "Too few runs to tell");
    assert!(comparison.description().unwrap().starts_with("B - A: p50 +"), "{:?}", comparison.description());
    assert!(comparison.standing().unwrap().contains("nothing of what the next would do"));
    let none = comparison.notes.iter().find(|note| note.contains("One run on each side"));
    assert_eq!(none, None, "the verdict's own sentence says it");
}

#[test]
fn what_is_within_reach_is_told_before_what_was_seen() {
    let comparison = compared(&[run(&PLAN, 1)], &[run(&PLAN, 2)], &CompareOptions { wanted_ns: Some(10), ..OPTIONS });
    assert_eq!(comparison.verdict.state, ComparisonState::NoDifferenceShown);
    let reach = &comparison.reach[0];
    let seen = (reach.visible_ns / 10.0).powi(2);
    assert!((reach.times_longer / seen - 1.0).abs() < 0.01 && reach.times_longer > 100.0, "{reach:?}");
}

#[test]
fn of_too_few_runs_nothing_is_said_to_be_within_reach() {
    let compare = |n: u64| compared(&runs(&PLAN, 0..n), &runs(&PLAN, 20..20 + n), &OPTIONS);
    let (three, four, five) = (compare(3), compare(4), compare(5));
    let said = three.reach_sentences().join(" ");
    assert!(
        said.contains("with 3 and 3 repetitions no difference of any size would be shown; it takes at least 5"),
        "{said}"
    );
    assert!(four.reach.is_empty() && !five.reach.is_empty(), "{:?} {:?}", four.reach, five.reach);
    let said = four.reach_sentences().join(" ");
    assert!(
        said.contains(
            "with 4 and 4 repetitions one that differs alone may not be shown, however much; it takes at least 5"
        ),
        "{said}"
    );
    // The case that would make more than that false: all rows differ at once.
    let later = Plan { level_ns: 90_000.0, ..PLAN };
    let shifted = compared(&runs(&PLAN, 0..4), &runs(&later, 20..24), &OPTIONS);
    assert!(shifted.verdict.worse.contains(&"mean".to_owned()), "{:?}", shifted.verdict);
    assert!(
        five.reach_sentences().iter().all(|line| line.contains("four times of five")),
        "{:?}",
        five.reach_sentences()
    );
}

/// What PREEMPT_RT looks like: worst cases of 2.7 ms against 48 us, and a median that is 0.3 us later.
const GENERIC: Plan = Plan { worst_ns: 1_800_000.0, worst_spread: 0.2, intervals: 12, ..TIGHT };
const REALTIME: Plan = Plan { worst_ns: 42_000.0, worst_spread: 0.06, level_ns: 5_300.0, intervals: 12, ..TIGHT };
const TIGHT: Plan = Plan { level_ns: 5_000.0, wander: 0.01, times: 50, ..PLAN };

#[test]
fn a_worst_case_that_is_a_fiftieth_outweighs_a_median_that_is_a_little_later() {
    let better = compared(&runs(&GENERIC, 0..8), &runs(&REALTIME, 8..16), &OPTIONS);
    assert_eq!(better.verdict.state, ComparisonState::Better, "{}", better.verdict.reason);
    assert!(better.verdict.worse.contains(&"p50".to_owned()), "{:?}", better.verdict);
    let worse = compared(&runs(&REALTIME, 0..8), &runs(&GENERIC, 8..16), &OPTIONS);
    assert_eq!(worse.verdict.state, ComparisonState::Worse, "{}", worse.verdict.reason);
}
