//! Threads as they live, by synthetic events.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use analysis::audit::{Detail, Target};
mod timers;

use trace::{Abi, Body, Call, Event, Level, Name};
use units::ClockId;

use super::follow::Followed;
use super::host::Host;
use super::samples::Frame;
use super::thread::{Around, Thread};
use super::timers::Offsets;
use crate::clock_watch::ClockWatch;
use crate::collect::Keeping;

const PID: u32 = 100;
const TID: u32 = 101;
/// The function of a sleep's timer, and of another one's.
const SLEEP: u64 = 0x51ee9;
const SIGNAL: u64 = 0x5191a1;
/// Where a timer lives that a sleep has on its stack, and one that lives for longer.
const ON_STACK: u64 = 0x57ac;
const LASTING: u64 = 0x1a57;
/// FIFO 80 by the kernel's count.
const FIFO_80: i32 = 19;
const ORDINARY: i32 = 120;

/// A machine of one process.
struct Scripted {
    abi: Option<Abi>,
    policy: (&'static str, u32),
    stack: Option<(u64, u64)>,
    /// By how much a container's numbers differ from the machine's.
    numbered_apart: u32,
}

impl Host for Scripted {
    fn abi(&mut self, _: u32) -> Option<Abi> {
        self.abi
    }
    fn target(&mut self, _: u32, descriptor: u32) -> Target {
        if descriptor == 1 { Target::Terminal("/dev/pts/0".to_owned()) } else { Target::Pipe }
    }
    fn policy(&mut self, _: u32) -> Option<(&'static str, u32)> {
        Some(self.policy)
    }
    fn memory(&mut self, _: u32) -> Option<(u64, u64)> {
        None
    }
    fn stack(&mut self, _: u32, _: u32) -> Option<(u64, u64)> {
        self.stack
    }
    fn probe_area(&mut self, _: u32) -> Option<(u64, u64)> {
        Some((0xf000, 0x1_0000))
    }
    fn outside(&mut self, _: u32, number: u32) -> Option<u32> {
        Some(number + self.numbered_apart)
    }
}

struct Play {
    followed: Followed,
    host: Scripted,
    clocks: ClockWatch,
    now_ns: u64,
    numbers: Abi,
}

fn frame() -> Frame {
    Frame {
        first_ns: 0,
        interval_maximum_ns: 1_000_000_000,
        keeping: Keeping::All,
        deadline_ns: None,
        return_ns: 0,
        sleep_function: Some(SLEEP),
    }
}

impl Play {
    fn new(abi: Abi, priority: i32) -> Self {
        let policy = if priority < 100 { ("fifo", 80) } else { ("other", 0) };
        let host = Scripted { abi: Some(abi), policy, stack: Some((0x7000, 0x9000)), numbered_apart: 0 };
        let clocks = ClockWatch::new(ClockId::Monotonic);
        let mut play = Self { followed: Followed::new(frame()), host, clocks, now_ns: 1_000_000, numbers: abi };
        play.followed.add(PID, PID, Name::new("main"), &mut play.host);
        play.followed.add(TID, PID, Name::new("control"), &mut play.host);
        play
    }

    fn event(&mut self, tid: u32, body: Body) {
        self.event_at(Level::Thread, tid, body);
    }

    fn event_at(&mut self, level: Level, tid: u32, body: Body) {
        let mut around = Around { offsets: Offsets::now(&self.clocks), host: &mut self.host };
        let event = Event { time_ns: self.now_ns, tid, level, body };
        self.followed.event(0, &event, &mut around);
    }

    /// The thread starts a timer.
    fn start(&mut self, timer: u64, function: u64, expires_ns: u64) {
        let expires_ns = i64::try_from(expires_ns).unwrap();
        self.event(TID, Body::TimerStart { timer, function, expires_ns });
    }

    /// A timer expires; its function makes the thread runnable, or nobody.
    fn expire(&mut self, timer: u64, wakes: bool) {
        let hard = Level::HardInterrupt;
        let now_ns = i64::try_from(self.now_ns).unwrap();
        self.event_at(hard, 0, Body::TimerExpire { timer, now_ns });
        if wakes {
            self.event_at(hard, 0, Body::Waking { tid: TID, priority: FIFO_80 });
        }
        self.event_at(hard, 0, Body::TimerDone { timer });
    }

    /// What the loop's turns were ended by.
    fn causes(self) -> (record::TurnCauses, Option<crate::collect::Collected>) {
        let (thread, clocks) = self.thread();
        let (cycle, _) = (thread.cycle.clone(), thread.run.clone());
        let end = cycle.finish(&clocks);
        (end.causes, end.samples.and_then(|samples| samples.finish(0, &clocks)).map(|(collected, _)| collected))
    }

