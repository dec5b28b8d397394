//! The catalogue, the order of findings, and what holds for every rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::super::{CATALOGUE, Severity, check as audit};
use super::base::{boot, good, irq, isolate, ordinary, service};
use crate::catalogue::{Checked, resembling};
use crate::kernel::parse_release;
use crate::process::Policy;
use crate::{Preemption, Profile};

#[test]
fn a_good_machine_has_no_problem_and_no_warning() {
    let findings = audit(&good());
    assert!(findings.iter().all(|finding| finding.severity == Severity::Note), "{findings:#?}");
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn nothing_is_claimed_about_the_unknown() {
    assert_eq!(audit(&Profile::default()), []);
}

/// Each unread part of a good machine must stay silent, too: a rule that compares two parts needs both.
#[test]
fn nothing_is_claimed_about_any_unknown_part() {
    type Part = (&'static str, fn(&mut Profile));
    let parts: [Part; 12] = [
        ("kernel", |p| p.kernel = crate::Kernel::default()),
        ("config", |p| p.kernel.config.clear()),
        ("cpus", |p| p.cpus = crate::Cpus::default()),
        ("isolation", |p| p.isolation = crate::Isolation::default()),
        ("power", |p| p.power = crate::Power::default()),
        ("irqs", |p| p.irqs = crate::Irqs::default()),
        ("sched", |p| p.sched = crate::Sched::default()),
        ("time", |p| p.time = crate::Time::default()),
        ("tasks", |p| p.tasks = crate::Tasks::default()),
        ("memory", |p| p.memory = crate::Memory::default()),
        ("virt", |p| p.virt = crate::Virt::default()),
        ("services", |p| p.services = crate::Services::default()),
    ];
    for (name, forget) in parts {
        let mut profile = good();
        forget(&mut profile);
        let findings = audit(&profile);
        // Without the isolation, all CPUs are judged by their idle states, which is right.
        let unexpected: Vec<_> = findings.iter().filter(|finding| finding.id != "deep-idle-states").collect();
        assert!(unexpected.is_empty(), "{name}: {unexpected:#?}");
    }
}

#[test]
fn the_most_severe_comes_first_and_ties_follow_the_catalogue() {
    let mut profile = good();
    profile.kernel.preemption = Preemption::None;
    profile.cpus.smt_active = Some(true);
    profile.memory.ksm_run = Some(1);
    profile.services.running.push(service("irqbalance", Policy::Other));
    isolate(&mut profile, "");
    let findings = audit(&profile);
    let place = |id: &str| CATALOGUE.rules.iter().position(|rule| rule.id == id).unwrap();
    let order: Vec<(Severity, usize)> = findings.iter().map(|finding| (finding.severity, place(&finding.id))).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(findings, audit(&profile));
}

#[test]
fn every_rule_is_named_and_explained() {
    let mut ids = BTreeSet::new();
    for rule in CATALOGUE.rules {
        assert!(ids.insert(rule.id), "{} is registered twice", rule.id);
        assert!(rule.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{}", rule.id);
        assert!(rule.severities.is_sorted() && !rule.severities.is_empty(), "{}", rule.id);
        assert!(!rule.sources.is_empty(), "{} has no source", rule.id);
        for (label, text) in rule.parts() {
            assert!(text.ends_with('.') && !text.contains("  "), "{}: {label}: {text:?}", rule.id);
        }
        assert!(rule.title.len() < 90 && !rule.title.ends_with('.'), "{}", rule.id);
    }
}

/// Facts about a kernel age: each rule says against which releases its own were checked.
#[test]
fn every_rule_says_against_what_it_was_checked() {
    for rule in CATALOGUE.rules {
        match rule.checked {
            Checked::Linux(releases) => {
                let numbers: Vec<(u32, u32)> = releases.iter().filter_map(|text| parse_release(text)).collect();
                assert_eq!(numbers.len(), releases.len(), "{}", rule.id);
                assert!(!numbers.is_empty() && numbers.is_sorted(), "{}: {releases:?}", rule.id);
                let newest = numbers.last().copied().unwrap_or_default();
                for (label, text) in rule.parts() {
                    // A release that the text names as a turning point must have been in sight.
                    for named in releases_named(text) {
                        assert!(named <= newest, "{}: {label} names {named:?}, newer than what was checked", rule.id);
                    }
                }
            }
            Checked::Independent(basis) => {
                assert!(!basis.is_empty() && !basis.ends_with('.'), "{}", rule.id);
                let rests_on_kernel = rule.sources.iter().any(|source| source.starts_with("Linux kernel/"));
                assert!(!rests_on_kernel, "{} rests on the kernel", rule.id);
            }
        }
    }
}

/// The releases of Linux that a text names after "since", "from", "before" or "until".
fn releases_named(text: &str) -> Vec<(u32, u32)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .windows(2)
        .filter(|pair| matches!(pair[0].to_ascii_lowercase().as_str(), "since" | "from" | "before" | "until"))
        .filter_map(|pair| parse_release(pair[1]))
        .collect()
}

/// Every rule of the sources stands in the catalogue, so that none is written and then forgotten.
#[test]
fn every_rule_is_registered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check");
    let written: usize = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| fs::read_to_string(path).unwrap().matches(": Rule = Rule {").count())
        .sum();
    assert_eq!(written, CATALOGUE.rules.len());
}

