//! How often chance is taken for a difference, and how often a true one is found.
//!
//! Seeds are fixed, so that a result is the same each time. Bounds: a rate of p gives more than p n + 3.09 sqrt(p (1 - p) n)
//! alarms in n comparisons once in a thousand.

use record::{Histogram, Record, Rounding};

use super::gates::{FAIL, FAIL_BODY, PASS_20_US, asked, by};
use super::synthetic::{PLAN, Plan, compared, run, runs};
use crate::compare::{CompareOptions, ComparisonState, Gate, GateAnswer, GateSize, PartState, float};

const OPTIONS: CompareOptions =
    CompareOptions { level: 0.05, resamples: 199, seed: 5, wanted_ns: None, margin_ns: None, deadline_ns: None };

/// The most alarms that `n` comparisons have where the true rate is `rate`, but for once in a thousand.
fn bound(rate: f64, n: usize) -> f64 {
    rate * float(n) + 3.09 * (rate * (1.0 - rate) * float(n)).sqrt()
}

/// Comparisons of two runs each, and how many of them show a difference.
fn alarms(a: &Plan, b: &Plan, n: u64, first_seed: u64) -> usize {
    (0..n)
        .filter(|pair| {
            let seed = first_seed + 2 * pair;
            let comparison = compared(&[run(a, seed)], &[run(b, seed + 1)], &OPTIONS);
            comparison.verdict.state != ComparisonState::NoDifferenceShown
        })
        .count()
}

#[test]
fn equal_runs_with_independent_intervals_alarm_as_often_as_the_level_says() {
    let found = alarms(&PLAN, &PLAN, 200, 1_000);
    println!("independent: {found} of 200");
    assert!(float(found) <= bound(0.05, 200), "{found} of 200");
}

/// Blocks leave a part of the dependence between them. Up to a correlation of 0.8 that stays within the level; a drift with
/// a correlation time of a third of the run is half hidden by the noise of short pieces, and the stated rate is 15 %.
#[test]
fn equal_runs_with_intervals_that_are_alike_alarm_little_more_often() {
    for (alike, rate, first_seed) in
        [(0.3, 0.05, 10_000), (0.6, 0.05, 20_000), (0.8, 0.05, 30_000), (0.95, 0.15, 40_000)]
    {
        let plan = Plan { alike, ..PLAN };
        let found = alarms(&plan, &plan, 200, first_seed);
        println!("alike by {alike}: {found} of 200");
        assert!(float(found) <= bound(rate, 200), "alike by {alike}: {found} of 200");
    }
}

/// Runs of one setting differ from each other; single runs would take that for a difference of the settings, repetitions do
/// not.
#[test]
fn repetitions_that_differ_among_themselves_do_not_alarm() {
    let plan = Plan { between_runs: 0.1, intervals: 20, ..PLAN };
    let (mut found, mut missed) = (0, 0);
    for group in 0..100 {
        let seed = 50_000 + 8 * group;
        let comparison = compared(&runs(&plan, seed..seed + 4), &runs(&plan, seed + 4..seed + 8), &OPTIONS);
        found += usize::from(comparison.verdict.state != ComparisonState::NoDifferenceShown);
        let interval = comparison.quantities[0].interval.unwrap();
        missed += usize::from(interval.low_ns > 0.0 || interval.high_ns < 0.0);
    }
    println!("repetitions: {found} of 100 alarm, {missed} intervals miss the truth");
    assert!(float(found) <= bound(0.05, 100), "{found} of 100");
    assert!(
        float(missed) <= bound(0.05, 100),
        "the interval holds what repetitions differ by: {missed} of 100 miss it"
    );
    let single = alarms(&plan, &plan, 50, 60_000);
    assert!(single > 25, "two single runs do differ, and that is what they are said to show: {single} of 50");
}

/// Four of five at least, also where one run in ten is too strongly correlated for any conclusion.
#[test]
fn a_true_shift_is_found() {
    for (alike, shift, first_seed) in [(0.0, 0.06, 70_000), (0.6, 0.2, 80_000)] {
        let a = Plan { alike, ..PLAN };
        let b = Plan { level_ns: a.level_ns * (1.0 + shift), ..a };
        let found = alarms(&a, &b, 40, first_seed);
        println!("a shift of {shift}, alike by {alike}: {found} of 40");
        assert!(found >= 32, "a shift of {shift} was shown in {found} of 40");
    }
}

