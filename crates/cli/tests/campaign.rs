//! `punctual campaign` as a user meets it: settings of a captured machine are changed, this one is measured, without
//! rights and briefly; kills and Ctrl-C in between.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{said, stdout};
use kernel::process::{Signal, signal};

const PATIENCE: Duration = Duration::from_secs(60);

/// A machine of three settings, a campaign about them, and a folder for it.
struct Bench {
    place: tempfile::TempDir,
}

impl Bench {
    fn new(head: &str, duration: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let vm = place.path().join("machine/proc/sys/vm");
        fs::create_dir_all(&vm).unwrap();
        fs::create_dir_all(place.path().join("machine/sys/devices/system/cpu")).unwrap();
        fs::write(place.path().join("machine/sys/devices/system/cpu/online"), "0-1\n").unwrap();
        fs::write(vm.join("swappiness"), "60\n").unwrap();
        fs::write(vm.join("stat_interval"), "1\n").unwrap();
        let text = format!(
            "name = \"c\"\nabout = \"a\"\nwarm-up = \"1ms\"\n{head}\n\
             [[measurement]]\nname = \"wakeup\"\nrequest.kind = \"wakeup\"\nrequest.policy = \"other\"\n\
             request.interval = \"1ms\"\nduration = \"{duration}\"\n\
             [[factor]]\nname = \"swappiness\"\n[[factor.level]]\nname = \"as-it-is\"\n[[factor.level]]\nname = \"10\"\n\
             [factor.level.intent.knob]\n\"vm.swappiness\" = 10\n"
        );
        fs::write(place.path().join("c.toml"), text).unwrap();
        Self { place }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.arg("campaign").args(words).arg("--root").arg(self.at("machine"));
        if words.first() == Some(&"run") {
            // Most of these have a repetition or two: they are about the machine, and not about what is shown.
            command.arg("--without-conclusion");
        }
        command.current_dir(self.place.path()).env("NO_COLOR", "1");
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn start(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn swappiness(&self) -> String {
        fs::read_to_string(self.at("machine/proc/sys/vm/swappiness")).unwrap().trim().to_owned()
    }

    /// Waits until the setting has this value.
    fn until_swappiness(&self, value: &str) {
        let since = Instant::now();
        while self.swappiness() != value {
            assert!(since.elapsed() < PATIENCE, "swappiness stays {}", self.swappiness());
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn journal(&self) -> String {
        fs::read_to_string(self.at("out/journal.jsonl")).unwrap()
    }
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn each_condition_is_set_up_measured_and_taken_back() {
    let bench = Bench::new("repetitions = 2\nseed = 3", "30ms");
    let output = bench.run(&["run", "c.toml", "-o", "out", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(bench.swappiness(), "60");
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(result, json(&bench.at("out/result.json")));
    assert_eq!((&result["schema"], &result["state"]), (&"punctual/campaign-result".into(), &"complete".into()));
    let conditions = result["conditions"].as_array().unwrap();
    assert_eq!(conditions[0]["changed"], serde_json::json!([]));
    assert_eq!(conditions[1]["changed"], serde_json::json!(["vm.swappiness: 60 -> 10"]));
    // There and back again.
    let order: Vec<&str> =
        result["runs"].as_array().unwrap().iter().map(|run| run["condition"].as_str().unwrap()).collect();
    assert_eq!(order, ["swappiness=as-it-is", "swappiness=10", "swappiness=10", "swappiness=as-it-is"]);
    let record = json(&bench.at("out/runs/0002-wakeup.json"));
    assert_eq!(record["label"], "swappiness=10");
    assert!(said(&output).contains("with 2 repetitions no difference can be shown"));
    // Its runs are records like any other.
    let mut compare = Command::new(env!("CARGO_BIN_EXE_punctual"));
    compare.args(["compare", "out/runs", "out/runs", "--label-a", "swappiness=as-it-is", "--label-b", "swappiness=10"]);
    let compared = compare.args(["--resamples", "100", "--json"]).current_dir(bench.place.path()).output().unwrap();
    let comparison: serde_json::Value = serde_json::from_str(&stdout(&compared)).unwrap();
    assert_eq!(comparison["b"]["name"], "swappiness=10", "{}", said(&compared));
    assert_eq!(comparison["a"]["runs"].as_array().map(Vec::len), Some(2));
    let warned: Vec<String> =
        said(&output).lines().filter(|line| line.contains("campaign.html")).map(str::to_owned).collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    let page = fs::read_to_string(bench.at("out/campaign.html")).unwrap();
    assert!(page.contains("\"schema\":\"punctual/campaign-result\"") && page.contains("\"lane\":\"swappiness=10\""));
    let again = bench.run(&["run", "c.toml", "-o", "out"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("holds a campaign already"), "{}", said(&again));
}

#[test]
fn a_run_is_asked_for_by_a_request_and_its_record_keeps_it() {
    let bench = Bench::new("repetitions = 1", "50ms");
    let text = fs::read_to_string(bench.at("c.toml")).unwrap();
    let text = text.replace("name = \"10\"\n", "name = \"10\"\nasked = { request = { priority = 7 } }\n");
    assert!(text.contains("asked"), "{text}");
    fs::write(bench.at("c.toml"), text).unwrap();
    let output = bench.run(&["run", "c.toml", "-o", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let requests: Vec<serde_json::Value> = ["0001", "0002"]
        .map(|run| json(&bench.at(&format!("out/runs/{run}-wakeup.json")))["nodes"][0]["manifest"]["request"].clone())
        .to_vec();
    assert_eq!((&requests[0]["interval"], &requests[0]["end"]), (&"1ms".into(), &serde_json::json!({"after": "50ms"})));
    assert_eq!((&requests[0]["priority"], &requests[1]["priority"]), (&98.into(), &7.into()));
    let check = stdout(&bench.run(&["check", "c.toml"]));
    assert!(check.contains("measures wakeup: interval 1ms, policy other"), "{check}");
}

#[test]
fn a_campaign_that_can_show_nothing_is_refused_before_it_starts() {
    let bench = Bench::new("repetitions = 4", "30ms");
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["campaign"]).args(words).arg("--root").arg(bench.at("machine")).current_dir(bench.place.path());
        command.env("NO_COLOR", "1").output().unwrap()
    };
    let refused = run(&["run", "c.toml", "-o", "out"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let wanted =
        "with 4 repetitions no difference can be shown, however large: use at least 5 (--repetitions 7 is enough";
    assert!(said(&refused).contains(wanted), "{}", said(&refused));
    assert!(!bench.at("out").exists() && bench.swappiness() == "60");
    let check = run(&["check", "c.toml"]);
    assert_eq!(check.status.code(), Some(2));
    assert!(stdout(&check).contains("REFUSED: with 4 repetitions"), "{}", stdout(&check));
    // Five show worst cases that are all apart, seven a row of the body as well.
    let check = run(&["check", "c.toml", "--repetitions", "5"]);
    assert_eq!(check.status.code(), Some(0));
    let text = stdout(&check).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("worst case: a difference is shown if it has the same sign in 25 of 25 pairs of runs"),
        "{text}"
    );
    assert!(
        text.contains("body: with 5 repetitions a single mean or quantile that differs may not be shown"),
        "{text}"
    );
    assert_eq!(run(&["check", "c.toml", "--repetitions", "7"]).status.code(), Some(0));
}

#[test]
fn ended_by_ctrl_c_it_restores_the_machine_and_can_be_resumed() {
    let bench = Bench::new("repetitions = 1", "1s");
    let mut child = bench.start(&["run", "c.toml", "-o", "out"]);
    bench.until_swappiness("10");
    signal(child.id(), Signal::Terminate).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "a campaign that did not end is no result");
    assert_eq!(bench.swappiness(), "60");
    let status = stdout(&bench.run(&["status", "out"]));
    assert!(status.starts_with("c: not ended, 1 of 2 runs"), "{status}");
    let output = bench.run(&["resume", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(
        (bench.swappiness().as_str(), stdout(&bench.run(&["status", "out"])).as_str()),
        ("60", "c: ended, 2 of 2 runs\n")
    );
    assert_eq!(bench.journal().matches("\"event\":\"ran\"").count(), 2, "nothing is measured twice");
}

#[test]
fn killed_its_guard_restores_the_machine() {
    let bench = Bench::new("repetitions = 1", "1s");
    let mut child = bench.start(&["run", "c.toml", "-o", "out"]);
    bench.until_swappiness("10");
    child.kill().unwrap();
    child.wait().unwrap();
    bench.until_swappiness("60");
    // The guard is still at work until it lets go of the folder.
    let since = Instant::now();
    let output = loop {
        let output = bench.run(&["resume", "out"]);
        if output.status.success() || since.elapsed() > PATIENCE {
            break output;
        }
    };
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(bench.swappiness(), "60");
}

/// The process that guards a folder's campaign.
fn guard_of(folder: &Path) -> u32 {
    let folder = folder.canonicalize().unwrap();
    let is_it = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains("\0campaign-guard\0") && words.contains(folder.to_str().unwrap())
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    all.into_iter().find(is_it).expect("no guard runs")
}

#[test]
fn killed_together_with_its_guard_it_is_restored_when_it_is_resumed() {
    let bench = Bench::new("repetitions = 1", "1s");
    let mut child = bench.start(&["run", "c.toml", "-o", "out"]);
    bench.until_swappiness("10");
    signal(guard_of(&bench.at("out")), Signal::Kill).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.swappiness(), "10", "nobody was left to restore it");
    let status = stdout(&bench.run(&["status", "out"]));
    assert!(status.contains("in force: campaign-c-"), "{status}");
    let output = bench.run(&["resume", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(stdout(&bench.run(&["status", "out"])), "c: ended, 2 of 2 runs\n");
    assert_eq!(bench.swappiness(), "60");
}

#[test]
fn a_setting_that_someone_changes_meanwhile_makes_the_run_unusable() {
    let bench = Bench::new("repetitions = 1\nstop = { invalid-in-a-row = 9 }", "1s");
    let mut child = bench.start(&["run", "c.toml", "-o", "out"]);
    bench.until_swappiness("10");
    while !bench.journal().contains("\"visit\":1,\"boot-id\"") {
        thread::sleep(Duration::from_millis(2));
    }
    fs::write(bench.at("machine/proc/sys/vm/swappiness"), "33\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(bench.journal().contains("after the run vm.swappiness is 33 and not 10"), "{}", bench.journal());
    // It was made again, after the setting was made again.
    assert!(bench.at("out/runs/0002-wakeup-again1.json").exists());
}

#[test]
fn one_that_died_before_its_first_run_has_a_page_all_the_same() {
    let bench = Bench::new("repetitions = 1", "1s");
    fs::create_dir_all(bench.at("out/runs")).unwrap();
    fs::copy(bench.at("c.toml"), bench.at("out/campaign.toml")).unwrap();
    let begin = r#"{"event":"begin","version":1,"realtime-ns":1,"boot-id":"b","program":"0"}"#;
    fs::write(bench.at("out/journal.jsonl"), format!("{begin}\n")).unwrap();
    let output = bench.run(&["report", "out"]);
    assert_eq!(output.status.code(), Some(3), "not all is measured: {}", said(&output));
    let page = fs::read_to_string(bench.at("out/campaign.html")).unwrap();
    assert!(page.contains("Nothing measured yet"), "{}", stdout(&output));
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_touched() {
    let bench = Bench::new("repetitions = 1", "30ms");
    let refused = |words: &[&str]| {
        let output = bench.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stdout(&output));
        assert!(!bench.at("out").exists());
        said(&output)
    };
    assert!(refused(&["run", "nix", "-o", "out"]).contains("which-knob"));
    assert!(refused(&["run", "./nix.toml", "-o", "out"]).contains("cannot read"));
    assert!(refused(&["run", "c.toml", "-o", "out", "--set", "x=1"]).contains("no value 'x'"));
    assert!(
        refused(&["run", "c.toml", "-o", "out", "--only", "swappiness=20"]).contains("the levels are as-it-is, 10")
    );
    // A boot parameter on a machine whose boot loader nobody knows, and a knob that it does not have.
    let text = fs::read_to_string(bench.at("c.toml")).unwrap();
    fs::write(bench.at("c.toml"), text.replace("\"vm.swappiness\" = 10", "\"cpu.governor\" = \"performance\""))
        .unwrap();
    assert!(refused(&["run", "c.toml", "-o", "out"]).contains("this machine has none of it"));
    fs::write(
        bench.at("c.toml"),
        text.replace("intent.knob]\n\"vm.swappiness\" = 10", "intent.boot]\nthreadirqs = true"),
    )
    .unwrap();
    assert!(refused(&["run", "c.toml", "-o", "out"]).contains("boot"));
    let check = bench.run(&["check", "c.toml"]);
    assert_eq!(check.status.code(), Some(2));
    assert!(stdout(&check).contains("CONFLICT"));
    assert_eq!(bench.swappiness(), "60");
}

#[test]
fn a_measurement_that_cannot_be_made_ends_the_campaign_and_restores_the_machine() {
    let bench = Bench::new("repetitions = 1", "30ms");
    let text = fs::read_to_string(bench.at("c.toml")).unwrap();
    fs::write(bench.at("c.toml"), text.replace("request.interval = \"1ms\"", "request.placement.pinned = \"4000\""))
        .unwrap();
    let output = bench.run(&["run", "c.toml", "-o", "out"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("pinned 4000") && said(&output).contains("campaign resume"), "{}", said(&output));
    assert_eq!(bench.swappiness(), "60");
}

#[test]
fn runs_of_one_condition_are_dealt_to_see_how_often_it_cries_wolf() {
    let bench = Bench::new("repetitions = 6", "20ms");
    assert!(bench.run(&["run", "c.toml", "-o", "out"]).status.success());
    let output = bench.run(&["rehearse", "c.toml", "--runs", "out/runs", "--campaigns", "20", "--json"]);
    let rehearsal: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&rehearsal["runs"], &rehearsal["campaigns"]), (&12.into(), &20.into()));
    let nothing = bench.run(&["rehearse", "c.toml", "--repetitions", "2", "--runs", "out/runs"]);
    assert_eq!(nothing.status.code(), Some(3), "{}", said(&nothing));
    let text = stdout(&nothing).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("this says nothing, since with 2 repetitions") && !text.contains("as stated"), "{text}");
    assert!(said(&nothing).contains("no difference can be shown"), "{}", said(&nothing));
    let too_few = bench.run(&["rehearse", "c.toml", "--repetitions", "7", "--runs", "out/runs"]);
    assert_eq!(too_few.status.code(), Some(2));
    assert!(said(&too_few).contains("12 usable runs of one condition are too few"), "{}", said(&too_few));
}

#[test]
fn shipped_campaigns_fit_machines_that_have_what_they_vary() {
    let check_tree = |tree: &Path, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["campaign", "check"]).args(words).arg("--root").arg(tree).env("NO_COLOR", "1");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{} {words:?}: {}{}", tree.display(), stdout(&output), said(&output));
        stdout(&output)
    };
    let check = |host: &str, words: &[&str]| check_tree(&fixtures::host(host), words);
    let grub = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boot/grub");
    // Each machine keeps those settings that it has and has not set yet.
    let laptop = check("laptop-intel-pstate", &["which-knob"]);
    assert!(laptop.contains("power=steady") && laptop.contains("huge-pages=never"), "{laptop}");
    assert!(!laptop.contains("no difference can be shown"), "{laptop}");
    // A bundle stands beside its parts, and what cannot change a wake-up is left out and named.
    assert!(laptop.contains("power=governor") && laptop.contains("power=energy-preference"), "{laptop}");
    assert!(laptop.contains("left out: rt-throttling=off: it cannot change what is measured"), "{laptop}");
    assert!(laptop.contains("will see: worst case: a difference is shown if"), "{laptop}");
    assert!(
        laptop.contains("will see: body: a mean or quantile that differs in every run, and by far more"),
        "{laptop}"
    );
    let tuned = check("rt-x86-tuned", &["which-knob"]);
    assert!(tuned.contains("left out: timer-migration=off: this machine is already set so"), "{tuned}");
    let governor = check("laptop-intel-pstate", &["osadl-governor", "--set", "slow=powersave"]);
    assert!(governor.contains("16 runs, 8 of each"), "{governor}");
    let idle = check_tree(&grub, &["osadl-cstates"]);
    assert!(idle.contains("intel_idle.max_cstate=1 processor.max_cstate=1") && idle.contains("17 restarts"), "{idle}");
    let kernels = check_tree(&grub, &["kernel-ab", "--set", "a=6.1.0-28-rt-amd64", "--set", "b=6.1.0-30-amd64"]);
    assert!(kernels.contains("kernel=6.1.0-30-amd64") && kernels.contains("GRUB_DEFAULT"), "{kernels}");
    let paper = check_tree(&grub, &["paper-2024", "--only", "isolation=RT,TUNED"]);
    assert!(paper.contains("isolcpus=managed_irq,domain,") && paper.contains("isolation=RT"), "{paper}");
}