/// Every rule fires and is silent somewhere in these tests.
#[test]
fn every_rule_is_tested_both_ways() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check/tests");
    let tests: String = ["isolation.rs", "kernel.rs", "machine.rs", "time.rs", "traffic.rs"]
        .iter()
        .map(|file| fs::read_to_string(folder.join(file)).unwrap())
        .collect();
    for rule in CATALOGUE.rules {
        let quoted = format!("\"{}\"", rule.id);
        // Either the name is bound to `id`, and both checks follow, or each check names it.
        let bound = tests
            .split(&format!("let id = {quoted};"))
            .nth(1)
            .map(|rest| rest.split("let id = ").next().unwrap_or(rest));
        let fires = tests.contains(&format!("check({quoted}")) || bound.is_some_and(|rest| rest.contains("check(id"));
        let silent = tests.contains(&format!("check_silent({quoted}"))
            || bound.is_some_and(|rest| rest.contains("check_silent(id"));
        assert!(fires && silent, "{}: fires {fires}, silent {silent}", rule.id);
    }
}

#[test]
fn slips_of_the_keyboard_are_understood() {
    let first = |typed: &str| resembling(typed, CATALOGUE.explanations().map(|one| one.id)).first().copied();
    assert_eq!(first("kernel-not-realtme"), Some("kernel-not-realtime"));
    assert_eq!(first("Swap"), Some("swap"));
    assert_eq!(first("nohz"), Some("nohz-full-not-isolated"));
    assert_eq!(first("xyzzy"), None);
    assert_eq!(first(""), None);
}

#[test]
fn the_summary_counts_and_names_the_first() {
    let mut profile = good();
    assert_eq!(super::super::summary(&audit(&profile)), "nothing found");
    profile.memory.ksm_run = Some(1);
    profile.cpus.smt_active = Some(true);
    profile.sched.autogroup = Some(true);
    assert_eq!(
        super::super::summary(&audit(&profile)),
        "1 warning, 2 notes; most pressing: Equal pages of programs are merged in the background [same-page-merging]"
    );
}

/// Texts as the kernel or a user might write them, and noise.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_=,:/N ()-]{0,24}",
        "\\PC{0,16}",
        Just("isolated invalid".to_owned()),
        Just("0-3".to_owned())
    ]
}

proptest! {
    #[test]
    fn no_rule_panics(
        texts in prop::collection::vec(text(), 16),
        number in any::<u64>(),
        signed in any::<i64>(),
        cpu in 0_u32..32_767,
    ) {
        let mut profile = good();
        let mut texts = texts.into_iter();
        let mut next = || texts.next().unwrap_or_default();
        let lists = ["isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "idle"];
        let line = lists.map(|name| format!("{name}={}", next())).join(" ");
        boot(&mut profile, &line);
        profile.kernel.release = Some(next());
        profile.kernel.preemption = Preemption::Full;
        profile.kernel.preemption_source = Some(next());
        profile.kernel.config.insert("CONFIG_HZ".to_owned(), next());
        profile.power.frequency_policies[0].governor = Some(next());
        profile.power.idle_driver = Some(next());
        profile.power.add_resume_latency(2, &next());
        profile.power.dma_latency_us = Some(number);
        profile.power.idle[1].states[2].exit_latency_us = Some(number);
        profile.time.clocksource = Some(next());
        profile.services.tuned_profile = Some(next());
        profile.services.running.push(service("tuned", Policy::Other));
        profile.memory.total_kib = Some(number);
        profile.memory.available_kib = Some(number);
        profile.sched.rt_runtime_us = Some(signed);
        profile.sched.rt_period_us = Some(number);
        profile.irqs.lines.push(irq(24, &next(), &cpu.to_string()));
        profile.tasks.on_isolated.push(ordinary(&next(), &format!("2,{cpu}")));
        profile.virt.vulnerabilities.insert(next(), next());
        profile.isolation.workqueue_cpus = Some([cpu, 2].into_iter().collect());
        profile.cpusets.push(crate::Cpuset { partition: Some(line), ..crate::Cpuset::default() });
        let findings = audit(&profile);
        prop_assert!(findings.is_sorted_by_key(|finding| finding.severity));
    }
}
