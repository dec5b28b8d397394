//! The documents that are made of this crate: they may not drift from it.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::PathBuf;

use analyse::compare::{COMPARISON_VERSION, Comparison};

#[test]
fn the_comparison_s_schema_is_published() {
    let path = format!("docs/schema/comparison-{COMPARISON_VERSION}.json");
    let made = format!("{:#}\n", schemars::schema_for!(Comparison).to_value());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(&path);
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "{path} has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-analyse"
    );
}

#[test]
fn the_audit_s_catalogue_is_published() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let made = analyse::audit::markdown();
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "docs/audit.md has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-analyse"
    );
}
