//! `punctual tune` as a user meets it, on captured machines: plans, applying, what others change meanwhile, taking back.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn punctual(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_punctual")).args(args).env("NO_COLOR", "1").output();
    output.unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn hosts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hosts")
}

/// All files below a folder, with their content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    files
}

/// A copy of a captured machine that may be changed.
fn copy(host: &str) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    let from = hosts().join(host);
    for (path, bytes) in content(&from) {
        let path = to.path().join(path.strip_prefix(&from).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    to
}

/// A machine to be changed, and the intent for it.
struct Bench {
    machine: tempfile::TempDir,
    intent: PathBuf,
}

impl Bench {
    fn new(host: &str, intent: &str) -> Self {
        let machine = copy(host);
        let path = machine.path().join("intent.toml");
        fs::write(&path, intent).unwrap();
        Self { machine, intent: path }
    }

    fn tune(&self, args: &[&str]) -> Output {
        let root = self.machine.path().to_str().unwrap();
        punctual(&[&["tune", "--root", root], args].concat())
    }

    fn with_intent(&self, command: &str) -> Output {
        self.tune(&[command, self.intent.to_str().unwrap()])
    }

    /// Its settings: all but our journal.
    fn settings(&self) -> BTreeMap<PathBuf, String> {
        let of_ours = self.machine.path().join("var");
        let files = content(self.machine.path()).into_iter().filter(|(path, _)| !path.starts_with(&of_ours));
        files.map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).trim_end().to_owned())).collect()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.machine.path().join(path)
    }
}

impl Drop for Bench {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        if self.at("run/punctual/latency-holder").exists() {
            self.tune(&["revert", "--force"]);
        }
    }
}

const LAPTOP: &str = "irqs = \"housekeeping\"\nisolate = \"2-3\"\nmechanism = \"cpuset\"\n";
const STEADY: &str = "power = \"steady\"\nrt-throttling = \"off\"\n[knob]\n\"vm.swappiness\" = 10\n";

/// What a person agreed to be a right plan for each machine of the fixtures; `PUNCTUAL_UPDATE=1` writes it anew, to be
/// looked at before it is committed.
#[test]
fn every_host_has_the_plan_that_was_agreed() {
    for host in fs::read_dir(hosts()).unwrap() {
        let host = host.unwrap().path();
        let root = host.to_str().unwrap();
        let proposed = stdout(&punctual(&["tune", "--root", root, "propose"]));
        let output = punctual(&["tune", "--root", root, "plan"]);
        let made = format!("{proposed}\n{}", stdout(&output));
        let agreed = host.join("plan.txt");
        if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
            fs::write(&agreed, &made).unwrap();
        }
        let agreed = fs::read_to_string(&agreed).unwrap_or_default();
        assert!(agreed == made, "{}: the plan is another than agreed:\n{made}", host.display());
    }
}

#[test]
fn what_is_applied_is_in_force_until_it_is_taken_back_exactly() {
    let bench = Bench::new("laptop-intel-pstate", STEADY);
    let before = bench.settings();
    assert!(bench.with_intent("plan").status.success());
    assert_eq!(bench.settings(), before, "a plan touches nothing");
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_ne!(bench.settings(), before);
    let verified = bench.tune(&["verify"]);
    assert!(verified.status.success() && !stdout(&verified).contains("CHANGED"), "{}", stdout(&verified));
    assert!(stdout(&bench.tune(&["status"])).contains("vm.swappiness  60 -> 10"));
    let again = bench.with_intent("apply");
    assert!(again.status.success() && String::from_utf8_lossy(&again.stderr).contains("nothing to change"));
    let reverted = bench.tune(&["revert"]);
    assert!(reverted.status.success(), "{}", stdout(&reverted));
    assert_eq!(bench.settings(), before);
    assert!(stdout(&bench.tune(&["status"])).is_empty());
}

#[test]
fn what_someone_else_changed_is_told_and_left_unless_forced() {
    for is_forced in [false, true] {
        let bench = Bench::new("laptop-intel-pstate", STEADY);
        let before = bench.settings();
        assert!(bench.with_intent("apply").status.success());
        fs::write(bench.at("proc/sys/vm/swappiness"), "33\n").unwrap();
        let verified = bench.tune(&["verify"]);
        assert_eq!(verified.status.code(), Some(1));
        assert!(stdout(&verified).contains("it is 33, 10 was applied"), "{}", stdout(&verified));
        let reverted = bench.tune(if is_forced { &["revert", "--force"] } else { &["revert"] });
        assert_eq!(reverted.status.code(), Some(i32::from(!is_forced)));
        let now = fs::read_to_string(bench.at("proc/sys/vm/swappiness")).unwrap();
        if is_forced {
            assert_eq!(bench.settings(), before);
        } else {
            assert_eq!(now, "33\n");
            assert!(stdout(&reverted).contains("vm.swappiness is 33, by someone else; before it was 60"));
        }
    }
}

