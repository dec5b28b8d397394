//! Knobs of `punctual tune` that are more than one file of the kernel's, on captured machines: network cards, what a process
//! holds, services, control groups of version 1, TuneD.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::fs;
use std::process::Command;

use crate::support::bench::Bench;
use crate::support::{run, stdout};

/// The laptop's card waits 3 us and chooses by itself; it reports no rings.
const NIC: &str = "[nic.enp0s31f6]\nadaptive-rx = false\nrx-usecs = 0\neee = \"off\"\nrps-cpus = \"0-1\"\n";

#[test]
fn a_network_card_is_set_field_by_field_and_back() {
    let bench = Bench::new("laptop-intel-pstate", NIC);
    let before = bench.settings();
    let plan = stdout(&bench.with_intent("plan"));
    for row in ["adaptive-rx of enp0s31f6", "3 -> 0", "(ethtool rx-usecs)", "rps-cpus of enp0s31f6 rx-0"] {
        assert!(plan.contains(row), "no '{row}' in:\n{plan}");
    }
    // What the driver chooses by itself stops before the value that it would choose over.
    assert!(plan.find("adaptive-rx of").unwrap() < plan.find("rx-usecs of").unwrap(), "{plan}");
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let answers = fs::read_to_string(bench.at("punctual/ethtool/enp0s31f6.json")).unwrap();
    assert!(answers.contains("\"rx_us\": 0") && answers.contains("\"adaptive_rx\": false"), "{answers}");
    assert!(bench.tune(&["verify"]).status.success());
    fs::write(bench.at("punctual/ethtool/enp0s31f6.json"), answers.replace("\"rx_us\": 0", "\"rx_us\": 9")).unwrap();
    assert!(stdout(&bench.tune(&["verify"])).contains("it is 9, 0 was applied"));
    fs::write(bench.at("punctual/ethtool/enp0s31f6.json"), answers).unwrap();
    let reverted = bench.tune(&["revert"]);
    assert!(reverted.status.success(), "{}", stdout(&reverted));
    assert_eq!(bench.settings(), before);
}

#[test]
fn idle_states_are_switched_by_their_names_on_the_cpus_that_are_set_apart() {
    let names = |bench: &Bench, cpu: u32| -> Vec<(String, String)> {
        let folder = bench.at(&format!("sys/devices/system/cpu/cpu{cpu}/cpuidle"));
        let read = |state: usize, file: &str| fs::read_to_string(folder.join(format!("state{state}/{file}")));
        (0..9).map_while(|state| Some((read(state, "name").ok()?, read(state, "disable").ok()?))).collect()
    };
    let bench = Bench::new(
        "rt-x86-contradictions",
        "isolate = \"2-3\"\nmechanism = \"isolcpus\"\n[idle]\n\"C[1-9]\" = \"off\"\n",
    );
    assert_eq!(bench.with_intent("plan").status.code(), Some(2), "a star is the only sign that stands for others");
    let bench =
        Bench::new("rt-x86-contradictions", "isolate = \"2-3\"\nmechanism = \"isolcpus\"\n[idle]\n\"C*\" = \"off\"\n");
    let before = bench.settings();
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", stdout(&applied));
    for (cpu, is_off) in [(0, false), (2, true), (3, true)] {
        for (name, disable) in names(&bench, cpu) {
            let expected = if is_off && name.starts_with('C') { "1" } else { "0" };
            assert_eq!(disable.trim(), expected, "{name} of CPU {cpu}");
        }
    }
    assert!(bench.tune(&["verify"]).status.success() && bench.tune(&["revert"]).status.success());
    assert_eq!(bench.settings(), before);
}

/// What `verify` says of the bound on the way out of idle, and the process that holds it.
fn holder(bench: &Bench) -> (String, Option<u32>) {
    let note = fs::read_to_string(bench.at("run/punctual/latency-holder")).unwrap_or_default();
    let pid = note.split(' ').nth(1).and_then(|pid| pid.parse().ok());
    (stdout(&bench.tune(&["verify"])), pid)
}