    fn after(&mut self, ns: u64) -> &mut Self {
        self.now_ns += ns;
        self
    }

    fn number(&self, call: Call) -> i64 {
        self.numbers.table().iter().position(|known| *known == call).unwrap().try_into().unwrap()
    }

    fn enter(&mut self, call: Call, arguments: [u64; 4]) {
        let number = self.number(call);
        self.event(TID, Body::Enter { number, arguments });
    }

    fn exit(&mut self, call: Call, result: i64) {
        let number = self.number(call);
        self.event(TID, Body::Exit { number, result });
    }

    fn off(&mut self, priority: i32, runnable: bool) {
        let to_name = Name::new("rival");
        let body = Body::Switch {
            from: TID,
            from_priority: priority,
            runnable,
            interruptible: true,
            stopped: false,
            to: 7,
            to_priority: 0,
            to_name,
        };
        self.event(TID, body);
    }

    /// Loses the CPU to a thread of that priority though it is ready.
    fn off_to(&mut self, priority: i32, to_priority: i32) {
        let to_name = Name::new("other");
        let body = Body::Switch {
            from: TID,
            from_priority: priority,
            runnable: true,
            interruptible: false,
            stopped: false,
            to: 7,
            to_priority,
            to_name,
        };
        self.event(TID, body);
    }

    fn on(&mut self, priority: i32) {
        let to_name = Name::new("control");
        let body = Body::Switch {
            from: 0,
            from_priority: ORDINARY,
            runnable: true,
            interruptible: false,
            stopped: false,
            to: TID,
            to_priority: priority,
            to_name,
        };
        self.event(0, body);
    }

    /// Stopped by a signal for a time.
    fn stop(&mut self, ns: u64) {
        let to_name = Name::new("other");
        let (from, from_priority) = (TID, FIFO_80);
        let body = Body::Switch {
            from,
            from_priority,
            runnable: false,
            interruptible: false,
            stopped: true,
            to: 7,
            to_priority: 0,
            to_name,
        };
        self.event(TID, body);
        self.after(ns).on(FIFO_80);
    }

    /// Sleeps until `until_ns`, is made runnable `late_ns` after it, and runs and returns 5 us and 7 us after that.
    fn sleep(&mut self, until_ns: u64, late_ns: u64, priority: i32) {
        self.enter(Call::ClockNanosleep, [1, 1, 0, 0]);
        self.start(ON_STACK, SLEEP, until_ns);
        self.off(priority, false);
        self.now_ns = until_ns + late_ns;
        self.expire(ON_STACK, true);
        self.after(5_000).on(priority);
        self.after(2_000).exit(Call::ClockNanosleep, 0);
    }

    fn turns(&mut self, turns: u64, in_turn: &mut dyn FnMut(&mut Self)) {
        for _ in 0..turns {
            let until_ns = (self.now_ns / 1_000_000 + 1) * 1_000_000;
            self.sleep(until_ns, 3_000, FIFO_80);
            in_turn(self);
        }
    }

    fn thread(mut self) -> (Thread, ClockWatch) {
        self.followed.ask(&mut self.host, &self.clocks, false);
        let place = self.followed.threads.iter().position(|thread| thread.tid == TID).unwrap();
        (self.followed.threads.swap_remove(place), self.clocks)
    }
}

fn write_to_terminal(play: &mut Play) {
    play.after(1_000).enter(Call::Write, [1, 0, 10, 0]);
    play.after(4_000).exit(Call::Write, 10);
}

#[test]
fn a_stop_of_a_thread_is_counted_with_its_length() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.turns(3, &mut |_| {});
    play.stop(500_000_000);
    play.turns(2, &mut |_| {});
    assert_eq!(play.thread().0.halts, (1, 500_000_000));
}

#[test]
fn every_turn_is_a_sample_of_both_latencies() {
    for abi in [Abi::X86_64, Abi::I386, Abi::Arm, Abi::Generic64] {
        let mut play = Play::new(abi, FIFO_80);
        play.turns(40, &mut |_| {});
        let (thread, clocks) = play.thread();
        let (cycle, run) = (thread.cycle.clone(), thread.run.clone());
        let (run, _) = run.finish(0, &clocks).unwrap();
        assert_eq!((run.samples, run.total.max_ns()), (40, Some(5_000)), "{abi:?}");
        let end = cycle.finish(&clocks);
        assert_eq!(end.activations, 40);
        let (returned, period_ns) = end.samples.unwrap().finish(0, &clocks).unwrap();
        assert_eq!((returned.samples, returned.total.max_ns(), period_ns), (40, Some(10_000), Some(1_000_000)));
    }
}