#[test]
fn an_intent_that_cannot_be_had_changes_nothing_and_says_why() {
    let refused = |host: &str, intent: &str, words: &[&str]| {
        let bench = Bench::new(host, intent);
        let before = bench.settings();
        let output = bench.with_intent("apply");
        let said = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        for word in words {
            assert!(said.contains(word), "{intent}: no '{word}' in:\n{said}");
        }
        assert_eq!(bench.settings(), before, "{intent}");
    };
    let laptop = "laptop-intel-pstate";
    refused(laptop, "[knob]\n\"vm.swapiness\" = 1\n", &["there is no knob of that name"]);
    refused(laptop, "[knob]\n\"vm.swappiness\" = 1000\n", &["0 to 200"]);
    refused(laptop, "[knob]\nksm = 1\n\"irq.cpus\" = \"1\"\n", &["there are many"]);
    refused(laptop, "isolate = \"0-7\"\n", &["no CPU is left"]);
    refused(laptop, "isolate = \"99\"\n", &["CPU 99 is not online"]);
    refused(laptop, "isolate = \"3-1\"\n", &["runs downwards", "line 1"]);
    refused(laptop, "irqs = \"housekeeping\"\n", &["no CPU is set apart"]);
    refused(laptop, "[nic.nope0]\nthreaded-napi = 1\n", &["no such interface"]);
    refused(laptop, "[idle]\nC99 = \"off\"\n", &["no idle state of that name", "choose among", "POLL"]);
    refused(laptop, "[idle]\nC6 = \"deep\"\n", &["on or off"]);
    refused(laptop, "[knob]\n\"cpu.idle-state-off\" = 1\n", &["by the state's name"]);
    let nic = |knob: &str| format!("[nic.enp0s31f6]\n{knob}\n");
    refused(laptop, &nic("rx-usecs = 1"), &["adaptive-rx is on", "say adaptive-rx"]);
    refused(laptop, &nic("adaptive-rx = \"auto\""), &["on or off"]);
    refused(laptop, &nic("ring-rx = 64"), &["the driver of enp0s31f6 knows no ring-rx"]);
    refused(laptop, &nic("speed = 10"), &["no knob of that name", "rx-usecs"]);
    refused(
        "server-two-sockets",
        "[nic.ens1f0np0]\nchannels-combined = 33\n",
        &["the most that is possible here is 32"],
    );
    refused(laptop, "rt-throttling = \"off\"\n[knob]\n\"kernel.sched_rt_runtime_us\" = 1\n", &["would be -1 and 1"]);
    refused("rt-x86-tuned", LAPTOP, &["CONFLICT"]);
    refused(laptop, "[boot]\nidle = \"fast\"\n", &["poll, halt"]);
    refused(laptop, "[boot]\ninit = \"/bin/sh\"\n", &["no parameter that is known"]);
    refused(laptop, "[boot]\nthreadirqs = true\n", &["no boot loader"]);
    refused(laptop, "[thread]\n\"irq/*\" = \"fifo 0\"\n", &["1 to 99"]);
    refused(laptop, "[thread]\nnope = \"fifo 1\"\n", &["no interrupt's or real-time thread"]);
    refused(laptop, "color = 1\n", &["unknown field", "isolate"]);
}

#[test]
fn a_plan_that_was_read_is_the_one_that_is_applied() {
    let bench = Bench::new("laptop-intel-pstate", STEADY);
    let plan = bench.at("plan.json");
    let made = bench.tune(&["--json", "plan", bench.intent.to_str().unwrap()]);
    fs::write(&plan, &made.stdout).unwrap();
    fs::write(bench.at("proc/sys/vm/swappiness"), "33\n").unwrap();
    let before = bench.settings();
    let apply = || bench.tune(&["apply", "--plan", plan.to_str().unwrap()]);
    let stale = apply();
    assert_eq!(stale.status.code(), Some(2));
    assert!(stdout(&stale).contains("was 60 when the plan was made, now it is 33"), "{}", stdout(&stale));
    assert_eq!(bench.settings(), before);
    fs::write(bench.at("proc/sys/vm/swappiness"), "60\n").unwrap();
    assert!(apply().status.success());
    let foreign = String::from_utf8(made.stdout).unwrap().replace("/proc/sys/vm/swappiness", "/etc/passwd");
    fs::write(&plan, foreign).unwrap();
    assert!(stdout(&apply()).contains("/etc/passwd is no setting of the kernel's"));
}

#[test]
fn what_is_persisted_is_three_files_and_goes_with_the_rest() {
    let bench = Bench::new("laptop-intel-pstate", STEADY);
    let before = bench.settings();
    let persisted = bench.with_intent("persist");
    assert!(persisted.status.success(), "{}", String::from_utf8_lossy(&persisted.stderr));
    let unit = fs::read_to_string(bench.at("etc/systemd/system/punctual-tune.service")).unwrap();
    assert!(unit.contains("tune apply /etc/punctual/tune.toml"), "{unit}");
    assert!(bench.tune(&["verify"]).status.success());
    assert!(bench.with_intent("apply").status.success());
    assert!(bench.tune(&["revert"]).status.success());
    assert_eq!(bench.settings(), before);
    assert!(!bench.at("etc/punctual").exists());
}

/// The laptop's card waits 3 us and chooses by itself; it has no rings that it tells of.
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
    assert_eq!((group("punctual/cpuset.mems").as_str(), group("cpuset.sched_load_balance").as_str()), ("0", "0"));
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
    assert_eq!(bench.settings(), before);
    // Another group has the CPU: then none can have it for itself.
    fs::create_dir(bench.at("sys/fs/cgroup/cpuset/docker")).unwrap();
    fs::write(bench.at("sys/fs/cgroup/cpuset/docker/cpuset.cpus"), "1\n").unwrap();
    let refused = bench.with_intent("apply");
    assert!(stdout(&refused).contains("/sys/fs/cgroup/cpuset/docker of cgroup v1 has some"), "{}", stdout(&refused));
}
