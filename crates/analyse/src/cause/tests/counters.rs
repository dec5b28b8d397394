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
    let tight = idle_gap(Place { smi: counted(1), ..BARE });
    assert_eq!((tight.class, tight.certainty), (CauseClass::Smi, Certainty::Likely));
    // Counted since the outlier before, minutes ago.
    let minutes = Around { count: 3, window_ns: 240_000_000_000, chance: 0.95 };
    let loose = idle_gap(Place { smi: Some(minutes), ..BARE });
    assert_eq!(loose.class, CauseClass::Unknown);
    assert!(
        loose.evidence.contains("3 SMIs were counted in the 4 min around it, as by accident in 95 of 100"),
        "{}",
        loose.evidence
    );
    let guest = Place { is_virtual: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    assert_eq!(idle_gap(guest).class, CauseClass::Steal);
    let busy_host = idle_gap(Place { steal_ns: by_accident(10_000_000), ..guest });
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
        let (class, certainty, evidence) = handler(Place { smi, ..BARE });
        assert_eq!((class, certainty), (CauseClass::Interrupt, Certainty::Likely));
        assert!(evidence.contains("1 SMI was counted in the 20 ms around it, some of which"), "{evidence}");
    }
}
