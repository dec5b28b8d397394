//! Packets that a program had late, whose cause is known, and what must not be concluded of them.

use std::collections::BTreeMap;

use record::ReceiveMode;

use super::*;

/// The receiver, on CPU 0 (SCHED_FIFO 98).
fn receiver() -> Thread {
    Thread { name: "punctual-r1".to_owned(), ..own() }
}

fn woken(ns: i64) -> Event {
    at(ns, What::Woken { tid: receiver().tid })
}

fn receiving() -> Frame {
    Frame::Softirq("softirq NET_RX".to_owned())
}

/// CPU 1 hands a packet on between two moments, and wakes the receiver.
fn handed_on(from_ns: i64, woken_ns: i64) -> Vec<Event> {
    vec![
        to(-100_000, (77, 1), idle()),
        at(from_ns, What::Enter(receiving())),
        woken(woken_ns),
        at(woken_ns + 2_000, What::Leave(receiving())),
    ]
}

/// A packet that the program had `latency_ns` after the kernel, by what both CPUs did.
fn received_as(mode: ReceiveMode, latency_ns: i64, cpus: [Vec<Event>; 2], place: BelowKernel) -> ExplainedSample {
    let late = Late { own: receiver(), ..late(latency_ns) };
    let evidence = |events| Evidence { events, own_switches: true, ..Evidence::default() };
    let by_cpu = BTreeMap::from_iter((0..).zip(cpus.map(evidence)));
    explain_arrival(&late, Receiver { mode, is_pinned: true, wakings: true }, by_cpu, place)
}

fn received(latency_ns: i64, cpus: [Vec<Event>; 2]) -> ExplainedSample {
    received_as(ReceiveMode::Block, latency_ns, cpus, BARE)
}

fn hog() -> Thread {
    thread(5, "hog", 0, 1)
}

/// What a timer's latency is explained with, and no packet's may be.
#[track_caller]
fn says_nothing_of_timers(sample: &ExplainedSample) {
    assert!(!sample.evidence.contains("timer") && !sample.evidence.contains("schedule\u{a0}"), "{}", sample.evidence);
}

#[test]
fn a_thread_that_outranks_the_receiver_and_had_its_cpu_is_named() {
    let own_cpu = vec![to(-50_000, (77, 1), idle()), to(1_000, (0, 120), hog()), to(301_000, (5, 0), receiver())];
    let sample = received(305_000, [own_cpu, handed_on(-1_000, 4_000)]);
    assert_eq!((sample.class, sample.certainty), (CauseClass::Thread, Certainty::Shown), "{}", sample.evidence);
    assert_eq!(sample.name, "hog (fifo 99)");
    assert!(
        sample.evidence.contains("hog (thread 5, fifo 99) had the CPU for 297 us of 305 us"),
        "{}",
        sample.evidence
    );
    let came = "CPU 1 woke the receiver 4.0 us after the kernel had the packet";
    assert!(sample.evidence.contains(came), "{}", sample.evidence);
    says_nothing_of_timers(&sample);
    // What the way did before is drawn with its CPU, and the receiver's own running as its own.
    let names: Vec<&str> = sample.timeline.iter().map(|segment| segment.name.as_str()).collect();
    assert!(names.contains(&"softirq NET_RX on CPU 1"), "{names:?}");
    assert!(sample.timeline.iter().any(|segment| segment.activity == record::Activity::Measuring), "{names:?}");
}

