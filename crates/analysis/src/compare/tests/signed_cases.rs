//! Offsets of clocks: samples of both signs, and several sources in one run.

use record::{Detail, HardBound, Interval, Measurement, Place, Record, SyncRun, SyncService, SyncSource};
use units::Timestamp;

use super::synthetic::{compared, normal};
use crate::compare::{CompareOptions, ComparisonState, SignedState};
use samples::record_of;
use units::Random;

const OFFSET: &str = "reference_to_clock";
const OPTIONS: CompareOptions =
    CompareOptions { level: 0.05, resamples: 400, seed: 1, wanted_ns: None, margin_ns: None, deadline_ns: None };

fn port(name: &str) -> Place {
    Place::Port { port: name.to_owned(), domain: None }
}

/// Offsets about `mean_ns`, ten in each of 40 intervals, of the source at `place`.
fn add(record: &mut Record, place: &Place, mean_ns: f64, seed: u64) {
    let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let mut series = record_of(Measurement::Sync, &[]).series.remove(0);
    (series.name, series.place) = (OFFSET.to_owned(), place.clone());
    for interval in 0..40 {
        let mut piece =
            Interval { start_offset_ns: interval * 1_000_000_000, length_ns: 1_000_000_000, ..Interval::default() };
        for _ in 0..10 {
            let offset_ns = mean_ns + 3_000.0 * normal(&mut random);
            let histogram =
                if offset_ns < 0.0 { piece.below_zero.get_or_insert_default() } else { &mut piece.histogram };
            histogram.record_n(units::round_u64(offset_ns.abs()), 1);
        }
        series.histogram.merge(&piece.histogram);
        if let Some(below) = &piece.below_zero {
            series.below_zero.get_or_insert_default().merge(below);
        }
        series.intervals.push(piece);
    }
    record.series.push(series);
}

fn run(sources: &[(&str, f64)], seed: u64) -> Record {
    let mut record = record_of(Measurement::Sync, &[]);
    record.series.clear();
    record.id = format!("run-{seed}");
    record.manifest_mut().ended.monotonic = Timestamp::from_ns(40_000_000_000);
    for (number, (name, mean_ns)) in (0..).zip(sources) {
        add(&mut record, &port(name), *mean_ns, seed * 10 + number);
    }
    let source = |(name, _): &(&str, f64)| SyncSource {
        service: SyncService::Linuxptp,
        version: None,
        place: port(name),
        clock: None,
        reference: String::new(),
        reference_id: None,
        bound: HardBound::Missing { reason: String::new() },
        spread: None,
        own_estimate: None,
        allan: Vec::new(),
        growth: Vec::new(),
        states: Vec::new(),
        track: Vec::new(),
        could_be_missed: Vec::new(),
    };
    record.detail = Detail::Sync(SyncRun { sources: sources.iter().map(source).collect(), ..SyncRun::default() });
    record
}

fn about(mean_ns: f64, seeds: std::ops::Range<u64>) -> Vec<Record> {
    seeds.map(|seed| run(&[("eth0", mean_ns)], seed)).collect()
}

#[test]
fn offsets_of_opposite_sign_are_not_called_alike() {
    for (a, b) in [(about(-50_000.0, 1..2), about(50_000.0, 2..3)), (about(-50_000.0, 1..6), about(50_000.0, 6..11))] {
        let found = compared(&a, &b, &OPTIONS);
        assert_eq!(found.verdict.state, ComparisonState::Elsewhere, "{}", found.verdict.reason);
        assert!(found.word().contains("elsewhere"));
        // Neither is nearer to its reference.
        assert!(found.verdict.worse.is_empty() && found.verdict.better.is_empty(), "{:?}", found.verdict);
        // What is said first is of where they lie, too: 100 us apart, and about as far from zero.
        let said = found.description().unwrap();
        let lies = "us (+50.0 us against -50.0 us), farthest from zero ";
        assert!(said.starts_with("B - A: p50 +100 us (+") || said.contains(lies), "{said}");
        let signed = found.signed.unwrap();
        assert_eq!(signed.state, SignedState::Elsewhere);
        for words in ["With sign, the mean is -", " of A and +", "beyond the margin of 5.0 us", "How far from zero"] {
            assert!(found.verdict.reason.contains(words), "{words}: {}", found.verdict.reason);
        }
        let median = signed.quantities.iter().find(|row| row.name == "p50").unwrap();
        assert!((median.a_ns + 50_000.0).abs() < 1_000.0 && (median.b_ns - 50_000.0).abs() < 1_000.0, "{median:?}");
        assert!(signed.a.highest_ns < 0 && signed.b.lowest_ns > 0, "{:?} {:?}", signed.a, signed.b);
    }
}

