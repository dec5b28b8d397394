//! Samples whose cause is known, and what must not be concluded.

use record::{CauseClass, Certainty, ExplainedSample, Moment};

use super::*;

const T: i64 = 1_000_000;

fn own() -> Thread {
    Thread { tid: 77, name: "punctual-w0".to_owned(), prio: 1, policy: 1 }
}

fn thread(tid: u32, name: &str, prio: i32, policy: u32) -> Thread {
    Thread { tid, name: name.to_owned(), prio, policy }
}

fn late(latency_ns: i64) -> Late {
    let at = |ns| Moment { monotonic_ns: ns, realtime_ns: ns };
    Late {
        thread: 0,
        cpu: 0,
        scheduled: at(T),
        woke: at(T + latency_ns),
        scheduled_ns: T,
        latency_ns,
        typical_ns: 8_000,
        own: own(),
    }
}

fn at(time_ns: i64, what: What) -> Event {
    Event { time_ns: T + time_ns, what }
}

fn to(time_ns: i64, from: (u32, i32), next: Thread) -> Event {
    at(time_ns, What::Switch { from: from.0, from_prio: from.1, to: next })
}

fn idle() -> Thread {
    thread(0, "swapper/0", 120, 0)
}

fn found(latency_ns: i64, events: Vec<Event>, place: Place) -> ExplainedSample {
    explain(&late(latency_ns), &Evidence { events, overwritten: false, late_timers: true }, place)
}

const BARE: Place = Place { is_virtual: false, steal_ns: Some(0), smi: Some(0) };

#[test]
fn a_thread_of_higher_priority_is_named_with_its_policy() {
    let hog = thread(5, "hog", 0, 1);
    let events = vec![to(-10_000, (0, 120), hog), to(990_000, (5, 0), own())];
    let sample = found(1_000_000, events, BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::Thread, Certainty::Shown));
    assert_eq!(sample.name, "hog (fifo 99)");
    assert!(sample.evidence.starts_with("hog (thread 5, fifo 99) had the CPU"), "{}", sample.evidence);
    assert_eq!(sample.parts[0].net_ns, 990_000);
}

#[test]
fn interrupts_off_are_told_by_the_late_timer_and_blamed_on_who_had_the_cpu() {
    let stack = ["hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt", "slow_driver"].map(str::to_owned).to_vec();
    let worker = thread(9, "kworker/0:1", 120, 0);
    let events = || {
        vec![
            to(-30_000, (0, 120), worker.clone()),
            at(300_000, What::LateTimer { expires_ns: T, stack: stack.clone(), followed_for_ns: 0 }),
            to(304_000, (9, 120), own()),
        ]
    };
    let sample = found(310_000, events(), BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::InterruptsOff, Certainty::Shown));
    assert!(sample.name.starts_with("kworker/0:1") && sample.evidence.contains("slow_driver"), "{sample:?}");
    // Where firmware or a hypervisor cannot be excluded, it is not shown.
    let sample = found(310_000, events(), Place { smi: None, ..BARE });
    assert_eq!(sample.certainty, Certainty::Likely);
    // Another thread's late timer is not ours.
    let mut others = events();
    others[1] = at(300_000, What::LateTimer { expires_ns: T + 5, stack: Vec::new(), followed_for_ns: 0 });
    assert_ne!(found(310_000, others, BARE).class, CauseClass::InterruptsOff);
}

#[test]
fn a_program_that_runs_its_own_code_cannot_keep_interrupts_off() {
    let stack = ["hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt"].map(str::to_owned).to_vec();
    let events = || {
        vec![
            to(-30_000, (0, 120), thread(9, "stress", 120, 0)),
            at(300_000, What::LateTimer { expires_ns: T, stack: stack.clone(), followed_for_ns: 0 }),
            to(304_000, (9, 120), own()),
        ]
    };
    assert_eq!(found(310_000, events(), BARE).class, CauseClass::Unknown);
    assert_eq!(found(310_000, events(), Place { is_virtual: true, ..BARE }).class, CauseClass::Steal);
    assert_eq!(found(310_000, events(), Place { smi: Some(2), ..BARE }).class, CauseClass::Smi);
}

#[test]
fn a_thread_of_lower_priority_that_goes_on_has_preemption_off_and_one_that_is_chosen_is_the_fair_server() {
    let low = thread(9, "writer", 120, 0);
    let goes_on = vec![to(-30_000, (0, 120), low.clone()), to(400_000, (9, 120), own())];
    let sample = found(405_000, goes_on, BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::PreemptionOff, Certainty::Shown));
    let chosen = vec![to(2_000, (0, 120), low), to(400_000, (9, 120), own())];
    assert_eq!(found(405_000, chosen, BARE).class, CauseClass::Throttle);
}

