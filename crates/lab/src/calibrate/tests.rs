//! Tests the evaluation on two real boots, and that it detects each kind of fault of an instrument.

use std::path::PathBuf;
use units::Ns;

use record::{Histogram, Record};

use super::*;

/// The committed evidence of a boot: each record in one line, `noise` without its intervals.
fn captured(condition: Condition) -> Evidence {
    let name = match condition {
        Condition::Idle => "idle",
        Condition::Load => "load",
    };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/calibration").join(name);
    Evidence::read(&folder, name, condition).unwrap()
}

/// The objections to a boot after `doctor` has falsified its evidence.
fn objections(condition: Condition, doctor: impl Fn(&mut Evidence)) -> Vec<String> {
    let mut boot = captured(condition);
    doctor(&mut boot);
    let calibration = calibrate(&[boot]);
    assert_eq!(calibration.passes(), calibration.objections().is_empty(), "passes() and objections() agree");
    calibration.objections()
}

/// Asserts that the doctored boot fails, and that the objections contain each of `parts`.
fn check_fails(condition: Condition, parts: &[&str], doctor: impl Fn(&mut Evidence)) {
    let objections = objections(condition, doctor).join("\n");
    assert!(!objections.is_empty(), "a fault was not detected; expected {parts:?}");
    for part in parts {
        assert!(objections.contains(part), "'{part}' is missing in:\n{objections}");
    }
}

pub(super) fn changed(histogram: &Histogram, change: impl Fn(u64) -> u64) -> Histogram {
    let max_ns = histogram.max_ns();
    let mut changed = Histogram::new();
    for bin in histogram.bins() {
        // The exact maximum stays exact.
        let is_last = max_ns.is_some_and(|max_ns| bin.to_ns >= max_ns);
        if is_last {
            changed.record_n(change(bin.to_ns), 1);
        }
        changed.record_n(change(bin.from_ns), bin.count - u64::from(is_last));
    }
    changed
}

/// Changes every latency of a record consistently, as a fault in the arithmetic would.
pub(super) fn change_latencies(record: &mut Record, change: impl Fn(i64) -> i64 + Copy) {
    let unsigned = |ns: u64| change(i64::try_from(ns).unwrap()).unsigned_abs();
    for series in &mut record.series {
        series.histogram = changed(&series.histogram, unsigned);
        series.corrected = series.corrected.as_ref().map(|of| changed(of, unsigned));
        for interval in &mut series.intervals {
            interval.histogram = changed(&interval.histogram, unsigned);
        }
    }
    for spoiled in record.series.iter_mut().flat_map(|series| &mut series.spoiled.intervals) {
        spoiled.worst_at = spoiled.worst_at.zip(spoiled.worst_ns).map(|(at, ns)| {
            let by = Ns(change(ns) - ns);
            record::Moment { monotonic: at.monotonic.plus(by), realtime: at.realtime.plus(by) }
        });
        spoiled.worst_ns = spoiled.worst_ns.map(change);
    }
    for sample in &mut record.worst {
        let latency_ns = change(sample.latency_ns);
        sample.to.at.monotonic = sample.to.at.monotonic.plus(Ns(latency_ns - sample.latency_ns));
        sample.to.at.realtime = sample.to.at.realtime.plus(Ns(latency_ns - sample.latency_ns));
        sample.latency_ns = latency_ns;
    }
}

fn all_wakeup_records(boot: &mut Evidence) -> [&mut Record; 7] {
    [
        &mut boot.quiet,
        &mut boot.irqs_off.record,
        &mut boot.hog.record,
        &mut boot.controls.record,
        &mut boot.step_monotonic.record,
        &mut boot.step_forwards.record,
        &mut boot.step_backwards.record,
    ]
}

#[test]
fn both_boots_are_calibrated() {
    let calibration = calibrate(&[captured(Condition::Idle), captured(Condition::Load)]);
    assert!(calibration.passes(), "{calibration}");
    let rows = |measurement: &str, kind| {
        calibration.rows.iter().filter(|row| row.measurement == measurement && row.kind == kind).count()
    };
    assert_eq!((rows("wakeup", Kind::IrqsOff), rows("wakeup", Kind::Hog)), (100, 32));
    assert_eq!((rows("noise", Kind::IrqsOff), rows("noise", Kind::Hog)), (15, 6));
    // The stall of 37.5 periods allows only one number.
    let stalls: Vec<_> = calibration.rows.iter().filter(|row| row.asked_length_ns == 7_500_000).collect();
    assert_eq!(stalls.len(), 8);
    for row in stalls {
        assert_eq!(row.missed, Some(Missed { reading: 37, least: 37, most: 37 }), "{}", row.in_words());
    }
    let text = calibration.to_string();
    assert!(
        text.contains("wakeup   irqs-off     20us 20/20      20") && text.ends_with("checks hold: calibrated"),
        "{text}"
    );
    let again: Calibration = serde_json::from_str(&serde_json::to_string(&calibration).unwrap()).unwrap();
    assert_eq!(again, calibration);
}

