//! `punctual packet` with `--explain`, over the loopback interface, beside a thread of higher priority on the receiver's CPU.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::process::{Child, Stdio};

use crate::support::hogs::Hogs;
use crate::support::{code, eventually, may_be_real_time, punctual, run, said, stdout};
use kernel::sched::affinity_of;
use record::{CauseClass, Certainty, ExplainedSample, NodeExplanation, ReasonCode, Record};
use units::CpuSet;

/// How often packets are sent until a partner was not taken for lost.
const TRIES: u32 = 3;

/// Whether the kernel takes programs from this process, and its traces count threads as this process does: not in a container
/// (PROC_PID_INIT_INO, include/linux/proc_ns.h).
fn may_record() -> bool {
    let is_known = std::path::Path::new("/sys/kernel/btf/vmlinux").exists();
    let counts = std::fs::read_link("/proc/self/ns/pid").is_ok_and(|ns| ns.as_os_str() == "pid:[4026531836]");
    counts && is_known && kernel::bpf::FlightMemory::new(1, 64).is_ok()
}

/// Ends with the test.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Packets to a receiver with these options, on the last CPU and beside the hog; the record, and what the listening program
/// printed.
fn beside_a_hog(receive: &str, priority: &str, source: &str) -> Option<(Record, String)> {
    let cpus = affinity_of(0).unwrap();
    let (first, last) = (cpus.first().unwrap(), cpus.last().unwrap());
    if !may_record() || !may_be_real_time() || first == last {
        println!("not shown: it takes programs in the kernel, real-time priority and two CPUs");
        return None;
    }
    for _ in 0..TRIES {
        let Some((record, others, shown)) = once_beside_a_hog((first, last), receive, priority, source) else {
            continue;
        };
        // A partner that got no CPU for seconds counts as lost, and each node then has what it knows.
        if !record.validity.has(ReasonCode::PartnerLost) {
            assert_eq!(record, others, "both nodes have it");
            return Some((record, shown));
        }
    }
    panic!("the partner was lost {TRIES} times: this machine gives it no CPU for seconds");
}

/// The same once: the records of both nodes, and what the listening program printed; `None` where one of them got no CPU for
/// seconds before the run began.
fn once_beside_a_hog(
    (first, last): (u32, u32),
    receive: &str,
    priority: &str,
    source: &str,
) -> Option<(Record, Record, String)> {
    let folder = tempfile::tempdir().unwrap();
    let [token, listened, sent] = ["token", "listened.json", "sent.json"].map(|name| folder.path().join(name));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = format!("127.0.0.1:{port}");
    let child = punctual(&["listen", "--once", "--anyway", "--on", &at, "--sched-priority", priority])
        .args(["--cpu", &last.to_string(), "--explain", "--explain-by", source, "--above", "2500us"])
        .arg("--token-file")
        .arg(&token)
        .arg("-o")
        .arg(&listened)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut listening = Listening(child);
    eventually("the token is written", || token.is_file());
    let hogs = Hogs::on(&CpuSet::from_iter([last]));
    // The stack hands packets on in the sender's own context here, so the sender has to have a CPU.
    let output = punctual(&["packet", "send", "--to", &at, "--sched-priority", "other", "--cpu", &first.to_string()])
        .args(["--receive", receive, "-D", "4s", "--no-sync"])
        .arg("--token-file")
        .arg(&token)
        .arg("-o")
        .arg(&sent)
        .output()
        .unwrap();
    drop(hogs);
    if code(&output) == 2
        && ["nothing has come from", "did not come up within"].iter().any(|why| said(&output).contains(why))
    {
        return None;
    }
    assert!([0, 3].contains(&code(&output)), "{}", said(&output));
    listening.0.wait().unwrap();
    let read = |path| Record::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();
    let shown = stdout(&run(&["explain", &listened.display().to_string()]));
    Some((read(&sent), read(&listened), shown + &stdout(&output)))
}

