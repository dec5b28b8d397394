//! Whatever a tree holds, reading it neither panics nor stops, and names the files that are odd.

#![allow(clippy::unwrap_used, reason = "a test stops where something is missing")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{copy, files, read};
use profile::{IssueReason, Profile};

/// Junk that is not UTF-8.
const JUNK: [u8; 64] = [0xff; 64];

#[test]
fn an_empty_tree_is_unknown_all_over() {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir(tree.path().join("proc")).unwrap();
    let (profile, issues) = read(tree.path());
    assert_eq!(profile, Profile::default());
    let sources: Vec<&str> = issues.iter().map(|issue| issue.source.as_str()).collect();
    assert_eq!(sources, ["/proc/config.gz", "/proc/interrupts"]);
}

/// Spoils every file of a kind of tree, reads it, and checks that each file that was read is named or passed over.
fn check_spoiled(host: &str, content: &[u8], is_told: bool) {
    let tree = copy(host);
    for file in files(tree.path()) {
        fs::write(&file, content).unwrap();
    }
    let (_, issues) = read(tree.path());
    for issue in &issues {
        assert!(issue.source.starts_with('/') && !issue.effect.is_empty(), "{issue:?}");
    }
    let names = |path: &str| issues.iter().any(|issue| issue.source == path);
    for path in ["/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu/online", "/proc/sys/kernel/osrelease"] {
        assert_eq!(names(path), is_told, "{host}: {path} in {issues:?}");
    }
    assert!(names("/proc/interrupts"), "{host}: {issues:?}");
}

#[test]
fn binary_junk_is_named() {
    for host in fixtures::hosts() {
        check_spoiled(&host, &JUNK, true);
    }
}

#[test]
fn a_file_that_only_says_question_marks_is_named_where_it_should_be_a_number() {
    let tree = copy("rt-x86-tuned");
    for file in files(tree.path()) {
        fs::write(&file, "???\n").unwrap();
    }
    let (profile, issues) = read(tree.path());
    for path in
        ["/sys/devices/system/cpu/online", "/proc/sys/kernel/sched_rt_runtime_us", "/proc/irq/default_smp_affinity"]
    {
        assert!(issues.iter().any(|issue| issue.source == path && issue.reason == IssueReason::Unreadable), "{path}");
    }
    assert_eq!(profile.cpus.online, None);
}

#[test]
fn each_kind_of_file_alone_may_be_empty_cut_or_junk() {
    let tree = copy("rt-x86-contradictions");
    // Files of one name are read by the same code.
    let mut seen = BTreeSet::new();
    for file in files(tree.path()).into_iter().filter(|file| seen.insert(file.file_name().unwrap().to_owned())) {
        let original = fs::read(&file).unwrap();
        for content in [&b""[..], &original[..original.len() / 2], &JUNK[..]] {
            fs::write(&file, content).unwrap();
            read(tree.path());
        }
        fs::write(&file, original).unwrap();
    }
}

#[test]
fn folders_and_links_in_the_place_of_files() {
    let tree = copy("rt-x86-tuned");
    let place = tree.path().join("proc/meminfo");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    let place = tree.path().join("proc/stat");
    fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink("stat", &place).unwrap();
    let (profile, issues) = read(tree.path());
    for path in ["/proc/meminfo", "/proc/stat"] {
        assert!(issues.iter().any(|issue| issue.source == path), "{path}: {issues:?}");
    }
    assert_eq!((profile.memory.total_kib, profile.virt.steal_ms), (None, None));
}

#[test]
fn texts_lead_no_path_out_of_the_tree() {
    let tree = copy("server-two-sockets");
    fs::write(tree.path().join("proc/mounts"), "cgroup2 /../../../sys/fs/cgroup cgroup2 rw 0 0\n").unwrap();
    fs::write(tree.path().join("proc/sys/kernel/osrelease"), "../../../etc/passwd\n").unwrap();
    let (profile, issues) = read(tree.path());
    assert!(profile.cpusets.is_empty() && profile.kernel.config.is_empty());
    assert!(issues.iter().any(|issue| issue.source.contains("/..")), "{issues:?}");
    let target = tempfile::tempdir().unwrap();
    host::capture(&host::Root::tree(tree.path()).unwrap(), &target.path().join("inside")).unwrap();
    let made: Vec<_> = fs::read_dir(target.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made, ["inside"]);
}

#[test]
fn longer_than_any_real_file() {
    let tree = copy("rt-x86-tuned");
    fs::write(tree.path().join("proc/sys/kernel/timer_migration"), "0".repeat(100_000)).unwrap();
    let (profile, issues) = read(tree.path());
    assert_eq!(profile.sched.timer_migration, None);
    assert_eq!(
        issues.iter().map(|i| (i.source.as_str(), i.reason)).collect::<Vec<_>>(),
        [("/proc/sys/kernel/timer_migration", IssueReason::TooLarge)]
    );
}

#[test]
fn what_is_denied_is_told_unless_root_reads_it_anyway() {
    let tree = copy("rt-x86-tuned");
    let place = tree.path().join("proc/meminfo");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o000)).unwrap();
    let is_denied = fs::read(&place).is_err();
    let (profile, issues) = read(tree.path());
    assert_eq!(profile.memory.total_kib.is_none(), is_denied);
    let reported = issues.iter().any(|issue| issue.source == "/proc/meminfo" && issue.reason == IssueReason::Denied);
    assert_eq!(reported, is_denied, "{issues:?}");
}

#[test]
fn what_lockdown_closes_is_not_tried_and_is_told_once() {
    let tree = copy("rt-x86-tuned");
    crate::common::write(tree.path(), "proc/sys/kernel/osrelease", "6.12.9-rt\n");
    for cpu in 0..4 {
        for (file, text) in [("runtime", "50000000\n"), ("period", "1000000000\n")] {
            crate::common::write(tree.path(), &format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/{file}"), text);
        }
    }
    let told = |issues: &[profile::ProbeIssue]| {
        let of_debugfs = issues.iter().filter(|issue| issue.source.starts_with("/sys/kernel/debug/sched/fair_server"));
        of_debugfs.map(|issue| issue.effect.clone()).collect::<Vec<_>>()
    };
    for (mode, is_closed) in [("[none] integrity", false), ("none [integrity]", true), ("none integrity", false)] {
        crate::common::write(tree.path(), "sys/kernel/security/lockdown", &format!("{mode} confidentiality\n"));
        let (profile, issues) = read(tree.path());
        assert_eq!(profile.sched.fair_servers.is_empty(), is_closed, "{mode}");
        assert_eq!(told(&issues).len(), usize::from(is_closed), "{mode}: {issues:?}");
    }
    crate::common::write(tree.path(), "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    let effect = told(&read(tree.path()).1).remove(0);
    assert!(effect.contains("locked down (confidentiality)") && effect.contains("50 ms of each second"), "{effect}");
    assert!(!effect.contains("needs root"), "{effect}");
}
