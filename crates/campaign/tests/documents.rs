//! The published schema must match the types of this crate.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::PathBuf;

use campaign::result::{CampaignResult, RESULT_VERSION};

#[test]
fn the_schema_of_the_result_is_published() {
    let path = format!("docs/schema/campaign-result-{RESULT_VERSION}.json");
    let made = format!("{:#}\n", CampaignResult::json_schema());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(&path);
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::write(&file, &made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "{path} has drifted from the code: run PUNCTUAL_UPDATE=1 cargo test -p punctual-campaign"
    );
}
