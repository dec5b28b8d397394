//! Causes on machines: what must never be advised there.

use super::*;

const CLASSES: [CauseClass; 15] = [
    CauseClass::InterruptsOff,
    CauseClass::PreemptionOff,
    CauseClass::Interrupt,
    CauseClass::Softirq,
    CauseClass::Thread,
    CauseClass::TimerFunction,
    CauseClass::Nmi,
    CauseClass::Smi,
    CauseClass::IdleExit,
    CauseClass::Frequency,
    CauseClass::PageFault,
    CauseClass::Migration,
    CauseClass::Throttle,
    CauseClass::Steal,
    CauseClass::Unknown,
];
const NAMES: [&str; 6] =
    ["", "eth0 (interrupt 24)", "local timer", "tick_nohz_handler", "migration/1 (fifo 99)", "hog (fifo 99)"];
const OWNERS: [Owner; 3] = [Owner::Other, Owner::Load, Owner::Instrument];

fn machine() -> Surroundings {
    Surroundings {
        measured: [2, 3].into_iter().collect(),
        preemption: Preemption::Voluntary,
        is_virtual: Some(false),
        idle_states: IdleStates::Allowed,
        ..Surroundings::default()
    }
}

/// Every remedy on this machine keeps to what `allows` says of its words.
fn check(of: &Surroundings, allows: impl Fn(CauseClass, Owner, &Remedy) -> bool) {
    for class in CLASSES {
        for name in NAMES {
            for owner in OWNERS {
                let remedy = remedy(class, name, owner, of);
                assert!(!remedy.words.is_empty());
                assert!(allows(class, owner, &remedy), "{class:?} {name:?} {owner:?}: {remedy:?} on {of:?}");
            }
        }
    }
}

#[test]
fn nobody_is_told_to_take_what_is_there_already() {
    let realtime = Surroundings { preemption: Preemption::Realtime, interrupts_have_threads: true, ..machine() };
    check(&realtime, |_, _, remedy| {
        !remedy.words.contains("take a PREEMPT_RT")
            && !remedy.words.contains("threadirqs")
            && !matches!(remedy.finding, Some("kernel-not-realtime" | "interrupts-not-threaded"))
    });
    let threaded = Surroundings { interrupts_have_threads: true, ..machine() };
    check(&threaded, |_, _, remedy| {
        !remedy.words.contains("threadirqs") && remedy.finding != Some("interrupts-not-threaded")
    });
    let isolated = Surroundings { isolated: [2, 3].into_iter().collect(), ..machine() };
    check(&isolated, |_, _, remedy| {
        !remedy.words.contains("isolate the measured") && !remedy.words.contains("(isolation, affinity)")
    });
    let dynticks = Surroundings { nohz_full: [2, 3].into_iter().collect(), ..machine() };
    check(&dynticks, |_, _, remedy| !remedy.words.contains("measured CPUs: nohz_full"));
    let disabled = Surroundings { idle_states: IdleStates::Disabled, ..machine() };
    check(&disabled, |_, _, remedy| remedy.finding != Some("deep-idle-states"));
    // Each architecture gets its own boot parameter.
    let idle_exit =
        |is_x86| remedy(CauseClass::IdleExit, "C6", Owner::Other, &Surroundings { is_x86, ..disabled.clone() }).words;
    assert!(idle_exit(Some(true)).contains("idle=poll") && !idle_exit(Some(true)).contains("nohlt"));
    assert!(!idle_exit(Some(false)).contains("idle=poll") && idle_exit(Some(false)).contains("nohlt"));
    assert!(idle_exit(None).contains("idle=poll (x86) or nohlt"));
    let fixed = Surroundings { governor_is_performance: Some(true), ..machine() };
    check(&fixed, |_, _, remedy| !remedy.words.contains("use the governor"));
    // Nobody can use what their machine does not have.
    let without = Surroundings { governor_is_performance: None, ..machine() };
    check(&without, |_, _, remedy| !remedy.words.contains("use the governor"));
    let quiet = Surroundings { nmi_watchdog: Some(false), ..machine() };
    check(&quiet, |_, _, remedy| remedy.finding != Some("nmi-watchdog"));
    let free = Surroundings { throttle_is_off: true, ..machine() };
    check(&free, |_, _, remedy| !remedy.words.contains("set sched_rt_runtime_us") && !remedy.words.contains("cpu.max"));
}

#[test]
fn a_kernel_that_is_not_realtime_is_named_where_that_would_help() {
    for class in [CauseClass::PreemptionOff, CauseClass::InterruptsOff, CauseClass::Softirq] {
        let found = remedy(class, "rustc (other)", Owner::Other, &machine());
        assert!(found.words.contains("or take a PREEMPT_RT kernel"), "{found:?}");
    }
    let unknown = Surroundings { preemption: Preemption::Unknown, ..machine() };
    assert!(remedy(CauseClass::PreemptionOff, "", Owner::Other, &unknown).words.contains("if this is none"));
}

#[test]
fn the_measurement_s_own_threads_ask_nothing_of_the_machine_and_the_load_s_are_not_sent_away() {
    check(&machine(), |_, owner, remedy| match owner {
        Owner::Instrument => remedy.words.contains("measurement itself") && remedy.finding.is_none(),
        Owner::Load => !remedy.words.contains("keep that thread off") && !remedy.words.contains("give that thread"),
        Owner::Other => true,
    });
}

#[test]
fn what_cannot_be_moved_is_not_to_be_moved() {
    check(&machine(), |_, _, remedy| {
        !remedy.words.contains("physical ones of their own") || remedy.finding == Some("host-takes-time")
    });
    let own = remedy(CauseClass::Interrupt, "local timer", Owner::Other, &machine());
    assert!(own.words.contains("cannot be moved"), "{own:?}");
    let device = remedy(CauseClass::Interrupt, "eth0 (interrupt 24)", Owner::Other, &machine());
    assert!(device.words.contains("move that interrupt"), "{device:?}");
    let stopper = remedy(CauseClass::Thread, "migration/1 (fifo 99)", Owner::Other, &machine());
    assert!(stopper.words.contains("no priority exceeds it"), "{stopper:?}");
}

#[test]
fn in_a_virtual_machine_what_the_host_decides_is_sought_there() {
    let guest = Surroundings { is_virtual: Some(true), ..machine() };
    for class in [CauseClass::Smi, CauseClass::Frequency] {
        let found = remedy(class, "", Owner::Other, &guest);
        assert!(found.words.contains("host"), "{found:?}");
    }
}

#[test]
fn every_finding_that_is_named_can_be_explained() {
    let known = |id: &str| profile::check::CATALOGUE.rule(id).is_some();
    for preemption in [Preemption::None, Preemption::Realtime, Preemption::Unknown] {
        for isolated in [vec![], vec![2, 3]] {
            let of = Surroundings { preemption, isolated: isolated.iter().copied().collect(), ..machine() };
            check(&of, |_, _, remedy| remedy.finding.is_none_or(known));
        }
    }
}
