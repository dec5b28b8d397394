//! Counters of firmware, hypervisor and heat: what they say, and what they do not.

use super::*;

/// So much in 20 ms, which comes by accident as often as not.
const fn by_accident(count: u64) -> Option<Around> {
    Some(Around { count, window_ns: 20_000_000, chance: 0.5 })
}

#[test]
fn a_counter_that_moves_all_the_time_explains_nothing_and_is_told_with_its_numbers() {
    // The CPU was idle, and its timer's interrupt came late.
    let idle_gap = |place| {
        let late_timer = at(300_000, What::LateTimer { expires_ns: T, stack: Vec::new(), followed_for_ns: 0 });
        found(310_000, vec![to(-400_000, (77, 1), idle()), late_timer], place)
    };
    let tight = idle_gap(BelowKernel { smi: counted(1), ..BARE });
    assert_eq!((tight.class, tight.certainty), (CauseClass::Smi, Certainty::Likely));
    // Counted since the outlier before, minutes ago.
    let minutes = Around { count: 3, window_ns: 240_000_000_000, chance: 0.95 };
    let loose = idle_gap(BelowKernel { smi: Some(minutes), ..BARE });
    assert_eq!(loose.class, CauseClass::Unknown);
    assert!(
        loose.evidence.contains("3 SMIs were counted in the 4 min around it, as by accident in 95 of 100"),
        "{}",
        loose.evidence
    );
    let guest = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    assert_eq!(idle_gap(guest).class, CauseClass::Steal);
    let busy_host = idle_gap(BelowKernel { steal_ns: by_accident(10_000_000), ..guest });
    assert_eq!(busy_host.class, CauseClass::Unknown);
    assert!(
        busy_host.evidence.contains("in the 20 ms around it, as by accident in 50 of 100"),
        "{}",
        busy_host.evidence
    );
}

#[test]
fn a_handler_that_firmware_may_have_lengthened_is_not_shown() {
    let handler = |place| {
        let frame = || Frame::Irq(24, "eth0".to_owned());
        let events =
            vec![at(-2_000, What::Enter(frame())), at(300_000, What::Leave(frame())), to(305_000, (0, 120), own())];
        let sample = found(310_000, events, place);
        (sample.class, sample.certainty, sample.evidence)
    };
    assert_eq!(handler(BARE).1, Certainty::Shown);
    for smi in [counted(1), by_accident(1)] {
        let (class, certainty, evidence) = handler(BelowKernel { smi, ..BARE });
        assert_eq!((class, certainty), (CauseClass::Interrupt, Certainty::Likely));
        assert!(evidence.contains("1 SMI was counted in the 20 ms around it, some of which"), "{evidence}");
    }
}

#[test]
fn what_may_hide_an_smi_or_a_stop_of_the_host_that_nobody_counts_is_not_shown() {
    let outlier = |events: Vec<Event>, place| {
        let sample = found(310_000, events, place);
        (sample.class, sample.certainty, sample.evidence)
    };
    let nested = |frame: &dyn Fn() -> Frame| {
        vec![at(-2_000, What::Enter(frame())), at(300_000, What::Leave(frame())), to(305_000, (0, 120), own())]
    };
    let runs =
        |thread: Thread| vec![to(-2_000, (0, 120), thread.clone()), to(305_000, (thread.tid, thread.prio), own())];
    let guest = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(0), smi: None, heat: None };
    for (events, class) in [
        (nested(&|| Frame::Irq(24, "eth0".to_owned())), CauseClass::Interrupt),
        (nested(&|| Frame::Softirq("NET_RX".to_owned())), CauseClass::Softirq),
        (runs(thread(5, "hog", 0, 1)), CauseClass::Thread),
        (runs(thread(5, "rustc", 120, 0)), CauseClass::PreemptionOff),
    ] {
        for (place, certainty, unseen) in [
            (BARE, Certainty::Shown, ""),
            (BelowKernel { smi: None, ..BARE }, Certainty::Likely, "firmware (an SMI) cannot be excluded"),
            (BelowKernel { smi: None, has_smis: false, ..BARE }, Certainty::Shown, ""),
            (guest, Certainty::Shown, ""),
            (
                BelowKernel { steal_ns: None, ..guest },
                Certainty::Likely,
                "the hypervisor stopped the CPU meanwhile cannot be",
            ),
        ] {
            let (found_class, found_certainty, evidence) = outlier(events.clone(), place);
            assert_eq!((found_class, found_certainty), (class, certainty), "{evidence}");
            assert!(evidence.contains(unseen), "{evidence}");
        }
    }
    // A thread that is woken while throttled gets no switch either.
    let long = vec![to(-2_000, (0, 120), thread(5, "rustc", 120, 0)), to(50_000_000, (5, 120), own())];
    let sample = found(50_010_000, long, BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::PreemptionOff, Certainty::Likely));
    assert!(sample.evidence.contains("a throttle that began before"), "{}", sample.evidence);
    // Whom the scheduler chose is on record, whatever lengthened its time.
    let chosen = vec![to(9_000, (0, 120), thread(5, "rustc", 120, 0)), to(305_000, (5, 120), own())];
    let (class, certainty, _) = outlier(chosen, BelowKernel { smi: None, ..BARE });
    assert_eq!((class, certainty), (CauseClass::Throttle, Certainty::Shown));
}

#[test]
fn firmware_and_the_host_are_named_before_an_idle_state_and_with_it() {
    let outlier = |place| {
        let sleeps = What::IdleEntry { state: "C6".to_owned(), exit_latency_ns: Some(85_000) };
        let late_timer = at(90_000, What::LateTimer { expires_ns: T, stack: Vec::new(), followed_for_ns: 0 });
        let sample = found(100_000, vec![at(-90_000, sleeps), late_timer], place);
        (sample.class, sample.certainty, sample.evidence)
    };
    let (class, certainty, evidence) = outlier(BelowKernel { smi: counted(1), ..BARE });
    assert_eq!((class, certainty), (CauseClass::Smi, Certainty::Likely));
    assert!(evidence.contains("1 SMI was counted") && evidence.contains("slept in C6"), "{evidence}");
    let guest = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    assert_eq!(outlier(guest).0, CauseClass::Steal);
    // What stands there by accident, and heat, are no better answers.
    assert_eq!(outlier(BelowKernel { smi: by_accident(1), ..BARE }).0, CauseClass::IdleExit);
    assert_eq!(outlier(BelowKernel { heat: counted(1), ..BARE }).0, CauseClass::IdleExit);
}