#[test]
fn an_unknown_interface_costs_the_calls_and_no_more() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.followed.threads.iter_mut().for_each(|thread| thread.calls = None);
    play.turns(40, &mut |_| {});
    let (thread, clocks) = play.thread();
    let (cycle, run) = (thread.cycle.clone(), thread.run.clone());
    assert_eq!(run.finish(0, &clocks).unwrap().0.samples, 40);
    assert!(cycle.finish(&clocks).samples.is_none());
}

#[test]
fn what_a_turn_calls_counts_and_start_and_end_do_not() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    // Before the loop is recognized.
    play.turns(16, &mut write_to_terminal);
    play.turns(10, &mut |_| {});
    play.turns(4, &mut write_to_terminal);
    play.turns(1, &mut |_| {});
    // After the last turn.
    write_to_terminal(&mut play);
    let (thread, clocks) = play.thread();
    let (cycle, _) = (thread.cycle.clone(), thread.run.clone());
    let end = cycle.finish(&clocks);
    // The last of the start-up's is of a turn that ends inside the loop.
    assert_eq!(end.calls.len(), 1);
    assert_eq!((end.calls[0].what.call, end.calls[0].what.detail), (Call::Write, Detail::Descriptor(1)));
    assert_eq!((end.calls[0].times, end.calls[0].longest_ns), (5, 4_000));
    assert_eq!(end.calls[0].target, Target::Terminal("/dev/pts/0".to_owned()));
}

#[test]
fn faults_are_told_by_where_they_are() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    let mut fault = |play: &mut Play| {
        play.event(TID, Body::Fault { address: 0x8010 });
        play.event(TID, Body::Fault { address: 0x10 });
    };
    play.turns(15, &mut fault);
    play.turns(5, &mut fault);
    let (thread, _) = play.thread();
    assert_eq!((thread.stack_faults.times, thread.faults.times, thread.unplaced_faults), (4, 4, 0));
}

#[test]
fn faults_of_a_program_that_ended_before_it_was_asked_are_of_an_unknown_place() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.host.stack = None;
    play.turns(20, &mut |play| play.event(TID, Body::Fault { address: 0x8010 }));
    play.followed.sort_faults(&mut play.host, true);
    let (thread, _) = play.thread();
    assert_eq!((thread.stack_faults.times, thread.faults.times, thread.unplaced_faults), (0, 4, 4));
}

#[test]
fn a_preemption_is_counted_with_its_length_and_its_cause() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.turns(3, &mut |_| {});
    play.after(10_000).off(FIFO_80, true);
    play.after(30_000).on(FIFO_80);
    let (thread, _) = play.thread();
    let by = thread.preempted_by();
    assert_eq!((thread.preempted, by.len()), (1, 1));
    assert_eq!((by[0].name.as_str(), by[0].times, by[0].total_ns), ("rival", 1, 30_000));
}

#[test]
fn a_real_time_thread_that_gave_way_to_an_ordinary_one_was_stopped_by_a_limit() {
    let stops = |priority, to_priority| {
        let mut play = Play::new(Abi::X86_64, FIFO_80);
        play.turns(3, &mut |play| {
            play.after(1_000).off_to(priority, to_priority);
            play.after(50_000_000).on(priority);
        });
        let (thread, _) = play.thread();
        (thread.stops, thread.stopped_ns)
    };
    assert_eq!(stops(FIFO_80, ORDINARY), (3, 150_000_000));
    assert_eq!(stops(FIFO_80, 9), (0, 0), "one that outranks it");
    assert_eq!(stops(-1, ORDINARY), (0, 0), "a deadline thread has a budget of its own");
}

#[test]
fn a_long_wait_after_a_wake_up_is_kept_where_an_ordinary_thread_had_the_cpu() {
    let waits = |priority, from_priority, length_ns| {
        let mut play = Play::new(Abi::X86_64, priority);
        play.turns(3, &mut |_| {});
        play.off(priority, false);
        let switch = Body::Switch {
            from: 7,
            from_priority,
            runnable: true,
            interruptible: false,
            stopped: false,
            to: TID,
            to_priority: priority,
            to_name: Name::new("control"),
        };
        play.after(1_000).event(0, Body::Waking { tid: TID, priority });
        play.after(length_ns).event(0, switch);
        play.thread().0.long_waits_ns
    };
    assert_eq!(waits(FIFO_80, ORDINARY, 50_000_000), [50_000_000]);
    assert_eq!(waits(FIFO_80, ORDINARY, 900_000), [0_u64; 0], "shorter than any stop that is looked for");
    assert_eq!(waits(FIFO_80, 9, 50_000_000), [0_u64; 0], "one that outranks it had the CPU");
    assert_eq!(waits(-1, ORDINARY, 50_000_000), [0_u64; 0], "a deadline thread has a budget of its own");
    assert_eq!(waits(ORDINARY, ORDINARY, 50_000_000), [0_u64; 0], "an ordinary thread takes turns");
}

