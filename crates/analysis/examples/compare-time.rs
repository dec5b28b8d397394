//! How long a comparison of two runs of 100 million samples takes: `cargo run --release -p punctual-analysis --example compare-time`.

#![forbid(unsafe_code)]

use std::time::Instant;

use analysis::compare::{CompareOptions, Group, compare};
use record::{HistogramRecorder, Interval, Record};

const RECORD: &str = include_str!("../../record/tests/records/wakeup.json");
const INTERVALS: u64 = 67;
const SAMPLES: u64 = 100_000_000;

fn run(seed: u64) -> Result<Record, Box<dyn std::error::Error>> {
    let mut record = Record::from_json(RECORD)?;
    record.id = format!("{seed}");
    record.validity = record::Validity::default();
    record.series.truncate(1);
    let series = record.series.first_mut().ok_or("the record has no series")?;
    series.intervals.clear();
    series.histogram = record::Histogram::new();
    let mut state = seed;
    for interval in 0..INTERVALS {
        let mut recorder = HistogramRecorder::new();
        for _ in 0..SAMPLES / INTERVALS {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 33) + 1;
            // A tail that falls by a power, from 5 us on.
            recorder.record(5_000 + 2_000_000_000_000 / uniform / 100);
        }
        let length_ns = 300_000_000_000;
        let histogram = recorder.snapshot();
        series.histogram.merge(&histogram);
        series.intervals.push(Interval {
            start_offset_ns: interval * length_ns,
            length_ns,
            missed_periods: 0,
            histogram,
            ..Interval::default()
        });
    }
    Ok(record)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (a, b) = (run(1)?, run(2)?);
    let group = |name: &str, run| Group { name: name.to_owned(), runs: vec![run] };
    let begun = Instant::now();
    let comparison = compare(&group("a", &a), &group("b", &b), &CompareOptions::default())?;
    let took = begun.elapsed();
    println!(
        "{} and {} samples, {} resamples: {} ms, {}",
        comparison.a.samples,
        comparison.b.samples,
        comparison.method.resamples,
        took.as_millis(),
        comparison.verdict.reason
    );
    Ok(())
}
