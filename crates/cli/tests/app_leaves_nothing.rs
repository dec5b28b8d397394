//! `punctual app` where tracefs is not mounted or not granted, and what is left of a run, however it ends: nothing.
//!
//! Each needs the right to trace and real-time priority; where either is missing the test says so and shows nothing.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::process::{Child, Command};

use crate::support::followed::{
    app_of, built, can_follow, counts_calls, instances, instances_folder, leaves_switches_out,
};
use crate::support::{code, eventually, punctual, record, run, said, signal};
use record::{ReasonCode, Record};

fn started(arguments: &[&str]) -> Child {
    punctual(arguments).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
}

#[test]
fn what_a_killed_run_leaves_is_gone_with_the_next_and_others_instances_stay() {
    if !can_follow() {
        return;
    }
    let others = instances_folder().join(format!("somebody-{}", std::process::id()));
    let others = others.display();
    std::fs::create_dir(others.to_string()).unwrap();
    std::fs::write(format!("{others}/events/sched/sched_switch/enable"), "1").unwrap();
    let mark = format!("31{}", std::process::id());
    let mut child = started(&["app", "--cmd", &format!("sleep {mark}")]);
    let own = format!("-{}-", child.id());
    eventually("the trace and the program", || {
        instances().iter().any(|name| name.contains(&own)) && crate::support::anybody_has(&format!("sleep {mark}"))
    });
    signal(&child, "KILL");
    child.wait().unwrap();
    assert!(instances().iter().any(|name| name.contains(&own)), "a killed process can remove nothing");
    // Its program goes with its guard.
    eventually("the program's end", || !crate::support::anybody_has(&format!("sleep {mark}")));
    let next = run(&["app", "--cmd", "sleep 0.2", "--json"]);
    let left = instances();
    let untouched = std::fs::read_to_string(format!("{others}/events/sched/sched_switch/enable")).unwrap();
    std::fs::remove_dir(others.to_string()).unwrap();
    // A program that sleeps once has one wake-up, which such a kernel may not have recorded.
    let may_be_without = leaves_switches_out(&record(&next));
    assert!(code(&next) == 0 || may_be_without && code(&next) == 3, "{}: {}", code(&next), said(&next));
    assert!(!left.iter().any(|name| name.contains(&own)), "{left:?}");
    assert_eq!(untouched.trim(), "1");
}

#[test]
fn a_signal_ends_the_run_in_order() {
    if !can_follow() {
        return;
    }
    let mut child = started(&["app", "--cmd", "sleep 30", "--duration", "unlimited"]);
    let own = format!("-{}-", child.id());
    eventually("the trace", || instances().iter().any(|name| name.contains(&own)));
    signal(&child, "INT");
    child.wait().unwrap();
    assert!(!instances().iter().any(|name| name.contains(&own)));
}

#[test]
fn a_killed_run_leaves_the_record_of_what_was_followed_until_then() {
    if !can_follow() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let command = format!("timeout 300 {} 250000", built().join("periodic-good-c").display());
    let line = ["app", "--cmd", &command, "--duration", "unlimited", "-o", file.to_str().unwrap()];
    let mut child = started(&line);
    let read = || std::fs::read_to_string(&file).ok().map(|text| Record::from_json(&text).unwrap());
    // The second one replaces the first.
    let mut earlier = None;
    eventually("a record so far, with the loop", || {
        earlier = read().filter(|record| record.series.iter().any(|series| series.counters.samples > 0));
        earlier.is_some()
    });
    let earlier = earlier.unwrap();
    eventually("the next one", || read().is_some_and(|record| record.measured_ns() > earlier.measured_ns()));
    signal(&child, "KILL");
    child.wait().unwrap();
    let left = read().unwrap();
    assert!(left.validity.has(ReasonCode::InterruptedEarly), "{:?}", left.validity);
    assert_eq!(left.id, earlier.id);
    let app = app_of(&left);
    assert!(app.threads.iter().any(|thread| thread.name == "control"), "{:?}", app.threads);
    for series in &left.series {
        let counted: u64 = series.intervals.iter().map(|interval| interval.histogram.count()).sum();
        assert_eq!((counted, counted), (series.counters.samples, series.histogram.count()), "{}", series.name);
        let before = earlier.series.iter().find(|before| before.is_of_the_same(series)).unwrap();
        assert!(series.counters.samples > before.counters.samples, "{}", series.name);
        assert!(series.histogram.max_ns() >= before.histogram.max_ns(), "{}", series.name);
    }
    assert!(left.series.iter().any(|series| series.name == "scheduled_to_returned"));
}