#[test]
fn a_switch_that_the_kernel_left_out_is_noticed() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.turns(3, &mut write_to_terminal);
    play.after(10_000).off(FIFO_80, true);
    // It goes on, and nobody saw it get the CPU.
    play.after(30_000).enter(Call::Write, [1, 0, 10, 0]);
    play.after(4_000).exit(Call::Write, 10);
    play.after(10_000).off(FIFO_80, false);
    play.after(1_000).off(FIFO_80, false);
    let (thread, _) = play.thread();
    assert_eq!((thread.arrivals_left_out, thread.preempted), (2, 0));

    let mut whole = Play::new(Abi::X86_64, FIFO_80);
    whole.turns(3, &mut write_to_terminal);
    assert_eq!(whole.thread().0.arrivals_left_out, 0);
}

#[test]
fn samples_begin_with_the_real_time_policy_and_a_lent_priority_is_none() {
    let mut play = Play::new(Abi::X86_64, ORDINARY);
    play.turns_at(20, ORDINARY);
    play.host.policy = ("fifo", 80);
    play.turns_at(20, FIFO_80);
    let (thread, _) = play.thread();
    assert!(thread.real_time);
    assert_eq!(thread.scheduling(), ("fifo".to_owned(), 80));
    // The first switch that shows the priority is on the way to sleep, so that its wake-up is the first to count.
    assert_eq!(thread.run.taken, 20);

    let mut play = Play::new(Abi::X86_64, ORDINARY);
    play.turns_at(5, ORDINARY);
    play.after(1_000).off(FIFO_80, true);
    play.after(1_000).on(FIFO_80);
    let (thread, _) = play.thread();
    assert!(!thread.real_time, "a lock's waiter lent it");
}

impl Play {
    fn turns_at(&mut self, turns: u64, priority: i32) {
        for _ in 0..turns {
            let until_ns = (self.now_ns / 1_000_000 + 1) * 1_000_000;
            self.sleep(until_ns, 3_000, priority);
        }
    }
}

#[test]
fn a_policy_that_was_set_counts_before_any_switch_shows_it() {
    let mut play = Play::new(Abi::X86_64, ORDINARY);
    play.turns_at(3, ORDINARY);
    play.followed.ask(&mut play.host, &play.clocks, false);
    play.host.policy = ("fifo", 80);
    play.after(1_000).enter(Call::SchedSetscheduler, [0, 1, 0, 0]);
    play.after(1_000).exit(Call::SchedSetscheduler, 0);
    play.event(TID, Body::New { tid: 300, name: Name::new("helper"), same_process: true });
    let helper = play.followed.threads.iter().find(|thread| thread.tid == 300).unwrap();
    assert_eq!(helper.made_by.as_deref(), Some("control"));
}

#[test]
fn a_change_of_policy_and_name_is_told() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.turns(3, &mut |_| {});
    play.host.policy = ("rr", 50);
    play.after(1_000).enter(Call::SchedSetscheduler, [0, 2, 0, 0]);
    play.after(1_000).exit(Call::SchedSetscheduler, 0);
    play.event(TID, Body::Rename { tid: TID, name: Name::new("slower") });
    let (thread, _) = play.thread();
    assert_eq!((thread.policy_changes, thread.scheduling()), (1, ("rr".to_owned(), 50)));
    assert!(thread.set_on_purpose);
    assert!(thread.is_called("slower") && thread.is_called("control") && thread.is_called("101"));
    assert!(!thread.is_called("other"));
}

#[test]
fn a_number_is_followed_from_its_thread_s_birth_to_its_end() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    let counted = |play: &Play| {
        let helper = play.followed.threads.iter().find(|thread| thread.tid == 300);
        helper.map(|thread| thread.events)
    };
    let waking = Body::Waking { tid: 300, priority: ORDINARY };
    // Somebody else's so far; that it is must not be remembered for longer.
    play.event(TID, waking);
    play.event(TID, Body::New { tid: 300, name: Name::new("helper"), same_process: true });
    play.event(TID, waking);
    assert_eq!(counted(&play), Some(1));
    play.event(300, Body::End { tid: 300 });
    play.event(TID, waking);
    assert_eq!(counted(&play), Some(1), "somebody else's again");
}

