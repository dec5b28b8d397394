//! The short forms of what proves a farm.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::process::Command;

/// What the program prints, and its exit code.
fn farmproof(words: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_punctual-farmproof")).args(words).output().unwrap();
    let both = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&both).into_owned(), output.status.code())
}

#[test]
fn what_a_farm_measured_outlives_kills_of_hub_and_agents() {
    let (said, code) = farmproof(&["kill", "--kills", "8", "--nodes", "5", "--between-ms", "500"]);
    assert!(code == Some(0) && said.contains("every maximum as measured, nothing twice"), "{said}");
}
