//! The committed documents that are generated from this crate must match the code.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::PathBuf;

use summary::line_calibration::{LINE_CALIBRATION_VERSION, LineCalibrationDocument};
use summary::shift::{SHIFT_VERSION, ShiftDocument};
use summary::sweep::{SWEEP_VERSION, SweepDocument};
use summary::{ASSESSMENT_VERSION, AssessmentDocument};

#[test]
fn assessment_schema_is_published() {
    let path = format!("docs/schema/assessment-{ASSESSMENT_VERSION}.json");
    published(&path, &schemars::schema_for!(AssessmentDocument).to_value());
}

#[test]
fn schemas_of_sweeps_and_shifts_are_published() {
    published(&format!("docs/schema/sweep-{SWEEP_VERSION}.json"), &schemars::schema_for!(SweepDocument).to_value());
    published(&format!("docs/schema/shift-{SHIFT_VERSION}.json"), &schemars::schema_for!(ShiftDocument).to_value());
}

#[test]
fn schema_of_calibrations_of_lines_is_published() {
    let path = format!("docs/schema/line-calibration-{LINE_CALIBRATION_VERSION}.json");
    published(&path, &schemars::schema_for!(LineCalibrationDocument).to_value());
}

/// Compares the committed document with what the code makes.
fn published(path: &str, schema: &serde_json::Value) {
    let made = format!("{schema:#}\n");
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "{path} has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-summary"
    );
}
