//! The load `hard`: what its parts run in, that they take turns, that nothing of it is left, and what is refused.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::support::{code, eventually, punctual, record, run, said, signal, stdout};
use record::{DroppedPart, ReasonCode, ValidityState};

const PARTS: [&str; 6] = ["memory", "reclaim", "scheduler", "timers", "file-system", "network"];

/// A measurement of one CPU with these words, slow enough for a machine that does other things too.
fn measuring<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["measure", "wakeup", "--cpus", "0", "--interval", "2ms", "--json"], words].concat()
}

/// One load at a time: together they would take each other's CPUs and memory.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn has_stress_ng() -> bool {
    let found = std::process::Command::new("stress-ng").arg("--version").output().is_ok();
    if !found {
        println!("not run: stress-ng is not installed");
    }
    found
}

/// All processes whose ancestor is this one, with the fields of their `stat` from the state on.
fn family(root: u32) -> Vec<(u32, Vec<String>)> {
    let all: Vec<(u32, Vec<String>)> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let fields = stat[stat.rfind(')')? + 2..].split(' ').map(str::to_owned).collect();
            Some((pid, fields))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).map(ToString::to_string) {
        next += 1;
        found.extend(all.iter().filter(|(_, fields)| fields[1] == parent).map(|(pid, _)| *pid));
    }
    all.into_iter().filter(|(pid, _)| *pid != root && found.contains(pid)).collect()
}

/// The process that guards the load of this controller.
fn guard_of(controller: u32) -> Option<u32> {
    family(controller).into_iter().map(|(pid, _)| pid).find(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("__load-guard"))
    })
}

fn command_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

/// Folders of this name below `root`, not deeper than control groups are.
fn find(root: &Path, name: &str, depth: u32) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .flat_map(|entry| {
            let mut found = find(&entry.path(), name, depth - 1);
            if entry.file_name() == name {
                found.push(entry.path());
            }
            found
        })
        .collect()
}

/// All that the load of this guard has made outside of its processes.
fn leftovers(guard: u32) -> Vec<PathBuf> {
    let name = format!("punctual-load-{guard}");
    let mut found = find(Path::new("/sys/fs/cgroup"), &name, 8);
    let folders = [std::env::temp_dir(), PathBuf::from("/var/tmp")];
    found.extend(folders.into_iter().map(|folder| folder.join(&name)).filter(|folder| folder.exists()));
    found
}

