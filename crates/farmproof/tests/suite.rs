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

#[test]
fn hostile_nodes_and_drawn_questions_break_nothing() {
    let (said, code) = farmproof(&["fuzz", "--seconds", "3"]);
    assert!(code == Some(0) && said.contains("nothing wrong"), "{said}");
}

#[test]
fn the_load_of_a_small_farm_is_measured_and_all_of_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let words = ["load", "--nodes", "6", "--requests", "3", "--catch-up-days", "1", "--fleet-nodes", "90"];
    let more = ["--fleet-days", "4", "--seconds", "1", "--cache", cache.to_str().unwrap()];
    let (said, code) = farmproof(&[&words[..], &more].concat());
    assert!(code == Some(0) && said.contains(", 0 wrong"), "{said}");
    // Those of which rows were copied are nodes like the others.
    assert!(said.contains("page of a node, 112 days"), "{said}");
}
