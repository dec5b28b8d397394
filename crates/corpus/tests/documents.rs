//! The published JSON schema must match the types of this crate.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::PathBuf;

#[test]
fn published_schema_matches_the_table() {
    let path = format!("docs/schema/conclusions-{}.json", corpus::VERSION);
    let made = format!("{:#}\n", schemars::schema_for!(corpus::Table).to_value());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(&path);
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == made, "{path} has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-corpus");
}
