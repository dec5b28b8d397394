//! `punctual measure wakeup` as a user runs it.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::process::Stdio;

use crate::support::{
    code, eventually, eventually_measures, may_be_real_time, punctual, record, run, said, signal, thread_of,
};
use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::sched::{Policy, set_affinity, set_policy};
use record::{ReasonCode, VerdictState};
use units::{ClockId, CpuSet};

const OTHER: [&str; 4] = ["measure", "wakeup", "--policy", "other"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    OTHER.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn every_schedule_is_taken_or_missed() {
    let output = run(&with(&["--interval", "500us", "--duration", "400ms", "--json"]));
    let record = record(&output);
    for series in &record.series {
        let counters = &series.counters;
        // 400 ms / 500 us and the schedule at 0; a last late wake-up can swallow schedules beyond the end.
        assert!(counters.samples + counters.missed_periods >= 800, "{counters:?}");
        assert_eq!(counters.samples, series.histogram.count());
        let in_intervals: u64 = series.intervals.iter().map(|interval| interval.histogram.count()).sum();
        assert_eq!(in_intervals, counters.samples, "each sample stands in one interval");
        let worst = series.intervals.iter().filter_map(|interval| interval.histogram.max_ns()).max();
        assert_eq!(worst, series.histogram.max_ns());
        let corrected = series.corrected.as_ref().map_or(counters.samples, record::Histogram::count);
        assert_eq!(corrected, counters.samples + counters.missed_periods);
    }
    assert_eq!(record.worst[0].latency_ns, record.worst_of_all().unwrap().0);
}

#[test]
fn jittered_schedules_lie_anywhere_in_their_intervals_and_each_is_taken_or_missed() {
    let line = ["--interval", "500us", "--duration", "400ms", "--jitter", "--jitter-seed", "7", "--json"];
    let record = record(&run(&with(&line)));
    assert_eq!(record.manifest().requested.jitter_seed, Some(7));
    for series in &record.series {
        let counters = &series.counters;
        // One schedule in each of the 800 intervals.
        assert!(counters.samples + counters.missed_periods >= 800, "{counters:?}");
        let corrected = series.corrected.as_ref().map_or(counters.samples, record::Histogram::count);
        assert_eq!(corrected, counters.samples + counters.missed_periods);
    }
    let started_ns = record.manifest().started.monotonic.as_ns();
    let place = |ns: i64| (ns - started_ns).rem_euclid(500_000) / 50_000;
    let places: std::collections::BTreeSet<i64> =
        record.worst.iter().map(|worst| place(worst.from.at.monotonic.as_ns())).collect();
    assert!(places.len() >= 5, "64 worst samples all at one phase: {places:?}");
    let rhythm = record.rhythm().expect("every run is scanned");
    assert!(rhythm.hidden.is_empty(), "nothing hides behind random schedules: {:?}", rhythm.hidden);
}

#[test]
fn an_aligned_run_has_its_schedules_where_they_are_known_beforehand() {
    for clock in ["monotonic", "realtime", "tai"] {
        let line = ["--align-to", "250ms", "--interval", "1ms", "--samples", "40", "--threads", "2", "--clock", clock];
        let record = record(&run(&with(&[line.as_slice(), &["--json"]].concat())));
        assert_eq!(record.manifest().requested.align_to_ns, Some(250_000_000));
        let grid_ns = 250_000_000;
        // TAI stands in no record; it differs from the realtime clock by whole seconds.
        let (started_ns, slack_ns) = match clock {
            "monotonic" => (record.manifest().started.monotonic.as_ns(), 0),
            "realtime" => (record.manifest().started.realtime.as_ns(), 0),
            _ => (record.manifest().started.realtime.as_ns(), 5_000_000),
        };
        let off_ns = (started_ns + grid_ns / 2).rem_euclid(grid_ns) - grid_ns / 2;
        assert!(off_ns.abs() <= slack_ns, "{clock}: {off_ns} ns off the grid");
        if clock == "monotonic" {
            for sample in &record.worst {
                let offset_ns = sample.from.at.monotonic.as_ns()
                    - started_ns
                    - 500_000 * i64::from(sample.place.thread_number().unwrap());
                assert_eq!(offset_ns % 1_000_000, 0, "thread {} is staggered as ever", sample.place);
            }
        }
    }
}

#[test]
fn a_run_that_waits_for_its_grid_can_be_called_off() {
    let child = punctual(&with(&["--align-to", "1h", "--duration", "60s", "--json"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the drain", || thread_of(&child, "punctual-drain").is_some());
    signal(&child, "INT");
    let record = record(&child.wait_with_output().unwrap());
    assert!(record.validity.has(ReasonCode::NoSamples) && record.validity.has(ReasonCode::InterruptedEarly));
    assert!(!record.validity.has(ReasonCode::ThreadStuck), "{:?}", record.validity);
}

#[test]
fn a_deadline_decides_the_exit() {
    let broken = run(&with(&["--samples", "200", "--interval", "500us", "--deadline", "1ns", "--json"]));
    assert_eq!((code(&broken), record(&broken).verdict.unwrap().state), (1, VerdictState::Broken));
    let holds = run(&with(&["--samples", "200", "--interval", "500us", "--deadline", "1h", "--json"]));
    assert_eq!((code(&holds), record(&holds).verdict.unwrap().state), (0, VerdictState::Holds));
}

#[test]
fn what_cannot_be_measured_is_a_usage_error_that_says_the_remedy() {
    for (arguments, part) in [
        (with(&["--cpus", "999"]), "does not exist"),
        (with(&["--cpus", ""]), "empty"),
        (with(&["--cpus", "3-1"]), "downwards"),
        (with(&["--interval", "0us"]), "at least 10us"),
        (with(&["--interval", "1us"]), "below the 10.0 us"),
        (with(&["--interval", "200"]), "no unit"),
        (with(&["--duration", "300us"]), "lengthen --duration"),
        (with(&["--samples", "0"]), "at least 2"),
        (with(&["--duration", "9000h", "--interval-maximum", "1ms"]), "--interval-maximum"),
        (with(&["--priority", "100", "--policy", "fifo"]), "out of range"),
        (with(&["--threads", "0"]), "1 to 4096"),
        (with(&["--clock", "monotonic-raw"]), "cannot be slept on"),
        (with(&["--clock", "wall"]), "is not a clock"),
        (with(&["--load", "papr"]), "paper, osadl and none"),
        (with(&["--load", "/nowhere/load.toml"]), "/nowhere/load.toml"),
        (with(&["--output", "/nowhere/record.json"]), "/nowhere"),
        (with(&["--hold-dma-latency", "x"]), "microseconds"),
        (with(&["--align-to", "0s"]), "--align-to"),
        (with(&["--jitter-seed", "3"]), "--jitter"),
        (with(&["--sideways"]), "--sideways"),
    ] {
        // The policy is given twice in one case: the last counts nowhere, so drop ours there.
        let arguments = if arguments.iter().filter(|a| **a == "--policy").count() > 1 {
            ["measure", "wakeup"].into_iter().chain(arguments.into_iter().skip(4)).collect()
        } else {
            arguments
        };
        let output = run(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?} printed data");
        let said = said(&output).replace('\n', " ");
        assert!(
            said.contains(part) || said.replace("one cannot sleep on", "cannot be slept on").contains(part),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn signals_end_early_and_keep_everything() {
    for name in ["INT", "TERM", "HUP"] {
        let child = punctual(&with(&["--interval", "1ms", "--duration", "60s", "--json"]))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        eventually_measures(&child);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let record = record(&output);
        assert!(record.validity.has(ReasonCode::InterruptedEarly), "{name}");
        assert!(record.samples() > 0);
        // Degraded stands; a machine so busy that the threads got no CPU to end makes it invalid.
        assert_eq!(code(&output), if record.validity.is_invalid() { 3 } else { 0 });
    }
}

/// As when its CPU goes offline: the kernel lets the thread run elsewhere.
#[test]
fn a_thread_that_is_moved_away_makes_the_run_invalid() {
    let cpus = kernel::sched::affinity_of(0).unwrap();
    if cpus.len() < 2 {
        println!("not run: there is no second CPU to move to");
        return;
    }
    let cpu = cpus.last().unwrap();
    let cpu_text = cpu.to_string();
    let child = punctual(&with(&["--cpus", &cpu_text, "--interval", "1ms", "--duration", "4s", "--json"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually_measures(&child);
    let worker = thread_of(&child, "punctual-w0");
    let elsewhere: CpuSet = cpus.iter().filter(|other| *other != cpu).collect();
    set_affinity(worker.unwrap(), &elsewhere).unwrap();
    let output = child.wait_with_output().unwrap();
    let record = record(&output);
    let moved = |reason: &&record::Reason| reason.code == ReasonCode::AffinityNotGranted;
    let reasons: Vec<_> = record.validity.reasons().iter().filter(moved).collect();
    assert_eq!(reasons.len(), 1, "it is reported once, however long it stays away");
    assert!(reasons[0].detail.contains(&format!("left CPU {cpu}")), "{}", reasons[0].detail);
    assert_eq!(code(&output), 3);
}

/// A campaign that sets nothing of the machine.
const CAMPAIGN: &str = "name = \"c\"\nabout = \"a\"\nrepetitions = 1\n[[measurement]]\nname = \"wakeup\"\nrequest = { kind = \"wakeup\" }\n\
                        duration = \"50ms\"\n[[factor]]\nname = \"priority\"\n[[factor.level]]\nname = \"as-it-is\"\n\
                        [[factor.level]]\nname = \"7\"\nasked = { request = { priority = 7 } }\n";

#[test]
fn without_the_right_to_real_time_it_says_so_at_once_and_measures_where_that_is_wanted() {
    if !kernel::process::is_root() {
        println!("not run: only root can give its rights up");
        return;
    }
    use std::os::unix::process::CommandExt as _;
    // Where nobody can read it too.
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("punctual");
    // By another process: were it open for writing here while another test forks, it could not be started.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_punctual")).arg(&binary).status().unwrap();
    assert!(copied.success());
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let line = ["measure", "wakeup", "--samples", "50", "--interval", "1ms", "--deadline", "1h", "--json"];
    let as_nobody =
        |words: &[&str]| std::process::Command::new(&binary).args(words).uid(65_534).gid(65_534).output().unwrap();
    let refused = as_nobody(&line);
    assert_eq!((code(&refused), refused.stdout.len()), (3, 0), "{}", said(&refused));
    for part in ["nothing was measured", "SCHED_FIFO with priority 98", "setcap cap_sys_nice", "--anyway"] {
        assert!(said(&refused).contains(part), "{part}: {}", said(&refused));
    }
    std::fs::write(folder.path().join("c.toml"), CAMPAIGN).unwrap();
    let campaign = folder.path().join("c.toml").to_str().unwrap().to_owned();
    let assessment = folder.path().join("assessment").to_str().unwrap().to_owned();
    for line in [
        &["measure", "noise", "--cpus", "0", "--priority", "10"][..],
        &["measure", "clock", "--priority", "10"],
        &["assess", "-o", "/tmp/punctual-no-assessment"],
        &["campaign", "run", "--without-conclusion", &campaign, "-o", &assessment],
    ] {
        let refused = as_nobody(line);
        assert_eq!((code(&refused), refused.stdout.len()), (3, 0), "{line:?}: {}", said(&refused));
        assert!(said(&refused).contains("--anyway"), "{line:?}: {}", said(&refused));
    }
    assert!(!std::path::Path::new("/tmp/punctual-no-assessment").exists(), "nothing is left of one that did not begin");
    let output = as_nobody(&[&line[..], &["--anyway"]].concat());
    assert!(said(&output).contains("the run will be invalid"), "{}", said(&output));
    let record = record(&output);
    assert!(record.validity.has(ReasonCode::SchedulingNotGranted));
    assert!(record.samples() >= 50, "it still measures");
    assert_eq!(record.manifest().effective[0].policy, "other", "what was granted is read back");
    assert_eq!((code(&output), record.verdict.unwrap().state), (3, VerdictState::CannotTell));
}

#[test]
fn a_load_that_does_nothing_makes_the_run_invalid() {
    for (command, part) in [("sleep 60", "nothing of it used the CPU"), ("true", "ended by itself")] {
        let output =
            run(&with(&["--samples", "300", "--interval", "1ms", "--load-cmd", command, "--anyway", "--json"]));
        let record = record(&output);
        let reason = record.validity.reasons().iter().find(|r| r.code == ReasonCode::LoadNotAchieved).unwrap();
        assert!(reason.detail.contains(part), "{}", reason.detail);
        assert_eq!(code(&output), 3);
    }
}

/// Known at the start, and said then: not after the time that was to be measured.
#[test]
fn a_load_that_cannot_run_or_ends_at_once_is_refused_before_anything_is_measured() {
    let began = std::time::Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.toml");
    std::fs::write(&file, "name = \"x\"\n[[command]]\nprogram = \"no-such-program\"\n").unwrap();
    let written = folder.path().join("run.json");
    for (words, exit, parts) in [
        // The shell's own words and exit status, whatever shell it is.
        (["--load-cmd", "no-such-program --fast"], 2, ["exit status 127", "no-such-program"]),
        (["--load-cmd", "/etc/passwd"], 2, ["exit status 126", "/etc/passwd"]),
        (["--load", file.to_str().unwrap()], 2, ["'no-such-program' was not found", "PATH"]),
        (["--load-cmd", "echo out of cheese >&2; exit 4"], 3, ["exit status 4", "it said: out of cheese"]),
        (["--load-cmd", "true"], 3, ["ended by itself (exit status 0)", "--anyway"]),
        (["--load-cmd", "kill -9 $$"], 3, ["signal 9", "nothing was measured"]),
        (["--load-cmd", " "], 2, ["--load-cmd names no command", "--load-cmd"]),
    ] {
        for command in [&["measure", "wakeup", "--policy", "other"][..], &["measure", "noise"], &["assess"]] {
            // An assessment writes a folder.
            let output = if command == ["assess"] { folder.path().join("assessment") } else { written.clone() };
            let line = [command, &["--duration", "60s", "--output", output.to_str().unwrap()], &words].concat();
            let output = run(&line);
            let said = said(&output).replace('\n', " ");
            if command == ["assess"] && !may_be_real_time() {
                println!("not run: assess needs the right to real-time priority");
                continue;
            }
            assert_eq!((code(&output), output.stdout.len()), (exit, 0), "{line:?}: {said}");
            parts.iter().for_each(|part| assert!(said.contains(part), "{line:?}: {part}: {said}"));
            assert!(!said.contains("used the CPU") && !said.contains("apt-get install no-such"), "{said}");
            assert!(!written.exists() && !folder.path().join("assessment").exists(), "{line:?} left something behind");
        }
    }
    assert!(began.elapsed().as_secs() < 60, "not one of them measured for its minute");
}

/// It ran, used the CPU and ended: what is said of it is that it ended.
#[test]
fn a_load_that_ended_within_the_run_is_said_to_have_ended_and_not_to_have_done_nothing() {
    let line =
        ["--duration", "4s", "--interval", "1ms", "--json", "--load-cmd", "timeout 3 sh -c 'while :; do :; done'"];
    let output = run(&with(&line));
    let record = record(&output);
    let reason = record.validity.reasons().iter().find(|r| r.code == ReasonCode::LoadNotAchieved).unwrap();
    assert!(reason.detail.contains("ended by itself (exit status 124)"), "{}", reason.detail);
    assert!(!reason.detail.contains("used the CPU"), "{}", reason.detail);
    assert!(record.manifest().load.achieved.as_ref().unwrap().cpu_used > 0.0, "what it used until then is counted");
    assert_eq!(code(&output), 3);
}

#[test]
fn a_busy_load_is_measured() {
    let output = run(&with(&["--samples", "500", "--interval", "1ms", "--load-cmd", "while :; do :; done", "--json"]));
    let record = record(&output);
    let achieved = record.manifest().load.achieved.clone().unwrap();
    assert!(achieved.cpu_used > 0.05, "{achieved:?}");
    assert!(!record.validity.has(ReasonCode::LoadNotAchieved));
}

#[test]
fn a_killed_controller_leaves_no_load_behind() {
    let mark = format!("punctual-test-{}", std::process::id());
    // A grandchild in a session of its own, which neither its parent's death nor the group's would reach.
    let command = format!("setsid sh -c 'while :; do sleep 0.05; : {mark}; done' & sleep 600");
    let mut child = punctual(&with(&["--interval", "1ms", "--duration", "60s", "--load-cmd", &command]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let grandchild = format!("sleep 0.05; : {mark}");
    eventually("the load", || crate::support::anybody_has(&grandchild));
    signal(&child, "KILL");
    child.wait().unwrap();
    eventually("the load's end", || !crate::support::anybody_has(&mark));
}

#[test]
fn a_missing_load_program_is_named_with_its_package() {
    let mut command = punctual(&with(&["--samples", "10", "--load", "paper"]));
    let output = command.env("PATH", "/nonexistent").output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(said(&output).contains("apt-get install stress-ng"), "{}", said(&output));
}

/// A FIFO-99 thread spins on the measured CPU for 20 ms: that must be one row of about 100 missed periods.
#[test]
fn a_hog_is_one_row_of_missed_periods_at_its_time() {
    const SPIN_NS: i64 = 20_000_000;
    if !may_be_real_time() {
        println!("not run: real-time priority is not granted here");
        return;
    }
    let cpu = kernel::sched::affinity_of(0).unwrap().last().unwrap();
    let cpu_text = cpu.to_string();
    let arguments = ["measure", "wakeup", "--cpus", &cpu_text, "--interval", "200us", "--duration", "3s", "--json"];
    let child = punctual(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the drain thread", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        tasks.flatten().any(|task| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("punctual-drain"))
        })
    });
    let hog = std::thread::spawn(move || {
        let clock = KernelClock::from(ClockId::Monotonic);
        sleep_until(clock, &Schedule::at_ns(now_ns(clock) + 1_000_000_000)).unwrap();
        set_affinity(0, &CpuSet::from_iter([cpu])).unwrap();
        set_policy(Policy::Fifo(99)).unwrap();
        let began_ns = now_ns(clock);
        while now_ns(clock) < began_ns + SPIN_NS {}
        let ended_ns = now_ns(clock);
        set_policy(Policy::Other).unwrap();
        (began_ns, ended_ns)
    });
    let (began_ns, ended_ns) = hog.join().unwrap();
    let output = child.wait_with_output().unwrap();
    let record = record(&output);
    // The row that holds the spin; a hypervisor can make it longer at either end, never shorter.
    let row = record
        .rows
        .iter()
        .find(|row| {
            let first = row.first_scheduled.monotonic.as_ns();
            // It may begin with a late wake-up of the hypervisor's, so its length is that of its periods, not its worst.
            let length_ns = i64::try_from(row.periods).unwrap() * 200_000;
            first <= began_ns + 400_000 && first + length_ns + 400_000 >= ended_ns
        })
        .unwrap_or_else(|| panic!("no row holds {began_ns} to {ended_ns}: {:?}", record.rows));
    let spun = u64::try_from((ended_ns - began_ns) / 200_000).unwrap();
    assert!(row.missed_periods + 1 >= spun, "{row:?}, spun for {spun} periods");
    let recovery_ns = i64::try_from(row.recovery_ns.unwrap()).unwrap();
    assert!(recovery_ns + 400_000 >= ended_ns - began_ns, "{row:?}");
    let sample = record
        .worst
        .iter()
        .find(|sample| sample.missed_periods == row.missed_periods && sample.place.cpu() == Some(cpu))
        .or_else(|| record.worst.iter().find(|sample| sample.to.at.monotonic.as_ns() >= ended_ns - 400_000));
    let woke = sample.unwrap().to.at;
    assert!(woke.monotonic.as_ns() >= ended_ns - 400_000, "it woke when the hog had ended");
    // Wall and monotonic time are of one moment.
    let wall = KernelClock::from(ClockId::Realtime);
    let distance = now_ns(wall) - now_ns(KernelClock::from(ClockId::Monotonic));
    assert!((woke.realtime.as_ns() - woke.monotonic.as_ns() - distance).abs() < 50_000_000);
}

#[test]
fn intervals_on_utc_are_of_the_same_times_on_every_machine() {
    let of = ["measure", "wakeup", "--policy", "other", "--interval", "1ms", "--duration", "1200ms", "--json"];
    let output = run(&[&of[..], &["--interval-maximum", "250ms", "--intervals-on-utc"]].concat());
    let record = record(&output);
    assert!(record.manifest().requested.intervals_on_utc);
    let started_ns = record.manifest().started.realtime.as_ns();
    for series in &record.series {
        let starts: Vec<i64> = series.intervals.iter().map(|one| i64::try_from(one.start_offset_ns).unwrap()).collect();
        assert!((5..=6).contains(&starts.len()), "{starts:?}");
        // The run's first schedule is within microseconds of what its record calls its start.
        for start_ns in &starts[1..] {
            let into_ns = (started_ns + start_ns).rem_euclid(250_000_000);
            assert!(into_ns.min(250_000_000 - into_ns) < 5_000_000, "{into_ns} ns, {starts:?}");
        }
        let whole = &series.intervals[1..series.intervals.len() - 1];
        assert!(whole.iter().all(|one| one.length_ns == 250_000_000), "{starts:?}");
    }
}
