//! `punctual profile` as a user types it.

#![allow(clippy::unwrap_used, reason = "a test stops where something is missing")]

use std::process::Output;

use crate::support::{punctual, said, stdout};

fn profile(args: &[&str]) -> Output {
    // Without a word from outside it has to see by itself that a pipe gets no color.
    punctual(&[&["profile"], args].concat()).env_remove("NO_COLOR").output().unwrap()
}

/// Runs on a fixture and gives what stands on stdout.
fn page_of(name: &str, more: &[&str]) -> String {
    let root = fixtures::host(name);
    let output = profile(&[&["--root", root.to_str().unwrap()], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    stdout(&output)
}

#[test]
fn a_page_for_people() {
    let page = page_of("rt-x86-contradictions", &[]);
    for line in [
        "  preemption          real-time (PREEMPT_RT), from /sys/kernel/realtime: 1",
        "  isolated            2-3",
        "  nohz_full           not built in",
        "invalid (Cpu list in cpuset.cpus not exclusive)",
        "  clock source        hpet, also available: acpi_pm",
        "multipathd (tid 420, FIFO 99) on 0-7",
        "  timing services     irqbalance, multipathd, systemd-timesyn",
        "  124  enp0s31f6",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    assert!(!page.contains('\u{1b}'), "no color into a pipe");
    assert!(page.lines().all(|line| line.trim_end() == line), "no blanks at the ends of lines");
}

#[test]
fn what_nobody_told_is_unknown() {
    let tree = tempfile::tempdir().unwrap();
    std::fs::create_dir(tree.path().join("proc")).unwrap();
    let output = profile(&["--root", tree.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("  release             unknown\n"));
    assert!(said(&output).contains("/proc/interrupts: missing: "), "{}", said(&output));
}

#[test]
fn json_is_a_profile() {
    let json = page_of("raspberry-pi-4", &["--json"]);
    let profile: profile::Profile = serde_json::from_str(&json).unwrap();
    assert_eq!((profile.schema.as_str(), profile.schema_version), (profile::SCHEMA, profile::SCHEMA_VERSION));
    assert_eq!(profile.kernel.release.as_deref(), Some("6.6.51+rpt-rpi-v8"));
}

#[test]
fn a_capture_shows_the_same() {
    let target = tempfile::tempdir().unwrap();
    let dir = target.path().join("tree");
    let dir = dir.to_str().unwrap();
    let page = page_of("server-two-sockets", &["--capture", dir]);
    let again = profile(&["--root", dir]);
    assert_eq!(stdout(&again), page);
}

fn check_refused(args: &[&str], expected: &str) {
    let output = profile(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    assert!(said(&output).contains(expected), "{args:?}: {}", said(&output));
}

#[test]
fn wrong_usage_exits_2_and_says_what_to_do() {
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    let full = fixtures::notes("");
    check_refused(&["--root", "/nowhere/at/all"], "/nowhere/at/all");
    check_refused(&["--root", empty], "holds no folder proc/");
    check_refused(&["--capture", full.to_str().unwrap()], "is not empty; name a new or an empty folder");
    check_refused(&["--watch", "0s"], "write for example --watch 1s");
    check_refused(&["--watch", "soon"], "soon");
    check_refused(&["--watch", "1s", "--root", empty], "cannot be used with");
}