/// Bytes of a process's C library that differ from those of its file: breakpoints.
fn breakpoints(pid: u32) -> usize {
    use std::os::unix::fs::FileExt as _;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let line = maps.lines().find(|line| line.contains(" r-xp ") && line.contains("/libc.so")).unwrap();
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let (from, to) = fields[0].split_once('-').map(|(from, to)| (number(from), number(to))).unwrap();
    let file = std::fs::File::open(fields[5]).unwrap();
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let offset = number(fields[2]);
    let length = usize::try_from((to - from).min(file.metadata().unwrap().len() - offset)).unwrap();
    let (mut in_file, mut in_memory) = (vec![0; length], vec![0; length]);
    file.read_exact_at(&mut in_file, offset).unwrap();
    memory.read_exact_at(&mut in_memory, from).unwrap();
    in_file.iter().zip(&in_memory).filter(|(before, now)| before != now).count()
}

#[test]
fn a_killed_run_leaves_no_breakpoint_in_the_program() {
    if !can_follow() {
        return;
    }
    // In its loop it calls no allocator, so that the probes stay for seconds.
    let mut child =
        Command::new("timeout").arg("300").arg(built().join("periodic-good-c")).arg("250000").spawn().unwrap();
    let mut pid = 0;
    eventually("the program", || {
        let text = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap_or_default();
        pid = text.trim().parse().unwrap_or(0);
        std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count) > 1
    });
    assert_eq!(breakpoints(pid), 0);
    // Whether this machine lets anybody place probes, by a short run.
    let short = run(&["app", "--pid", &pid.to_string(), "--duration", "2s", "--json"]);
    if counts_calls(&record(&short)) {
        assert_eq!(breakpoints(pid), 0, "an ordered end removes them");
        let mut follower = started(&["app", "--pid", &pid.to_string(), "--duration", "20s"]);
        eventually("the breakpoints", || breakpoints(pid) > 2);
        signal(&follower, "KILL");
        follower.wait().unwrap();
        eventually("the breakpoints' end", || breakpoints(pid) == 0);
    }
    signal(&child, "TERM");
    child.wait().unwrap();
}

/// A line for the shell, in a mount namespace of its own: takes every mount of tracefs away.
const NOWHERE_MOUNTED: &str = "(umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug/tracing; \
    umount -l /sys/kernel/debug) 2>/dev/null";

#[test]
fn tracefs_need_not_be_mounted_and_is_not_afterwards() {
    if !can_follow() || !kernel::process::is_root() {
        println!("not shown here: it takes root to take a mount away");
        return;
    }
    let own = env!("CARGO_BIN_EXE_punctual");
    let script = format!(
        "{NOWHERE_MOUNTED}; ! grep -q tracefs /proc/self/mountinfo || exit 99; cat /proc/self/mountinfo >&2; echo == >&2; \
         {own} app --cmd 'for i in 1 2 3 4; do sleep 0.1; done' --json 2>/dev/null; \
         code=$?; cat /proc/self/mountinfo >&2; exit $code"
    );
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    let followed = record(&output);
    assert!(code(&output) == 0 || leaves_switches_out(&followed), "{}", said(&output));
    assert!(app_of(&followed).tracing.events > 0);
    let mounts = said(&output);
    let (first, last) = mounts.split_once("==\n").unwrap();
    assert_eq!(first, last, "no mount is left");
}

#[test]
fn what_forbids_tracing_is_told_with_the_way_round_it() {
    if !can_follow() || !kernel::process::is_root() {
        println!("not shown here: it takes root to give rights up");
        return;
    }
    let own = env!("CARGO_BIN_EXE_punctual");
    let check = |program: &str, arguments: &[&str], part: &str| {
        let Ok(output) = Command::new(program).args(arguments).output() else {
            println!("not shown here: no {program}");
            return;
        };
        assert_eq!(code(&output), 2, "{}", said(&output));
        assert!(said(&output).contains(part), "{}", said(&output));
    };
    // Without the right to mount one of its own; in a mount namespace where it is mounted nowhere.
    let hidden = format!("{NOWHERE_MOUNTED}; exec setpriv --bounding-set -sys_admin {own} app --cmd true");
    check("unshare", &["-m", "sh", "-c", &hidden], "--cap-add=SYS_ADMIN");
    let in_user_namespace =
        format!("{NOWHERE_MOUNTED}; exec unshare --user --map-root-user --mount {own} app --cmd true");
    check("unshare", &["-m", "sh", "-c", &in_user_namespace], "user namespace");
    check("unshare", &["--pid", "--fork", "--mount-proc", own, "app", "--cmd", "true"], "outside of the container");
    // As somebody who may not even look; where this program's own folder is closed to them, nothing is shown.
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    if Command::new("setpriv")
        .args(nobody)
        .args([own, "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        check("setpriv", &[&nobody[..], &[own, "app", "--cmd", "true"]].concat(), "run as root");
    }
}