/// Whether a process runs that has not ended.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_process_holds_what_ends_with_its_file_and_goes_with_the_rest() {
    let bench = Bench::new("laptop-intel-pstate", "[knob]\n\"cpu.dma-latency-us\" = 3\n");
    let plan = stdout(&bench.with_intent("plan"));
    assert!(plan.contains("this kernel has cpu.resume-latency-us") && plan.contains("needs none"), "{plan}");
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let (said, pid) = holder(&bench);
    let pid = pid.unwrap();
    assert!(said.contains("in force") && runs(pid), "{said}");
    let device = bench.at("dev/cpu_dma_latency");
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    assert!(open.flatten().any(|fd| fs::read_link(fd.path()).is_ok_and(|file| file == device)), "it is held open");
    assert_eq!(fs::read(&device).unwrap(), 3_i32.to_ne_bytes());
    let reverted = bench.tune(&["revert"]);
    assert!(reverted.status.success(), "{}", stdout(&reverted));
    assert!(!runs(pid) && !bench.at("run/punctual/latency-holder").exists());
}

#[test]
fn a_holder_that_was_killed_is_told_and_its_number_is_not_trusted() {
    let bench = Bench::new("laptop-intel-pstate", "[knob]\n\"cpu.dma-latency-us\" = 3\n");
    assert!(bench.with_intent("apply").status.success());
    let pid = holder(&bench).1.unwrap();
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    while runs(pid) {
        std::thread::yield_now();
    }
    assert!(holder(&bench).0.contains("GONE"), "{}", holder(&bench).0);
    assert_eq!(bench.tune(&["verify"]).status.code(), Some(1));
    // Its number went to another process meanwhile, which `revert` leaves alone.
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    fs::write(bench.at("run/punctual/latency-holder"), format!("3 {} 1\n", other.id())).unwrap();
    let reverted = bench.tune(&["revert"]);
    assert!(reverted.status.success() && runs(other.id()), "{}", stdout(&reverted));
    other.kill().unwrap();
    other.wait().unwrap();
}

/// No kernel of today's, so there is no bound of each CPU's own: the theme takes the one that has to be held.
#[test]
fn where_no_cpu_has_a_bound_of_its_own_the_theme_holds_one_for_all() {
    let bench = Bench::new("laptop-intel-pstate", "power = \"steady\"\n");
    assert!(!stdout(&bench.with_intent("plan")).contains("cpu.dma-latency-us"));
    for cpu in 0..8 {
        fs::remove_file(bench.at(&format!("sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us"))).unwrap();
    }
    let plan = stdout(&bench.with_intent("plan"));
    assert!(plan.contains("cpu.dma-latency-us") && plan.contains("(held open)"), "{plan}");
}

#[test]
fn irqbalance_stops_where_interrupts_are_put_and_runs_again_afterwards() {
    let intent = "isolate = \"2-3\"\nmechanism = \"isolcpus\"\nirqs = \"housekeeping\"\n";
    let bench = Bench::new("rt-x86-contradictions", intent);
    fs::remove_file(bench.at("punctual/services/irqbalance.service")).unwrap();
    let plan = stdout(&bench.with_intent("plan"));
    assert!(plan.contains("CONFLICT service.irqbalance") && plan.contains("your own service manager"), "{plan}");
    let bench = Bench::new("rt-x86-contradictions", intent);
    let before = bench.settings();
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let service = bench.at("punctual/services/irqbalance.service");
    assert_eq!(fs::read_to_string(&service).unwrap(), "inactive\n");
    fs::write(&service, "active\n").unwrap();
    assert!(stdout(&bench.tune(&["verify"])).contains("it is active, inactive was applied"));
    fs::write(&service, "inactive\n").unwrap();
    assert!(bench.tune(&["revert"]).status.success());
    assert_eq!(bench.settings(), before);
}

