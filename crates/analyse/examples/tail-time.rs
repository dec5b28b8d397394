//! How long a tail of 112 days of 5-minute maxima takes with 2,000 resamples:
//! `cargo run --release -p punctual-analyse --example tail-time`.

#![forbid(unsafe_code)]

use std::time::Instant;

use analyse::tail::{Claim, TailOptions, tail};
use record::{HistogramRecorder, Interval, Record};

const RECORD: &str = include_str!("../../record/tests/records/wakeup-1.json");
const INTERVALS: u64 = 112 * 288;
const SAMPLES: u64 = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut record = Record::from_json(RECORD)?;
    record.validity = record::Validity::default();
    record.series.truncate(1);
    let series = record.series.first_mut().ok_or("the record has no series")?;
    series.intervals.clear();
    series.histogram = record::Histogram::new();
    let mut state = 1_u64;
    let length_ns = 300_000_000_000;
    for interval in 0..INTERVALS {
        let mut recorder = HistogramRecorder::new();
        for _ in 0..SAMPLES {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let share = (units::approx_f64(state >> 33) + 1.0) / 2_147_483_649.0;
            recorder.record(units::round_u64(20_000.0 - 2_000.0 * share.ln()));
        }
        let histogram = recorder.snapshot();
        series.histogram.merge(&histogram);
        let start_offset_ns = interval * length_ns;
        series.intervals.push(Interval { start_offset_ns, length_ns, missed_periods: 0, histogram });
    }
    let claim: Claim = "200us for 1 year at 99%".parse()?;
    let begun = Instant::now();
    let told = tail(&[&record], &TailOptions { claim: Some(claim), ..TailOptions::default() })?;
    println!(
        "{} intervals, {} resamples: {} ms, {}",
        INTERVALS,
        told.method.resamples,
        begun.elapsed().as_millis(),
        told.sentence
    );
    Ok(())
}