#[test]
fn a_latency_that_is_3_us_too_small_is_detected() {
    // An error in all samples cancels out: only the other instrument detects it.
    check_fails(Condition::Idle, &["cyclictest's"], |boot| {
        all_wakeup_records(boot).into_iter().for_each(|record| change_latencies(record, |ns| ns - 3_000));
    });
    // An error only in late samples: the truth detects it.
    for condition in [Condition::Idle, Condition::Load] {
        check_fails(condition, &["wakeup hog 7500us", "wakeup hog 100us"], |boot| {
            change_latencies(&mut boot.hog.record, |ns| if ns > 50_000 { ns - 9_000 } else { ns });
        });
    }
    check_fails(Condition::Idle, &["wakeup irqs-off 200us", "allowed -1000 to +5000"], |boot| {
        change_latencies(&mut boot.irqs_off.record, |ns| if ns > 50_000 { ns - 3_000 } else { ns });
    });
}

#[test]
fn a_missed_period_that_is_not_counted_is_detected() {
    // Only in the sum.
    check_fails(Condition::Idle, &["hog: counts and maxima agree", "579 in all"], |boot| {
        boot.hog.record.series[0].counters.missed_periods -= 1;
    });
    // Everywhere, consistently, in the stall of 37 periods.
    check_fails(Condition::Idle, &["hog: counts", "36 periods missed of 37 to 37"], |boot| {
        let record = &mut boot.hog.record;
        let stall = record.worst.iter_mut().find(|sample| sample.missed_periods == 37).unwrap();
        stall.missed_periods -= 1;
        record.series[0].counters.missed_periods -= 1;
        record.series[0].intervals[0].missed_periods -= 1;
    });
}

#[test]
fn a_clipped_maximum_is_detected() {
    // Only in the histogram.
    check_fails(Condition::Idle, &["hog: counts and maxima agree", "the maximum is 10000000 ns"], |boot| {
        let histogram = &mut boot.hog.record.series[0].histogram;
        *histogram = changed(histogram, |ns| ns.min(10_000_000));
    });
    // Everywhere, consistently.
    check_fails(Condition::Idle, &["wakeup hog 20ms", "read 10000000 ns"], |boot| {
        change_latencies(&mut boot.hog.record, |ns| ns.min(10_000_000));
    });
    check_fails(Condition::Idle, &["noise hog 20ms"], |boot| {
        change_latencies(&mut boot.noise.as_mut().unwrap().run.record, |ns| ns.min(10_000_000));
    });
}

#[test]
fn an_injection_that_is_not_found_is_reported() {
    check_fails(Condition::Load, &["wakeup irqs-off 1ms", "not found"], |boot| {
        boot.irqs_off.record.worst.retain(|sample| !(900_000..1_100_000).contains(&sample.latency_ns));
    });
    check_fails(Condition::Idle, &["noise irqs-off 1ms", "not found"], |boot| {
        let worst = &mut boot.noise.as_mut().unwrap().run.record.worst;
        worst.retain(|gap| !(900_000..1_100_000).contains(&gap.latency_ns));
    });
    check_fails(Condition::Idle, &["0 of 0"], |boot| {
        boot.irqs_off.truth.clear();
        boot.hog.truth.clear();
    });
}

#[test]
fn a_gap_that_is_shorter_than_what_was_injected_is_wrong() {
    check_fails(Condition::Idle, &["noise irqs-off 200us", "allowed +0"], |boot| {
        change_latencies(&mut boot.noise.as_mut().unwrap().run.record, |ns| if ns > 100_000 { ns - 3_000 } else { ns });
    });
}

#[test]
fn delays_by_controls_are_reported() {
    check_fails(Condition::Idle, &["a hog below it"], |boot| {
        change_latencies(&mut boot.controls.record, |ns| if ns > 12_000 { 21_000 } else { ns });
    });
    check_fails(Condition::Load, &["nothing injected shows nothing"], |boot| {
        change_latencies(&mut boot.quiet, |ns| if ns > 17_000 { 40_000 } else { ns });
    });
}

#[test]
fn wall_times_are_compared_with_an_independent_reading() {
    check_fails(Condition::Idle, &["hog: wall time of the worst sample"], |boot| {
        boot.hog.record.worst[0].to.at.realtime = boot.hog.record.worst[0].to.at.realtime.plus(Ns(1_000_000));
    });
}

