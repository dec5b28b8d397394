//! `punctual assess`, `report` and the places where things are written.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;

use crate::support::{code, punctual, run, said};
use record::Record;

#[test]
fn an_assessment_leaves_a_verdict_records_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let claim = ["--claim", "20s for 1s at 60%"];
    let line = ["assess", "--anyway", "--time", "5s", "--deadline", "10s", "-o", out.to_str().unwrap(), "--json"];
    let output = run(&[line.as_slice(), &claim].concat());
    let conclusion: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&conclusion["schema"], &conclusion["version"]), (&"punctual/assessment".into(), &2.into()));
    let answer = conclusion["verdict"]["state"].as_str().unwrap();
    let expected = match answer {
        "holds" if conclusion["claim"]["state"] == "shown" => 0,
        "broken" => 1,
        _ => 3,
    };
    assert_eq!(conclusion["verdict"]["deadline_ns"], 10_000_000_000_u64);
    let parts: Vec<&str> =
        conclusion["parts"].as_array().unwrap().iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert!(parts.starts_with(&["idle"]) && parts.ends_with(&["under-load", "noise"]), "{parts:?}");
    let is_invalid = conclusion["validity"]["state"] == "invalid";
    // Reason and remedy are on stderr, whatever stdout holds.
    assert_eq!(said(&output).contains("is invalid: "), is_invalid, "{}", said(&output));
    assert_eq!(said(&output).contains("; remedy: "), is_invalid, "{}", said(&output));
    let sentence = conclusion["claim"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("20 s for 1 s at 60 %"), "{sentence}");
    let last = conclusion["lines"].as_array().unwrap().last().unwrap();
    assert!(last.as_str().unwrap().contains(sentence), "{last}");
    assert_eq!(code(&output), expected, "{}", said(&output));
    for name in ["idle", "under-load", "clock", "noise"] {
        let text = fs::read_to_string(out.join(format!("{name}.json"))).unwrap();
        let record = Record::from_json(&text).unwrap();
        assert!(record.manifest().profile_sha256.is_some());
    }
    let loaded = Record::from_json(&fs::read_to_string(out.join("under-load.json")).unwrap()).unwrap();
    let summed = conclusion["parts"].as_array().unwrap().iter().find(|part| part["part"] == "under-load").unwrap();
    assert_eq!(summed["run"], loaded.id.as_str());
    assert_eq!(summed["all"]["samples"], loaded.samples());
    assert_eq!(summed["all"]["max_ns"], loaded.worst_of_all().unwrap().0);
    assert_eq!(summed["places"].as_array().unwrap().len(), loaded.series.len());
    assert!(loaded.manifest().load.achieved.as_ref().unwrap().cpu_used > 0.0);
    assert_eq!((loaded.manifest().load.name.as_str(), loaded.manifest().load.parts.len()), ("hard", 6));
    // On a machine that is busy with other things the load can come short.
    if crate::support::may_be_real_time() && !loaded.validity.has(record::ReasonCode::LoadNotAchieved) {
        assert_eq!(answer, "holds", "ten seconds are kept anywhere: {conclusion:#}");
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "the page asks the network for nothing");

    // The page can be made again from the folder.
    let again = folder.path().join("again.html");
    let output = run(&["report", out.to_str().unwrap(), "-o", again.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(fs::metadata(again).unwrap().len() > 100_000);
}

#[test]
fn without_stress_ng_it_says_what_is_missing_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let arguments = ["assess", "--time", "5s", "--deadline", "10s", "-o", out.to_str().unwrap()];
    let without = |words: &[&str]| punctual(words).env("PATH", "/nonexistent").output().unwrap();
    let refused = without(&arguments);
    if crate::support::may_be_real_time() {
        assert_eq!((code(&refused), out.exists()), (2, false), "{}", said(&refused));
        assert!(said(&refused).contains("apt-get install stress-ng"), "{}", said(&refused));
    }
    let output = without(&[&arguments[..], &["--anyway"]].concat());
    assert_eq!(code(&output), 3, "{}", said(&output));
    let spoken = said(&output);
    assert!(spoken.contains("remedy: ") || spoken.contains("stress-ng"), "{spoken}");
    let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    assert!(text.contains("CANNOT BE TOLD") && text.contains("stress-ng"), "{text}");
}

