//! The identity of a configuration: unmoved by what changes by itself, moved by every setting.

#![allow(clippy::unwrap_used, reason = "a test stops where something is missing")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::common::{copy, profile, read, write};

#[test]
fn hosts_differ() {
    let hashes: BTreeSet<String> = fixtures::hosts().iter().map(|host| profile(host).hash()).collect();
    assert_eq!(hashes.len(), fixtures::hosts().len());
}

/// Writes one file of an otherwise unchanged tree, and puts it back.
fn check(tree: &Path, path: &str, text: &str, is_same: bool) {
    let place = tree.join(path);
    let original = fs::read(&place).ok();
    let before = read(tree).0;
    write(tree, path, text);
    let after = read(tree).0;
    assert_ne!(before, after, "{path} is read");
    assert_eq!(before.hash() == after.hash(), is_same, "{path}");
    match original {
        Some(bytes) => fs::write(place, bytes).unwrap(),
        None => fs::remove_file(place).unwrap(),
    }
}

#[test]
fn what_changes_by_itself_does_not_count() {
    let tree = copy("rt-x86-tuned");
    check(tree.path(), "proc/stat", "cpu  1 1 1 1 1 1 1 99 0 0\n", true);
    check(tree.path(), "proc/sys/kernel/hostname", "other\n", true);
    check(
        tree.path(),
        "proc/meminfo",
        "MemTotal: 16110112 kB\nMemAvailable: 5 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugePages_Total: 0\nHugepagesize: 2048 kB\n",
        true,
    );
    check(tree.path(), "sys/class/net/enp2s0/operstate", "down\n", true);
    check(tree.path(), "proc/irq/131/effective_affinity_list", "1\n", true);
    check(
        tree.path(),
        "proc/7000/task/7000/stat",
        &fs::read_to_string(fixtures::host("rt-x86-tuned").join("proc/400/task/400/stat")).unwrap(),
        true,
    );
}

#[test]
fn settings_count() {
    let tree = copy("rt-x86-tuned");
    check(tree.path(), "proc/sys/kernel/timer_migration", "1\n", false);
    check(tree.path(), "proc/sys/kernel/sched_rt_runtime_us", "950000\n", false);
    check(tree.path(), "proc/irq/131/smp_affinity_list", "0-3\n", false);
    check(tree.path(), "proc/cmdline", "ro isolcpus=3\n", false);
    check(tree.path(), "sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n", false);
    check(tree.path(), "sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "1\n", false);
    check(tree.path(), "etc/tuned/active_profile", "balanced\n", false);
}
