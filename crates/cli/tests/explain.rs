//! `punctual measure wakeup --explain` as a user runs it.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use crate::support::hogs::Hogs;
use crate::support::{may_be_real_time, punctual, record, run, said};
use kernel::sched::affinity_of;
use record::{CauseClass, Certainty, ExplainedSample, Explanation};
use units::CpuSet;

/// Whether the kernel's traces count threads as this process does: not in a container (PROC_PID_INIT_INO,
/// include/linux/proc_ns.h).
fn counts_as_the_kernel() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|ns| ns.as_os_str() == "pid:[4026531836]")
}

/// Whether the kernel takes programs from this process.
fn may_record() -> bool {
    let is_known = std::path::Path::new("/sys/kernel/btf/vmlinux").exists();
    counts_as_the_kernel() && is_known && kernel::bpf::FlightMemory::new(1, 64).is_ok()
}

#[test]
fn a_thread_of_higher_priority_is_named_and_its_time_is_covered() {
    if !may_record() {
        println!("not shown: programs in the kernel are not granted here");
        return;
    }
    explain_one_hog("programs", |explanation, of_hog| {
        is_shown(of_hog);
        assert_eq!(explanation.explained + explanation.not_recorded, explanation.outliers);
        assert!(explanation.missing.is_empty() || !explanation.missing[0].contains("CAP_BPF"), "{explanation:?}");
    });
}

#[test]
fn the_kernel_s_events_show_it_where_it_takes_no_programs() {
    let is_granted =
        || kernel::tracefs::Tracefs::find().and_then(|trace| kernel::tracefs::Instance::new(&trace)).is_ok();
    if !counts_as_the_kernel() || !is_granted() {
        println!("not shown: the kernel's trace is not granted here");
        return;
    }
    explain_one_hog("events", |explanation, of_hog| {
        is_shown(of_hog);
        assert!(explanation.sources[0].starts_with("events of the kernel's trace: sched_switch"), "{explanation:?}");
    });
}

#[test]
fn counters_make_it_likely_where_nothing_can_be_recorded() {
    if std::fs::read_to_string("/proc/self/schedstat").is_err() {
        println!("not shown: this kernel does not count how long threads wait");
        return;
    }
    explain_one_hog("counters", |explanation, of_hog| {
        for sample in of_hog {
            assert_eq!(sample.certainty, Certainty::Likely);
            assert!(sample.timeline.is_empty() && sample.evidence.contains("was ready for"), "{sample:?}");
        }
        assert!(explanation.samples.iter().all(|sample| sample.certainty != Certainty::Shown));
    });
}

/// Whether this kernel does not write down all switches, as that of one virtual machine was seen to; a run says so.
fn leaves_switches_out(explanation: &Explanation) -> bool {
    explanation.missing.iter().any(|missing| missing.contains("switches between threads out of its trace"))
}

/// Shown; likely where a part of it may be a hypervisor's or the firmware's, as it counts, as another CPU says, or as nothing can
/// exclude.
fn is_as_sure_as_can_be(sample: &ExplainedSample) -> bool {
    let doubts = ["the hypervisor says that it took", "may be in this", "cannot be excluded"];
    let is_doubted = doubts.iter().any(|doubt| sample.evidence.contains(doubt));
    sample.certainty == if is_doubted { Certainty::Likely } else { Certainty::Shown }
}

/// The hog covers the time of each.
fn is_shown(of_hog: &[&ExplainedSample]) {
    for sample in of_hog {
        assert!(sample.evidence.contains("test-hog (thread ") && is_as_sure_as_can_be(sample), "{sample:?}");
        // The longest part; a kernel that does not write down how the hog came shows only the end of that part. All
        // parts together are half of what is above a usual wake-up, for which a millisecond is plenty.
        assert!(sample.parts[0].name.contains("test-hog"), "{sample:?}");
        let covered_ns: u64 = sample.parts.iter().map(|part| part.net_ns).sum();
        assert!(covered_ns * 2 + 1_000_000 >= sample.latency_ns.unsigned_abs(), "they cover the time: {sample:?}");
        assert!(sample.timeline.iter().all(|segment| segment.to_ns <= sample.latency_ns));
    }
}

/// Measures beside a thread of higher priority, by that source, and hands on what was explained and what of it is the
/// hog's.
fn explain_one_hog(source: &str, holds: impl Fn(&Explanation, &[&ExplainedSample])) {
    let cpu = affinity_of(0).unwrap().last().unwrap();
    explain_hogs(source, &CpuSet::from_iter([cpu]), &["--cpus", &cpu.to_string()], holds);
}