#[test]
fn what_ran_on_the_receiver_s_cpu_before_it_was_woken_is_not_to_blame() {
    // The other CPU hands the packet on late; a thread that outranks the receiver has its CPU just then, and only then.
    let own_cpu = vec![
        to(-50_000, (77, 1), idle()),
        to(1_000, (0, 120), hog()),
        to(299_000, (5, 0), idle()),
        to(302_000, (0, 120), receiver()),
    ];
    let softirq = received(305_000, [own_cpu.clone(), handed_on(2_000, 300_000)]);
    assert_eq!((softirq.class, softirq.certainty), (CauseClass::Softirq, Certainty::Likely), "{}", softirq.evidence);
    assert_eq!(softirq.name, "softirq NET_RX on CPU 1, before the receiver was woken");
    // A thread on the other CPU is seen, and what the packet waited for is not.
    let compiler = thread(9, "rustc", 120, 0);
    let mut other = vec![to(-100_000, (0, 120), compiler)];
    other.extend(handed_on(295_000, 300_000).into_iter().skip(1));
    let thread = received(305_000, [own_cpu.clone(), other]);
    assert_eq!((thread.class, thread.certainty), (CauseClass::Unknown, Certainty::Unknown), "{}", thread.evidence);
    assert!(
        thread.evidence.contains("meanwhile CPU 1 ran rustc (thread 9, other) on CPU 1 for 295 us"),
        "{}",
        thread.evidence
    );
    // A CPU on which nothing is seen.
    let nothing = received(305_000, [own_cpu, handed_on(299_000, 300_000)]);
    assert_eq!(nothing.class, CauseClass::Unknown, "{}", nothing.evidence);
    for sample in [softirq, thread, nothing] {
        assert!(!sample.evidence.contains("hog"), "{}", sample.evidence);
        says_nothing_of_timers(&sample);
    }
}

#[test]
fn a_thread_that_had_the_cpu_which_hands_packets_on_and_runs_the_receiver_is_likely_the_cause() {
    // One CPU does both; while the hog has it, neither goes on.
    let events = |who: Thread| {
        let mut events = vec![to(-50_000, (0, 120), who.clone()), to(300_000, (who.tid, who.prio), idle())];
        events.extend(handed_on(301_000, 303_000).into_iter().skip(1));
        events.push(to(306_000, (0, 120), receiver()));
        events
    };
    let sample = |who, is_pinned| {
        let late = Late { own: receiver(), ..late(308_000) };
        let evidence = Evidence { events: events(who), own_switches: true, ..Evidence::default() };
        let receiver = Receiver { mode: ReceiveMode::Block, is_pinned, wakings: true };
        explain_arrival(&late, receiver, BTreeMap::from([(0, evidence)]), BARE)
    };
    let found = sample(hog(), true);
    assert_eq!((found.class, found.certainty), (CauseClass::Thread, Certainty::Likely), "{}", found.evidence);
    assert_eq!(found.name, "hog (fifo 99)");
    assert!(found.evidence.contains("had the receiver's CPU for 300 us of 308 us before"), "{}", found.evidence);
    // One that the receiver outranks would not have kept it, and one that may run elsewhere was not kept.
    assert_eq!(sample(thread(9, "rustc", 120, 0), true).class, CauseClass::Unknown);
    assert_eq!(sample(hog(), false).class, CauseClass::Unknown);
}

#[test]
fn a_receiver_that_was_awake_was_not_woken_late() {
    // It asks without a pause, and is preempted.
    let own_cpu = vec![to(-500_000, (0, 120), receiver()), to(1_000, (77, 1), hog()), to(301_000, (5, 0), receiver())];
    for mode in [ReceiveMode::Poll, ReceiveMode::Schedule, ReceiveMode::Block] {
        let sample = received_as(mode, 305_000, [own_cpu.clone(), Vec::new()], BARE);
        assert_eq!((sample.class, sample.certainty), (CauseClass::Thread, Certainty::Shown), "{}", sample.evidence);
        assert!(
            sample.evidence.ends_with("; the receiver was awake when the kernel had the packet"),
            "{}",
            sample.evidence
        );
        assert!(!sample.evidence.contains("woke"), "{}", sample.evidence);
    }
    // It was busy itself.
    let busy = received(305_000, [vec![to(-500_000, (0, 120), receiver())], Vec::new()]);
    assert_eq!(busy.class, CauseClass::Unknown);
    assert!(busy.evidence.contains("itself had CPU 0 for 305 us of 305 us"), "{}", busy.evidence);
    // A host that stops the CPU looks the same on the trace.
    let stolen = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    let stopped =
        received_as(ReceiveMode::Poll, 305_000, [vec![to(-500_000, (0, 120), receiver())], Vec::new()], stolen);
    assert_eq!((stopped.class, stopped.certainty), (CauseClass::Steal, Certainty::Likely), "{}", stopped.evidence);
}

