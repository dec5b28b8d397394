//! `punctual tail`, and what `measure` and `assess` say of claims, the program as built.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::{Path, PathBuf};

use crate::support::synthetic::{self, write};
use crate::support::{code, run, said};
use record::{ReasonCode, Record};

const MINUTE_NS: u64 = 60_000_000_000;

/// A run of intervals of a minute with an exponential tail.
fn synthetic(folder: &Path, name: &str, intervals: u64, change: impl Fn(&mut Record)) -> PathBuf {
    let mut record = synthetic::synthetic(name, intervals, MINUTE_NS, 100, |bits| {
        let share = (units::approx_f64(bits) + 1.0) / 2_147_483_649.0;
        units::round_u64(20_000.0 - 2_000.0 * share.ln())
    });
    change(&mut record);
    write(folder, name, &record)
}

fn tail(file: &Path, more: &[&str]) -> std::process::Output {
    run(&[&["tail", file.to_str().unwrap(), "--resamples", "300"], more].concat())
}

fn out(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).replace('\n', " ")
}

#[test]
fn a_sound_run_is_answered_in_words_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = synthetic(folder.path(), "sound", 120, |_| ());
    let told = tail(&file, &["--horizon", "12h,1d"]);
    assert_eq!(code(&told), 0, "{}", said(&told));
    let text = out(&told);
    for part in ["Within 1 day the worst will lie between", "90 % interval", "12 hours", "Without a model"] {
        assert!(text.contains(part), "'{part}' is missing in {text}");
    }
    // How it was computed is there for those who ask.
    let details = ["Stationary? ", "GEV of ", ", seed 1."];
    let all = out(&tail(&file, &["--horizon", "12h,1d", "--verbose"]));
    assert!(details.iter().all(|part| all.contains(part) && !text.contains(part)), "{all}\n{text}");
    let json = tail(&file, &["--horizon", "12h,1d", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((value["schema"].as_str(), value["version"].as_u64()), (Some("punctual/tail"), Some(2)));
    assert_eq!(value["expectations"].as_array().unwrap().len(), 2);
    assert_eq!(json.stdout, tail(&file, &["--horizon", "12h,1d", "--json"]).stdout, "the same seed, the same document");
    assert_ne!(json.stdout, tail(&file, &["--horizon", "12h,1d", "--json", "--seed", "2"]).stdout);
}

#[test]
fn exit_codes_follow_the_claim() {
    let folder = tempfile::tempdir().unwrap();
    let file = synthetic(folder.path(), "sound", 120, |_| ());
    for (claim, expected, word) in [
        ("200us for 1h at 90%", 0, "SHOWN"),
        ("25us for 1h at 90%", 1, "BROKEN"),
        ("60us for 1y at 99.9%", 3, "NOT SHOWN YET"),
    ] {
        let told = tail(&file, &["--claim", claim]);
        assert_eq!(code(&told), expected, "{claim}: {}", out(&told));
        assert!(out(&told).contains(word), "{claim}: {}", out(&told));
    }
    let invalid = synthetic(folder.path(), "invalid", 120, |run| run.validity.add(ReasonCode::RtThrottled, "CPU 1"));
    let told = tail(&invalid, &["--claim", "25us for 1h at 90%"]);
    assert_eq!(code(&told), 3, "nothing of an invalid run counts, not even what breaks a claim");
    assert!(out(&told).contains("CANNOT BE TOLD"), "{}", out(&told));
    let few = synthetic(folder.path(), "few", 20, |_| ());
    let told = tail(&few, &[]);
    assert_eq!(code(&told), 3);
    assert!(out(&told).contains("20 interval maxima are too few") && out(&told).contains("more of the same"));
}

#[test]
fn wrong_usage_is_told_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = synthetic(folder.path(), "sound", 60, |_| ());
    for (more, part) in [
        (["--claim", "100us"], "100us for 1 day at 99%"),
        (["--claim", "100us for 1 day at 100%"], "between 50 and 99.9999"),
        (["--horizon", "1 fortnight"], "1 day, 1 week, 1 year"),
        (["--resamples", "3"], "200"),
    ] {
        let told = run(&["tail", file.to_str().unwrap(), more[0], more[1]]);
        assert_eq!(code(&told), 2, "{more:?}");
        assert!(said(&told).contains(part), "{}", said(&told));
    }
    let other = synthetic(folder.path(), "other", 60, |run| run.manifest_mut().node.hostname = "elsewhere".to_owned());
    let told = run(&["tail", file.to_str().unwrap(), other.to_str().unwrap()]);
    assert_eq!(code(&told), 2);
    assert!(said(&told).contains("a tail is predicted for one machine"), "{}", said(&told));
    assert_eq!(code(&run(&["tail"])), 2);
    assert_eq!(code(&run(&["measure", "wakeup", "--until-sure"])), 2, "sure of what?");
}

