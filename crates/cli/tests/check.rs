//! `punctual check` and `punctual explain` as a user meets them: output, exit codes, JSON.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::fs;
use std::path::Path;

use crate::support::{punctual, run, said, stdout};
use serde_json::Value;

/// A captured machine with these files and no more.
fn tree(folder: &Path, files: &[(&str, &str)]) -> String {
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

/// The findings of an audit, each with what was read for it, one line each.
fn findings(json: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let mut text = String::new();
    for finding in list(&json["findings"]) {
        let [severity, id, title] = ["severity", "id", "title"].map(|field| word(&finding[field]));
        text += &format!("{severity} {id}: {title}\n");
        for read in list(&finding["evidence"]) {
            text += &format!("    {}: {}\n", word(&read["source"]), word(&read["value"]));
        }
    }
    text
}

/// What a person agreed to be right about each machine of the fixtures; `PUNCTUAL_UPDATE=1` writes it again, to be
/// looked at before it is committed.
#[test]
fn every_host_has_the_findings_that_were_agreed() {
    for host in fixtures::hosts() {
        let output = run(&["check", "--json", "--root", fixtures::host(&host).to_str().unwrap()]);
        let made = findings(&serde_json::from_slice(&output.stdout).unwrap());
        let agreed = fixtures::notes(&host).join("findings.txt");
        if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
            fs::write(&agreed, &made).unwrap();
        }
        let agreed = fs::read_to_string(&agreed).unwrap_or_default();
        assert!(
            agreed == made,
            "{host} has other findings than agreed; where they are right, run PUNCTUAL_UPDATE=1 cargo test:\n{made}"
        );
    }
}

const CPUS: [(&str, &str); 3] = [
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/possible", "0-3\n"),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
];

#[test]
fn a_contradiction_fails_and_is_shown_with_its_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let root = tree(folder.path(), &CPUS);
    tree(folder.path(), &[("proc/cmdline", "ro isolcpus=2-3 irqaffinity=0-3\n")]);
    // Without a word from outside it has to see by itself that a pipe gets no color.
    let output = punctual(&["check", "--root", &root]).env_remove("NO_COLOR").output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("PROBLEM  irqaffinity= sends interrupts to isolated CPUs 2-3"), "{text}");
    assert!(text.contains("read    /proc/cmdline: irqaffinity=0-3"), "{text}");
    assert!(text.contains("change  Boot with irqaffinity=0-1."), "{text}");
    assert!(
        text.rsplit("\n\n").next().is_some_and(|end| end.contains("[irqaffinity-includes-isolated-cpus]")),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "no color into a pipe");

    let json: Value = serde_json::from_slice(&run(&["check", "--json", "--root", &root]).stdout).unwrap();
    assert_eq!((&json["schema"], &json["version"]), (&"punctual/findings".into(), &1.into()));
    assert_eq!(json["findings"][0]["id"], "irqaffinity-includes-isolated-cpus");
    assert_eq!(json["findings"][0]["evidence"][0]["source"], "/proc/cmdline");
    assert_eq!(json["profile_sha256"].as_str().map(str::len), Some(64));
    assert!(json["issues"].is_array());
}

#[test]
fn without_a_problem_the_check_passes() {
    let folder = tempfile::tempdir().unwrap();
    let root = tree(folder.path(), &CPUS);
    tree(folder.path(), &[("proc/cmdline", "ro isolcpus=2-3 irqaffinity=0-1\n")]);
    let output = run(&["check", "--root", &root]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test]
fn wrong_usage_exits_2() {
    assert_eq!(run(&["check", "--root", "/no/such/folder"]).status.code(), Some(2));
    assert_eq!(run(&["check", "--watch", "0s"]).status.code(), Some(2));
    assert_eq!(run(&["check", "--watch", "1s", "--root", "/"]).status.code(), Some(2));
    let unknown = run(&["explain", "kernel-realtime"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean kernel-not-realtime"), "{unknown:?}");
}

#[test]
fn the_long_help_says_what_the_short_one_leaves_out() {
    for (command, part) in
        [("check", "What cannot be read is not judged"), ("profile", "never an error"), ("explain", "how to see it")]
    {
        let [long, short] = ["--help", "-h"].map(|help| stdout(&run(&[command, help])));
        assert!(long.contains(part) && !short.contains(part), "{long}");
        assert_eq!(long.lines().next(), short.lines().next());
    }
}

#[test]
fn explain_lists_and_explains() {
    let list = stdout(&run(&["explain"]));
    assert!(list.lines().count() > 40 && list.contains("kernel-not-realtime"), "{list}");
    let one = stdout(&run(&["explain", "swap"]));
    assert!(one.contains("How to change it") && one.contains("Sources"), "{one}");
    let json: Value = serde_json::from_slice(&run(&["explain", "swap", "--json"]).stdout).unwrap();
    assert_eq!(json["schema"], "punctual/catalogue");
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["findings"][0]["severities"][0], "warning");
    // Of machines and of programs, in the list as in the document.
    let all: Value = serde_json::from_slice(&run(&["explain", "--json"]).stdout).unwrap();
    let ids: Vec<&str> = all["findings"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids.len(), list.lines().count());
    assert!(ids.contains(&"swap") && ids.contains(&"app-logging-in-loop"), "{ids:?}");
    let unknown = run(&["explain", "app-loging-in-loop"]);
    assert!(said(&unknown).contains("did you mean app-logging-in-loop"), "{unknown:?}");
}
