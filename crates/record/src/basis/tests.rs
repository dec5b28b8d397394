//! Runs that ended early, that lack samples of a CPU, or for which few samples were requested.

use units::Timestamp;

use super::*;
use crate::{AppRun, Detail, Histogram, Measurement, NoiseTotals, Origin, Place, ReasonCode, Requested, SeriesDetail};

const S: u64 = 1_000_000_000;

/// A request for 60 s at 200 us on CPUs 0 and 1, of which `measured_s` seconds and `samples` per CPU were measured.
fn run(measured_s: u64, samples: [u64; 2]) -> Record {
    let text = include_str!("../../tests/records/wakeup.json");
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

fn reason(record: &Record) -> String {
    record.shortfall().map_or_else(String::new, |shortfall| shortfall.to_string().replace('\u{202f}', " "))
}

#[test]
fn a_whole_run_is_enough_and_half_of_one_too() {
    assert_eq!(run(60, [300_000, 300_000]).shortfall(), None);
    assert_eq!(run(30, [150_000, 150_000]).shortfall(), None);
    // The run has its full length, but one thread took few samples.
    assert_eq!(reason(&run(60, [300_000, 20_000])), "CPU 1 took 20 000 of 300 000 requested samples");
}

/// Each hand-over is a sample of both latencies, and a missed period of the one that is judged.
#[test]
fn periods_that_were_missed_speak_for_the_latency_beside_too() {
    let mut events = run(60, [100_000, 200_000]);
    events.measurement = Measurement::Event;
    events.series[0].counters.missed_periods = 200_000;
    events.series[1].counters.missed_periods = 100_000;
    let beside = events.series.clone().into_iter().map(|series| Series {
        name: "handed_to_returned".to_owned(),
        judged: false,
        counters: crate::Counters::default(),
        ..series
    });
    let both: Vec<Series> = events.series.iter().cloned().chain(beside).collect();
    events.series = both;
    assert_eq!(events.shortfall(), None);
    events.series[0].counters.missed_periods = 0;
    assert_eq!(reason(&events), "CPU 0 took 100 000 of 300 000 requested samples");
}

#[test]
fn a_run_that_was_ended_early_is_not_enough() {
    assert_eq!(reason(&run(2, [10_000, 10_000])), "it ran for 2 s of the requested 60 s");
    let mut decided = run(2, [10_000, 10_000]);
    decided.manifest_mut().ended_because = Some("the claim is shown".to_owned());
    assert_eq!(decided.shortfall(), None, "it had its own stopping rule");
    let mut endless = run(2, [2, 2]);
    endless.manifest_mut().requested.duration_ns = None;
    assert_eq!(endless.shortfall(), None, "no duration was requested");
}

#[test]
fn a_cpu_or_a_thread_without_samples_is_named() {
    assert_eq!(reason(&run(60, [300_000, 0])), "CPU 1 was requested and has no samples");
    let mut absent = run(60, [300_000, 300_000]);
    absent.series.pop();
    assert_eq!(reason(&absent), "CPU 1 was requested and has no samples");
    let mut unpinned = run(60, [300_000, 300_000]);
    unpinned.manifest_mut().requested.pinned = false;
    unpinned.series.iter_mut().for_each(|series| series.place = Place::thread(0, None));
    assert_eq!(unpinned.shortfall(), None);
    unpinned.series.pop();
    assert_eq!(reason(&unpinned), "1 of 2 requested threads have samples");
    let mut one_thread = run(60, [300_000, 300_000]);
    one_thread.series.pop();
    one_thread.manifest_mut().requested.threads = 1;
    assert_eq!(one_thread.shortfall(), None, "one thread for two CPUs was requested");
    // The thread count of an import comes from the series that have samples, so it does not excuse a missing CPU.
    one_thread.manifest_mut().origin = Origin::Imported { format: "rtla".to_owned(), lacks: Vec::new() };
    assert_eq!(reason(&one_thread), "CPU 1 was requested and has no samples");
}

#[test]
fn skipped_schedules_count_and_few_samples_are_enough_if_few_were_requested() {
    let mut stalled = run(60, [120_000, 300_000]);
    assert!(stalled.shortfall().is_some());
    stalled.series[0].counters.missed_periods = 180_000;
    assert_eq!(stalled.shortfall(), None);
    let mut slow = run(60, [600, 600]);
    slow.series.iter_mut().for_each(|series| series.interval_ns = Some(100_000_000));
    assert_eq!(slow.shortfall(), None);
    slow.series[1].histogram = Histogram::new();
    slow.series[1].histogram.record_n(5_000, 400);
    assert_eq!(reason(&slow), "CPU 1 took 400 of 600 requested samples", "more than half, but neither 1 000 nor 90 %");
}

#[test]
fn a_requested_number_of_samples_is_checked_like_a_duration() {
    let mut counted = run(60, [999, 999]);
    counted.manifest_mut().requested.duration_ns = None;
    counted.manifest_mut().requested.samples = Some(1_000);
    assert_eq!(counted.shortfall(), None);
    counted.manifest_mut().requested.samples = Some(100_000);
    assert_eq!(reason(&counted), "CPU 0 took 999 of 100 000 requested samples");
}

#[test]
fn a_followed_program_may_end_early_unless_the_run_was_interrupted() {
    let mut app = run(2, [10, 10]);
    app.measurement = Measurement::App;
    assert_eq!(reason(&app), "it ran for 2 s of the requested 60 s");
    app.detail = Detail::Program(AppRun { ended: Some("exit code 0".to_owned()), ..AppRun::default() });
    assert_eq!(app.shortfall(), None);
    app.validity.add(ReasonCode::InterruptedEarly, "after 2 s of 60 s");
    assert!(app.shortfall().is_some(), "Ctrl-C ends the program too");
}

#[test]
fn the_noise_loop_must_have_run_for_half_of_the_requested_time() {
    let mut noise = run(60, [0, 0]);
    noise.measurement = Measurement::Noise;
    assert_eq!(reason(&noise), "CPU 0 was requested and has no samples");
    for series in &mut noise.series {
        series.detail = SeriesDetail::Gaps(NoiseTotals { turns: 9, observed_ns: 59 * S, ..NoiseTotals::default() });
    }
    assert_eq!(noise.shortfall(), None);
    noise.series[1].detail = SeriesDetail::Gaps(NoiseTotals { turns: 9, observed_ns: S, ..NoiseTotals::default() });
    assert_eq!(reason(&noise), "CPU 1 was observed for 1 s of the requested 60 s");
}