#[test]
fn missing_and_invented_steps_are_reported() {
    check_fails(Condition::Idle, &["step-forwards: by how much and when: 0 steps"], |boot| {
        boot.step_forwards.record.manifest_mut().clock_steps.clear();
    });
    check_fails(Condition::Load, &["step-forwards: wall times before and after"], |boot| {
        // Like an instrument that notices the step late: a sample from before the step has the new wall time.
        let StepRun { record, truth } = &mut boot.step_forwards;
        let before =
            |sample: &&mut record::WorstSample| sample.to.at.monotonic.as_ns() < truth.before.monotonic.as_ns();
        let sample = record.worst.iter_mut().find(before).unwrap();
        sample.to.at.realtime = sample.to.at.realtime.plus(Ns(truth.step_ns));
    });
    check_fails(Condition::Load, &["step-backwards: its intervals are kept apart"], |boot| {
        boot.step_backwards.record.series[0].spoiled = record::Spoiled::default();
    });
    check_fails(Condition::Load, &["step-forwards: its intervals are kept apart"], |boot| {
        // One that has nothing of the step.
        let mut other = boot.step_forwards.record.series[0].spoiled.intervals[0].clone();
        other.start_offset_ns = 0;
        boot.step_forwards.record.series[0].spoiled.intervals.insert(0, other);
    });
    check_fails(Condition::Idle, &["step-forwards: no other number has it"], |boot| {
        boot.step_forwards.record.worst[0].latency_ns = 123_000_000;
    });
    check_fails(Condition::Idle, &["step-backwards: by how much and when"], |boot| {
        boot.step_backwards.record.manifest_mut().clock_steps[0].step_ns += 1_000_000;
    });
    check_fails(Condition::Idle, &["step-monotonic: not noticed"], |boot| {
        boot.step_monotonic.record.validity.add(record::ReasonCode::ClockStepped, "made up");
    });
    check_fails(Condition::Idle, &["step-forwards: one late sample"], |boot| {
        change_latencies(&mut boot.step_forwards.record, |ns| if ns > 50_000 { ns - 1_000_000 } else { ns });
    });
}

#[test]
fn exceptions_of_noise_must_be_few() {
    assert!(are_few(2, 21) && !are_few(3, 21));
    assert!(are_few(6, 84) && !are_few(7, 84));
    assert!(are_few(40, 1_000) && !are_few(41, 1_000));
}

#[test]
fn an_expected_wake_is_a_multiple_of_the_interval() {
    for (from_ns, wake_ns) in [(0, 0), (1, 200_000), (200_000, 200_000), (399_999, 400_000), (-1, 0)] {
        assert_eq!(delay::first_wake_ns(from_ns), wake_ns);
    }
}

#[test]
fn missing_and_damaged_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let read = || Evidence::read(folder.path(), "boot", Condition::Load).unwrap_err().to_string();
    assert!(read().contains("cyclictest.txt"));
    for (file, text) in
        [("cyclictest.txt", "T: 0 (1) P:98 I:200 C: 1 Min: 1 Act: 1 Avg: 1 Max: 1"), ("epoch.truth", "x")]
    {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    assert!(read().contains("epoch.truth"));
}

#[test]
fn a_schedule_that_lies_between_the_readings_about_a_step_may_be_on_time() {
    // Move the readings around the step apart, so that the schedule before the late one is between them; or both
    // earlier.
    let read_earlier = |boot: &mut Evidence, after_too: bool| {
        let StepRun { record, truth } = &mut boot.step_forwards;
        let spoiled = record.series.iter().flat_map(|series| &series.spoiled.intervals);
        let late = spoiled.filter_map(|one| one.worst_ns.zip(one.worst_at)).max_by_key(|(ns, _)| *ns);
        let late_ns = late.map(|(ns, at)| at.realtime.as_ns() - ns).unwrap();
        let by_ns = INTERVAL_NS + 50_000 - (late_ns - truth.before.realtime.as_ns());
        assert!(by_ns > 0);
        for clock in [Some(&mut truth.before), after_too.then_some(&mut truth.after)].into_iter().flatten() {
            clock.monotonic = clock.monotonic.plus(Ns(-(by_ns)));
            clock.realtime = clock.realtime.plus(Ns(-(by_ns)));
        }
    };
    let found = objections(Condition::Idle, |boot| read_earlier(boot, false)).join("\n");
    assert!(!found.contains("one late sample"), "{found}");
    check_fails(Condition::Idle, &["step-forwards: one late sample"], |boot| read_earlier(boot, true));
}
