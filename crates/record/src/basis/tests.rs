//! Runs that were ended early, that lack a CPU, that were asked for little.

use units::Timestamp;

use super::*;
use crate::{AppRun, Detail, Histogram, Measurement, NoiseTotals, Origin, Place, ReasonCode, Requested, SeriesDetail};

const S: u64 = 1_000_000_000;

/// A run of 60 s at 200 us on CPUs 0 and 1, as the fixture of this schema's version.
fn run(measured_s: u64, samples: [u64; 2]) -> Record {
    let text = include_str!("../../tests/records/wakeup-1.json");
    let mut record = Record::from_json(text).unwrap();
    record.manifest_mut().ended_because = None;
    record.manifest_mut().requested = Requested {
        cpus: [0, 1].into_iter().collect(),
        threads: 2,
        pinned: true,
        interval_ns: Some(200_000),
        duration_ns: Some(60 * S),
        ..Requested::default()
    };
    record.manifest_mut().started.monotonic = Timestamp::from_ns(0);
    record.manifest_mut().ended.monotonic = Timestamp::from_ns(i64::try_from(measured_s * S).unwrap());
    record.series = samples.iter().zip(0..).map(|(&samples, cpu)| series(cpu, samples)).collect();
    record
}

fn series(cpu: u32, samples: u64) -> Series {
    let mut histogram = Histogram::new();
    histogram.record_n(5_000, samples);
    Series { place: Place::thread(cpu, Some(cpu)), interval_ns: Some(200_000), histogram, ..Series::default() }
}

fn said(record: &Record) -> String {
    record.shortfall().map_or_else(String::new, |shortfall| shortfall.to_string().replace('\u{202f}', " "))
}

#[test]
fn a_whole_run_is_enough_and_half_of_one_too() {
    assert_eq!(run(60, [300_000, 300_000]).shortfall(), None);
    assert_eq!(run(30, [150_000, 150_000]).shortfall(), None);
    // Half of the time, but the thread was hardly ever there.
    assert_eq!(said(&run(60, [300_000, 20_000])), "CPU 1 took 20 000 of 300 000 samples");
}

#[test]
fn a_run_that_was_ended_early_is_not() {
    assert_eq!(said(&run(2, [10_000, 10_000])), "it ran for 2 s of the 60 s that were asked");
    let mut decided = run(2, [10_000, 10_000]);
    decided.manifest_mut().ended_because = Some("the claim is shown".to_owned());
    assert_eq!(decided.shortfall(), None, "it had its own rule for when to end");
    let mut endless = run(2, [2, 2]);
    endless.manifest_mut().requested.duration_ns = None;
    assert_eq!(endless.shortfall(), None, "no duration was asked");
}

#[test]
fn a_cpu_or_a_thread_without_samples_is_named() {
    assert_eq!(said(&run(60, [300_000, 0])), "CPU 1 was to be measured and has no samples");
    let mut absent = run(60, [300_000, 300_000]);
    absent.series.pop();
    assert_eq!(said(&absent), "CPU 1 was to be measured and has no samples");
    let mut unpinned = run(60, [300_000, 300_000]);
    unpinned.manifest_mut().requested.pinned = false;
    unpinned.series.iter_mut().for_each(|series| series.place = Place::thread(0, None));
    assert_eq!(unpinned.shortfall(), None);
    unpinned.series.pop();
    assert_eq!(said(&unpinned), "1 of 2 threads have samples");
    let mut one_thread = run(60, [300_000, 300_000]);
    one_thread.series.pop();
    one_thread.manifest_mut().requested.threads = 1;
    assert_eq!(one_thread.shortfall(), None, "one thread for two CPUs was asked");
    // An import's threads are those that have samples, so that their number excuses nothing.
    one_thread.manifest_mut().origin = Origin::Imported { format: "rtla".to_owned(), lacks: Vec::new() };
    assert_eq!(said(&one_thread), "CPU 1 was to be measured and has no samples");
}

#[test]
fn swallowed_schedules_count_and_few_are_enough_where_few_were_asked() {
    let mut stalled = run(60, [120_000, 300_000]);
    assert!(stalled.shortfall().is_some());
    stalled.series[0].counters.missed_periods = 180_000;
    assert_eq!(stalled.shortfall(), None);
    let mut slow = run(60, [600, 600]);
    slow.series.iter_mut().for_each(|series| series.interval_ns = Some(100_000_000));
    assert_eq!(slow.shortfall(), None);
    slow.series[1].histogram = Histogram::new();
    slow.series[1].histogram.record_n(5_000, 400);
    assert_eq!(said(&slow), "CPU 1 took 400 of 600 samples", "more than half, and neither 1 000 nor all");
}

#[test]
fn a_number_of_samples_is_held_to_like_a_duration() {
    let mut counted = run(60, [999, 999]);
    counted.manifest_mut().requested.duration_ns = None;
    counted.manifest_mut().requested.samples = Some(1_000);
    assert_eq!(counted.shortfall(), None);
    counted.manifest_mut().requested.samples = Some(100_000);
    assert_eq!(said(&counted), "CPU 0 took 999 of 100 000 samples");
}

#[test]
fn a_program_that_may_end_is_enough_when_it_has_and_one_that_was_ended_is_not() {
    let mut app = run(2, [10, 10]);
    app.measurement = Measurement::App;
    assert_eq!(said(&app), "it ran for 2 s of the 60 s that were asked");
    app.detail = Detail::Program(AppRun { ended: Some("exit code 0".to_owned()), ..AppRun::default() });
    assert_eq!(app.shortfall(), None);
    app.validity.add(ReasonCode::InterruptedEarly, "after 2 s of 60 s");
    assert!(app.shortfall().is_some(), "Ctrl-C ends the program too");
}

#[test]
fn a_loop_that_never_sleeps_has_to_have_run() {
    let mut noise = run(60, [0, 0]);
    noise.measurement = Measurement::Noise;
    assert_eq!(said(&noise), "CPU 0 was to be measured and has no samples");
    for series in &mut noise.series {
        series.detail = SeriesDetail::Gaps(NoiseTotals { turns: 9, observed_ns: 59 * S, ..NoiseTotals::default() });
    }
    assert_eq!(noise.shortfall(), None);
    noise.series[1].detail = SeriesDetail::Gaps(NoiseTotals { turns: 9, observed_ns: S, ..NoiseTotals::default() });
    assert_eq!(said(&noise), "CPU 1 was watched for 1 s of 60 s");
}