/// The interval of the mean holds the truth about as often as it says, nineteen times of twenty; without information there
/// is none.
#[test]
fn intervals_hold_the_true_difference() {
    for (alike, first_seed) in [(0.0, 200_000), (0.6, 300_000)] {
        let plan = Plan { alike, ..PLAN };
        let intervals = (0..200).filter_map(|pair| {
            let seed = first_seed + 2 * pair;
            compared(&[run(&plan, seed)], &[run(&plan, seed + 1)], &OPTIONS).quantities[0].interval
        });
        let missed: Vec<bool> = intervals.map(|interval| interval.low_ns > 0.0 || interval.high_ns < 0.0).collect();
        let (of, missed) = (missed.len(), missed.iter().filter(|&&missed| missed).count());
        println!("intervals, alike by {alike}: {missed} of {of} miss the truth");
        assert!(of > 150 && float(missed) <= bound(0.05, of), "alike by {alike}: {missed} of {of} miss it");
    }
}

/// Equal pairs of each size of groups; `PUNCTUAL_DRAWS` takes more.
fn draws() -> u64 {
    std::env::var("PUNCTUAL_DRAWS").ok().and_then(|draws| draws.parse().ok()).unwrap_or(60)
}

/// Repetitions that differ among themselves, with one disturbance an interval whose lengths have a heavy tail.
const REPEATED: Plan = Plan {
    intervals: 6,
    samples: 24,
    times: 50,
    level_ns: 5_000.0,
    between_runs: 0.05,
    worst_ns: 60_000.0,
    worst_spread: 0.5,
    ..PLAN
};

/// What came of some comparisons of groups of `size` and `size`.
fn count(a: &Plan, b: &Plan, size: u64, first_seed: u64, is_it: impl Fn(&[Record], &[Record]) -> bool) -> usize {
    let pair = |at: &u64| {
        let seed = first_seed + 2 * size * at;
        is_it(&runs(a, seed..seed + size), &runs(b, seed + size..seed + 2 * size))
    };
    (0..draws()).filter(pair).count()
}

const SIZES: [u64; 4] = [4, 6, 8, 10];

#[test]
fn verdicts_of_equal_groups_alarm_as_often_as_the_level_says() {
    let n = usize::try_from(draws()).unwrap();
    let coarse = Plan { tick_ns: 20_000, ..REPEATED };
    for (place, size) in (0_u64..).zip(SIZES) {
        for (name, plan, options, seed) in [
            ("worst case", &REPEATED, OPTIONS, 1_000_000),
            ("deadline", &REPEATED, CompareOptions { deadline_ns: Some(150_000), ..OPTIONS }, 2_000_000),
            ("coarse clock", &coarse, OPTIONS, 3_000_000),
        ] {
            let found = count(plan, plan, size, seed + place * 100_000, |a, b| {
                compared(a, b, &options).verdict.state != ComparisonState::NoDifferenceShown
            });
            println!("verdict, {name}, {size} and {size}: {found} of {n}");
            assert!(float(found) <= bound(0.05, n), "{name}, {size} and {size}: {found} of {n}");
        }
    }
}

#[test]
fn gates_about_equal_groups_fail_as_often_as_the_level_says() {
    let n = usize::try_from(draws()).unwrap();
    let deadline = CompareOptions { deadline_ns: Some(150_000), ..OPTIONS };
    for (place, size) in (0_u64..).zip(SIZES) {
        for (question, options) in
            [(FAIL, OPTIONS), (FAIL, deadline), (by(FAIL, GateSize::Ns(5_000)), OPTIONS), (FAIL_BODY, OPTIONS)]
        {
            let found = count(&REPEATED, &REPEATED, size, 4_000_000 + place * 100_000, |a, b| {
                asked(a, b, question, &options).answer == GateAnswer::Broken
            });
            println!(
                "{question}{}, {size} and {size}: {found} of {n} fail",
                if options.deadline_ns.is_some() { " by the rate" } else { "" }
            );
            assert!(float(found) <= bound(0.05, n), "{question}, {size} and {size}: {found} of {n}");
        }
    }
}

