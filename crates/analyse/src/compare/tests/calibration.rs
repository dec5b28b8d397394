//! How often chance is taken for a difference, and how often a true one is found.
//!
//! Seeds are fixed, so that a result is the same each time. Bounds: a rate of p gives more than p n + 3.09 sqrt(p (1 - p) n)
//! alarms in n comparisons once in a thousand.

use super::synthetic::{PLAN, Plan, compared, run, runs};
use crate::compare::{CompareOptions, ComparisonState, float};

const OPTIONS: CompareOptions = CompareOptions { level: 0.05, resamples: 199, seed: 5, wanted_ns: None };

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

/// Four of five at least, also where one run in ten is too much alike in itself to tell anything.
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

/// The interval of the mean holds the truth about as often as it says, nineteen times of twenty; where nothing tells, there
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
