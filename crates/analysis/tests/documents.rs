//! The committed documents that are generated from this crate must match the code.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::PathBuf;

use analysis::compare::{COMPARISON_VERSION, Comparison};
use analysis::tail::{REHEARSAL_VERSION, Rehearsal, TAIL_VERSION, Tail};
use schemars::JsonSchema;

fn assert_published<T: JsonSchema>(name: &str, version: u32) {
    let path = format!("docs/schema/{name}-{version}.json");
    let made = format!("{:#}\n", schemars::schema_for!(T).to_value());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(&path);
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "{path} has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-analysis"
    );
}

#[test]
fn comparison_schema_is_published() {
    assert_published::<Comparison>("comparison", COMPARISON_VERSION);
}

#[test]
fn tail_schemas_are_published() {
    assert_published::<Tail>("tail", TAIL_VERSION);
    assert_published::<Rehearsal>("tail-rehearsal", REHEARSAL_VERSION);
}

#[test]
fn audit_catalog_is_published() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let made = analysis::audit::CATALOGUE.markdown();
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "docs/audit.md has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-analysis"
    );
}
