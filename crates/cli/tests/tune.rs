//! `punctual tune` as a user meets it, on captured machines: plans, applying, what others change meanwhile, taking back.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::fs;

use crate::support::bench::Bench;
use crate::support::{run, stdout};

const LAPTOP: &str = "irqs = \"housekeeping\"\nisolate = \"2-3\"\nmechanism = \"cpuset\"\n";
const STEADY: &str = "power = \"steady\"\nrt-throttling = \"off\"\n[knob]\n\"vm.swappiness\" = 10\n";

/// What a person agreed to be a right plan for each machine of the fixtures; `PUNCTUAL_UPDATE=1` writes it again, to be
/// looked at before it is committed.
#[test]
fn every_host_has_the_plan_that_was_agreed() {
    for host in fixtures::hosts() {
        let tree = fixtures::host(&host);
        let root = tree.to_str().unwrap();
        let proposed = stdout(&run(&["tune", "--root", root, "propose"]));
        let output = run(&["tune", "--root", root, "plan", "--verbose"]);
        let made = format!("{proposed}\n{}", stdout(&output));
        let agreed = fixtures::notes(&host).join("plan.txt");
        if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
            fs::write(&agreed, &made).unwrap();
        }
        let agreed = fs::read_to_string(&agreed).unwrap_or_default();
        assert!(agreed == made, "{host}: the plan is another than agreed:\n{made}");
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

/// The number before a word of a sentence, as in `36 changed`; 0 where the word is absent.
fn count_before(text: &str, word: &str) -> u32 {
    let parts = text.lines().flat_map(|line| line.split(", "));
    let part = parts.map(str::trim).find(|part| part.contains(word));
    part.and_then(|part| part.split(' ').next()).map_or(0, |number| number.parse().unwrap_or(0))
}

#[test]
fn apply_and_revert_count_the_same_changes_and_the_parts_add_up() {
    let bench = Bench::new("laptop-intel-pstate", STEADY);
    let applied = stdout(&bench.with_intent("apply"));
    let made = count_before(&applied, "changed");
    assert!(made > 3 && applied.contains("as wanted already"), "{applied}");
    // Someone else changes one, and writes another one back.
    fs::write(bench.at("proc/sys/vm/swappiness"), "33\n").unwrap();
    fs::write(bench.at("proc/sys/kernel/sched_rt_runtime_us"), "950000\n").unwrap();
    let reverted = stdout(&bench.tune(&["revert"]));
    let kinds = ["as before already", "written back", "left to someone else"];
    let sum: u32 = kinds.iter().map(|kind| count_before(&reverted, kind)).sum();
    assert_eq!((count_before(&reverted, "changed"), sum), (made, made), "{applied}\n{reverted}");
    assert_eq!(kinds.map(|kind| count_before(&reverted, kind)), [1, made - 2, 1], "{reverted}");
}

#[test]
fn verify_puts_what_is_not_in_force_first_and_folds_the_rest() {
    let bench = Bench::new("laptop-intel-pstate", STEADY);
    let made = count_before(&stdout(&bench.with_intent("apply")), "changed");
    let verified = stdout(&bench.tune(&["verify"]));
    assert_eq!(verified, format!("{made} in force; --all lists them\n"));
    fs::write(bench.at("proc/sys/vm/swappiness"), "33\n").unwrap();
    let verified = stdout(&bench.tune(&["verify"]));
    let expected = format!(
        "CHANGED   vm.swappiness  it is 33, 10 was applied\n1 CHANGED, {} in force; --all lists them\n",
        made - 1
    );
    assert_eq!(verified, expected);
    let all = stdout(&bench.tune(&["verify", "--all"]));
    assert!(all.starts_with("CHANGED   vm.swappiness"), "{all}");
    assert_eq!(all.lines().filter(|line| line.starts_with("in force")).count(), made as usize - 1, "{all}");
}

#[test]
fn cpus_are_lists_on_the_terminal_and_as_the_kernel_has_them_in_json() {
    let bench = Bench::new(
        "server-two-sockets",
        "isolate = \"12-15,28-31\"\nmechanism = \"isolcpus\"\nirqs = \"housekeeping\"\n",
    );
    let plan = stdout(&bench.with_intent("plan"));
    assert!(plan.contains("0-31 -> 0-11,16-27  /proc/irq/default_smp_affinity"), "{plan}");
    let json = stdout(&bench.tune(&["--json", "plan", bench.intent.to_str().unwrap()]));
    assert!(json.contains("\"ffffffff\"") && json.contains("\"fff0fff\""), "{json}");
    let applied = bench.with_intent("apply");
    assert!(applied.status.success(), "{}", crate::support::said(&applied));
    fs::write(bench.at("proc/irq/default_smp_affinity"), "0000000f\n").unwrap();
    let verified = stdout(&bench.tune(&["verify"]));
    assert!(verified.contains("it is 0-3, 0-11,16-27 was applied"), "{verified}");
    assert!(stdout(&bench.tune(&["status"])).contains("irq.default-cpus  0-31 -> 0-11,16-27"));
    assert!(stdout(&bench.tune(&["revert"])).contains("irq.default-cpus is 0-3, by someone else; before it was 0-31"));
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
    refused(laptop, "irqs = \"housekeeping\"\n", &["no CPU is isolated"]);
    refused(laptop, "[nic.nope0]\nthreaded-napi = 1\n", &["no such interface"]);
    refused(laptop, "[idle]\nC99 = \"off\"\n", &["no idle state of that name", "choose among", "POLL"]);
    refused(laptop, "[idle]\nC6 = \"deep\"\n", &["on or off"]);
    refused(laptop, "[knob]\n\"cpu.idle-state-off\" = 1\n", &["by the state's name"]);
    refused(laptop, "mechanism = \"tuned\"\n", &["no CPU is named"]);
    refused(laptop, "isolate = \"2-3\"\nmechanism = \"tuned\"\n", &["TuneD is not installed", "install TuneD"]);
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
