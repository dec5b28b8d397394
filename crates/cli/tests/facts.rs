//! What a record says was granted is read back, and what took place outside of the samples is seen: stops, changed
//! settings, and rivals.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::support::{Running, code, eventually_measures, may_be_real_time, record, signal, thread_of};
use kernel::clock::{KernelClock, now_ns};
use kernel::sched::{Policy, Scheduling, set_affinity, set_policy, set_scheduling_of};
use record::{Reason, ReasonCode, Record, VerdictState};
use units::{ClockId, CpuSet};

const WAKEUP: [&str; 8] = ["measure", "wakeup", "--policy", "other", "--interval", "1ms", "--duration", "4s"];
const NOISE: [&str; 4] = ["measure", "noise", "--duration", "4s"];

fn last_cpu() -> (CpuSet, String) {
    let cpu = kernel::sched::affinity_of(0).unwrap().last().unwrap();
    (CpuSet::from_iter([cpu]), cpu.to_string())
}

/// Of `for 501 ms` or `for 1.2 s`, which are rounded.
fn length_ns(detail: &str) -> i64 {
    let (number, unit) = detail.strip_prefix("for ").unwrap().split_once(' ').unwrap();
    let unit_ns = if unit == "s" { 1_000_000_000.0 } else { 1_000_000.0 };
    format!("{:.0}", number.parse::<f64>().unwrap() * unit_ns).parse().unwrap()
}

fn reasons_with(record: &Record, code: ReasonCode) -> Vec<&Reason> {
    record.validity.reasons().iter().filter(|reason| reason.code == code).collect()
}

/// Runs with a limit of nothing on locked memory, and without the right to exceed it.
fn without_locked_memory(arguments: &[&str]) -> Output {
    let limited = ["prlimit", "--memlock=0:0", env!("CARGO_BIN_EXE_punctual")];
    let dropped = ["setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock"];
    let line: Vec<&str> = if kernel::process::is_root() { [&dropped[..], &limited].concat() } else { limited.to_vec() };
    Command::new(line[0]).args(&line[1..]).args(arguments).arg("--json").stdin(Stdio::null()).output().unwrap()
}

#[test]
fn memory_that_is_not_locked_is_not_recorded_as_locked() {
    for arguments in [
        &["measure", "noise", "--duration", "100ms"][..],
        &["measure", "clock", "--samples", "2000"],
        &["measure", "wakeup", "--policy", "other", "--samples", "50", "--interval", "1ms"],
    ] {
        let record = record(&without_locked_memory(arguments));
        assert!(record.manifest().effective.iter().all(|thread| !thread.memory_locked), "{arguments:?}");
        assert!(record.validity.has(ReasonCode::MemoryNotLocked), "{arguments:?}: {:?}", record.validity);
    }
}

#[test]
fn memory_that_is_locked_reads_back_as_locked() {
    if !kernel::process::is_root() {
        println!("not run: only root may lock all memory everywhere");
        return;
    }
    for arguments in [&["measure", "noise", "--duration", "100ms"][..], &["measure", "clock", "--samples", "2000"]] {
        let record = record(&crate::support::run(&[arguments, &["--json"]].concat()));
        assert!(record.manifest().effective.iter().all(|thread| thread.memory_locked), "{:?}", record.validity);
        assert!(!record.validity.has(ReasonCode::MemoryNotLocked));
    }
}

fn stop_and_continue(child: &Child) {
    eventually_measures(child);
    signal(child, "STOP");
    std::thread::sleep(Duration::from_millis(500));
    signal(child, "CONT");
}

/// Of `stopped for 501 ms until 2 s into the run`.
fn stop_in_words(reason: &Reason) -> i64 {
    let words = reason.detail.strip_prefix("stopped ").unwrap();
    length_ns(words.split_once(" until").unwrap().0)
}

/// The record of a run that was stopped for half a second, in which that was noticed before its intervals were counted, and most
/// of it stands: a thread that gets no CPU for longer comes too late, and then the whole run is invalid.
fn stopped(arguments: &[&str]) -> Record {
    let mut each = Vec::new();
    for _ in 0..4 {
        let child = Running::start(arguments, &["--deadline", "400ms"]);
        stop_and_continue(&child);
        let output = child.output();
        let record = record(&output);
        if record.validity.has(ReasonCode::Stopped) {
            assert_eq!(code(&output), 3, "{:?}", record.validity);
        } else if record.validity.has(ReasonCode::IntervalsSpoiled) {
            return record;
        }
        each.push(record.validity);
    }
    panic!("{arguments:?}: no stop spoiled a few intervals alone: {each:?}");
}

