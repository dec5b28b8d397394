//! `punctual compare`, the program as built.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod support;

use std::path::{Path, PathBuf};

use record::{ReasonCode, Record};
use support::synthetic::{self, write};
use support::{code, fixtures, run, said};

/// A run of thirty intervals about a level.
fn synthetic(folder: &Path, name: &str, level_ns: u64) -> PathBuf {
    let record = synthetic::synthetic(name, 30, 1_000_000_000, 50, |bits| level_ns + bits % 2_000);
    write(folder, name, &record)
}

/// Runs `compare` with these files and words.
fn compared(files: &[&Path], words: &[&str]) -> std::process::Output {
    let files = files.iter().map(|file| file.to_str().unwrap());
    run(&["compare"].into_iter().chain(files).chain(words.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn fail_on_exits_with_1_where_b_is_worse_by_enough_and_3_outranks_it() {
    let folder = tempfile::tempdir().unwrap();
    let a = synthetic(folder.path(), "a", 10_000);
    let b = synthetic(folder.path(), "b", 12_000);
    let exits = |files: &[&Path], limit: &str| code(&compared(files, &["--resamples", "500", "--fail-on", limit]));
    assert_eq!(code(&compared(&[&a, &b], &["--resamples", "500"])), 0, "without a limit a comparison only tells");
    assert_eq!(exits(&[&a, &b], "worse"), 1);
    assert_eq!(exits(&[&a, &b], "worse:1us"), 1);
    assert_eq!(exits(&[&a, &b], "worse:5us"), 0);
    assert_eq!(exits(&[&a, &b], "worse:10%"), 1);
    assert_eq!(exits(&[&a, &b], "worse:50%"), 0);
    assert_eq!(exits(&[&b, &a], "worse"), 0, "better is no failure");
    let mut invalid = Record::from_json(&std::fs::read_to_string(&b).unwrap()).unwrap();
    invalid.validity.add(ReasonCode::RtThrottled, "CPU 0");
    let invalid = write(folder.path(), "invalid", &invalid);
    let output = compared(&[&a, &invalid], &["--resamples", "500", "--fail-on", "worse"]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nINVALID\n"));
}

#[test]
fn the_document_is_json_and_the_same_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let a = synthetic(folder.path(), "a", 10_000);
    let b = synthetic(folder.path(), "b", 12_000);
    let json = |seed: &str| compared(&[&a, &b], &["--resamples", "500", "--seed", seed, "--json"]).stdout;
    let document: analyse::compare::Comparison = serde_json::from_slice(&json("9")).unwrap();
    assert_eq!((document.schema.as_str(), document.version, document.method.seed), ("punctual/comparison", 1, 9));
    assert_eq!(document.verdict.state, analyse::compare::ComparisonState::Worse);
    assert_eq!(json("9"), json("9"));
    assert_ne!(json("9"), json("10"));
}

#[test]
fn groups_stand_for_settings_and_single_runs_for_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let names = |letter: &str| (0..4).map(|at| format!("{letter}{at}")).collect::<Vec<_>>();
    let (a_names, b_names) = (names("a"), names("b"));
    let a: Vec<PathBuf> = a_names.iter().map(|name| synthetic(folder.path(), name, 10_000)).collect();
    let b: Vec<PathBuf> = b_names.iter().map(|name| synthetic(folder.path(), name, 12_000)).collect();
    let words = |files: &[PathBuf]| files.iter().map(|file| file.to_str().unwrap().to_owned()).collect::<Vec<_>>();
    let all = [vec!["compare".to_owned(), "--a".to_owned()], words(&a), vec!["--b".to_owned()], words(&b)].concat();
    let output = run(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\nB IS WORSE\n"), "{text}{}", said(&output));
    assert!(text.contains("by the ranks of the maxima of repetitions"), "{text}");
    let single = compared(&[&a[0], &b[0]], &[]);
    let text = String::from_utf8_lossy(&single.stdout);
    assert!(text.contains("\nTHE RUN B WAS WORSE\n") && text.contains("this speaks of these two runs"), "{text}");
}

#[test]
fn profiles_are_named_or_found_beside_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let side = |name: &str, level_ns, host: &str| {
        let own = folder.path().join(name);
        std::fs::create_dir(&own).unwrap();
        synthetic(&own, name, level_ns);
        let tree = fixtures().join("hosts").join(host);
        let profile = run(&["profile", "--json", "--root", tree.to_str().unwrap()]);
        std::fs::write(own.join("profile.json"), profile.stdout).unwrap();
        own
    };
    let a = side("a", 10_000, "rt-x86-tuned");
    let b = side("b", 10_000, "rt-x86-contradictions");
    let output = compared(&[&a, &b], &["--resamples", "500"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("  CONFIG_NO_HZ_FULL: y -> n\n"), "{text}{}", said(&output));
    let bad = a.join("a.json");
    let mut other = Record::from_json(&std::fs::read_to_string(b.join("b.json")).unwrap()).unwrap();
    other.manifest.node.kernel_release = "9.9-rt".to_owned();
    let other = write(&b, "other", &other);
    let output = compared(&[&a, &other], &["--resamples", "500"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (told, numbers) = (text.find("  kernel: ").unwrap(), text.find("scheduled_to_woke").unwrap());
    assert!(told < numbers, "what differs is said first: {text}");
    assert!(text.contains("A and B differ in kernel: whatever"), "{text}");
    let refused = compared(&[&a, &b], &["--profile-a", bad.to_str().unwrap()]);
    assert_eq!(code(&refused), 2);
    assert!(said(&refused).contains("a.json"), "{}", said(&refused));
}

#[test]
fn the_page_holds_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let a = synthetic(folder.path(), "a", 10_000);
    let b = synthetic(folder.path(), "b", 12_000);
    let page = folder.path().join("page.html");
    let output = compared(&[&a, &b], &["--resamples", "500", "--report", page.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"comparison\":{\"document\":{\"schema\":\"punctual/comparison\""), "the data is inside");
}

#[test]
fn wrong_usage_is_told_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let a = synthetic(folder.path(), "a", 10_000);
    let refused = |files: &[&Path], words: &[&str], part: &str| {
        let output = compared(files, words);
        assert_eq!(code(&output), 2, "{words:?}");
        assert!(said(&output).contains(part), "{words:?}: {}", said(&output));
    };
    refused(&[&a], &[], "<B>");
    refused(&[&a, &a], &[], "stands on both sides");
    refused(&[&a, &a], &["--fail-on", "worse:5"], "has no unit");
    refused(&[&a, &a], &["--level", "0.9"], "not within 0.0001 to 0.5");
    refused(&[&a, &folder.path().join("absent.json")], &[], "absent.json");
    // The records of one folder are of several conditions.
    let mut loaded = Record::from_json(&std::fs::read_to_string(&a).unwrap()).unwrap();
    loaded.label = "under load".to_owned();
    write(folder.path(), "loaded", &loaded);
    refused(&[folder.path(), &a], &[], "choose one with --label: '', 'under load'");
}