#[test]
fn a_clock_that_is_farther_from_its_reference_is_worse_on_either_side_of_it() {
    for (a, b) in [(-20_000.0, 50_000.0), (20_000.0, -50_000.0), (-20_000.0, -50_000.0)] {
        let found = compared(&about(a, 1..2), &about(b, 2..3), &OPTIONS);
        assert_eq!(found.verdict.state, ComparisonState::Worse, "{}", found.verdict.reason);
        let signs = [a, b].map(|mean| if mean < 0.0 { '-' } else { '+' });
        let expected = format!("With sign, the mean is {}", signs[0]);
        assert!(found.verdict.reason.contains(&expected), "{}", found.verdict.reason);
        assert!(found.verdict.reason.contains(&format!("of A and {}", signs[1])), "{}", found.verdict.reason);
    }
}

#[test]
fn what_is_alike_and_what_has_no_sign_is_left_as_it_was() {
    let alike = compared(&about(-500.0, 1..2), &about(-500.0, 2..3), &OPTIONS);
    assert_eq!(alike.verdict.state, ComparisonState::NoDifferenceShown, "{}", alike.verdict.reason);
    assert!(alike.verdict.reason.ends_with("no difference shown in where they lie."), "{}", alike.verdict.reason);
    let above = compared(&about(50_000.0, 1..2), &about(60_000.0, 2..3), &OPTIONS);
    assert!(above.signed.is_none() && above.verdict.state == ComparisonState::Worse);
    let few = compared(&about(-500.0, 1..3), &about(-500.0, 3..5), &OPTIONS);
    let signed = few.signed.unwrap();
    assert_eq!(signed.state, SignedState::CannotTell, "two runs of each");
    assert!(!signed.text.contains(", p "), "of too few runs no probability is stated: {}", signed.text);
    let mut invalid = about(-50_000.0, 1..2);
    invalid[0].validity.add(record::ReasonCode::ClockStepped, "");
    let invalid = compared(&invalid, &about(50_000.0, 2..3), &OPTIONS);
    let signed = invalid.signed.unwrap();
    assert_eq!((invalid.verdict.state, signed.state), (ComparisonState::Invalid, SignedState::CannotTell));
    assert!(signed.quantities.iter().all(|row| row.p_together.is_none() && row.interval.is_none()));
}

#[test]
fn equal_clocks_seldom_seem_to_lie_elsewhere() {
    let comparisons = 120;
    let wrong = (0..comparisons).filter(|at| {
        let (a, b) = (about(-1_000.0, at * 2 + 1..at * 2 + 2), about(-1_000.0, at * 2 + 2..at * 2 + 3));
        let state = compared(&a, &b, &OPTIONS).signed.unwrap().state;
        state == SignedState::Elsewhere || state == SignedState::NotBeyondMargin
    });
    // At a level of 0.05 these are 6 on average; more than 14 would come by chance in 1 of 1000 such tests.
    let wrong = wrong.count();
    assert!(wrong <= 14, "{wrong} of {comparisons}");
}

#[test]
fn another_source_of_the_same_run_is_another_clock() {
    // A hardware clock on TAI beside the system clock.
    let both = |mean_ns: f64, seed| run(&[("eth0", mean_ns), ("ptp0", 37e9)], seed);
    let found = compared(&[both(-500.0, 1)], &[both(20_000.0, 2)], &OPTIONS);
    assert_eq!(found.verdict.state, ComparisonState::Worse, "{}", found.verdict.reason);
    assert!(found.a.max_ns.unwrap() < 100_000 && found.b.max_ns.unwrap() < 100_000, "{:?}", found.a);
    assert_eq!(found.place, Some(port("eth0")));
    assert!(
        found.notes[0].contains("Compared are the offsets of ptp4l eth0") && found.notes[0].contains("ptp0"),
        "{:?}",
        found.notes
    );
    // The one that both followed is compared, whichever comes first.
    let other = run(&[("ptp0", 37e9), ("eth0", 20_000.0)], 3);
    let found = compared(&[both(-500.0, 1)], &[other], &OPTIONS);
    assert_eq!((found.place, found.b.max_ns.unwrap() < 100_000), (Some(port("eth0")), true));
    // None in common: each by its first, and it is said.
    let found = compared(&about(-500.0, 1..2), &[run(&[("eth7", 20_000.0)], 2)], &OPTIONS);
    assert!(found.place.is_none() && found.notes[0].contains("different sources: ptp4l eth0 of A, ptp4l eth7 of B"));
}
