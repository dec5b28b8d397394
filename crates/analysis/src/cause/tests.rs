//! Samples whose cause is known, and what must not be concluded.

use record::{CauseClass, Certainty, ExplainedSample, Moment};
use units::Timestamp;

use super::*;

mod arrival;
mod counters;

const T: i64 = 1_000_000;

fn own() -> Thread {
    Thread { tid: 77, name: "punctual-w0".to_owned(), prio: 1, policy: 1, ..Thread::default() }
}

fn thread(tid: u32, name: &str, prio: i32, policy: u32) -> Thread {
    Thread { tid, name: name.to_owned(), prio, policy, ..Thread::default() }
}

fn late(latency_ns: i64) -> Late {
    let at = |ns| Moment { monotonic: Timestamp::from_ns(ns), realtime: Timestamp::from_ns(ns) };
    Late {
        thread: 0,
        cpu: 0,
        scheduled: at(T),
        woke: at(T + latency_ns),
        scheduled_ns: T,
        latency_ns,
        typical_ns: 8_000,
        interval_ns: Some(100_000),
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

fn found(latency_ns: i64, events: Vec<Event>, place: BelowKernel) -> ExplainedSample {
    explain(&late(latency_ns), &Evidence { events, late_timers: true, ..Evidence::default() }, place)
}

/// So much in 20 ms, which hardly comes by accident.
const fn counted(count: u64) -> Option<Around> {
    Some(Around { count, window_ns: 20_000_000, chance: 0.01 })
}

const BARE: BelowKernel =
    BelowKernel { is_virtual: false, has_smis: true, steal_ns: counted(0), smi: counted(0), heat: None };

#[test]
fn where_it_is_not_told_what_was_interrupted_a_count_of_stolen_time_decides() {
    let other = thread(5, "rustc", 120, 0);
    let late_timer = |stack: &[&str]| {
        let stack = stack.iter().map(|&name| name.to_owned()).collect();
        at(900_000, What::LateTimer { expires_ns: T, stack, followed_for_ns: 0 })
    };
    let events = |stack| vec![to(-10_000, (0, 120), other.clone()), late_timer(stack), to(950_000, (5, 120), own())];
    let stolen = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    assert_eq!(found(1_000_000, events(&[]), stolen).class, CauseClass::Steal);
    // The kernel's own code keeps interrupts off.
    let in_kernel = found(1_000_000, events(&["asm_sysvec_apic_timer_interrupt", "slow_path"]), stolen);
    assert_eq!(in_kernel.class, CauseClass::InterruptsOff);
    assert!(in_kernel.evidence.contains("the hypervisor says that it took 10\u{202f}000 us"), "{}", in_kernel.evidence);
    // But not when what was stolen fills all of that time.
    let stack = || ["asm_sysvec_apic_timer_interrupt", "iowrite16"].map(str::to_owned).to_vec();
    let long = |place| {
        let at_last = at(9_900_000, What::LateTimer { expires_ns: T, stack: stack(), followed_for_ns: 0 });
        let end = to(9_950_000, (5, 120), own());
        found(10_000_000, vec![to(-10_000, (0, 120), other.clone()), at_last, end], place)
    };
    assert_eq!(long(stolen).class, CauseClass::Steal);
    assert!(long(stolen).evidence.contains("in iowrite16"), "{}", long(stolen).evidence);
    assert_eq!(long(BelowKernel { steal_ns: counted(0), ..stolen }).class, CauseClass::InterruptsOff);
    // A host that did not say that it stole may have, by less than it counts in.
    let not_stolen = BelowKernel { steal_ns: counted(0), ..stolen };
    assert_eq!(found(1_000_000, events(&[]), not_stolen).class, CauseClass::Unknown);
    assert_eq!(found(1_000_000, events(&[]), BARE).class, CauseClass::InterruptsOff);
}

#[test]
fn who_runs_while_the_measuring_thread_waits_in_its_page_fault_is_not_to_blame() {
    let fault = || at(2_000, What::PageFault { address: 0x7f00_1000, at: "user code".to_owned() });
    let run = |runner: Thread| {
        let back = runner.clone();
        vec![to(500, (0, 120), own()), fault(), to(4_000, (77, 1), runner), to(980_000, (back.tid, back.prio), own())]
    };
    // It holds the lock, at the priority that was lent to it; or it just runs, since the measuring thread sleeps.
    for runner in [thread(5, "sh", 1, 0), thread(5, "sh", 120, 0)] {
        let sample = found(1_000_000, run(runner), BARE);
        assert_eq!((sample.class, sample.name.as_str()), (CauseClass::PageFault, "measuring thread"));
    }
    // One that outranks it by itself does more than that.
    assert_eq!(found(1_000_000, run(thread(5, "hog", 0, 1)), BARE).class, CauseClass::Thread);
    // To an ordinary measuring thread too: while it waits in its fault any ordinary thread may run.
    let ordinary = Thread { prio: 120, policy: 0, ..own() };
    let class_beside = |runner: Thread| {
        let late = Late { own: ordinary.clone(), ..late(1_000_000) };
        let (there, back) = (to(4_000, (77, 120), runner.clone()), to(980_000, (5, runner.prio), ordinary.clone()));
        let events = vec![to(500, (0, 120), ordinary.clone()), fault(), there, back];
        explain(&late, &Evidence { events, late_timers: true, ..Evidence::default() }, BARE).class
    };
    assert_eq!(class_beside(thread(5, "sh", 120, 0)), CauseClass::PageFault);
    assert_eq!(class_beside(thread(5, "hog", 0, 1)), CauseClass::Thread);
    // A fault of somebody else's is not the measuring thread's.
    let others = vec![to(-5_000, (0, 120), thread(5, "hog", 0, 1)), fault(), to(980_000, (5, 0), own())];
    assert_eq!(found(1_000_000, others, BARE).class, CauseClass::Thread);
}

#[test]
fn a_thread_that_was_chosen_before_the_timer_fired_is_no_throttle() {
    let chosen_at = |ns: i64| {
        let (timers, other) = (thread(8, "ktimers/0", 98, 1), thread(5, "drain", 120, 0));
        let events = vec![to(-20_000, (0, 120), timers), to(ns, (8, 98), other), to(60_000, (5, 120), own())];
        found(62_000, events, BARE).class
    };
    assert_eq!(chosen_at(1_700), CauseClass::PreemptionOff);
    assert_eq!(chosen_at(9_000), CauseClass::Throttle);
}

#[test]
fn a_frequency_that_was_set_after_the_wake_up_explains_nothing() {
    let set_at = |ns: i64| found(1_000_000, vec![at(ns, What::Frequency(800_000))], BARE).class;
    assert_eq!(set_at(500_000), CauseClass::Frequency);
    assert_eq!(set_at(1_200_000), CauseClass::Unknown);
}

#[test]
fn ordinary_threads_share_a_cpu_and_the_stop_class_is_above_all() {
    let run = |next: Thread, prio: i32, policy: u32| {
        let late = Late { own: Thread { prio, policy, ..own() }, ..late(1_000_000) };
        let events = vec![to(9_000, (0, 120), next.clone()), to(990_000, (next.tid, next.prio), late.own.clone())];
        explain(&late, &Evidence { events, late_timers: true, ..Evidence::default() }, BARE).class
    };
    assert_eq!(run(thread(5, "nice", 130, 0), 120, 0), CauseClass::Thread);
    assert_eq!(run(thread(5, "nice", 130, 0), 1, 1), CauseClass::Throttle);
    assert_eq!(run(thread(5, "migration/0", 0, 1), -1, 6), CauseClass::Thread);
}

#[test]
fn a_deadline_thread_that_used_up_its_budget_is_told_so() {
    let deadline = Thread { prio: -1, policy: 6, ..own() };
    let late = Late { own: deadline.clone(), ..late(1_000_000) };
    let events = vec![to(9_000, (0, 120), thread(5, "writer", 120, 0)), to(990_000, (5, 120), deadline)];
    let sample = explain(&late, &Evidence { events, late_timers: true, ..Evidence::default() }, BARE);
    // Which of its budget and the fair server it was is not on the record.
    assert_eq!((sample.class, sample.certainty), (CauseClass::Throttle, Certainty::Likely));
    assert!(sample.evidence.contains("its own budget was used up"), "{}", sample.evidence);
    assert_eq!(sample.name, "the measuring thread's SCHED_DEADLINE budget");
    let advice = remedy(sample.class, &sample.name, sample.owner, &Surroundings::default());
    assert!(advice.words.contains("a larger runtime") && advice.finding.is_none(), "{advice:?}");
    assert!(!advice.words.contains("fair server"), "{advice:?}");
    let beside_a_server = Surroundings { fair_server: Some(true), ..Surroundings::default() };
    let advice = remedy(sample.class, &sample.name, sample.owner, &beside_a_server);
    assert!(advice.words.contains("the fair server of waiting ordinary threads"), "{advice:?}");
}

#[test]
fn while_it_is_not_told_who_had_the_cpu_nobody_is_blamed_and_it_is_not_called_idle() {
    let hog = || thread(5, "hog", 39, 1);
    let run = |untold_ns, told_ns, place| {
        let events = vec![to(-400_000, (77, 1), idle()), at(untold_ns, What::Untold), to(told_ns, (0, 0), hog())];
        found(1_000_000, [events, vec![to(990_000, (5, 39), own())]].concat(), place)
    };
    // Most of the time lies before it was seen: a hypervisor that stole is no better an answer.
    let stolen = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    let sample = run(-200_000, 800_000, stolen);
    assert_eq!((sample.class, sample.certainty), (CauseClass::Unknown, Certainty::Unknown));
    assert!(sample.evidence.contains("running thread is unknown") && sample.evidence.contains("hog"), "{sample:?}");
    let untold = sample.timeline.iter().find(|segment| segment.activity == record::Activity::Untold).unwrap();
    assert_eq!((untold.from_ns, untold.to_ns), (-50_000, 800_000));
    // A thread that the measuring one outranks: whether it was chosen before or after the timer fired is unknown.
    assert_eq!(run(-200_000, 100_000, BARE).class, CauseClass::Unknown);
    assert_eq!(run(-200_000, -100_000, BARE).class, CauseClass::PreemptionOff);
    assert_eq!(run(20_000, 100_000, BARE).class, CauseClass::Throttle);
}

#[test]
fn in_a_virtual_machine_a_tick_that_did_not_come_tells_that_the_cpu_may_have_been_stopped() {
    let kept = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(0), smi: None, heat: None };
    let stolen = BelowKernel { steal_ns: counted(10_000_000), ..kept };
    // On the CPU from before the schedule; a tick at 350 us, the next one due 4 ms after it.
    let run = |runner: Thread, next_ns: i64, place| {
        let tick = || Frame::TimerFunction("tick_nohz_handler".to_owned());
        let late = at(next_ns, What::LateTick { due_ns: T + 4_350_000 });
        let late = Some(late).filter(|_| next_ns - 4_350_000 >= LATE_TICK_NS);
        let ticks = [350_000, next_ns].map(|ns| [at(ns, What::Enter(tick())), at(ns + 10_000, What::Leave(tick()))]);
        let [first, second] = ticks.map(Vec::from);
        let begin = vec![to(-30_000, (0, 120), runner.clone())];
        let end = vec![to(9_350_000, (runner.tid, runner.prio), own())];
        found(9_355_000, [begin, first, late.into_iter().collect(), second, end].concat(), place)
    };
    let program = || thread(9, "stress", 120, 0);
    let sample = run(program(), 4_351_000, kept);
    assert_eq!((sample.class, sample.certainty), (CauseClass::PreemptionOff, Certainty::Shown));
    // It is the trace's answer alone: the hypervisor counted time that may be in it.
    let sample = run(program(), 4_351_000, stolen);
    assert_eq!((sample.class, sample.certainty), (CauseClass::PreemptionOff, Certainty::Likely));
    assert!(sample.evidence.contains("the hypervisor says that it took 10\u{202f}000 us"), "{}", sample.evidence);
    for runner in [program(), thread(9, "hog", 0, 1)] {
        let sample = run(runner.clone(), 9_320_000, kept);
        assert_eq!((sample.class, sample.certainty), (CauseClass::Unknown, Certainty::Unknown));
        assert!(sample.evidence.contains("for 8\u{202f}960 us of 9\u{202f}355 us no tick came"), "{}", sample.evidence);
        says_the_same_in_its_parts(&sample);
        let sample = run(runner.clone(), 9_320_000, stolen);
        assert_eq!(sample.class, CauseClass::Steal);
        says_the_same_in_its_parts(&sample);
        // Nothing stops a CPU of bare metal for so long unless it is counted: somebody keeps interrupts off.
        assert_ne!(run(runner, 9_320_000, BARE).class, CauseClass::Unknown);
    }
    // A late tick concerns the time before it, and not what ran after it.
    let sample = run(program(), 4_600_000, kept);
    assert_eq!((sample.class, sample.certainty), (CauseClass::PreemptionOff, Certainty::Shown));
}

#[test]
fn a_handler_keeps_ticks_off_by_itself_and_that_is_no_silence() {
    let kept = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(0), smi: None, heat: None };
    let irq = || Frame::Irq(9, "eth0".to_owned());
    let softirq = || Frame::Softirq("NET_RX".to_owned());
    let run = |frame: &dyn Fn() -> Frame| {
        let events = vec![
            at(1_000, What::Enter(frame())),
            at(5_000_000, What::LateTick { due_ns: T + 2_000_000 }),
            at(5_001_000, What::Leave(frame())),
        ];
        found(5_010_000, events, kept)
    };
    assert_eq!(run(&irq).class, CauseClass::Interrupt);
    let of_softirq = run(&softirq);
    assert_eq!(of_softirq.class, CauseClass::Unknown, "{of_softirq:?}");
    // A handler within a softirq that delays the tick: the rest is the softirq's own.
    let events = vec![
        at(1_000, What::Enter(softirq())),
        at(900_000, What::Enter(irq())),
        at(3_200_000, What::Leave(irq())),
        at(3_201_000, What::LateTick { due_ns: T + 1_000_000 }),
        at(5_001_000, What::Leave(softirq())),
    ];
    assert_eq!(found(5_010_000, events, kept).class, CauseClass::Softirq);
}