/// What is far worse in what was seen is no pass; equal groups come to that by their tails alone, and seldom.
#[test]
fn equal_groups_are_seldom_refused_for_what_was_seen_alone() {
    let n = usize::try_from(draws()).unwrap();
    for (place, size) in (0_u64..).zip(SIZES) {
        let found = count(&REPEATED, &REPEATED, size, 4_000_000 + place * 100_000, |a, b| {
            asked(a, b, FAIL, &OPTIONS).answer == GateAnswer::CannotTell
        });
        println!("{FAIL}, {size} and {size}: {found} of {n} cannot be told");
        assert!(float(found) <= bound(0.05, n), "{size} and {size}: {found} of {n}");
    }
}

/// The edge of what a gate asks about: worse by exactly the size. There `--fail-on` fails, and `--pass-on` passes, at most as
/// often as the level says.
#[test]
fn at_the_size_itself_gates_answer_as_often_as_the_level_says() {
    let n = usize::try_from(draws()).unwrap();
    for (place, size) in (0_u64..).zip(SIZES) {
        let answers = |question: Gate, wanted: GateAnswer| {
            count(&REPEATED, &REPEATED, size, 5_000_000 + place * 100_000, |a, b| {
                // Every sample of B is later by 20 us, whatever its size.
                let later: Vec<_> = b.iter().map(|run| later_by(run, 20_000)).collect();
                asked(a, &later, question, &OPTIONS).answer == wanted
            })
        };
        let failed = answers(by(FAIL, GateSize::Ns(20_000)), GateAnswer::Broken);
        let failed_body = answers(by(FAIL_BODY, GateSize::Ns(20_000)), GateAnswer::Broken);
        let passed = answers(PASS_20_US, GateAnswer::Holds);
        println!("worse by the size, {size} and {size}: {failed} and {failed_body} of {n} fail, {passed} pass");
        assert!(float(failed.max(failed_body)) <= bound(0.05, n), "{failed} and {failed_body} of {n} fail");
        assert!(float(passed) <= bound(0.05, n), "{passed} of {n} pass");
    }
}

/// The same run with every sample later.
fn later_by(run: &Record, ns: u64) -> Record {
    let mut later = run.clone();
    let series = &mut later.series[0];
    series.histogram = Histogram::new();
    for interval in &mut series.intervals {
        let mut moved = Histogram::new();
        interval.histogram.bins().for_each(|bin| moved.record_n(bin.to_ns + ns, bin.count));
        series.histogram.merge(&moved);
        interval.histogram = moved;
    }
    later
}

/// Groups shaped like a plain kernel and one with PREEMPT_RT, and a true trade: the worst case of each is distinguished from
/// four runs of each on, and no gate of the worst case passes the wrong way.
#[test]
fn a_much_better_worst_case_and_a_true_trade_are_found() {
    let n = usize::try_from(draws()).unwrap();
    let body = Plan { between_runs: 0.01, wander: 0.02, ..REPEATED };
    let generic = Plan { worst_ns: 1_500_000.0, worst_spread: 0.3, ..body };
    let realtime = Plan { worst_ns: 42_000.0, worst_spread: 0.08, level_ns: 5_300.0, ..body };
    let traded = Plan { level_ns: 9_000.0, ..realtime };
    let enough = |found: usize, what: &str, size: u64| {
        println!("{what}, {size} and {size}: {found} of {n}");
        assert!(float(found) >= 0.97 * float(n), "{what}, {size} and {size}: {found} of {n}");
    };
    for (place, size) in (0_u64..).zip(SIZES) {
        let seed = 6_000_000 + place * 100_000;
        let state = |a: &Plan, b: &Plan, wanted: ComparisonState| {
            count(a, b, size, seed, |a, b| compared(a, b, &OPTIONS).verdict.state == wanted)
        };
        enough(state(&generic, &realtime, ComparisonState::Better), "better in what counts", size);
        enough(state(&realtime, &generic, ComparisonState::Worse), "worse in what counts", size);
        enough(state(&generic, &traded, ComparisonState::Trade), "a trade", size);
        let gate = |a: &Plan, b: &Plan, question: Gate, wanted: GateAnswer| {
            count(a, b, size, seed, |a, b| asked(a, b, question, &OPTIONS).answer == wanted)
        };
        enough(gate(&generic, &realtime, FAIL, GateAnswer::Holds), "--fail-on worse passes", size);
        enough(gate(&realtime, &generic, FAIL, GateAnswer::Broken), "--fail-on worse fails", size);
        enough(gate(&generic, &traded, FAIL, GateAnswer::Holds), "--fail-on worse passes a trade", size);
        enough(gate(&generic, &realtime, PASS_20_US, GateAnswer::Holds), "--pass-on not-worse:20us passes", size);
        if size > 4 {
            enough(gate(&generic, &traded, FAIL_BODY, GateAnswer::Broken), "--fail-on worse-body fails a trade", size);
        }
    }
}

