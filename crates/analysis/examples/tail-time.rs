//! How long the tail analysis of 112 days of 5-minute maxima takes with 2,000 resamples, for one distribution and for four causes:
//! `cargo run --release -p punctual-analysis --example tail-time`.

#![forbid(unsafe_code)]

use std::time::Instant;

use analysis::tail::{Claim, TailOptions, tail};
use record::{CauseClass, CauseTotal, Certainty, Explanation, HistogramRecorder, Interval, Owner, Record};

const RECORD: &str = include_str!("../../record/tests/records/wakeup.json");
const INTERVALS: u64 = 112 * 288;
const SAMPLES: u64 = 2_000;

/// Causes: class, name, shortest and longest delay (us), and how many intervals pass for each occurrence, on average.
const CAUSES: [(CauseClass, &str, u64, u64, u64); 4] = [
    (CauseClass::Interrupt, "irq/24-eth0", 175, 181, 2),
    (CauseClass::Softirq, "NET_RX", 90, 120, 3),
    (CauseClass::PreemptionOff, "kworker", 130, 150, 5),
    (CauseClass::IdleExit, "C6", 70, 85, 1),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    timed(&record(&[])?, "one distribution")?;
    timed(&record(&CAUSES)?, "by causes")?;
    Ok(())
}

fn timed(record: &Record, what: &str) -> Result<(), Box<dyn std::error::Error>> {
    let claim: Claim = "200us for 1 year at 99%".parse()?;
    let begun = Instant::now();
    let result = tail(&[record], &TailOptions { claim: Some(claim), ..TailOptions::default() })?;
    let (took_ms, resamples) = (begun.elapsed().as_millis(), result.method.resamples);
    println!("{what}, {INTERVALS} intervals, {resamples} resamples: {took_ms} ms, {}", result.sentence);
    if let Some(by_cause) = result.by_cause {
        println!("{} causes: {}", by_cause.causes.len(), by_cause.sentence);
    }
    Ok(())
}

/// A run with an exponential body, or, if `causes` is not empty, with a uniform body up to 15 us and these causes.
fn record(causes: &[(CauseClass, &str, u64, u64, u64)]) -> Result<Record, Box<dyn std::error::Error>> {
    let mut record = Record::from_json(RECORD)?;
    record.validity = record::Validity::default();
    record.series.truncate(1);
    let series = record.series.first_mut().ok_or("the record has no series")?;
    series.intervals.clear();
    series.histogram = record::Histogram::new();
    let mut state = 1_u64;
    let mut share = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (units::approx_f64(state >> 33) + 1.0) / 2_147_483_649.0
    };
    let mut cause_sizes: Vec<HistogramRecorder> = causes.iter().map(|_| HistogramRecorder::new()).collect();
    let length_ns = 300_000_000_000;
    for interval in 0..INTERVALS {
        let mut recorder = HistogramRecorder::new();
        for _ in 0..SAMPLES {
            let body_ns =
                if causes.is_empty() { 20_000.0 - 2_000.0 * share().ln() } else { 5_000.0 + 10_000.0 * share() };
            recorder.record(units::round_u64(body_ns));
        }
        for ((.., from_us, to_us, every), sizes) in causes.iter().zip(&mut cause_sizes) {
            if share() * units::approx_f64(*every) < 1.0 {
                let size_ns = units::round_u64(
                    1_000.0 * (units::approx_f64(*from_us) + share() * units::approx_f64(to_us - from_us)),
                );
                recorder.record(size_ns);
                sizes.record(size_ns);
            }
        }
        let histogram = recorder.snapshot();
        series.histogram.merge(&histogram);
        let start_offset_ns = interval * length_ns;
        series.intervals.push(Interval {
            start_offset_ns,
            length_ns,
            missed_periods: 0,
            histogram,
            ..Interval::default()
        });
    }
    let total = |((class, name, ..), sizes): (&(CauseClass, &str, u64, u64, u64), HistogramRecorder)| {
        let latencies = sizes.snapshot();
        CauseTotal {
            class: *class,
            name: (*name).to_owned(),
            certainty: Certainty::Shown,
            samples: latencies.count(),
            worst_ns: latencies.max_ns().and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0),
            took_ns: 0,
            beyond_deadline: None,
            owner: Owner::Other,
            latencies,
            remedy: String::new(),
            finding: None,
        }
    };
    let causes: Vec<CauseTotal> = causes.iter().zip(cause_sizes).map(total).collect();
    let outliers = causes.iter().map(|cause| cause.samples).sum();
    record.late_samples.explanation = (!causes.is_empty()).then(|| Explanation {
        above_ns: Some(50_000),
        outliers,
        explained: outliers,
        causes,
        ..Explanation::default()
    });
    Ok(record)
}