#[test]
fn an_interrupt_a_softirq_and_a_timer_function_are_named_by_their_own_time() {
    let irq = || Frame::Irq(9, "eth0".to_owned());
    let softirq = || Frame::Softirq("NET_RX".to_owned());
    // The softirq is interrupted for 150 of its 200 us.
    let events = vec![
        at(1_000, What::Enter(softirq())),
        at(20_000, What::Enter(irq())),
        at(170_000, What::Leave(irq())),
        at(201_000, What::Leave(softirq())),
    ];
    let sample = found(210_000, events, BARE);
    assert_eq!((sample.class, sample.name.as_str()), (CauseClass::Interrupt, "eth0 (interrupt 9)"));
    let net: Vec<(CauseClass, u64)> = sample.parts.iter().map(|part| (part.class, part.net_ns)).collect();
    assert_eq!(net, [(CauseClass::Interrupt, 150_000), (CauseClass::Softirq, 50_000)]);
    let timer = || Frame::TimerFunction("fire [punctual_inject]".to_owned());
    let events = vec![
        at(-10_000, What::Enter(timer())),
        at(300_000, What::Leave(timer())),
        at(301_000, What::LateTimer { expires_ns: T, stack: Vec::new(), followed_for_ns: 0 }),
    ];
    let sample = found(308_000, events, BARE);
    assert_eq!((sample.class, sample.parts[0].net_ns), (CauseClass::TimerFunction, 300_000));
    // It is drawn from where it began.
    assert!(sample.timeline.iter().any(|segment| segment.from_ns == -10_000 && segment.to_ns == 300_000));
}

#[test]
fn a_page_fault_of_the_measuring_thread_takes_what_follows_it() {
    let fault = What::PageFault { address: 0x7f00_1000, at: "user code".to_owned() };
    let sample = found(500_000, vec![at(9_000, fault.clone())], BARE);
    assert_eq!((sample.class, sample.parts[0].net_ns), (CauseClass::PageFault, 491_000));
    // One of another thread, before the switch, is that thread's.
    let events = vec![to(-5_000, (0, 120), thread(3, "hog", 0, 1)), at(9_000, fault), to(490_000, (3, 0), own())];
    assert_eq!(found(500_000, events, BARE).class, CauseClass::Thread);
}

#[test]
fn a_late_interrupt_of_an_idle_cpu_is_its_idle_state_only_where_that_can_take_so_long() {
    let sleeps = |exit_us: Option<u64>| What::IdleEntry {
        state: "C6".to_owned(),
        exit_latency_ns: exit_us.map(|us| us * 1_000),
    };
    let events = |exit_us, late_ns| {
        vec![
            at(-90_000, sleeps(exit_us)),
            at(late_ns, What::LateTimer { expires_ns: T, stack: Vec::new(), followed_for_ns: 0 }),
        ]
    };
    let sample = found(100_000, events(Some(85), 90_000), BARE);
    assert_eq!((sample.class, sample.name.as_str()), (CauseClass::IdleExit, "C6"));
    assert_eq!(sample.certainty, Certainty::Likely);
    assert_eq!(found(800_000, events(Some(85), 790_000), BARE).class, CauseClass::Unknown);
    assert_eq!(found(100_000, events(None, 90_000), BARE).class, CauseClass::Unknown);
    // Out of it before the schedule.
    let mut awake = events(Some(85), 90_000);
    awake.insert(1, at(-20_000, What::IdleExit));
    assert_eq!(found(100_000, awake, BARE).class, CauseClass::Unknown);
}

#[test]
fn where_what_matters_was_overwritten_nothing_is_concluded() {
    let events = vec![to(500_000, (5, 0), own())];
    let evidence = Evidence { events, overwritten: true, late_timers: true };
    let sample = explain(&late(600_000), &evidence, BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::Unknown, Certainty::Unknown));
    assert!(sample.evidence.contains("overwritten"), "{}", sample.evidence);
}

#[test]
fn nothing_recorded_is_unknown_on_bare_metal_and_never_a_thread() {
    let sample = found(400_000, vec![at(-900_000, What::IdleExit)], BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::Unknown, Certainty::Unknown));
    // The smallest part of the time is not its cause.
    let events = vec![
        at(0, What::Enter(Frame::Vector("reschedule".into()))),
        at(3_000, What::Leave(Frame::Vector("reschedule".into()))),
    ];
    assert_eq!(found(400_000, events, BARE).class, CauseClass::Unknown);
}

#[test]
fn causes_are_summed_with_the_least_sure_of_their_samples() {
    let mut totals = Totals::default();
    for (latency_ns, place) in [(310_000, BARE), (510_000, Place { smi: None, ..BARE })] {
        let tid = if latency_ns > 400_000 { 9 } else { 10 };
        let events = vec![
            to(-30_000, (0, 120), thread(tid, "worker", 120, 0)),
            at(latency_ns - 10_000, What::LateTimer { expires_ns: T, stack: Vec::new(), followed_for_ns: 0 }),
            to(latency_ns - 6_000, (tid, 120), idle()),
        ];
        totals.add(found(latency_ns, events, place));
    }
    let (causes, samples) = totals.finish();
    assert_eq!((causes.len(), causes[0].samples, causes[0].worst_ns), (1, 2, 510_000));
    assert_eq!((causes[0].certainty, causes[0].took_ns), (Certainty::Likely, 800_000));
    assert_eq!(samples[0].latency_ns, 510_000);
}