/// Whether this kernel does not write down all switches, as that of one virtual machine was seen to; a run says so.
fn leaves_switches_out(node: &NodeExplanation) -> bool {
    node.explanation.missing.iter().any(|missing| missing.contains("switches between threads out of its trace"))
}

/// The samples that are the hog's.
fn of_hog(node: &NodeExplanation) -> Vec<&ExplainedSample> {
    let of_hog = node.explanation.samples.iter().filter(|sample| sample.class == CauseClass::Thread);
    of_hog.filter(|sample| sample.name == "test-hog (fifo 60)").collect()
}

/// Shown; likely where a part of it may be a hypervisor's or the firmware's.
fn is_as_sure_as_can_be(sample: &ExplainedSample) -> bool {
    let doubts = ["may be in this", "cannot be excluded"];
    let is_doubted = doubts.iter().any(|doubt| sample.evidence.contains(doubt));
    sample.certainty == if is_doubted { Certainty::Likely } else { Certainty::Shown }
}

#[test]
fn a_thread_that_held_the_receiver_s_cpu_is_named_by_the_node_that_receives() {
    for source in ["programs", "events"] {
        let Some((record, shown)) = beside_a_hog("block", "40", source) else { return };
        let [node] = &record.packets().unwrap().explanations[..] else { panic!("one node receives") };
        assert_eq!(node.latency, "arrived_to_received");
        assert_eq!(node.node, record.packets().unwrap().flows[0].to);
        let described = || serde_json::to_string_pretty(node).unwrap();
        let found = of_hog(node);
        if leaves_switches_out(node) {
            println!("not shown in full: {:?}; {} samples are the hog's", node.explanation.missing, found.len());
            // What is missing is said, and nobody else gets the blame for it.
            let threads = node.explanation.samples.iter().filter(|sample| sample.class == CauseClass::Thread);
            let others = threads.filter(|sample| !sample.name.starts_with("test-hog"));
            assert!(others.count() <= node.explanation.samples.len() / 10, "{source}: {}", described());
            continue;
        }
        assert!(found.len() >= 5, "{source}: {}", described());
        for sample in found {
            assert!(sample.evidence.contains("test-hog (thread ") && is_as_sure_as_can_be(sample), "{sample:?}");
            let says = ["woke the receiver", "the receiver was awake", "the receiver was woken"];
            assert!(says.iter().any(|said| sample.evidence.contains(said)), "{sample:?}");
            assert!(!sample.evidence.contains("timer"), "a packet woke it: {sample:?}");
        }
        // The hog is blamed for nothing that the recording does not cover.
        assert!(node.explanation.explained + node.explanation.not_recorded == node.explanation.outliers);
        assert!(node.explanation.cost.is_some(), "what it costs was measured: {}", described());
        for words in ["arrived_to_received on", "test-hog (fifo 60)", "woke the receiver"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
}

#[test]
fn a_receiver_that_asks_without_a_pause_is_preempted_and_not_woken_late() {
    let Some((record, _)) = beside_a_hog("poll", "other", "programs") else { return };
    let [node] = &record.packets().unwrap().explanations[..] else { panic!("one node receives") };
    let found = of_hog(node);
    // An ordinary thread waits for the other ordinary ones of a busy machine too.
    let threads = node.explanation.samples.iter().filter(|sample| sample.class == CauseClass::Thread);
    let is_busy = threads.count() > 2 * found.len();
    assert!(found.len() >= 5 || is_busy, "{}", serde_json::to_string_pretty(node).unwrap());
    for sample in found {
        assert!(sample.evidence.contains("the receiver was awake when the kernel had the packet"), "{sample:?}");
    }
}

#[test]
fn a_node_that_only_sends_is_not_asked_to_explain() {
    let output = run(&["packet", "send", "--to", "127.0.0.1:1", "--token", "PUNCTUAL1abc", "--explain"]);
    assert_eq!(code(&output), 2);
    assert!(said(&output).contains("give it to 'punctual listen'"), "{}", said(&output));
}