/// A board with cgroup v1 alone: its root has processes of users and threads of the kernel.
fn old_board() -> Bench {
    let bench = Bench::new("a20-olinuxino-lime2", "isolate = \"1\"\nmechanism = \"cpuset\"\n");
    fs::write(bench.at("proc/mounts"), "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n").unwrap();
    let group = bench.at("sys/fs/cgroup/cpuset");
    fs::create_dir_all(&group).unwrap();
    let is_process = |name: &String| name.parse::<u32>().is_ok();
    let names =
        fs::read_dir(bench.at("proc")).unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut pids: Vec<u32> = names.filter(is_process).map(|name| name.parse().unwrap()).collect();
    pids.sort_unstable();
    let procs: String = pids.iter().map(|pid| format!("{pid}\n")).collect();
    for (file, text) in [
        ("cpuset.cpus", "0-1\n"),
        ("cpuset.mems", "0\n"),
        ("cpuset.cpu_exclusive", "1\n"),
        ("cpuset.sched_load_balance", "1\n"),
        ("cgroup.procs", &procs),
    ] {
        fs::write(group.join(file), text).unwrap();
    }
    bench
}

#[test]
fn old_boards_have_their_cpus_set_apart_by_cgroup_v1_and_their_tasks_back() {
    let bench = old_board();
    let before = bench.settings();
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let group = |file: &str| fs::read_to_string(bench.at(&format!("sys/fs/cgroup/cpuset/{file}"))).unwrap();
    assert_eq!((group("punctual/cpuset.cpus").as_str(), group("punctual-others/cpuset.cpus").as_str()), ("1", "0"));
    assert_eq!((group("punctual/cpuset.mems").trim(), group("cpuset.sched_load_balance").trim()), ("0", "0"));
    assert!(!group("punctual-others/cgroup.procs").is_empty() && !group("cgroup.procs").is_empty());
    let verified = bench.tune(&["verify"]);
    assert!(verified.status.success(), "{}", stdout(&verified));
    let moved = group("punctual-others/cgroup.procs");
    fs::write(bench.at("sys/fs/cgroup/cpuset/cgroup.procs"), group("cgroup.procs") + &moved).unwrap();
    let verified = stdout(&bench.tune(&["verify"]));
    assert!(verified.contains("CHANGED") && verified.contains("cpuset-others.tasks"), "{verified}");
    fs::write(bench.at("sys/fs/cgroup/cpuset/cgroup.procs"), group("cgroup.procs").replace(&moved, "")).unwrap();
    let reverted = bench.tune(&["revert"]);
    assert!(reverted.status.success(), "{}", stdout(&reverted));
    let [made, said] = [&applied, &reverted].map(stdout);
    let made = made.split(' ').next().unwrap().to_owned();
    assert!(
        said.starts_with(&format!("{made} changed, ")) && said.contains(" gone with their control group"),
        "{said}"
    );
    assert_eq!(bench.settings(), before);
    // Another group has the CPU: then none can have it for itself.
    fs::create_dir(bench.at("sys/fs/cgroup/cpuset/docker")).unwrap();
    fs::write(bench.at("sys/fs/cgroup/cpuset/docker/cpuset.cpus"), "1\n").unwrap();
    let refused = bench.with_intent("apply");
    assert!(stdout(&refused).contains("/sys/fs/cgroup/cpuset/docker of cgroup v1 has some"), "{}", stdout(&refused));
}