/// What a body that differs alone, and a worst case that differs alone, take.
#[test]
fn each_part_is_shown_alone() {
    let n = usize::try_from(draws()).unwrap();
    let slower = Plan { level_ns: 7_500.0, ..REPEATED };
    let later = Plan { worst_ns: 240_000.0, ..REPEATED };
    for (size, first_seed) in [(6, 7_000_000), (8, 7_100_000)] {
        let body = count(&REPEATED, &slower, size, first_seed, |a, b| {
            let verdict = compared(a, b, &OPTIONS).verdict;
            verdict.state == ComparisonState::WorseBody && verdict.worst_case != PartState::Better
        });
        let worst = count(&REPEATED, &later, size, first_seed, |a, b| {
            compared(a, b, &OPTIONS).verdict.state == ComparisonState::Worse
        });
        println!("alone, {size} and {size}: body {body}, worst case {worst} of {n}");
        assert!(float(body) >= 0.85 * float(n) && float(worst) >= 0.9 * float(n), "{body} and {worst} of {n}");
    }
}

/// As a source counts that knows samples to a step: the lower or the upper end stands for it, in a wider bin the last
/// microsecond. Minimum and maximum are known to a microsecond, and the order in time is not.
fn counted_in(run: &Record, step_ns: u64, rounding: Rounding) -> Record {
    let unit_ns = step_ns.min(1_000);
    let value_ns = |ns: u64, step_ns: u64| match rounding {
        Rounding::Down => ns / step_ns * step_ns + step_ns - unit_ns,
        Rounding::Up => ns.div_ceil(step_ns) * step_ns,
    };
    let mut coarse = run.clone();
    let series = &mut coarse.series[0];
    let (mut histogram, max_ns) = (Histogram::new(), series.histogram.max_ns().unwrap());
    for bin in series.histogram.bins() {
        let is_last = bin.to_ns == max_ns;
        let ns = u64::midpoint(bin.from_ns, bin.to_ns);
        histogram.record_n(value_ns(ns, step_ns).min(value_ns(max_ns, unit_ns)), bin.count - u64::from(is_last));
        histogram.record_n(value_ns(max_ns, unit_ns), u64::from(is_last));
    }
    series.histogram = histogram;
    series.intervals.clear();
    series.resolution_ns = Some(step_ns).filter(|step_ns| *step_ns > 1);
    series.rounding = rounding;
    coarse
}

/// How each side counts: step (ns) and rounding.
type Counting = (u64, Rounding);

const EXACT: Counting = (1, Rounding::Down);
const US: Counting = (1_000, Rounding::Down);
const US_UP: Counting = (1_000, Rounding::Up);
const BINS: Counting = (10_000, Rounding::Down);