/// The same beside one such thread on each of those CPUs, with the measuring thread placed so.
fn explain_hogs(source: &str, cpus: &CpuSet, placement: &[&str], holds: impl Fn(&Explanation, &[&ExplainedSample])) {
    if !may_be_real_time() {
        println!("not shown: real-time priority is not granted here");
        return;
    }
    let hogs = Hogs::on(cpus);
    let line = ["measure", "wakeup", "--priority", "40", "--interval", "500us", "--duration", "3s"];
    let measuring = punctual(&line)
        .args(placement)
        .args(["--explain", "--explain-by", source, "--above", "2500us", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = measuring.id();
    let output = measuring.wait_with_output().unwrap();
    drop(hogs);
    let tracefs = kernel::tracefs::Tracefs::find().ok();
    let entries = tracefs.as_ref().and_then(|tracefs| std::fs::read_dir(tracefs.root().join("instances")).ok());
    let instances = entries.into_iter().flatten().flatten();
    let mut names = instances.map(|entry| entry.file_name().to_string_lossy().into_owned());
    assert_eq!(names.find(|name| name.contains(&format!("-{pid}-"))), None, "a trace instance was left behind");
    let record = record(&output);
    let explanation = record.explanation().unwrap();
    let of_hog = explanation.samples.iter().filter(|sample| sample.class == CauseClass::Thread);
    let of_hog: Vec<_> = of_hog.filter(|sample| sample.name == "test-hog (fifo 60)").collect();
    let shown = || serde_json::to_string_pretty(explanation).unwrap();
    if leaves_switches_out(explanation) {
        println!("not shown in full: {:?}; {} samples are the hog's", explanation.missing, of_hog.len());
        // What is missing is said, and nobody else gets the blame for it.
        let others = explanation.samples.iter().filter(|sample| sample.class == CauseClass::Thread);
        let others =
            others.filter(|sample| !sample.name.starts_with("test-hog") && sample.certainty == Certainty::Shown);
        assert!(others.count() <= explanation.samples.len() / 10, "{}", shown());
    } else {
        assert!(of_hog.len() >= 5, "{}", shown());
    }
    holds(explanation, &of_hog);
    if let Some(cause) = explanation.causes.iter().find(|cause| cause.name.starts_with("test-hog")) {
        assert_eq!(cause.finding.as_deref(), Some("realtime-tasks-roam"));
    }
    assert!(explanation.cost.is_some(), "what it costs was measured");
}

#[test]
fn without_the_right_to_programs_it_takes_the_next_source_and_says_what_is_missing() {
    // A namespace of users of its own gives no rights over the kernel's trace points.
    let line = ["measure", "wakeup", "--policy", "other", "--duration", "200ms", "--explain", "--json"];
    let mut unshare = std::process::Command::new("unshare");
    let output = unshare.arg("--user").arg(env!("CARGO_BIN_EXE_punctual")).args(line).output();
    let Some(output) = output.ok().filter(|output| !said(output).contains("unshare:")) else {
        println!("not shown: namespaces of users are not to be had here");
        return;
    };
    let record = record(&output);
    let explanation = record.explanation().unwrap();
    assert!(explanation.missing[0].contains("CAP_BPF"), "{:?}", explanation.missing);
    // Files of the trace are the user's outside, who may own them.
    let source = &explanation.sources[0];
    if source.starts_with("counters of the kernel") {
        assert!(explanation.missing[1].contains("/sys/kernel"), "the trace: {:?}", explanation.missing);
        assert!(explanation.causes.iter().all(|cause| cause.certainty != Certainty::Shown), "{:?}", explanation.causes);
    } else {
        assert!(source.starts_with("events of the kernel's trace"), "{source}");
    }
    assert!(!record.series[0].histogram.is_empty(), "the run itself is made");
}

#[test]
fn counters_explain_nothing_of_unpinned_threads() {
    let line = ["measure", "wakeup", "--policy", "other", "--unpinned", "--duration", "200ms", "--explain", "--json"];
    let output = punctual(&line).args(["--explain-by", "counters"]).output().unwrap();
    let record = record(&output);
    assert!(!record.series[0].histogram.is_empty(), "the run itself is made");
    let explanation = record.explanation().unwrap();
    assert!(explanation.sources.is_empty() && explanation.missing[0].contains("not bound to a CPU"), "{explanation:?}");
}

/// Hogs take all CPUs at once, so the thread waits behind one of them, wherever it is.
#[test]
fn a_thread_that_may_move_is_explained_by_the_cpus_that_it_was_on() {
    for source in ["programs", "events"] {
        let is_granted = match source {
            _ if !counts_as_the_kernel() => false,
            "programs" => std::path::Path::new("/sys/kernel/btf/vmlinux").exists(),
            _ => kernel::tracefs::Tracefs::find().and_then(|trace| kernel::tracefs::Instance::new(&trace)).is_ok(),
        };
        if !is_granted {
            println!("not shown by {source}: not granted here");
            continue;
        }
        let cpus = affinity_of(0).unwrap();
        explain_hogs(source, &cpus, &["--unpinned"], |explanation, of_hog| {
            assert!(of_hog.iter().all(|sample| is_as_sure_as_can_be(sample)), "{of_hog:?}");
            assert!(explanation.samples.iter().all(|sample| cpus.contains(sample.cpu)));
        });
    }
}

#[test]
fn a_threshold_without_explaining_is_refused() {
    let output = run(&["measure", "wakeup", "--above", "50us"]);
    assert_eq!(crate::support::code(&output), 2);
    assert!(said(&output).contains("--explain"), "{}", said(&output));
}

#[test]
fn every_wake_up_has_parts_that_add_up() {
    if !may_record() || !may_be_real_time() {
        println!("not shown: programs in the kernel, or real-time priority, are not granted here");
        return;
    }
    let args = ["measure", "wakeup", "--cpus", "0", "--interval", "1ms", "--duration", "1s", "--explain", "--json"];
    let measured = record(&run(&args));
    let explanation = measured.explanation().unwrap();
    let Some(parts) = &explanation.parts else {
        let why = explanation.missing.iter().find(|missing| missing.contains("parts of each wake-up"));
        println!("not shown: {}", why.expect("what is missing is said"));
        return;
    };
    let of_series = &measured.series[0];
    assert_eq!(parts.seen + parts.not_seen, of_series.counters.samples);
    assert!(parts.seen > of_series.counters.samples / 2, "{} of {}", parts.seen, of_series.counters.samples);
    let names: Vec<&str> = parts.histograms.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["scheduled_to_timer", "timer_to_runnable", "runnable_to_running", "running_to_woke"]);
    assert!(parts.histograms.iter().all(|part| part.histogram.count() == parts.seen));
    // The parts add up to the latency; where a few wake-ups have no parts, to no more than that.
    let sum_ns: u64 = parts.histograms.iter().map(|part| part.histogram.sum_ns()).sum();
    let latency_ns = of_series.histogram.sum_ns();
    assert!(sum_ns <= latency_ns && (parts.not_seen > 0 || sum_ns == latency_ns), "{sum_ns} of {latency_ns}");

    let without = [&args[..9], &["--no-parts", "--json"]].concat();
    assert!(record(&run(&without)).explanation().unwrap().parts.is_none());
}

/// A kept record of which only the second worst sample was explained.
fn kept(folder: &std::path::Path) -> (String, record::Record) {
    let text = std::fs::read_to_string(crate::support::fixtures().join("calibration/idle/quiet.json")).unwrap();
    let mut record = record::Record::from_json(&text).unwrap();
    let worst = &record.worst[1];
    let explained = ExplainedSample {
        thread: worst.place.thread_number().unwrap(),
        cpu: 0,
        latency_ns: worst.latency_ns,
        scheduled: worst.from.at,
        woke: worst.to.at,
        class: CauseClass::Softirq,
        name: "softirq NET_RX".to_owned(),
        certainty: Certainty::Shown,
        evidence: "it ran for 9 us".to_owned(),
        ..ExplainedSample::default()
    };
    let explanation = Explanation {
        outliers: 4,
        explained: 1,
        not_recorded: 3,
        above_ns: Some(10_000),
        samples: vec![explained],
        ..Explanation::default()
    };
    record.late_samples.explanation = Some(explanation);
    let file = folder.join("run.json").to_str().unwrap().to_owned();
    std::fs::write(&file, record.to_json()).unwrap();
    (file, record)
}

#[test]
fn a_kept_record_lists_its_worst_samples_with_their_causes_and_draws_the_one_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (file, kept) = kept(folder.path());
    let listed = crate::support::stdout(&run(&["explain", &file]));
    let row =
        |number: usize| listed.lines().find(|line| line.starts_with(&format!("  {number}  "))).unwrap().to_owned();
    assert!(row(1).ends_with("  not explained") && row(2).ends_with("  softirq NET_RX (shown)"), "{listed}");
    assert_eq!(
        listed.lines().filter(|line| line.contains(" CPU 0 ")).count(),
        kept.worst.len(),
        "all of them: {listed}"
    );
    assert!(listed.contains(&format!("'punctual explain {file} --sample N'")), "{listed}");
    assert!(!listed.contains(&format!("'punctual explain {file}'")), "what was just typed is no advice: {listed}");
    assert!(listed.contains("not explained: nothing was recorded of it"), "{listed}");
    assert!(!listed.contains("unknown: it was recorded"), "no such word stands here: {listed}");
    let narrow = punctual(&["explain", &file]).env("COLUMNS", "40").output().unwrap();
    let is_broken = |line: &&str| line.trim().contains(' ') && !line.contains(&file);
    for line in crate::support::stdout(&narrow).lines().filter(is_broken) {
        assert!(line.chars().count() <= 40, "longer than COLUMNS states: {line}");
    }
    let drawn = crate::support::stdout(&run(&["explain", &file, "--sample", "2"]));
    assert!(drawn.starts_with("  sample 2, 14.1 us late on CPU 0: softirq NET_RX (shown)"), "{drawn}");
    assert!(drawn.contains("it ran for 9 us"), "{drawn}");
    let refused = |args: &[&str], words: &str| {
        let output = run(&[&["explain"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(said(&output).contains(words), "no '{words}' in {}", said(&output));
    };
    refused(&[&file, "--sample", "1"], "sample 1 of 14.1 us was not explained");
    refused(&[&file, "--sample", "0"], &format!("have the numbers 1 to {}", kept.worst.len()));
    refused(&["swap", "--sample", "1"], "cannot read swap");
    let quiet = crate::support::fixtures().join("calibration/idle/quiet.json");
    refused(&[quiet.to_str().unwrap()], "its worst samples were not explained");
}
