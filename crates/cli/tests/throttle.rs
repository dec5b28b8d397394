//! Stops by the kernel's limits on real-time threads, on a machine that has them: the throttle, the budget of a control
//! group, or the fair server, whichever this kernel has.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::process::Stdio;
use std::thread::JoinHandle;

use crate::support::{eventually, may_be_real_time, punctual, record, run};
use kernel::clock::{KernelClock, now_ns};
use kernel::sched::{Policy, affinity_of, set_affinity, set_policy};
use record::{ReasonCode, Record};
use units::{ClockId, CpuSet};

/// Long enough for a second stop: each comes within a period of 1 s.
const HOG_NS: i64 = 2_300_000_000;

fn spin(cpu: u32, policy: Policy) -> JoinHandle<()> {
    std::thread::spawn(move || {
        set_affinity(0, &CpuSet::from_iter([cpu])).unwrap();
        set_policy(policy).unwrap();
        let clock = KernelClock::from(ClockId::Monotonic);
        let until_ns = now_ns(clock) + HOG_NS;
        while now_ns(clock) < until_ns {}
    })
}

/// Measures at FIFO 80 on `measured`, while a FIFO 10 thread uses `hogged` up beside an ordinary thread.
fn beside_a_hog(measured: u32, hogged: u32) -> Record {
    let cpu = measured.to_string();
    let arguments = ["measure", "wakeup", "--cpus", &cpu, "--priority", "80", "--interval", "1ms"];
    let child = punctual(&[&arguments[..], &["--duration", "3s", "--json"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the drain thread", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        tasks.flatten().any(|task| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("punctual-drain"))
        })
    });
    let hogs = [spin(hogged, Policy::Other), spin(hogged, Policy::Fifo(10))];
    let output = child.wait_with_output().unwrap();
    hogs.into_iter().for_each(|hog| hog.join().unwrap());
    record(&output)
}

/// Measures noise at FIFO 10 on a CPU that an ordinary thread wants as well.
fn noise_beside_an_ordinary_thread(cpu: u32) -> Record {
    let cpu = cpu.to_string();
    let measure = ["measure", "noise", "--priority", "10", "--cpus", &cpu, "--duration", "3500ms", "--json"];
    let load = ["--load-cmd", "while :; do :; done", "--load-cpus", &cpu];
    record(&run(&[&measure[..], &load].concat()))
}

/// Whether a FIFO thread that never sleeps is stopped on this machine at all, and how often: tried, since no setting says
/// it on every kernel.
fn stops_real_time_threads(cpu: u32) -> bool {
    let other = spin(cpu, Policy::Other);
    let tried = std::thread::spawn(move || {
        set_affinity(0, &CpuSet::from_iter([cpu])).unwrap();
        set_policy(Policy::Fifo(10)).unwrap();
        let clock = KernelClock::from(ClockId::Monotonic);
        let (began_ns, mut last_ns, mut longest_ns) = (now_ns(clock), now_ns(clock), 0);
        while last_ns < began_ns + HOG_NS {
            let now = now_ns(clock);
            longest_ns = longest_ns.max(now - last_ns);
            last_ns = now;
        }
        longest_ns
    });
    let longest_ns = tried.join().unwrap();
    other.join().unwrap();
    longest_ns >= 30_000_000
}

#[test]
fn each_stop_of_a_measured_cpu_is_recognized_and_a_hog_elsewhere_spoils_nothing() {
    let cpus = affinity_of(0).unwrap();
    let (first, last) = (cpus.first().unwrap(), cpus.last().unwrap());
    if !may_be_real_time() || first == last {
        println!("not run: it needs real-time priority and two CPUs");
        return;
    }
    if !stops_real_time_threads(last) {
        println!("not run: this machine stops no real-time thread");
        return;
    }
    // In a container that counts threads by itself one that outranks those that are measured may be hidden.
    let sees_all = kernel::tracefs::counts_like_the_trace();
    // A fair server that cannot be read is presumed.
    let is_read = std::path::Path::new("/sys/kernel/debug/sched/fair_server/cpu0/runtime").exists();
    let by_presumed =
        |reason: &record::Reason| reason.code == ReasonCode::RtThrottleLikely && reason.detail.contains("fair server");
    // Twice: the kernel writes its line into the log once a boot.
    for attempt in 0..2 {
        let record = beside_a_hog(last, last);
        let stolen_ns = record.series[0].counters.steal_ns.unwrap_or(0);
        if stolen_ns >= 40_000_000 && record.validity.has(ReasonCode::RtThrottleLikely) {
            println!("not decided: the hypervisor took as long as a stop takes ({stolen_ns} ns)");
            continue;
        }
        if !sees_all || (!is_read && record.validity.reasons().iter().any(by_presumed)) {
            assert!(record.validity.has(ReasonCode::RtThrottleLikely), "run {attempt}: {:?}", record.validity);
            continue;
        }
        let reason = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::RtThrottled);
        let reason =
            reason.unwrap_or_else(|| panic!("run {attempt}: {:?}, {:?}", record.validity, record.worst.first()));
        assert!(reason.detail.contains(&format!("CPU {last}: ")), "{reason:?}");
        assert!(reason.detail.contains("(fifo 10, thread "), "the hog is named: {reason:?}");
        assert!(record.validity.is_invalid());
    }
    let record = beside_a_hog(last, first);
    let codes: Vec<ReasonCode> = record.validity.reasons().iter().map(|reason| reason.code).collect();
    assert!(!codes.contains(&ReasonCode::RtThrottled) && !codes.contains(&ReasonCode::RtThrottleLikely), "{codes:?}");
    let record = noise_beside_an_ordinary_thread(last);
    let (series, totals) = (&record.series[0], record.series[0].gaps().unwrap());
    assert_eq!(series.histogram.sum_ns(), totals.stolen_ns);
    let detail_of =
        |code| record.validity.reasons().iter().find(|reason| reason.code == code).map(|reason| &reason.detail);
    let (kept_apart, likely) = (detail_of(ReasonCode::ThrottleKeptApart), detail_of(ReasonCode::RtThrottleLikely));
    assert_eq!(totals.throttle_gaps > 0, kept_apart.is_some());
    // Whether any process was made meanwhile decides about which of them it is.
    let by = kept_apart.or(likely).unwrap_or_else(|| panic!("{:?}, {:?}", record.validity, record.worst.first()));
    assert!(["fair server", "throttle", "budget"].iter().any(|who| by.contains(who)), "{by}");
}
