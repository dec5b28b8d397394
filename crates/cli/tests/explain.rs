//! `punctual measure wakeup --explain` as a user runs it.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod support;

use std::time::{Duration, Instant};

use kernel::sched::{Policy, affinity_of, set_affinity, set_policy};
use record::{CauseClass, Certainty, ReasonCode};
use support::{may_be_real_time, punctual, record, run, said};
use units::CpuSet;

/// Whether the kernel takes programs from this process.
fn may_record() -> bool {
    std::path::Path::new("/sys/kernel/btf/vmlinux").exists() && kernel::bpf::FlightMemory::new(1, 64).is_ok()
}

#[test]
fn a_thread_of_higher_priority_is_named_and_its_time_is_covered() {
    if !may_be_real_time() || !may_record() {
        println!("not shown: real-time priority or programs in the kernel are not granted here");
        return;
    }
    let cpu = affinity_of(0).unwrap().last().unwrap();
    let cpu_text = cpu.to_string();
    let line =
        ["measure", "wakeup", "--cpus", &cpu_text, "--priority", "40", "--interval", "500us", "--duration", "3s"];
    let measuring = punctual(&line)
        .args(["--explain", "--above", "2500us", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // 5 ms of each 100 ms, for as long as the run takes with what goes before it.
    let hog = std::thread::Builder::new().name("test-hog".to_owned()).spawn(move || {
        set_affinity(0, &CpuSet::from_iter([cpu])).unwrap();
        set_policy(Policy::Fifo(60)).unwrap();
        let end = Instant::now() + Duration::from_secs(8);
        while Instant::now() < end {
            let until = Instant::now() + Duration::from_millis(5);
            while Instant::now() < until {}
            std::thread::sleep(Duration::from_millis(95));
        }
    });
    let output = measuring.wait_with_output().unwrap();
    let record = record(&output);
    let explanation = record.explanation.as_ref().unwrap();
    let of_hog = explanation.samples.iter().filter(|sample| sample.class == CauseClass::Thread);
    let of_hog: Vec<_> = of_hog.filter(|sample| sample.name == "test-hog (fifo 60)").collect();
    assert!(of_hog.len() >= 5, "{}", serde_json::to_string_pretty(explanation).unwrap());
    for sample in &of_hog {
        assert!(sample.evidence.contains("test-hog (thread ") && sample.certainty == Certainty::Shown, "{sample:?}");
        assert!(sample.parts[0].net_ns * 2 >= sample.latency_ns.unsigned_abs(), "it covers the time: {sample:?}");
        assert!(sample.timeline.iter().all(|segment| segment.to_ns <= sample.latency_ns));
    }
    let cause = explanation.causes.iter().find(|cause| cause.name.starts_with("test-hog")).unwrap();
    assert_eq!(cause.finding.as_deref(), Some("realtime-tasks-roam"));
    assert_eq!(explanation.explained + explanation.not_recorded, explanation.outliers);
    assert!(explanation.cost.is_some(), "what it costs was measured");
    hog.unwrap().join().unwrap();
}

#[test]
fn without_the_right_it_measures_says_what_is_missing_and_explains_nothing() {
    // A namespace of users of its own gives no rights over the kernel's trace points.
    let line = ["measure", "wakeup", "--policy", "other", "--duration", "200ms", "--explain", "--json"];
    let mut unshare = std::process::Command::new("unshare");
    let output = unshare.arg("--user").arg(env!("CARGO_BIN_EXE_punctual")).args(line).output();
    let Some(output) = output.ok().filter(|output| !said(output).contains("unshare:")) else {
        println!("not shown: namespaces of users are not to be had here");
        return;
    };
    let record = record(&output);
    let explanation = record.explanation.unwrap();
    assert!(explanation.sources.is_empty() && explanation.causes.is_empty() && explanation.cost.is_none());
    assert!(explanation.missing[0].contains("CAP_BPF"), "{:?}", explanation.missing);
    assert!(!record.series[0].histogram.is_empty(), "the run itself is made");
    assert!(!record.validity.has(ReasonCode::ExplainingCosts));
}

#[test]
fn threads_that_no_cpu_is_named_for_are_said_not_to_be_explained() {
    let line = ["measure", "wakeup", "--policy", "deadline", "--duration", "200ms", "--explain", "--json"];
    let output = run(&line);
    if said(&output).contains("SCHED_DEADLINE") {
        println!("not shown: SCHED_DEADLINE is refused here");
        return;
    }
    let explanation = record(&output).explanation.unwrap();
    assert!(explanation.sources.is_empty() && explanation.missing[0].contains("no CPU is named"), "{explanation:?}");
}

#[test]
fn a_threshold_without_explaining_is_refused() {
    let output = run(&["measure", "wakeup", "--above", "50us"]);
    assert_eq!(support::code(&output), 2);
    assert!(said(&output).contains("--explain"), "{}", said(&output));
}