/// Alarms of pairs of six runs each: of the verdict, and of gates. Nothing below the coarser step may be shown in any.
fn alarms_of_counting(plan: &Plan, later_ns: u64, [a_counts, b_counts]: [Counting; 2], first_seed: u64) -> [usize; 4] {
    const SIZE: u64 = 6;
    let coarser_ns = units::approx_f64(a_counts.0.max(b_counts.0));
    let mut found = [0; 4];
    for pair in 0..PAIRS {
        let seed = first_seed + 2 * SIZE * pair;
        let side = |seeds: std::ops::Range<u64>, later_ns: u64, (step_ns, rounding): Counting| -> Vec<Record> {
            let all = runs(plan, seeds);
            all.iter().map(|run| counted_in(&later_by(run, later_ns), step_ns, rounding)).collect()
        };
        let a = side(seed..seed + SIZE, 0, a_counts);
        let b = side(seed + SIZE..seed + 2 * SIZE, later_ns, b_counts);
        let comparison = compared(&a, &b, &OPTIONS);
        let verdict = &comparison.verdict;
        found[0] += usize::from(verdict.state != ComparisonState::NoDifferenceShown);
        let shown = || verdict.worse.iter().chain(&verdict.better);
        for row in comparison.quantities.iter().filter(|row| shown().any(|name| *name == row.name)) {
            assert!(coarser_ns <= 1.0 || row.difference_ns.abs() > coarser_ns, "{row:?}, {a_counts:?} {b_counts:?}");
        }
        let middle = comparison.quantities.iter().find(|row| row.name == "p50").unwrap();
        let said = comparison.description().unwrap();
        let (apart_ns, is_alike) = (middle.difference_ns.abs(), said.contains("p50 alike"));
        let is_known = coarser_ns <= 1.0 || apart_ns > 2.0 * coarser_ns;
        assert!(!is_alike || !is_known, "{said} {middle:?}");
        assert!(is_alike || coarser_ns <= 1.0 || apart_ns > coarser_ns, "{said} {middle:?}");
        for (place, question) in [FAIL, FAIL_BODY, by(FAIL, GateSize::Ns(20_000))].into_iter().enumerate() {
            found[place + 1] += usize::from(asked(&a, &b, question, &OPTIONS).answer == GateAnswer::Broken);
        }
    }
    found
}

/// Pairs of each way to count: four unlike ones are 400.
const PAIRS: u64 = 100;

/// Two ways to count are no difference between two machines: such pairs alarm no more often than the level says, which is how
/// often pairs that count alike do, and nothing is shown that the coarser one cannot tell apart.
#[test]
fn equal_runs_that_are_counted_in_unlike_steps_are_no_difference() {
    let plan = Plan { intervals: 4, ..REPEATED };
    let pairs = usize::try_from(PAIRS).unwrap();
    let unlike = [[BINS, US], [US, EXACT], [EXACT, US_UP], [BINS, EXACT]];
    let like = [[EXACT, EXACT], [US, US], [US_UP, US_UP], [BINS, BINS]];
    let all = |kinds: [[Counting; 2]; 4]| {
        let each = kinds.map(|kind| alarms_of_counting(&plan, 0, kind, 9_000_000));
        let sum = |at: usize| each.iter().map(|found| found[at]).sum::<usize>();
        [sum(0), sum(1), sum(2), sum(3)]
    };
    let (of_unlike, of_like) = (all(unlike), all(like));
    println!("unlike {of_unlike:?}, like {of_like:?} of {} each", 4 * pairs);
    for (unlike, like) in of_unlike.into_iter().zip(of_like) {
        // Both are drawn: the difference of two counts spreads as much as both together.
        let spread = 3.09 * (float(unlike + like)).sqrt();
        assert!(float(unlike) <= float(like) + spread.max(3.0), "unlike {of_unlike:?}, like {of_like:?}");
        assert!(float(unlike) <= bound(0.05, 4 * pairs), "unlike {of_unlike:?}");
    }
}

/// A difference below a step is not shown, and one of several steps is.
#[test]
fn steps_hide_what_is_smaller_and_nothing_that_is_larger() {
    let plan = Plan { intervals: 4, between_runs: 0.01, ..REPEATED };
    let pairs = usize::try_from(PAIRS).unwrap();
    let hidden = alarms_of_counting(&plan, 3_000, [BINS, US], 9_500_000);
    println!("3 us in steps of 10 us: {hidden:?} of {pairs}");
    assert!(float(hidden[0].max(hidden[2])) <= bound(0.05, pairs), "{hidden:?}");
    let found = alarms_of_counting(&plan, 40_000, [BINS, US], 9_500_000);
    println!("40 us in steps of 10 us: {found:?} of {pairs}");
    assert!(found[0] > 90 && found[2] > 90, "{found:?}");
}