/// The intervals in which the process was stopped are kept apart, and the others stand: with what they hold alone.
#[test]
fn a_stop_spoils_the_intervals_in_which_it_was() {
    let explained = [&WAKEUP[..], &["--explain", "--explain-by", "counters"]].concat();
    for arguments in [&WAKEUP[..], &explained, &NOISE] {
        let record = stopped(arguments);
        let said = reasons_with(&record, ReasonCode::IntervalsSpoiled);
        assert!(said[0].detail.contains(" of 4") && said[0].detail.contains("stopped for "), "{}", said[0].detail);
        let verdict = record.verdict.as_ref().unwrap();
        let covered = format!("in the {} that stand", record.covers().unwrap());
        assert!(verdict.state != VerdictState::Holds || verdict.reason.contains(&covered), "{verdict:?}");
        let (mut worst_spoiled_ns, mut longest_ns) = (0, 0);
        for series in &record.series {
            let spoiled = &series.spoiled;
            let has_schedules = series.interval_ns.is_some();
            assert!(spoiled.count > 0 && (spoiled.missed_periods >= 450 || !has_schedules), "{spoiled:?}");
            let reasons = spoiled.intervals.iter().flat_map(|interval| &interval.reasons);
            assert!(reasons.clone().all(|reason| reason.code == ReasonCode::Stopped), "{spoiled:?}");
            let worst_ns = spoiled.intervals.iter().filter_map(|interval| interval.worst_ns).max().unwrap();
            longest_ns = longest_ns.max(reasons.map(stop_in_words).max().unwrap());
            worst_spoiled_ns = worst_spoiled_ns.max(worst_ns);
            // Nothing of them is in any number: these are the sums of the intervals that stand.
            let in_intervals = |of: fn(&record::Interval) -> u64| series.intervals.iter().map(of).sum::<u64>();
            assert_eq!(series.taken(), in_intervals(record::Interval::taken));
            assert_eq!(series.counters.samples, series.taken());
            assert_eq!(series.counters.missed_periods, in_intervals(|one| one.missed_periods));
            let most = series.intervals.iter().filter_map(|one| one.histogram.max_ns()).max();
            assert_eq!(series.histogram.max_ns(), most);
            let is_spoiled =
                |at: &record::Interval| spoiled.intervals.iter().any(|one| one.start_offset_ns == at.start_offset_ns);
            assert!(!series.intervals.iter().any(is_spoiled));
            if let Some(gaps) = series.gaps() {
                assert_eq!(gaps.stolen_ns, series.histogram.sum_ns(), "{gaps:?}");
                assert!(gaps.observed_ns + spoiled.length_ns <= record.measured_ns(), "{gaps:?}, {spoiled:?}");
            }
        }
        // The thread that was late for the longest says how long it was.
        assert!(
            (480_000_000..=worst_spoiled_ns + 50_000_000).contains(&longest_ns),
            "{longest_ns}, {worst_spoiled_ns}"
        );
        let spoiled = || record.series.iter().flat_map(|series| &series.spoiled.intervals);
        let is_spoiled = |ns: i64| spoiled().any(|interval| interval.worst_ns == Some(ns) && ns > 450_000_000);
        assert!(record.worst.iter().all(|sample| !is_spoiled(sample.latency_ns)));
        assert!(record.rows.iter().all(|row| !is_spoiled(row.worst_ns)));
        let explained = record.explanation().map_or(&[][..], |explanation| &explanation.samples);
        assert!(explained.iter().all(|sample| !is_spoiled(sample.latency_ns)), "{explained:?}");
    }
}

#[test]
fn a_stop_is_bounded_where_samples_have_no_times() {
    // A measuring thread of real-time priority that never sleeps must not keep the one that looks from its CPU.
    let real_time: &[&str] = if may_be_real_time() { &["--priority", "50"] } else { &[] };
    let child = Running::start(&["measure", "clock", "--samples", "100000000"], real_time);
    stop_and_continue(&child);
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "INT");
    let output = child.output();
    let record = record(&output);
    let stops = reasons_with(&record, ReasonCode::Stopped);
    assert_eq!((stops.len(), code(&output)), (1, 3), "{:?}", record.validity);
    let at_most_ns = length_ns(&stops[0].detail.replace("up to ", ""));
    assert!((480_000_000..10_000_000_000).contains(&at_most_ns), "{}", stops[0].detail);
}