#[test]
fn where_nothing_was_recorded_nothing_is_said_of_it() {
    let evidence = Evidence { overwritten: true, late_timers: true, ..Evidence::default() };
    let stolen = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    let sample = explain(&late(1_000_000), &evidence, stolen);
    assert_eq!((sample.class, sample.evidence.as_str()), (CauseClass::Unknown, "nothing was recorded around it"));
}

#[test]
fn heat_is_likely_where_nothing_ran_and_it_was_counted() {
    let hot = BelowKernel { heat: counted(1), ..BARE };
    let sample = found(1_000_000, Vec::new(), hot);
    assert_eq!((sample.class, sample.certainty), (CauseClass::Frequency, Certainty::Likely));
    assert_eq!(found(1_000_000, Vec::new(), BARE).class, CauseClass::Unknown);
}

#[test]
fn a_policy_that_nobody_told_is_not_made_up() {
    assert_eq!(thread(5, "gone", 49, POLICY_NOT_TOLD).group_words(), "gone (real-time 50)");
    assert_eq!(thread(5, "gone", 120, POLICY_NOT_TOLD).group_words(), "gone (not real-time)");
    assert_eq!(thread(5, "gone", -1, POLICY_NOT_TOLD).group_words(), "gone (deadline)");
}

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
    let sample = found(310_000, events(), BelowKernel { smi: None, ..BARE });
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
    let virtual_machine = BelowKernel { is_virtual: true, ..BARE };
    let with_smis = BelowKernel { smi: counted(2), ..BARE };
    for (place, class) in
        [(BARE, CauseClass::Unknown), (virtual_machine, CauseClass::Steal), (with_smis, CauseClass::Smi)]
    {
        let sample = found(310_000, events(), place);
        assert_eq!(sample.class, class);
        says_the_same_in_its_parts(&sample);
    }
}