#[test]
fn a_container_s_numbers_are_not_the_machine_s() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.host.numbered_apart = 298;
    play.event(TID, Body::New { tid: 300, name: Name::new("helper"), same_process: true });
    play.after(1_000).enter(Call::SchedSetscheduler, [2, 1, 0, 0]);
    play.after(1_000).exit(Call::SchedSetscheduler, 0);
    let set = |tid: u32| play.followed.threads.iter().any(|thread| thread.tid == tid && thread.set_on_purpose);
    assert!(set(300) && !set(TID));
}

#[test]
fn threads_and_processes_that_are_made_are_followed_until_they_end() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.event(TID, Body::New { tid: 300, name: Name::new("helper"), same_process: true });
    play.event(TID, Body::New { tid: 301, name: Name::new("child"), same_process: false });
    play.event(999, Body::New { tid: 302, name: Name::new("nobody's"), same_process: false });
    let of = |play: &Play, tid: u32| {
        let thread = play.followed.threads.iter().find(|thread| thread.tid == tid)?;
        Some((thread.pid, thread.made_by.clone(), thread.ended))
    };
    assert_eq!(of(&play, 300), Some((PID, Some("control".to_owned()), false)));
    assert_eq!(of(&play, 301), Some((301, Some("control".to_owned()), false)));
    assert_eq!(of(&play, 302), None);
    for tid in [300, 301, TID, PID] {
        assert!(!play.followed.is_empty());
        play.event(tid, Body::End { tid });
    }
    assert!(play.followed.is_empty());
    assert_eq!(of(&play, 300).map(|(.., ended)| ended), Some(true));
    // The number comes round again, as another thread.
    play.event(TID, Body::New { tid: 300, name: Name::new("again"), same_process: true });
    assert!(play.followed.is_empty(), "its maker has ended, so that it is nobody's");
}

#[test]
fn a_signal_breaks_a_sleep_and_a_restart_goes_on_with_it() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.turns(20, &mut |_| {});
    // Broken off by a handler.
    play.enter(Call::ClockNanosleep, [1, 1, 0, 0]);
    play.start(ON_STACK, SLEEP, 99_000_000);
    play.off(FIFO_80, false);
    play.after(100_000).on(FIFO_80);
    play.exit(Call::ClockNanosleep, -514);
    // Stopped and continued: the kernel goes on with the same sleep under another number.
    play.enter(Call::ClockNanosleep, [1, 1, 0, 0]);
    play.start(ON_STACK, SLEEP, 40_000_000);
    play.off(FIFO_80, false);
    play.after(1_000).on(FIFO_80);
    play.exit(Call::ClockNanosleep, -516);
    play.enter(Call::RestartSyscall, [0; 4]);
    play.off(FIFO_80, false);
    play.now_ns = 40_001_000;
    play.expire(ON_STACK, true);
    play.after(2_000).on(FIFO_80);
    play.exit(Call::RestartSyscall, 0);
    let (thread, clocks) = play.thread();
    let (cycle, _) = (thread.cycle.clone(), thread.run.clone());
    assert_eq!(cycle.interrupted, 1);
    let end = cycle.finish(&clocks);
    assert_eq!((end.activations, end.calls.len()), (21, 0));
    let (returned, _) = end.samples.unwrap().finish(0, &clocks).unwrap();
    assert_eq!((returned.samples, returned.total.min_ns()), (21, Some(3_000)));
}

#[test]
fn who_is_woken_before_it_slept_has_no_latency() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.event(0, Body::Waking { tid: TID, priority: FIFO_80 });
    play.after(1_000).enter(Call::Write, [5, 0, 0, 0]);
    play.after(1_000).exit(Call::Write, 0);
    play.after(1_000).off(FIFO_80, true);
    play.after(1_000).on(FIFO_80);
    let (thread, _) = play.thread();
    assert_eq!(thread.run.taken, 0);
    // Nor one without a call before it is stopped: that is one stop, and no wait after a wake-up.
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.turns(3, &mut |_| {});
    play.event(0, Body::Waking { tid: TID, priority: FIFO_80 });
    play.after(3_000_000).off_to(FIFO_80, ORDINARY);
    play.after(50_000_000).on(FIFO_80);
    let (thread, _) = play.thread();
    assert_eq!((thread.stops, thread.run.taken, thread.long_waits_ns.len()), (1, 3, 0));
}