/// A group of control groups that is removed at the end; `None` where none may be made.
struct Group(std::path::PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = root.into_iter().find(|root| root.join("cgroup.controllers").exists())?;
        let folder = root.join(format!("punctual-facts-{}", std::process::id()));
        std::fs::create_dir(&folder).ok().map(|()| Self(folder))
    }

    fn set(&self, file: &str, text: &str) -> std::io::Result<()> {
        std::fs::write(self.0.join(file), text)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_frozen_control_group_is_a_stop() {
    let Some(group) = Group::new() else {
        println!("not run: no control group can be made here");
        return;
    };
    let child = Running::start(&WAKEUP, &[]);
    if group.set("cgroup.procs", &child.id().to_string()).is_err() {
        println!("not run: no process can be moved into a control group here");
        return;
    }
    eventually_measures(&child);
    group.set("cgroup.freeze", "1").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    group.set("cgroup.freeze", "0").unwrap();
    let output = child.output();
    let record = record(&output);
    let worst = record.worst.first();
    let spoiled = record.series.iter().flat_map(|series| &series.spoiled.intervals);
    let reasons: Vec<ReasonCode> = spoiled.flat_map(|one| &one.reasons).map(|reason| reason.code).collect();
    assert!(!reasons.is_empty(), "{:?}, the worst {worst:?}", record.validity);
    assert!(reasons.iter().all(|code| *code == ReasonCode::Stopped), "{reasons:?}");
    assert!(record.validity.has(ReasonCode::IntervalsSpoiled));
}

/// A thread of priority 99 keeps the measuring thread off its CPU, and ordinary ones are in the way of all others.
#[test]
fn a_busy_machine_is_no_stopped_process() {
    if !may_be_real_time() {
        println!("not run: real-time priority is not granted here");
        return;
    }
    let (cpu, cpu_text) = last_cpu();
    let child = Running::start(&["measure", "wakeup", "--interval", "1ms", "--duration", "6s"], &["--cpus", &cpu_text]);
    eventually_measures(&child);
    let clock = KernelClock::from(ClockId::Monotonic);
    let spin = move |ns: i64| {
        let began_ns = now_ns(clock);
        while now_ns(clock) < began_ns + ns {}
    };
    let ordinary: Vec<_> = (0..6).map(|_| std::thread::spawn(move || spin(2_000_000_000))).collect();
    let hog = std::thread::spawn(move || {
        set_affinity(0, &cpu).unwrap();
        set_policy(Policy::Fifo(99)).unwrap();
        spin(500_000_000);
        set_policy(Policy::Other).unwrap();
    });
    hog.join().unwrap();
    ordinary.into_iter().for_each(|thread| thread.join().unwrap());
    let record = record(&child.output());
    assert!(record.worst[0].latency_ns >= 400_000_000, "the thread was kept off: {}", record.worst[0].latency_ns);
    assert!(reasons_with(&record, ReasonCode::Stopped).is_empty(), "{:?}", record.validity);
}

#[test]
fn a_policy_that_is_changed_during_the_run_makes_it_invalid() {
    let child = Running::start(&NOISE, &[]);
    eventually_measures(&child);
    let measuring = thread_of(&child, "punctual-n0").unwrap();
    // What anybody may do to a thread of their own: make it give way to all others.
    set_scheduling_of(measuring, Scheduling { policy: 5, priority: 0, nice: 0 }).unwrap();
    let output = child.output();
    let record = record(&output);
    let changed = reasons_with(&record, ReasonCode::SchedulingNotGranted);
    assert_eq!((changed.len(), code(&output)), (1, 3), "{:?}", record.validity);
    assert!(changed[0].detail.contains("was changed to idle"), "{}", changed[0].detail);
    assert_eq!(record.manifest().effective[0].policy, "other", "what was granted at first stands in the record");
}

#[test]
fn a_rival_of_a_higher_class_that_comes_and_goes_is_named_with_its_times() {
    if !may_be_real_time() {
        println!("not run: real-time priority is not granted here");
        return;
    }
    let (_, cpu_text) = last_cpu();
    let child = Running::start(&["measure", "wakeup", "--interval", "1ms", "--duration", "6s"], &["--cpus", &cpu_text]);
    eventually_measures(&child);
    let rival = std::thread::Builder::new().name("deadliner".to_owned()).spawn(|| {
        let admitted = set_policy(Policy::Deadline { runtime_ns: 1_000_000, period_ns: 100_000_000 });
        // Once a second is looked.
        std::thread::sleep(Duration::from_millis(2_500));
        admitted
    });
    if let Err(error) = rival.unwrap().join().unwrap() {
        println!("not run: no thread of SCHED_DEADLINE is admitted here: {error}");
        return;
    }
    let record = record(&child.output());
    let rivals = reasons_with(&record, ReasonCode::RivalRealtime);
    assert_eq!(rivals.len(), 1, "{:?}", record.validity);
    let detail = &rivals[0].detail;
    assert!(detail.contains("deadliner (deadline, 1 ms of every 100 ms, CPU"), "{detail}");
    assert!(detail.contains("into the run") && !detail.contains("deadliner, throughout"), "{detail}");
}