#[test]
fn an_unwritable_place_is_told_before_anything_is_measured() {
    let began = std::time::Instant::now();
    for place in ["/proc/nowhere", "/dev/null/x"] {
        let output = run(&["assess", "-o", place]);
        assert_eq!(code(&output), 2);
        assert!(said(&output).contains(place), "{}", said(&output));
    }
    assert!(began.elapsed().as_secs() < 30, "the default of 60 s was not measured");
}

/// What is left of an earlier assessment would be taken for a part of this one.
#[test]
fn a_folder_that_was_used_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("under-load.json");
    fs::write(&old, "kept").unwrap();
    let began = std::time::Instant::now();
    let output = run(&["assess", "-o", folder.path().to_str().unwrap()]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    let words = said(&output);
    assert!(words.contains("under-load.json") && words.contains("another folder"), "{words}");
    assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
    assert!(began.elapsed().as_secs() < 30, "the default of 60 s was not measured");
}

#[test]
fn a_verdict_is_no_failure_of_make_run_and_everything_else_is() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/verdict");
    for (ends_with, expected, part) in [
        (0, 0, "nothing that was asked is broken"),
        (1, 0, "exit code 1: a limit that was asked is broken"),
        (2, 2, "wrong usage"),
        (3, 3, "cannot be told"),
        (101, 101, "did not end by itself"),
    ] {
        let output =
            std::process::Command::new(script).args(["sh", "-c", &format!("exit {ends_with}")]).output().unwrap();
        assert_eq!(code(&output), expected);
        assert!(said(&output).contains(part), "{}", said(&output));
    }
}

/// Ended in the load's warm-up, or soon after: what a person who presses Ctrl-C then sees.
#[test]
fn an_assessment_that_was_ended_early_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let line = ["assess", "--anyway", "--time", "60s", "--deadline", "10s", "-o", out.to_str().unwrap(), "--json"];
    let mut child =
        punctual(&line).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // It says on standard error which part begins: the signal follows that line, not a time.
    let stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut lines = std::io::BufRead::lines(stderr).map_while(Result::ok);
    assert!(lines.any(|line| line.contains("wake-ups, idle")), "the first part never began");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<String> = lines.collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 3, "{rest:?}");
    let conclusion: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(conclusion["verdict"]["state"], "cannot-tell");
    let sentence = conclusion["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("ended before") || sentence.contains("too little") || sentence.contains("invalid"),
        "{sentence}"
    );
    let written: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("assessment.json")).unwrap()).unwrap();
    assert_eq!(written["schema"], "punctual/assessment");
}

#[test]
fn odd_times_are_usage_errors() {
    for (arguments, part) in [
        (["assess", "--time", "1s"], "between 5s and 30 days"),
        (["assess", "--deadline", "0us"], "above zero"),
        (["assess", "--cpus", "4095"], "does not exist"),
    ] {
        let output = run(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(said(&output).contains(part), "{}", said(&output));
    }
}

#[test]
fn a_report_refuses_what_is_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.json");
    let page = folder.path().join("x.html");
    for (text, part) in [("", "not a record"), ("{\"schema\":\"y\",\"version\":1}", "'y'")] {
        fs::write(&file, text).unwrap();
        let output = run(&["report", file.to_str().unwrap(), "-o", page.to_str().unwrap()]);
        assert_eq!(code(&output), 2);
        assert!(said(&output).contains(part), "{}", said(&output));
        assert!(!page.exists());
    }
    let output = run(&["report", folder.path().join("absent").to_str().unwrap(), "-o", page.to_str().unwrap()]);
    assert!(code(&output) == 2 && said(&output).contains("absent"));
}