#[test]
fn a_rehearsal_tells_how_often_it_comes_true() {
    let simulated = run(&["tail", "rehearse", "--processes", "26", "--watched", "13", "--resamples", "200"]);
    assert_eq!(code(&simulated), 0, "{}", said(&simulated));
    for part in
        ["bounded", "heavy", "two regimes", "periodic", "all that can be answered", "Refused, by the first reason"]
    {
        assert!(out(&simulated).contains(part), "{}", out(&simulated));
    }
    assert!(out(&simulated).contains("Measured until sure"), "{}", out(&simulated));
    let folder = tempfile::tempdir().unwrap();
    let file = synthetic(folder.path(), "long", 600, |_| ());
    let recorded = run(&["tail", "rehearse", file.to_str().unwrap(), "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&recorded.stdout).unwrap();
    assert_eq!(value["schema"], "punctual/tail-rehearsal");
    let row = &value["rows"][0];
    assert_eq!((row["processes"].as_u64(), row["answered"].as_u64()), (Some(1), Some(1)), "{row}");
    assert!(row["told"][0].as_str().unwrap().starts_with("predicted"), "{row}");
}

#[test]
fn a_run_ends_when_its_claim_is_decided_and_says_why() {
    let line = ["measure", "wakeup", "--policy", "other", "--interval", "1ms", "--threads", "1", "--duration", "12s"];
    let until = |more: &[&str]| run(&[line.as_slice(), &["--until-sure", "--json"], more].concat());
    let broken = until(&["--claim", "1us for 1h at 99%"]);
    assert_eq!(code(&broken), 1, "{}", said(&broken));
    assert!(said(&broken).contains("Stopped: the claim '1"), "{}", said(&broken));
    let ended_because = |run: &std::process::Output| {
        let record = Record::from_json(&String::from_utf8_lossy(&run.stdout)).unwrap();
        record.manifest().ended_because.clone().unwrap_or_default()
    };
    assert!(ended_because(&broken).contains("is broken"), "the record says so too");
    // It is an end like others, for whoever asks by a request.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("request.json");
    let request = |claim: &str| {
        let wakeup = format!(
            r#"{{"kind": "wakeup", "policy": "other", "interval": "1ms", "threads": 1, "end": {{"after": "12s"}}, "until-sure": "{claim}"}}"#
        );
        std::fs::write(&file, format!(r#"{{"request": {wakeup}}}"#)).unwrap();
        run(&["measure", "request", file.to_str().unwrap(), "--json"])
    };
    let asked = request("1us for 1h at 99%");
    assert!(ended_because(&asked).contains("is broken"), "{}", said(&asked));
    let wrong = request("1us for good");
    assert_eq!(code(&wrong), 2);
    assert!(said(&wrong).contains("until-sure") && said(&wrong).contains("1us for good"), "{}", said(&wrong));
    // A machine that changes meanwhile decides nothing: one of several runs is quiet enough.
    let shown = (0..8)
        .map(|_| until(&["--claim", "100s for 100ms at 60%", "--interval-maximum", "50ms", "--deadline", "100s"]))
        .find(|run| ended_because(run).contains("is shown"))
        .expect("none of eight runs was stopped by its claim");
    let record = Record::from_json(&String::from_utf8_lossy(&shown.stdout)).unwrap();
    assert_eq!(record.manifest().requested.cpus.len(), 1, "one thread measures one CPU");
    let intervals = record.series[0].intervals.len();
    assert!((40..239).contains(&intervals), "{intervals} intervals of at most 240");
    let judged = &record.verdict.as_ref().unwrap().reason;
    assert!(!judged.contains("too little was measured"), "its claim ended it, nothing cut it short: {judged}");
    assert!(!record.validity.reasons().iter().any(|reason| reason.code == ReasonCode::InterruptedEarly));
}
