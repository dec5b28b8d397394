//! Wake-ups that are followed back to their timers.

use super::*;

/// A turn of a loop that waits for a periodic timer's descriptor by `wait`, and reads it then.
fn event_loop(play: &mut Play, turn: u64) {
    play.enter(Call::EpollWait, [6, 0, 8, 0]);
    play.off(FIFO_80, false);
    play.now_ns = turn * 1_000_000 + 4_000;
    play.expire(LASTING, true);
    play.after(1_000).on(FIFO_80);
    play.after(1_000).exit(Call::EpollWait, 1);
    play.enter(Call::Read, [7, 0, 8, 0]);
    play.start(LASTING, SIGNAL, (turn + 1) * 1_000_000);
    play.after(1_000).exit(Call::Read, 8);
}

#[test]
fn a_timer_s_moment_counts_in_whatever_call_the_thread_waits() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    (1..=120).for_each(|turn| event_loop(&mut play, turn));
    let (causes, returned) = play.causes();
    // Nobody saw for when it was armed the first time.
    assert_eq!((causes.timer, causes.timer_of_unknown_time, causes.undated()), (119, 1, 1));
    let returned = returned.unwrap();
    assert_eq!((returned.samples, returned.total.max_ns(), returned.total.min_ns()), (119, Some(6_000), Some(6_000)));
}

#[test]
fn a_turn_that_was_too_late_to_wait_is_late_since_its_timer() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    (1..=60).for_each(|turn| event_loop(&mut play, turn));
    // Busy for longer than a period: the timer expires, and the next wait returns at once.
    play.now_ns = 61_000_500;
    play.expire(LASTING, false);
    play.after(499_500).enter(Call::EpollWait, [6, 0, 8, 0]);
    play.after(1_000).exit(Call::EpollWait, 1);
    play.enter(Call::Read, [7, 0, 8, 0]);
    play.start(LASTING, SIGNAL, 62_000_000);
    play.after(1_000).exit(Call::Read, 8);
    (62..=99).for_each(|turn| event_loop(&mut play, turn));
    let (causes, returned) = play.causes();
    let returned = returned.unwrap();
    assert_eq!((causes.timer, returned.samples, returned.total.max_ns()), (98, 98, Some(501_000)));
}

#[test]
fn another_timer_that_the_thread_starts_before_it_sleeps_changes_nothing() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    for turn in 1..=60_u64 {
        let until_ns = turn * 1_000_000;
        play.enter(Call::ClockNanosleep, [1, 1, 0, 0]);
        play.start(ON_STACK, SLEEP, until_ns);
        // As the kernel does for a thread of SCHED_DEADLINE on its way to sleep.
        play.start(LASTING, SIGNAL, until_ns - 900_000);
        play.off(-1, false);
        play.now_ns = until_ns - 899_000;
        play.expire(LASTING, false);
        play.now_ns = until_ns + 3_000;
        play.expire(ON_STACK, true);
        play.after(5_000).on(-1);
        play.after(2_000).exit(Call::ClockNanosleep, 0);
    }
    let (causes, returned) = play.causes();
    let returned = returned.unwrap();
    assert_eq!((causes.timer, causes.undated()), (60, 0));
    assert_eq!((returned.samples, returned.total.min_ns(), returned.total.max_ns()), (60, Some(10_000), Some(10_000)));
}

#[test]
fn a_signal_of_a_timer_ends_a_wait_and_another_one_breaks_it() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.start(LASTING, SIGNAL, 1_000_000);
    for turn in 1..=60_u64 {
        play.enter(Call::SigSuspend, [0x7000, 8, 0, 0]);
        play.off(FIFO_80, false);
        play.now_ns = turn * 1_000_000 + 3_000;
        play.expire(LASTING, true);
        play.after(1_000).on(FIFO_80);
        play.after(1_000).exit(Call::SigSuspend, -514);
        // As the signal is delivered.
        play.start(LASTING, SIGNAL, (turn + 1) * 1_000_000);
    }
    let (causes, returned) = play.causes();
    let returned = returned.unwrap();
    assert_eq!((causes.timer, returned.samples, returned.total.max_ns()), (60, 60, Some(5_000)));
}

#[test]
fn a_thread_that_wakes_another_says_no_more_than_an_upper_limit() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    for turn in 1..=120_u64 {
        let wake =
            |play: &mut Play, level, tid| play.event_at(level, tid, Body::Waking { tid: TID, priority: FIFO_80 });
        play.enter(Call::Futex, [0x100, 0, 0, 0]);
        play.off(FIFO_80, false);
        play.now_ns = turn * 1_000_000 + 3_000;
        if turn % 3 == 0 {
            // A packet's interrupt.
            wake(&mut play, Level::HardInterrupt, 0);
        } else if turn % 3 == 1 {
            // A thread that nothing is known of.
            wake(&mut play, Level::Thread, 999);
        } else {
            let main = play.followed.threads.iter_mut().find(|thread| thread.tid == PID).unwrap();
            main.moment_ns = Some(i64::try_from(turn * 1_000_000 - 200_000).unwrap());
            wake(&mut play, Level::Thread, PID);
        }
        play.after(1_000).on(FIFO_80);
        play.after(1_000).exit(Call::Futex, 0);
    }
    let (causes, returned) = play.causes();
    assert!(returned.is_none(), "when it was due is nobody's guess");
    assert_eq!((causes.timer, causes.interrupt, causes.thread, causes.thread_after_timer), (0, 40, 80, 40));
    assert_eq!(causes.thread_after_timer_max_ns, Some(205_000));
}

#[test]
fn a_wait_for_a_lock_of_the_kernel_s_own_is_not_what_ends_a_call() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    for turn in 1..=60_u64 {
        play.enter(Call::ClockNanosleep, [1, 1, 0, 0]);
        play.start(ON_STACK, SLEEP, turn * 1_000_000);
        play.off(FIFO_80, false);
        play.now_ns = turn * 1_000_000 + 2_000;
        play.expire(ON_STACK, true);
        play.after(1_000).on(FIFO_80);
        let body = Body::Switch {
            from: TID,
            from_priority: FIFO_80,
            runnable: false,
            interruptible: false,
            stopped: false,
            to: 7,
            to_priority: 0,
            to_name: Name::new("holder"),
        };
        play.event(TID, body);
        play.after(1_000).event(7, Body::Waking { tid: TID, priority: FIFO_80 });
        play.after(1_000).on(FIFO_80);
        play.exit(Call::ClockNanosleep, 0);
    }
    let (causes, returned) = play.causes();
    assert_eq!((causes.timer, causes.undated()), (60, 0));
    assert_eq!(returned.unwrap().total.max_ns(), Some(5_000));
}

#[test]
fn a_wake_up_before_the_last_sleep_is_none_of_it() {
    let mut play = Play::new(Abi::X86_64, FIFO_80);
    play.turns(20, &mut |_| {});
    // Woken as it is about to sleep, for nothing: it goes to sleep again in the same call.
    play.enter(Call::EpollWait, [6, 0, 8, 0]);
    play.event(999, Body::Waking { tid: TID, priority: FIFO_80 });
    play.after(1_000).off(FIFO_80, false);
    play.after(700_000).event(999, Body::Waking { tid: TID, priority: FIFO_80 });
    play.after(2_000).on(FIFO_80);
    play.exit(Call::EpollWait, 1);
    let (thread, clocks) = play.thread();
    let (_, run) = (thread.cycle.clone(), thread.run.clone());
    assert_eq!(run.finish(0, &clocks).unwrap().0.total.max_ns(), Some(5_000));
}