/// A sample whose cause lies below the kernel, or is unknown, has no part that says that a thread kept interrupts off.
#[track_caller]
fn says_the_same_in_its_parts(sample: &ExplainedSample) {
    let most = sample.parts.first().expect("somebody had the CPU");
    assert_eq!(most.class, sample.class, "{:?}", sample.parts);
    let is_kept = |class| matches!(class, CauseClass::InterruptsOff | CauseClass::PreemptionOff);
    assert!(sample.parts.iter().all(|part| !is_kept(part.class)), "{:?}", sample.parts);
    assert!(most.name.starts_with("while stress") || most.name.starts_with("while hog"), "{:?}", sample.parts);
}

#[test]
fn a_thread_of_lower_priority_that_goes_on_has_preemption_off_and_one_that_is_chosen_is_the_fair_server() {
    let low = thread(9, "writer", 120, 0);
    let goes_on = vec![to(-30_000, (0, 120), low.clone()), to(400_000, (9, 120), own())];
    let sample = found(405_000, goes_on, BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::PreemptionOff, Certainty::Shown));
    let chosen = vec![to(9_000, (0, 120), low), to(400_000, (9, 120), own())];
    assert_eq!(found(405_000, chosen, BARE).class, CauseClass::Throttle);
}

#[test]
fn what_may_be_the_rest_of_a_stop_is_not_shown_to_be_preemption_off() {
    let certainty = |latency_ns: i64, interval_ns: Option<i64>| {
        let goes_on = vec![to(-30_000, (0, 120), thread(9, "writer", 120, 0)), to(latency_ns - 5_000, (9, 120), own())];
        let late = Late { interval_ns, ..late(latency_ns) };
        let sample = explain(&late, &Evidence { events: goes_on, late_timers: true, ..Evidence::default() }, BARE);
        assert_eq!(sample.class, CauseClass::PreemptionOff);
        sample.certainty
    };
    const MS: i64 = 1_000_000;
    // A stop of 10 ms is met by a schedule in its first millisecond, by one in its first 8 ms, or by chance.
    assert_eq!([8 * MS, 10 * MS].map(|ns| certainty(ns, Some(MS))), [Certainty::Shown, Certainty::Likely]);
    assert_eq!([MS, 3 * MS].map(|ns| certainty(ns, Some(8 * MS))), [Certainty::Shown, Certainty::Likely]);
    assert_eq!([MS / 2, 3 * MS].map(|ns| certainty(ns, None)), [Certainty::Shown, Certainty::Likely]);
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
fn what_is_not_kept_of_a_timeline_and_of_its_parts_is_counted() {
    // Interrupts of 1 us and more, each a little longer than the one before, and each of a name of its own.
    let interrupts = |count: i64| {
        let frame = |at| Frame::Irq(u32::try_from(at).unwrap(), "eth0".to_owned());
        let each =
            |i: i64| [at(i * 4_000, What::Enter(frame(i))), at(i * 5_000 + 1_000 - i * 999, What::Leave(frame(i)))];
        (1..=count).flat_map(each).collect::<Vec<_>>()
    };
    let drawn = |count: i64| {
        let sample = found(2_000_000, interrupts(count), BARE);
        (sample.timeline.len(), sample.stretches_left_out, sample.parts.len(), sample.parts_left_out)
    };
    // The CPU itself is one stretch more.
    assert_eq!(drawn(9), (10, 0, 9, 0));
    assert_eq!(drawn(199), (200, 0, 12, 187));
    assert_eq!(drawn(200), (200, 1, 12, 188));
    assert_eq!(drawn(300), (200, 101, 12, 288));
    // The longest are those that are kept.
    let sample = found(2_000_000, interrupts(300), BARE);
    assert!(sample.timeline.iter().all(|one| one.depth == 0 || one.net_ns > 1_100), "{:?}", sample.timeline);
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
    let evidence = Evidence { events, overwritten: true, late_timers: true, ..Evidence::default() };
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
    for (latency_ns, place) in [(310_000, BARE), (510_000, BelowKernel { smi: None, ..BARE })] {
        let tid = if latency_ns > 400_000 { 9 } else { 10 };
        let events = vec![
            to(-30_000, (0, 120), thread(tid, "worker", 120, 0)),
            at(latency_ns - 10_000, What::LateTimer { expires_ns: T, stack: Vec::new(), followed_for_ns: 0 }),
            to(latency_ns - 6_000, (tid, 120), idle()),
        ];
        totals.add(found(latency_ns, events, place), place);
    }
    let (causes, samples) = totals.finish(|_| None);
    assert_eq!((causes.len(), causes[0].samples, causes[0].worst_ns), (1, 2, 510_000));
    assert_eq!((causes[0].certainty, causes[0].took_ns), (Certainty::Likely, 800_000));
    assert_eq!(samples[0].latency_ns, 510_000);
}

/// What three CPUs recorded of a thread that woke on CPU 0, the events of each by its number.
fn on_its_way(latency_ns: i64, of_cpus: [Vec<Event>; 3], place: BelowKernel) -> ExplainedSample {
    let by_cpu = |(cpu, events)| (cpu, Evidence { events, late_timers: true, ..Evidence::default() });
    let late = late(latency_ns);
    let evidence = Evidence::along_path(&late, (0..).zip(of_cpus).map(by_cpu).collect());
    explain(&late, &evidence, place)
}

fn moved(time_ns: i64, from: u32, to: u32) -> Event {
    at(time_ns, What::Moved { tid: 77, from, to })
}

#[test]
fn a_thread_that_waited_elsewhere_is_explained_by_what_that_cpu_did() {
    let hog = thread(5, "hog", 0, 1);
    let busy = thread(6, "busy", 0, 1);
    // It waits on CPU 1 behind the hog, and is pulled to CPU 0 once that is free; CPU 2 records the move.
    let cpu_0 = vec![to(-900_000, (0, 120), busy.clone()), to(800_000, (6, 0), own())];
    let cpu_1 = vec![to(-20_000, (0, 120), hog.clone())];
    let sample = on_its_way(810_000, [cpu_0.clone(), cpu_1.clone(), vec![moved(795_000, 1, 0)]], BARE);
    assert_eq!(
        (sample.class, sample.certainty, sample.name.as_str()),
        (CauseClass::Thread, Certainty::Shown, "hog (fifo 99)")
    );
    let drawn: Vec<(&str, i64, i64)> =
        sample.timeline.iter().map(|one| (one.name.as_str(), one.from_ns, one.to_ns)).collect();
    assert_eq!(
        drawn,
        [
            ("hog (thread 5, fifo 99) on CPU 1", -20_000, 795_000),
            ("busy (thread 6, fifo 99)", 795_000, 800_000),
            ("idle, or punctual-w0", 800_000, 810_000),
        ]
    );
    // Another thread's move is none of its own.
    let other = at(795_000, What::Moved { tid: 78, from: 1, to: 0 });
    let sample = on_its_way(810_000, [cpu_0, cpu_1, vec![other]], BARE);
    assert_eq!(sample.name, "busy (fifo 99)");
}

#[test]
fn a_timer_that_fired_late_on_another_cpu_is_judged_by_what_that_one_did() {
    let driver = thread(5, "driver", 120, 0);
    let stack = vec!["asm_sysvec_apic_timer_interrupt".to_owned(), "slow_path".to_owned()];
    let fired = at(600_000, What::LateTimer { expires_ns: T, stack, followed_for_ns: 0 });
    let cpu_1 = vec![to(-20_000, (0, 120), driver), fired, moved(601_000, 1, 0)];
    let sample = on_its_way(606_000, [Vec::new(), cpu_1, Vec::new()], BARE);
    assert_eq!((sample.class, sample.name.as_str()), (CauseClass::InterruptsOff, "driver (other)"));
    assert!(sample.evidence.contains("slow_path"), "{}", sample.evidence);
}

#[test]
fn a_move_after_which_nothing_else_ran_is_the_likely_cause() {
    let way = || [Vec::new(), Vec::new(), vec![moved(4_000, 1, 0)]];
    let sample = on_its_way(300_000, way(), BARE);
    assert_eq!((sample.class, sample.certainty), (CauseClass::Migration, Certainty::Likely));
    assert_eq!(sample.name, "CPU 1 to CPU 0");
    // What lies below the kernel, and was counted, comes first; and a move at the very end explains nothing.
    let stolen = BelowKernel { is_virtual: true, has_smis: true, steal_ns: counted(10_000_000), smi: None, heat: None };
    assert_eq!(on_its_way(300_000, way(), stolen).class, CauseClass::Steal);
    let late = on_its_way(300_000, [Vec::new(), Vec::new(), vec![moved(295_000, 1, 0)]], BARE);
    assert_eq!(late.class, CauseClass::Unknown);
}

#[test]
fn a_cpu_of_the_way_that_nothing_is_known_of_leaves_all_unknown() {
    let hog = vec![to(500_000, (0, 120), thread(5, "hog", 0, 1))];
    let mut by_cpu: std::collections::BTreeMap<u32, Evidence> =
        (0..2).map(|cpu| (cpu, Evidence { late_timers: true, ..Evidence::default() })).collect();
    by_cpu.insert(1, Evidence { events: hog, overwritten: true, late_timers: true, ..Evidence::default() });
    by_cpu.get_mut(&0).unwrap().events.push(moved(900_000, 1, 0));
    let late = late(1_000_000);
    let sample = explain(&late, &Evidence::along_path(&late, by_cpu), BARE);
    assert_eq!((sample.class, sample.evidence.as_str()), (CauseClass::Unknown, "nothing was recorded around it"));
}

#[test]
fn each_cpu_of_a_long_way_tells_of_its_part() {
    let (driver, hog) = (thread(5, "driver", 120, 0), thread(6, "hog", 0, 1));
    let fired = at(300_000, What::LateTimer { expires_ns: T, stack: Vec::new(), followed_for_ns: 0 });
    let cpu_0 = vec![moved(890_000, 1, 0)];
    let cpu_1 = vec![to(100_000, (0, 120), hog)];
    let cpu_2 = vec![to(-20_000, (0, 120), driver), fired, moved(301_000, 2, 1)];
    let sample = on_its_way(900_000, [cpu_0, cpu_1, cpu_2], BARE);
    let parts: Vec<_> = sample.parts.iter().map(|part| (part.class, part.net_ns)).collect();
    let thread_of_lower_priority = (CauseClass::PreemptionOff, 1_000);
    assert_eq!(parts, [(CauseClass::Thread, 589_000), (CauseClass::InterruptsOff, 300_000), thread_of_lower_priority]);
    let drawn: Vec<_> = sample.timeline.iter().map(|one| (one.name.as_str(), one.from_ns, one.to_ns)).collect();
    assert_eq!(
        drawn,
        [
            ("driver (thread 5, other) on CPU 2", -20_000, 301_000),
            ("hog (thread 6, fifo 99) on CPU 1", 301_000, 890_000),
            ("idle, or punctual-w0", 890_000, 900_000),
        ]
    );
}