#[test]
fn a_receiver_that_slept_by_its_own_schedule_says_so_and_blames_nobody() {
    let own_cpu =
        vec![to(-50_000, (77, 1), idle()), to(1_000, (0, 120), hog()), woken(200_000), to(201_000, (5, 0), receiver())];
    let sample = |mode| received_as(mode, 205_000, [own_cpu.clone(), Vec::new()], BARE);
    for mode in [ReceiveMode::Poll, ReceiveMode::Schedule] {
        let asleep = sample(mode);
        assert_eq!((asleep.class, asleep.certainty), (CauseClass::OwnSleep, Certainty::Likely), "{}", asleep.evidence);
        assert_eq!(asleep.name, format!("--receive {}", mode.name()));
        assert!(asleep.evidence.contains("slept for 200 us of 205 us"), "{}", asleep.evidence);
        assert!(!asleep.evidence.contains("hog"), "{}", asleep.evidence);
    }
    // One that sleeps until a packet wakes it sleeps by no schedule.
    let woken_by_packet = sample(ReceiveMode::Block);
    assert_eq!((woken_by_packet.class, woken_by_packet.certainty), (CauseClass::Thread, Certainty::Likely));
}

#[test]
fn a_short_sleep_by_its_own_schedule_is_not_the_time_for_which_it_was_preempted() {
    // Preempted for 300 us; then it runs, sleeps for 10 us, and takes the packet.
    let own_cpu = |slept_from_ns: i64| {
        vec![
            to(-500_000, (0, 120), receiver()),
            to(1_000, (77, 1), hog()),
            to(slept_from_ns - 2_000, (5, 0), receiver()),
            to(slept_from_ns, (77, 1), idle()),
            woken(313_000),
            to(314_000, (0, 120), receiver()),
        ]
    };
    let sample =
        |slept_from_ns| received_as(ReceiveMode::Schedule, 315_000, [own_cpu(slept_from_ns), Vec::new()], BARE);
    let preempted = sample(303_000);
    assert_eq!(
        (preempted.class, preempted.name.as_str()),
        (CauseClass::Thread, "hog (fifo 99)"),
        "{}",
        preempted.evidence
    );
    // The other way round.
    let asleep = sample(33_000);
    assert_eq!(asleep.class, CauseClass::OwnSleep, "{}", asleep.evidence);
    assert!(asleep.evidence.contains("slept for 280 us of 315 us"), "{}", asleep.evidence);
    // Where it is not recorded when it gave its CPU away, nothing is said of either.
    let late = Late { own: receiver(), ..late(315_000) };
    let evidence = Evidence { events: own_cpu(303_000), ..Evidence::default() };
    let receiver = Receiver { mode: ReceiveMode::Schedule, is_pinned: true, wakings: true };
    let unknown = explain_arrival(&late, receiver, BTreeMap::from([(0, evidence)]), BARE);
    assert_eq!(unknown.class, CauseClass::Unknown, "{}", unknown.evidence);
}

