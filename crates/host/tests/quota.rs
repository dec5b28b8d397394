//! Quotas of CPU time of the reader's own control groups, and budgets that others take from real-time tasks.

#![allow(clippy::unwrap_used, reason = "a test stops where something is missing")]

use std::fs;
use std::path::Path;

use host::{Root, capture};
use profile::bandwidth::CpuQuota;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn quotas_of_the_own_group_and_those_above_are_read_and_captured() {
    let tree = tempfile::tempdir().unwrap();
    write(
        tree.path(),
        &[
            ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("proc/self/cgroup", "0::/box.slice/run-7.scope\n"),
            ("sys/fs/cgroup/box.slice/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/box.slice/run-7.scope/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/other.slice/cpu.max", "1000 100000\n"),
        ],
    );
    let quota = |path: &str, quota_us| CpuQuota { path: path.to_owned(), quota_us, period_us: 100_000 };
    let expected = [quota("/sys/fs/cgroup/box.slice", 150_000)];
    assert_eq!(crate::common::read(tree.path()).0.sched.cpu_quotas, expected);
    let captured = tempfile::tempdir().unwrap();
    let summary = capture(&Root::tree(tree.path()).unwrap(), captured.path()).unwrap();
    assert_eq!(summary.profile.sched.cpu_quotas, expected);
    assert_eq!(crate::common::read(captured.path()).0.sched.cpu_quotas, expected, "the capture holds what was read");
}

#[test]
fn version_1_says_minus_one_where_there_is_none() {
    let tree = tempfile::tempdir().unwrap();
    write(
        tree.path(),
        &[
            ("proc/mounts", "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"),
            ("proc/self/cgroup", "5:memory:/m\n2:cpu,cpuacct:/box\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "20000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "50000\n"),
        ],
    );
    let path = "/sys/fs/cgroup/cpu,cpuacct/box".to_owned();
    let expected = [CpuQuota { path, quota_us: 20_000, period_us: 50_000 }];
    assert_eq!(crate::common::read(tree.path()).0.sched.cpu_quotas, expected);
}

#[test]
fn the_servers_of_ordinary_tasks_and_of_a_bpf_scheduler_are_read_beside_each_other() {
    let tree = crate::common::copy("rt-x86-tuned");
    let at = |server: &str, cpu: u32, file: &str| format!("sys/kernel/debug/sched/{server}/cpu{cpu}/{file}");
    let of = [("fair_server", 0, "50000000\n"), ("fair_server", 1, "0\n"), ("ext_server", 1, "50000000\n")];
    for (server, cpu, runtime) in of {
        write(tree.path(), &[(&at(server, cpu, "runtime"), runtime), (&at(server, cpu, "period"), "1000000000\n")]);
    }
    let sched = crate::common::read(tree.path()).0.sched;
    assert_eq!(sched.fair_servers.len(), 2);
    let found: Vec<(String, u64)> =
        sched.ext_servers.iter().map(|server| (server.cpus.to_string(), server.runtime_ns)).collect();
    assert_eq!(found, [("1".to_owned(), 50_000_000)]);
}

/// The kernel cuts a thread's name after 15 bytes, also inside a character.
#[test]
fn a_thread_whose_name_is_cut_inside_a_character_is_read() {
    let tree = tempfile::tempdir().unwrap();
    let online = "0-3\n";
    write(
        tree.path(),
        &[
            ("sys/devices/system/cpu/online", online),
            ("sys/devices/system/cpu/present", online),
            ("sys/devices/system/cpu/possible", online),
            ("proc/9001/task/9001/status", "Cpus_allowed_list:\t0-3\n"),
        ],
    );
    let mut stat = b"9001 (rt".to_vec();
    stat.extend([0xe5, 0x88, 0xb6, 0xe3]);
    // Fields 9 (flags), 39 to 41 (CPU, priority, SCHED_FIFO), as proc_pid_stat(5) counts them.
    stat.extend(format!(") S 1 0 0 0 0 4194560{} 0 99 1\n", " 0".repeat(29)).into_bytes());
    fs::write(tree.path().join("proc/9001/task/9001/stat"), stat).unwrap();
    let tasks = crate::common::read(tree.path()).0.tasks;
    assert_eq!(tasks.realtime.len(), 1, "{tasks:?}");
    assert_eq!((tasks.realtime[0].rt_priority, tasks.realtime[0].comm.as_str()), (99, "rt\u{5236}\u{fffd}"));
}
