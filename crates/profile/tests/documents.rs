//! The documents that are made of this crate: they may not drift from it.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::Path;

use profile::check::{CATALOGUE, Findings};
use profile::{Profile, SCHEMA, SCHEMA_VERSION};
use schemars::{Schema, schema_for};

/// Compares a committed document with what the code makes of it; `PUNCTUAL_UPDATE=1` writes it.
fn check(path: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "{path} has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-profile"
    );
}

fn check_schema(path: &str, schema: &Schema) {
    check(path, &(serde_json::to_string_pretty(schema).unwrap() + "\n"));
}

/// Where a change makes older profiles unreadable, `SCHEMA_VERSION` has to rise with it.
#[test]
fn the_profile_s_schema_is_published() {
    check_schema(&format!("docs/schema/profile-{SCHEMA_VERSION}.json"), &schema_for!(Profile));
}

#[test]
fn the_findings_schema_is_published() {
    let version = profile::check::SCHEMA_VERSION;
    check_schema(&format!("docs/schema/findings-{version}.json"), &schema_for!(Findings));
}

#[test]
fn the_catalogue_is_published() {
    check("docs/findings.md", &CATALOGUE.markdown());
}

#[test]
fn a_profile_says_its_form_and_reads_back() {
    let profile = Profile::default();
    let text = serde_json::to_string(&profile).unwrap();
    assert!(text.starts_with(&format!("{{\"schema\":\"{SCHEMA}\",\"schema_version\":{SCHEMA_VERSION},")), "{text}");
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    // A form without a part that came later reads as unknown.
    assert_eq!(serde_json::from_str::<Profile>("{}").unwrap(), profile);
}