#[test]
fn a_thread_that_the_receiver_outranks_kept_preemption_off_only_where_its_cpu_was_told() {
    let compiler = || thread(9, "rustc", 120, 0);
    let own_cpu = |told: Vec<Event>| {
        let begin = vec![to(-500_000, (0, 120), compiler())];
        [begin, told, vec![to(301_000, (9, 120), receiver())]].concat()
    };
    let told = |ns| {
        let frame = || Frame::Vector("reschedule request".to_owned());
        vec![at(ns, What::Enter(frame())), at(ns + 500, What::Leave(frame()))]
    };
    let class = |told| {
        let sample = received(305_000, [own_cpu(told), handed_on(-1_000, 4_000)]);
        says_nothing_of_timers(&sample);
        (sample.class, sample.certainty)
    };
    assert_eq!(class(told(6_000)), (CauseClass::PreemptionOff, Certainty::Shown));
    let tick = || Frame::TimerFunction("tick_nohz_handler".to_owned());
    let ticked = vec![at(40_000, What::Enter(tick())), at(42_000, What::Leave(tick()))];
    assert_eq!(class(ticked.clone()), (CauseClass::PreemptionOff, Certainty::Shown), "interrupts were on");
    let sample = received(305_000, [own_cpu(ticked), handed_on(-1_000, 4_000)]);
    let told_by = "that CPU took an interrupt 36.0 us after the waking";
    assert!(sample.evidence.contains(told_by), "{}", sample.evidence);
    assert_eq!(class(told(300_000)), (CauseClass::InterruptsOff, Certainty::Likely), "taken late");
    assert_eq!(class(Vec::new()), (CauseClass::InterruptsOff, Certainty::Likely), "it is not known when");
    // Chosen after the receiver was woken.
    let chosen = vec![to(-50_000, (77, 1), idle()), to(9_000, (0, 120), compiler()), to(301_000, (9, 120), receiver())];
    let sample = received(305_000, [chosen, handed_on(-1_000, 4_000)]);
    assert_eq!(
        (sample.class, sample.certainty),
        (CauseClass::Throttle, Certainty::Likely),
        "when it was told is not known"
    );
    // It was told before it chose, and after.
    let chosen_at = |chosen_ns: i64| {
        let begin = vec![to(-50_000, (77, 1), idle())];
        let mut rest =
            [told(6_000), vec![to(chosen_ns, (0, 120), compiler()), to(301_000, (9, 120), receiver())]].concat();
        rest.sort_by_key(|event| event.time_ns);
        let sample = received(305_000, [[begin, rest].concat(), handed_on(-1_000, 4_000)]);
        (sample.class, sample.certainty)
    };
    assert_eq!(chosen_at(9_000), (CauseClass::Throttle, Certainty::Shown));
    assert_ne!(chosen_at(5_000).0, CauseClass::Throttle, "it did not know of the receiver yet");
}

#[test]
fn an_idle_state_takes_its_time_after_the_waking_alone() {
    let sleeps = |latency_ns| What::IdleEntry { state: "C6".to_owned(), exit_latency_ns: Some(latency_ns) };
    let own_cpu = |latency_ns| {
        vec![to(-500_000, (77, 1), idle()), at(-490_000, sleeps(latency_ns)), to(140_000, (0, 120), receiver())]
    };
    let woken_early = received(145_000, [own_cpu(133_000), handed_on(-1_000, 4_000)]);
    assert_eq!(
        (woken_early.class, woken_early.name.as_str()),
        (CauseClass::IdleExit, "C6"),
        "{}",
        woken_early.evidence
    );
    // The same idle state, where the receiver was woken late: it is not to blame.
    let woken_late = received(145_000, [own_cpu(133_000), handed_on(134_000, 135_000)]);
    assert_eq!(woken_late.class, CauseClass::Unknown, "{}", woken_late.evidence);
    // Much longer than it takes.
    assert_eq!(received(145_000, [own_cpu(2_000), handed_on(-1_000, 4_000)]).class, CauseClass::Unknown);
}

#[test]
fn nothing_is_concluded_where_the_beginning_or_the_waking_is_missing() {
    let own_cpu = vec![to(-50_000, (77, 1), idle()), to(1_000, (0, 120), hog()), to(301_000, (5, 0), receiver())];
    let explain_with = |events: Vec<Event>, [own_is_cut, other_is_cut]: [bool; 2], wakings| {
        let evidence =
            |events, overwritten| Evidence { events, overwritten, own_switches: true, ..Evidence::default() };
        let other = if other_is_cut { vec![at(200_000, What::IdleExit)] } else { Vec::new() };
        let by_cpu = BTreeMap::from([(0, evidence(events, own_is_cut)), (1, evidence(other, other_is_cut))]);
        let late = Late { own: receiver(), ..late(305_000) };
        explain_arrival(&late, Receiver { mode: ReceiveMode::Block, is_pinned: true, wakings }, by_cpu, BARE)
    };
    // Its own CPU's beginning, the other CPU's, and no trace point for the waking.
    for sample in [
        explain_with(own_cpu[1..].to_vec(), [true, false], true),
        explain_with(own_cpu.clone(), [false, true], true),
        explain_with(own_cpu.clone(), [false, false], false),
    ] {
        assert_eq!((sample.class, sample.certainty), (CauseClass::Unknown, Certainty::Unknown), "{}", sample.evidence);
    }
    let cut = explain_with(own_cpu[1..].to_vec(), [true, false], true);
    assert!(cut.timeline.is_empty(), "nothing is drawn where nothing is known: {:?}", cut.timeline);
    assert_eq!(explain_with(own_cpu, [false, false], true).class, CauseClass::Thread);
}

