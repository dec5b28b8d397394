//! `punctual measure clock` and `measure noise` as a user runs them.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use crate::support::{code, record, run, said};
use record::{ClockRequest, Measurement, NoiseRequest, PolicyChoice, Request, RunEnd, VerdictState, WakeupRequest};
use units::{ClockId, Ns};

#[test]
fn every_clock_is_read_as_often_as_asked_by_both_ways() {
    let output = run(&[
        "measure",
        "clock",
        "--samples",
        "2000",
        "--clocks",
        "monotonic,tai",
        "--pairs",
        "tai:boottime",
        "--json",
    ]);
    let record = record(&output);
    assert_eq!((code(&output), record.measurement), (0, Measurement::Clock));
    let mut variants: Vec<&str> = record.series.iter().map(|series| series.variant.as_str()).collect();
    variants.sort_unstable();
    let expected = [
        "boottime between two tai syscall",
        "boottime between two tai vdso",
        "monotonic syscall",
        "monotonic vdso",
        "tai between two boottime syscall",
        "tai between two boottime vdso",
        "tai syscall",
        "tai vdso",
    ];
    assert_eq!(variants, expected);
    assert!(record.series.iter().all(|series| series.counters.samples == 2_000));
}

#[test]
fn a_record_keeps_what_was_asked_as_it_was_asked() {
    let request = |arguments: &[&str]| {
        let record = record(&run(&[&["measure"], arguments, &["--json"]].concat()));
        let request = record.manifest().request.clone().unwrap();
        assert_eq!(request.measurement(), record.measurement);
        request
    };
    let clock = request(&["clock", "--samples", "2000", "--clocks", "monotonic", "--pairs", "realtime:monotonic"]);
    let expected = ClockRequest { clocks: vec![ClockId::Monotonic], samples: 2_000, ..ClockRequest::default() };
    assert_eq!(clock, Request::Clock(expected));
    let noise = request(&["noise", "--duration", "50ms", "--threshold", "3us", "--deadline", "1h"]);
    let (duration, threshold) = (record::RunLength::For(Ns::from_ms(50)), Ns::from_us(3));
    let expected = NoiseRequest { duration, threshold, deadline: Some(Ns::from_s(3_600)), ..NoiseRequest::default() };
    assert_eq!(noise, Request::Noise(expected));
    let Request::Wakeup(wakeup) = request(&["wakeup", "--policy", "other", "--duration", "50ms", "--interval", "1ms"])
    else {
        panic!("a wake-up is wanted")
    };
    let (policy, interval, end) = (PolicyChoice::Other, Ns::from_ms(1), RunEnd::After(Ns::from_ms(50)));
    assert_eq!(wakeup, WakeupRequest { policy, interval, end, ..WakeupRequest::default() });
}

#[test]
fn clocks_that_cannot_be_read_so_are_usage_errors() {
    for (arguments, part) in [
        (vec!["--samples", "10"], "1000 to"),
        (vec!["--clocks", "wall"], "is not a clock"),
        (vec!["--pairs", "tai"], "CLOCK:REFERENCE"),
        (vec!["--pairs", "tai:tai"], "one clock"),
        (vec!["--cpu", "4000"], "cannot be measured"),
        (vec!["--priority", "0"], "out of range"),
    ] {
        let output = run(&["measure", "clock"].into_iter().chain(arguments.iter().copied()).collect::<Vec<_>>());
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn gaps_add_up_to_the_time_that_was_stolen() {
    let output = run(&["measure", "noise", "--duration", "500ms", "--threshold", "20us", "--deadline", "1h", "--json"]);
    let record = record(&output);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(record.verdict.as_ref().unwrap().state, VerdictState::Holds);
    for series in &record.series {
        let totals = series.gaps().unwrap();
        assert_eq!(series.histogram.sum_ns(), totals.stolen_ns);
        assert!(totals.stolen_ns <= totals.observed_ns && totals.turns > 0);
        assert!(series.histogram.min_ns().is_none_or(|least| least >= 20_000), "nothing below the threshold counts");
    }
}

#[test]
fn a_gap_beyond_the_deadline_breaks_it() {
    // A busy second thread on the same CPU takes turns with the loop.
    let arguments = ["measure", "noise", "--duration", "600ms", "--deadline", "1us", "--json"];
    let output = run(&[&arguments[..], &["--load-cmd", "while :; do :; done"]].concat());
    let record = record(&output);
    assert_eq!((code(&output), record.verdict.unwrap().state), (1, VerdictState::Broken));
}

#[test]
fn a_fifo_loop_is_never_put_on_every_cpu() {
    let output = run(&["measure", "noise", "--priority", "10", "--duration", "100ms"]);
    assert_eq!(code(&output), 2);
    assert!(said(&output).contains("lock the machine up"), "{}", said(&output));
}