/// The realtime machine with TuneD's files as its package has them, and another profile active.
fn with_tuned(intent: &str) -> Bench {
    let bench = Bench::new("rt-x86-tuned", intent);
    for (path, text) in [
        ("usr/sbin/tuned-adm", ""),
        ("usr/lib/tuned/realtime/tuned.conf", "[main]\n"),
        ("etc/tuned/realtime-variables.conf", "# isolated_cores=2,4-7\nisolated_cores=${f:calc_isolated_cores:1}\n"),
        ("etc/tuned/active_profile", "virtual-guest\n"),
        ("etc/tuned/profile_mode", "auto\n"),
        ("punctual/services/tuned.service", "inactive\n"),
        ("proc/cmdline", "root=/dev/sda1 ro quiet\n"),
        ("proc/sys/vm/stat_interval", "1\n"),
    ] {
        let path = bench.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    bench
}

#[test]
fn a_profile_of_tuned_s_is_told_its_cpus_and_the_old_one_comes_back() {
    let bench = with_tuned("isolate = \"2-3\"\nmechanism = \"tuned\"\n");
    let before = bench.settings();
    let plan = stdout(&bench.with_intent("plan"));
    for row in ["+ isolated_cores=2-3", "- isolated_cores=${f:calc", "auto virtual-guest -> manual realtime"] {
        assert!(plan.contains(row), "no '{row}' in:\n{plan}");
    }
    let stays = plan.contains("      # isolated_cores=2,4-7\n") && !plan.contains("- #") && !plan.contains("+ #");
    assert!(stays, "a line that stays is a neighbor of those that change, no change itself:\n{plan}");
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let read = |path: &str| fs::read_to_string(bench.at(path)).unwrap();
    assert_eq!(read("etc/tuned/realtime-variables.conf"), "# isolated_cores=2,4-7\nisolated_cores=2-3\n");
    assert_eq!(
        (read("etc/tuned/active_profile").as_str(), read("etc/tuned/profile_mode").as_str()),
        ("realtime\n", "manual\n")
    );
    assert_eq!(read("punctual/services/tuned.service"), "active\n");
    let verified = |status: i32, word: &str| {
        let verified = bench.tune(&["verify"]);
        let said = stdout(&verified);
        assert!(verified.status.code() == Some(status) && said.contains(word), "no '{word}' in:\n{said}");
    };
    verified(0, "until the machine starts again");
    // Another list than the one that was written: the profile was not in force at this start.
    fs::write(bench.at("proc/cmdline"), "ro isolcpus=managed_irq,domain,1-3 quiet\n").unwrap();
    verified(0, "until the machine starts again");
    fs::write(bench.at("proc/cmdline"), "ro isolcpus=managed_irq,domain,2-3 quiet\n").unwrap();
    assert!(!stdout(&bench.tune(&["verify"])).contains("pending"), "{}", stdout(&bench.tune(&["verify"])));
    // By the settings, not only by what TuneD says of itself.
    let interval = bench.at("proc/sys/vm/stat_interval");
    assert_eq!(fs::read_to_string(&interval).unwrap().trim(), "10");
    fs::write(&interval, "1\n").unwrap();
    verified(1, "it is 1, 10 was applied");
    fs::write(&interval, "10\n").unwrap();
    fs::write(bench.at("etc/tuned/active_profile"), "balanced\n").unwrap();
    verified(1, "it is manual balanced");
    fs::write(bench.at("etc/tuned/active_profile"), "realtime\n").unwrap();
    fs::write(bench.at("proc/cmdline"), "root=/dev/sda1 ro quiet\n").unwrap();
    let reverted = bench.tune(&["revert"]);
    assert!(reverted.status.success(), "{}", stdout(&reverted));
    assert_eq!(bench.settings(), before);
}

#[test]
fn a_profile_that_is_not_there_or_not_alone_is_a_conflict() {
    let conflict = |intent: &str, change: &dyn Fn(&Bench), word: &str| {
        let bench = with_tuned(&format!("isolate = \"2-3\"\nmechanism = \"tuned\"\n{intent}"));
        change(&bench);
        let said = stdout(&bench.with_intent("plan"));
        assert!(said.contains("CONFLICT") && said.contains(word), "no '{word}' in:\n{said}");
    };
    conflict("tuned-profile = \"cpu-partitioning\"\n", &|_| (), "tuned-profiles-cpu-partitioning");
    let elsewhere = |bench: &Bench| fs::write(bench.at("proc/cmdline"), "isolcpus=1 quiet\n").unwrap();
    conflict("", &elsewhere, "isolcpus=1 stands on the kernel's command line already");
    conflict("[knob]\n\"vm.stat_interval\" = 120\n", &|_| (), "would be 10 and 120");
}

/// Who started it was killed before it could hear: then nothing may be held that no journal's reader would look for.
#[test]
fn a_holder_that_nobody_hears_holds_nothing() {
    let bench = Bench::new("laptop-intel-pstate", "");
    let deaf = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let root = bench.at("");
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["__latency-holder", "3"]).arg(&root).stdout(deaf);
    assert!(!command.output().unwrap().status.success());
    assert!(!bench.at("run/punctual/latency-holder").exists());
    // Nor where the file cannot be opened, and then it is said why.
    fs::remove_file(bench.at("dev/cpu_dma_latency")).unwrap();
    let output = run(&["__latency-holder", "3", root.to_str().unwrap()]);
    assert!(!output.status.success() && stdout(&output).contains("No such file"), "{}", stdout(&output));
    assert!(!bench.at("run/punctual/latency-holder").exists());
}
