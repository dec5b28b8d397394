//! Tests the evaluation on a real boot, and that it detects each kind of fault.

use std::path::PathBuf;

use record::{Detail, HardBound, SyncChange, SyncRun, TrackPoint};
use units::Ns;

use super::*;

/// The committed evidence of a boot.
fn captured() -> SyncEvidence {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/calibration/sync");
    SyncEvidence::read(&folder, "sync-0").unwrap()
}

/// The objections to a boot after `doctor` has falsified its evidence.
fn objections(doctor: impl Fn(&mut SyncEvidence)) -> String {
    let mut boot = captured();
    doctor(&mut boot);
    let calibration = calibrate_sync(&[boot]);
    assert_eq!(calibration.passes(), calibration.objections().is_empty(), "passes() and objections() agree");
    calibration.objections().join("\n")
}

fn check_fails(part: &str, doctor: impl Fn(&mut SyncEvidence)) {
    let found = objections(doctor);
    assert!(found.contains(part), "'{part}' is missing in:\n{found}");
}

fn seen<'a>(boot: &'a mut SyncEvidence, run: &str) -> &'a mut SyncRun {
    let run = boot.runs.iter_mut().find(|of| of.name == run).unwrap();
    let Detail::Sync(seen) = &mut run.record.detail else { panic!("not a run of sync") };
    seen
}

/// Changes all points and the stated bound of each source with offsets.
fn change_points(boot: &mut SyncEvidence, run: &str, change: impl Fn(&mut TrackPoint)) {
    for source in &mut seen(boot, run).sources {
        source.track.iter_mut().for_each(&change);
    }
}

#[test]
fn a_real_boot_is_calibrated() {
    let calibration = calibrate_sync(&[captured()]);
    assert!(calibration.passes(), "{calibration}");
    let runs = |run: &str| calibration.rows.iter().filter(|row| row.run == run).count();
    assert_eq!(RUNS.map(runs), [2, 2, 2, 1, 1, 1, 1, 2]);
    assert!(calibration.to_string().ends_with("checks hold: calibrated"), "{calibration}");
    let again: SyncCalibration = serde_json::from_str(&serde_json::to_string(&calibration).unwrap()).unwrap();
    assert_eq!(again, calibration);
    assert!(!calibrate_sync(&[]).passes(), "without a boot nothing is calibrated");
}

#[test]
fn a_window_that_is_wider_than_what_phc2sys_needs_is_detected() {
    check_fails("phc2sys: the median window is as wide as its delay", |boot| {
        change_points(boot, "phc2sys", |point| {
            point.bound_ns = point.bound_ns.map(|(lower, upper)| (lower - 15, upper + 15));
        });
    });
}

#[test]
fn a_bound_that_does_not_contain_the_truth_is_detected() {
    // The window of a reading taken as if it had no width before the register was read.
    check_fails("phc-slow ptp0: 0 of", |boot| {
        change_points(boot, "phc-slow", |point| {
            point.bound_ns = point.bound_ns.map(|(_, upper)| (upper - 1_000, upper));
        });
    });
    // One look of a locked ptp4l.
    check_fails("bounds contain the truth; it was outside by up to", |boot| {
        let source = &mut seen(boot, "ptp-even").sources[0];
        let point = source.track.iter_mut().rev().find(|point| point.bound_ns.is_some()).unwrap();
        point.bound_ns = Some((400_000, 500_000));
    });
    check_fails("ptp-even: the stated bound contains the truth at all times", |boot| {
        for source in &mut seen(boot, "ptp-even").sources {
            if let HardBound::Stated { lowest_ns, highest_ns, .. } = &mut source.bound {
                (*lowest_ns, *highest_ns) = (400_000, 500_000);
            }
        }
    });
    // As of an instrument that believed the servo: half of the asymmetry is outside.
    check_fails("ptp-uneven: the bound does", |boot| {
        change_points(boot, "ptp-uneven", |point| point.bound_ns = point.bound_ns.map(|_| (-20_000, 20_000)));
    });
}

#[test]
fn a_wrong_reading_is_detected() {
    check_fails("phc-plain ptp1: the rate is within what the bounds allow", |boot| boot.rates_ppb[1] += 1_000);
    check_fails("phc-precise: clocks that are latched at one moment are known to the rounding of both", |boot| {
        for source in &mut seen(boot, "phc-precise").sources {
            if let HardBound::Stated { widest_ns, .. } = &mut source.bound {
                *widest_ns = 40;
            }
        }
    });
    check_fails("ptp-even: the median offset is the true one", |boot| {
        for source in &mut seen(boot, "ptp-even").sources {
            source.spread.iter_mut().for_each(|spread| spread.median_ns += 1_000);
        }
    });
    check_fails("ptp-uneven: the spread does not show it", |boot| {
        change_points(boot, "ptp-uneven", |point| point.lowest_ns = point.lowest_ns.map(|ns| ns - 1_500_000));
    });
    check_fails("phc2sys: both figures are the true offset", |boot| {
        boot.phc2sys.iter_mut().for_each(|line| line.offset_ns += 5_000);
    });
    check_fails("phc2sys: it is locked", |boot| boot.phc2sys.iter_mut().for_each(|line| line.is_locked = false));
}

#[test]
fn a_step_that_is_not_named_or_is_none_is_detected() {
    check_fails("ptp-step: each step is named within a second, and nothing else is: 1 steps, 1 not named", |boot| {
        seen(boot, "ptp-step").events.retain(|event| event.what != SyncChange::Step);
    });
    check_fails("1 not named, 1 named that were none", |boot| {
        for event in &mut seen(boot, "ptp-step").events {
            event.at = event.at.plus(Ns::from_ms(1_500));
        }
    });
    check_fails("ptp-step: each step is named within a second, and nothing else is: 1 steps, 0 not named, 1", |boot| {
        let events = &mut seen(boot, "ptp-step").events;
        let step = events.iter().find(|event| event.what == SyncChange::Step).unwrap().clone();
        events.push(record::SyncEvent { at: step.at.plus(Ns::from_ms(3_000)), ..step });
    });
}

#[test]
fn incomplete_evidence_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/calibration/sync");
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let error = || SyncEvidence::read(folder.path(), "x").unwrap_err().to_string();
    std::fs::write(folder.path().join("ptp-step.truth"), "sample 1 2 3 4 5\n").unwrap();
    assert!(error().starts_with("ptp-step.truth: the log does not end with"), "{}", error());
    std::fs::write(folder.path().join("phc-plain.json"), "{}").unwrap();
    assert!(error().starts_with("phc-plain.json: "), "{}", error());
    std::fs::remove_file(folder.path().join("phc-plain.json")).unwrap();
    assert!(error().starts_with("phc-plain.json of the calibration's guest cannot be read"), "{}", error());
}
