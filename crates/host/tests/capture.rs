//! A captured tree yields the profile that it was captured from, and carries nothing private.

#![allow(clippy::unwrap_used, reason = "a test stops where something is missing")]

use std::fs;
use std::path::Path;

use crate::common::{copy, files, read, write};
use host::{CaptureError, Root, RootError, capture, read_irq_window_during, read_profile};

#[test]
fn fixtures_survive_a_round_trip() {
    for host in fixtures::hosts() {
        let target = tempfile::tempdir().unwrap();
        let dir = target.path().join("new/folder");
        let root = Root::tree(&fixtures::host(&host)).unwrap();
        let summary = capture(&root, &dir).unwrap();
        let (captured, issues) = read(&dir);
        assert_eq!((&captured, &issues), (&read_profile(&root).0, &summary.issues), "{host}");
        assert_eq!(captured, summary.profile, "{host}");
        let written = files(&dir);
        assert_eq!(u64::try_from(written.len()).unwrap(), summary.file_count, "{host}");
        assert_eq!(written.iter().map(|f| fs::metadata(f).unwrap().len()).sum::<u64>(), summary.size_bytes, "{host}");
    }
}

#[test]
fn a_fixture_holds_nothing_that_the_reader_does_not_read() {
    for host in fixtures::hosts() {
        let target = tempfile::tempdir().unwrap();
        capture(&Root::tree(&fixtures::host(&host)).unwrap(), target.path()).unwrap();
        let names = |dir: &Path| {
            files(dir).into_iter().map(|file| file.strip_prefix(dir).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(target.path()), names(&fixtures::host(&host)), "{host}");
    }
}

#[test]
fn the_running_machine_survives_a_round_trip() {
    let target = tempfile::tempdir().unwrap();
    let summary = capture(&Root::live(), target.path()).unwrap();
    // What the running machine denies is missing in the tree, so the gaps may differ; the profile may not.
    assert_eq!(read(target.path()).0, summary.profile);
    assert_eq!(summary.profile.kernel.release, read_profile(&Root::live()).0.kernel.release);
}

#[test]
fn private_things_stay_behind() {
    let tree = copy("rt-x86-tuned");
    let root = tree.path();
    write(root, "proc/sys/kernel/hostname", "secret-plant-7\n");
    write(root, "proc/cmdline", "ro ip=10.11.12.13::10.11.12.1 isolcpus=2-3 -- --token hunter2\n");
    write(root, "proc/900/cmdline", "motion\0--password\0hunter2\0");
    write(root, "proc/900/environ", "PASSWORD=hunter2\0");
    write(root, "proc/900/task/903/status", "Name:\tmotion\nUid:\t4711\t4711\nCpus_allowed_list:\t3\n");
    write(root, "sys/class/net/enp2s0/address", "00:11:22:aa:bb:cc\n");
    write(root, "sys/class/ptp/ptp0/clock_name", "001122aabbcc\n");
    write(root, "sys/class/net/enx001122aabbcc/operstate", "up\n");
    write(root, "sys/class/net/enx001122aabbcc/device/driver", "r8152\n");
    write(root, "punctual/ethtool/enx001122aabbcc.json", "{\"channels\": {\"combined_count\": 3}}");
    write(root, "sys/class/net/wg-customer/mtu", "1420\n");
    write(root, "etc/os-release", "PRETTY_NAME=\"Debian\"\nBUILD_HOST=secret-plant-7\n");
    write(root, "proc/mounts", "10.11.12.13:/secret-plant-7 /mnt nfs rw 0 0\n");
    write(root, "proc/cpuinfo", "model name\t: X\nflags\t\t: tsc\nSerial\t\t: 4711cafe\n");

    let target = tempfile::tempdir().unwrap();
    let summary = capture(&Root::tree(root).unwrap(), target.path()).unwrap();
    for file in files(target.path()) {
        let name = file.strip_prefix(target.path()).unwrap().display().to_string();
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        for secret in ["hunter2", "secret-plant", "10.11.12", "001122", "00:11:22", "4711", "wg-customer"] {
            assert!(!text.contains(secret) && !name.contains(secret), "{name} reveals {secret}");
        }
    }
    let usb = summary.profile.net.interfaces.iter().find(|nic| nic.driver.as_deref() == Some("r8152")).unwrap();
    assert_eq!((usb.name.as_str(), usb.ethtool.channels.as_ref().unwrap().combined_count), ("nic0", 3));
    assert_eq!(read(target.path()).0, summary.profile);
}

#[test]
fn a_folder_that_cannot_take_a_capture_is_told() {
    let root = Root::tree(&fixtures::host("raspberry-pi-4")).unwrap();
    let target = tempfile::tempdir().unwrap();
    write(target.path(), "mine.txt", "keep me");
    let error = capture(&root, target.path()).unwrap_err();
    assert!(matches!(error, CaptureError::NotEmpty { .. }), "{error}");
    assert!(error.to_string().contains("name a new or an empty folder"), "{error}");

    let error = capture(&root, &target.path().join("mine.txt/below")).unwrap_err();
    assert!(matches!(error, CaptureError::Folder { .. }), "{error}");
    assert_eq!(fs::read_to_string(target.path().join("mine.txt")).unwrap(), "keep me");
}

#[test]
fn a_capture_that_fails_half_way_leaves_nothing_behind() {
    let target = tempfile::tempdir().unwrap();
    // The folder itself fits into the longest path that Linux takes (PATH_MAX, 4096), files deep in it do not.
    let mut dir = target.path().to_owned();
    while dir.as_os_str().len() + 101 < 4060 {
        dir.push("d".repeat(100));
    }
    dir.push("d".repeat(4060_usize.saturating_sub(dir.as_os_str().len() + 1).max(1)));
    let error = capture(&Root::tree(&fixtures::host("raspberry-pi-4")).unwrap(), &dir).unwrap_err();
    assert!(matches!(error, CaptureError::Write { .. }), "{error}");
    assert!(!dir.exists());
}

#[test]
fn only_a_tree_is_taken_for_a_tree() {
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(Root::tree(empty.path()), Err(RootError::NoProc { .. })));
    let error = Root::tree(&empty.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, RootError::Folder { .. }), "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn arrivals_in_a_window() {
    let tree = copy("rt-x86-tuned");
    let root = Root::tree(tree.path()).unwrap();
    let place = tree.path().join("proc/interrupts");
    let text = fs::read_to_string(&place).unwrap();
    let mut profile = read_profile(&root).0;
    let (window, issues) = read_irq_window_during(&root, || {
        fs::write(&place, text.replace("86400123", "86400223").replace("     39120", "     39121")).unwrap();
    });
    window.apply(&mut profile.irqs);
    assert!(issues.is_empty(), "{issues:?}");
    assert_eq!(profile.irqs.window_ns, Some(window.window_ns));
    let arrived: Vec<_> = profile
        .irqs
        .lines
        .iter()
        .filter(|line| !line.arrived_counts.is_empty())
        .map(|line| (line.number, line.arrived_counts.clone()))
        .collect();
    assert_eq!(arrived, [(128, [(1, 1)].into()), (136, [(2, 100)].into())]);
    assert!(profile.irqs.architecture.is_empty());
    assert!(profile.irqs.lines.iter().any(|line| line.affinity.is_some()), "affinities stay");
}
