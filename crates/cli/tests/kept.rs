//! What 0.1.0 left on disks: campaigns, records, journals of settings. It is read as it was then.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;

use crate::support::bench::copy_of;
use crate::support::{code, fixtures, run, said, stdout};

#[test]
fn a_campaign_of_0_1_0_is_told_of_concluded_and_shown() {
    let folder = copy_of(&fixtures().join("kept/0.1.0/campaign"));
    let path = folder.path().to_str().unwrap();
    assert_eq!(stdout(&run(&["campaign", "status", path])), "c: ended, 2 of 2 runs\n");
    let report = run(&["campaign", "report", path]);
    assert_eq!(code(&report), 0, "{}", said(&report));
    let page = fs::read_to_string(folder.path().join("campaign.html")).unwrap();
    assert!(page.contains("priority=97"), "{}", &page[..200]);
    let runs = folder.path().join("runs");
    let [first, second] =
        ["0001", "0002"].map(|run| runs.join(format!("{run}-wakeup.json")).to_str().unwrap().to_owned());
    let compared = run(&["compare", &first, &second, "--resamples", "100"]);
    assert!(matches!(code(&compared), 0 | 3), "{}", said(&compared));
    let shown = run(&["report", &first, "-o", folder.path().join("one.html").to_str().unwrap()]);
    assert_eq!(code(&shown), 0, "{}", said(&shown));
}

#[test]
fn records_of_both_versions_stand_side_by_side() {
    let folder = copy_of(&fixtures().join("kept/0.1.0/campaign/runs"));
    let old = folder.path().join("0001-wakeup.json").to_str().unwrap().to_owned();
    let new = folder.path().join("new.json").to_str().unwrap().to_owned();
    let line = ["measure", "wakeup", "--policy", "other", "--interval", "1ms", "--duration", "200ms", "-o", &new];
    assert!(matches!(code(&run(&line)), 0 | 3));
    for command in [["compare", &old, &new].as_slice(), &["tail", &old, &new]] {
        let output = run(command);
        assert!(matches!(code(&output), 0 | 3), "{command:?}: {}", said(&output));
    }
    let page = folder.path().join("both.html").to_str().unwrap().to_owned();
    let output = run(&["report", &old, &new, "-o", &page]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    // A later version is refused with what to do.
    let text = fs::read_to_string(&new).unwrap().replace("\"version\": 2", "\"version\": 3");
    fs::write(&new, text).unwrap();
    for command in [["compare", &old, &new].as_slice(), &["tail", &new], &["report", &new, "-o", &page]] {
        let output = run(command);
        assert_eq!(code(&output), 2, "{command:?}");
        assert!(said(&output).contains("a newer punctual"), "{}", said(&output));
    }
}

#[test]
fn settings_that_0_1_0_changed_are_taken_back() {
    let machine = copy_of(&fixtures().join("kept/0.1.0/tuned-machine"));
    let root = machine.path().to_str().unwrap();
    let swappiness = || fs::read_to_string(machine.path().join("proc/sys/vm/swappiness")).unwrap().trim().to_owned();
    assert_eq!(swappiness(), "10");
    let status = stdout(&run(&["tune", "status", "--root", root]));
    assert!(status.contains("applied") && status.contains("60 -> 10"), "{status}");
    assert_eq!(code(&run(&["tune", "revert", "--root", root])), 0);
    assert_eq!(swappiness(), "60");
}