#[test]
fn a_killed_controller_leaves_no_process_folder_or_control_group_behind() {
    let _alone = alone();
    if !has_stress_ng() {
        return;
    }
    let words = measuring(&["--duration", "60s", "--load", "hard", "--without", "memory"]);
    let mut child = punctual(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut guard = None;
    eventually("the guard", || {
        guard = guard_of(child.id());
        guard.is_some()
    });
    let guard = guard.unwrap();
    // The last part has come up, and with it the ones before.
    eventually("the load", || family(guard).iter().any(|(pid, _)| command_of(*pid).contains("--udp-flood")));
    let made = leftovers(guard);
    assert!(!made.is_empty(), "it has a folder at the least");
    if kernel::process::is_root() && find(Path::new("/sys/fs/cgroup"), "memory", 2).len() == 1 {
        assert!(made.iter().any(|path| path.starts_with("/sys/fs/cgroup")), "root may make a group: {made:?}");
    }
    let processes: Vec<u32> = family(guard).into_iter().map(|(pid, _)| pid).collect();
    signal(&child, "KILL");
    child.wait().unwrap();
    eventually("the guard's end", || !Path::new(&format!("/proc/{guard}")).exists());
    let left: Vec<String> =
        processes.into_iter().map(command_of).filter(|line| line.contains("punctual-load-")).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(leftovers(guard), Vec::<PathBuf>::new());
}

#[test]
fn the_load_harms_nobody() {
    const POLICY: usize = 38;
    let _alone = alone();
    if !has_stress_ng() {
        return;
    }
    let words = measuring(&["--duration", "60s", "--load", "hard", "--without", "memory", "--load-cpus", "0"]);
    let mut child = punctual(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the load", || {
        guard_of(child.id())
            .is_some_and(|guard| family(guard).iter().any(|(pid, _)| command_of(*pid).contains("--udp-flood")))
    });
    // Stressors start others for as long as they run: a while is looked at.
    let guard = guard_of(child.id()).unwrap();
    let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
    let mut seen = 0;
    for _ in 0..20 {
        for (pid, fields) in family(guard) {
            let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
            // One that ends while it is looked at has nothing to show.
            let (Ok(adjusted), status) = (read("oom_score_adj").trim().parse::<i32>(), read("status")) else {
                continue;
            };
            let line = command_of(pid);
            seen += 1;
            assert_eq!(fields[POLICY], "0", "SCHED_OTHER alone: {line}");
            assert_eq!(adjusted, 1_000, "the first to go when memory is short: {line}");
            if let Some(cpus) = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")) {
                assert_eq!(cpus.trim(), "0", "on the CPUs that it was given: {line}");
            }
            if line.contains("--udp-flood") {
                let theirs = std::fs::read_link(format!("/proc/{pid}/ns/net"));
                assert!(theirs.is_ok_and(|theirs| theirs != ours), "a network of its own: {line}");
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(seen > 100, "{seen} processes were looked at");
    signal(&child, "TERM");
    child.wait().unwrap();
}

#[test]
fn each_part_is_recorded_with_what_it_achieved() {
    let _alone = alone();
    if !has_stress_ng() {
        return;
    }
    // A part counts what it has finished, which on a busy machine takes longer.
    let achieves = |load: &record::LoadManifest| {
        let mut parts = load.parts.iter().filter(|part| part.dropped.is_none());
        parts.all(|part| part.achieved.iter().any(|rate| rate.value > 0.0))
    };
    let measured = |duration: &str| {
        record(&run(&measuring(&["--duration", duration, "--load", "hard", "--without", "network,scheduler"])))
    };
    let mut measured = ["3s", "6s", "12s"].iter().map(|duration| measured(duration)).enumerate();
    let record = measured.find(|(turn, record)| *turn == 2 || achieves(&record.manifest().load)).unwrap().1;
    let load = &record.manifest().load;
    let names: Vec<&str> = load.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!((names.as_slice(), load.share), (&PARTS[..], Some(0.75)));
    assert_eq!(load.program.as_ref().unwrap().name, "stress-ng");
    for part in &load.parts {
        match (&part.dropped, part.name.as_str()) {
            (Some(DroppedPart::Request), "network" | "scheduler") => assert_eq!(part.cpu_used, None),
            (Some(DroppedPart::Machine { why }), "reclaim") => assert!(!why.is_empty()),
            (None, _) => {
                assert!(part.cpu_used.is_some_and(|used| used > 0.0), "{part:?}");
                assert!(part.achieved.iter().any(|rate| rate.value > 0.0), "{part:?}");
                assert!(!part.command.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
    // What the user left out is what was asked for; what the machine does not allow is a caveat.
    let dropped_by_machine = load.parts.iter().any(|part| matches!(part.dropped, Some(DroppedPart::Machine { .. })));
    assert_eq!(record.validity.has(ReasonCode::LoadPartDropped), dropped_by_machine);
    assert!(load.windows.is_empty());
}

#[test]
fn parts_take_turns_and_every_turn_is_in_the_result() {
    let _alone = alone();
    if !has_stress_ng() {
        return;
    }
    let words = ["--duration", "6s", "--load", "hard", "--without", "memory,scheduler,reclaim", "--rotate"];
    let output = run(&measuring(&[&words[..], &["--deadline", "1h"]].concat()));
    let record = record(&output);
    let windows = &record.manifest().load.windows;
    let names: Vec<String> = windows.iter().map(|window| window.parts.join("+")).collect();
    let all = "timers+file-system+network";
    assert_eq!(names, ["timers", "file-system", "network", all], "{}", said(&output));
    for two in windows.windows(2) {
        // How long each takes is the schedule's (`Rotation`); a busy machine lets the guard look at its clock late.
        assert!(two[0].start_monotonic_ns < two[0].end_monotonic_ns);
        assert!(two[0].end_monotonic_ns <= two[1].start_monotonic_ns);
    }
    let seen = analysis::load_turns(&record).unwrap();
    let in_turns: u64 = seen.turns.iter().map(|turn| turn.samples).sum();
    assert_eq!(in_turns + seen.between.samples, record.samples(), "every sample is in one of them");
    assert!(seen.turns.iter().filter(|turn| turn.samples > 0).count() >= 3, "{seen:?}");

    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("run.json");
    std::fs::write(&path, &output.stdout).unwrap();
    let page = file.path().join("page.html");
    let report = run(&["report", path.to_str().unwrap(), "--output", page.to_str().unwrap()]);
    assert_eq!(code(&report), 0, "{}", said(&report));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("What the load did") && page.contains("while the turn passed on"));
}

/// Parts that write down when they run.
fn stamping_load(folder: &Path, share: &str) -> PathBuf {
    let part = |name: &str| {
        let stamps = folder.join(name).display().to_string();
        format!(
            "[[part]]\nname = \"{name}\"\n[part.command]\nprogram = \"sh\"\narguments = [\"-c\", \"while :; do cut -d' ' -f1 \
             /proc/uptime >> {stamps}; sleep 0.02; done\"]\n"
        )
    };
    let file = folder.join("stamping.toml");
    std::fs::write(&file, format!("name = \"stamping\"\n{share}{}{}", part("one"), part("two"))).unwrap();
    file
}

/// Hundredths of a second since boot.
fn stamps(folder: &Path, part: &str) -> Vec<i64> {
    let text = std::fs::read_to_string(folder.join(part)).unwrap();
    text.lines().map(|line| line.replace('.', "").parse().unwrap()).collect()
}

#[test]
fn a_part_stands_still_while_it_is_anothers_turn() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = stamping_load(folder.path(), "");
    let words = measuring(&["--duration", "3s", "--rotate", "--load", file.to_str().unwrap()]);
    let record = record(&run(&words));
    let windows = &record.manifest().load.windows;
    assert_eq!(windows.len(), 3);
    for (window, running, standing) in [(&windows[0], "one", "two"), (&windows[1], "two", "one")] {
        let within = |stamp: &&i64| {
            // The stamps are rounded down to hundredths, and count time that the machine is suspended too.
            (window.start_monotonic_ns / 10_000_000 + 1..window.end_monotonic_ns / 10_000_000).contains(*stamp)
        };
        assert_eq!(window.parts, [running]);
        assert!(stamps(folder.path(), running).iter().any(|stamp| within(&stamp)), "{running} runs in its turn");
        let strays = stamps(folder.path(), standing).iter().filter(within).count();
        assert_eq!(strays, 0, "{standing} stands still in the turn of {running}");
    }
}

#[test]
fn a_load_with_a_share_stands_still_for_the_rest() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = stamping_load(folder.path(), "share = 0.4\n");
    let record = record(&run(&measuring(&["--duration", "5s", "--load", file.to_str().unwrap()])));
    assert_eq!(record.manifest().load.share, Some(0.4));
    let stamps = stamps(folder.path(), "one");
    let longest = stamps.windows(2).map(|two| two[1] - two[0]).max().unwrap();
    assert!(longest >= 20, "it stands still for 300 to 900 ms at a time, not for {longest}0 ms at most");
}

/// Without the right to make control groups the part that needs one is dropped and named, and the run is worth less.
#[test]
fn what_a_user_may_not_is_dropped_and_named() {
    let _alone = alone();
    if !has_stress_ng() || !kernel::process::is_root() {
        println!("not run: it needs stress-ng, and root to give its rights up");
        return;
    }
    use std::os::unix::process::CommandExt as _;
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("punctual");
    // By another process: were it open for writing here while another test forks, it could not be started.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_punctual")).arg(&binary).status().unwrap();
    assert!(copied.success());
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let words =
        measuring(&["--policy", "other", "--duration", "2s", "--load", "hard", "--without", "memory,scheduler"]);
    let output = std::process::Command::new(&binary).args(words).uid(65_534).gid(65_534).output().unwrap();
    let record = record(&output);
    let reclaim = record.manifest().load.parts.iter().find(|part| part.name == "reclaim").unwrap();
    assert!(matches!(&reclaim.dropped, Some(DroppedPart::Machine { .. })), "{reclaim:?}");
    assert!(reclaim.command.is_empty() && reclaim.cpu_used.is_none());
    let reason = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::LoadPartDropped).unwrap();
    assert!(reason.detail.contains("part 'reclaim' of load 'hard'"), "{}", reason.detail);
    assert_ne!(record.validity.state(), ValidityState::Valid);
    assert!(said(&output).contains("without its part 'reclaim'"), "{}", said(&output));
}

#[test]
fn a_command_of_ones_own_runs_in_the_folder_in_which_it_was_typed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("mine.sh");
    std::fs::write(&script, "#!/bin/sh\npwd > where\nwhile :; do :; done\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let line = ["wakeup", "--policy", "other", "--time", "500ms", "--load-cmd", "./mine.sh"];
    let output = punctual(&line).current_dir(folder.path()).output().unwrap();
    assert!(matches!(code(&output), 0 | 3), "{}", said(&output));
    let seen = std::fs::read_to_string(folder.path().join("where")).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert_eq!(Path::new(seen.trim()), folder.path().canonicalize().unwrap());
    assert!(stdout(&output).contains("load './mine.sh' used "), "{}", stdout(&output));
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    for (words, part) in [
        (&["--load", "hard", "--without", "disk"][..], "its parts are memory, reclaim"),
        (&["--load", "paper", "--without", "cpu"], "not made of parts"),
        (&["--load", "paper", "--rotate"], "--rotate needs a load that is made of parts"),
        (&["--rotate"], "add --load hard"),
        (&["--load", "hard", "--rotate", "--duration", "unlimited"], "give it one with --duration"),
        (&["--load", "hard", "--without", "memory,reclaim,scheduler,timers,file-system,network"], "leaves nothing"),
        (&["--load", "heavy"], "hard, paper, osadl and none are built in"),
    ] {
        let output = run(&measuring(words));
        assert_eq!(code(&output), 2, "{words:?}: {}", said(&output));
        assert!(said(&output).contains(part), "{words:?}: {}", said(&output));
    }
    let output = run(&["measure", "noise", "--load", "hard", "--rotate"]);
    assert_eq!(code(&output), 2, "{}", said(&output));
    assert!(said(&output).contains("it is for 'measure wakeup'"), "{}", said(&output));
}