#[test]
fn a_receiver_that_was_moved_is_followed_over_its_cpus() {
    // Woken by CPU 1, it waits there behind a hog, and is moved to CPU 0, where it runs at once.
    let mut other = handed_on(-1_000, 4_000);
    other.insert(1, to(-90_000, (0, 120), hog()));
    other.push(at(290_000, What::Moved { tid: 77, from: 1, to: 0 }));
    let own_cpu = vec![to(-500_000, (3, 120), idle()), to(292_000, (0, 120), receiver())];
    let sample = received(295_000, [own_cpu.clone(), other.clone()]);
    assert_eq!((sample.class, sample.name.as_str()), (CauseClass::Thread, "hog (fifo 99)"), "{}", sample.evidence);
    // On CPU 0 alone nothing is seen.
    other.pop();
    assert_eq!(received(295_000, [own_cpu, other]).class, CauseClass::Unknown);
}

#[test]
fn a_receiver_that_was_woken_before_the_packet_came_and_had_not_run_is_ready_all_the_time() {
    let compiler = || thread(9, "rustc", 120, 0);
    let sample = |own_switches, ran: bool| {
        let begin = vec![to(-500_000, (77, 1), compiler()), woken(-40_000)];
        let turn = vec![to(-30_000, (9, 120), receiver()), to(-20_000, (77, 1), compiler())];
        let end = vec![to(301_000, (9, 120), receiver())];
        let events = [begin, if ran { turn } else { Vec::new() }, end].concat();
        let late = Late { own: receiver(), ..late(305_000) };
        let evidence = Evidence { events, own_switches, ..Evidence::default() };
        let receiver = Receiver { mode: ReceiveMode::Schedule, is_pinned: true, wakings: true };
        explain_arrival(&late, receiver, BTreeMap::from([(0, evidence)]), BARE)
    };
    let found = sample(true, false);
    assert_eq!((found.class, found.certainty), (CauseClass::PreemptionOff, Certainty::Shown), "{}", found.evidence);
    assert!(found.evidence.ends_with("was woken 40.0 us before the kernel had the packet"), "{}", found.evidence);
    // One that had run meanwhile was awake for a reason that is not recorded, and one whose switches may be missing too.
    assert_eq!(sample(true, true).class, CauseClass::Unknown);
    assert_eq!(sample(false, false).class, CauseClass::Unknown);
}

#[test]
fn a_receiver_that_was_woken_before_it_went_to_sleep_did_not_sleep() {
    // Its timer fires while it still has the CPU: it is woken without having given that away.
    let ran = vec![to(-500_000, (0, 120), receiver()), woken(300_000)];
    let preempted = vec![
        to(-500_000, (0, 120), receiver()),
        to(-2_000, (77, 1), hog()),
        to(290_000, (5, 0), receiver()),
        woken(300_000),
    ];
    let sample = |events| received_as(ReceiveMode::Schedule, 305_000, [events, Vec::new()], BARE);
    let ran = sample(ran);
    assert_eq!(ran.class, CauseClass::Unknown, "{}", ran.evidence);
    assert!(ran.evidence.contains("itself had CPU 0 for 305 us"), "{}", ran.evidence);
    let preempted = sample(preempted);
    assert_eq!(
        (preempted.class, preempted.name.as_str()),
        (CauseClass::Thread, "hog (fifo 99)"),
        "{}",
        preempted.evidence
    );
}
