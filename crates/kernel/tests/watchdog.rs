//! The kernel ends what would lock the machine up. A program of its own, since the limit and the signal are the
//! process's.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kernel::sched::{self, Policy};
use kernel::signals;

/// The thread ends itself after this, whether or not the watchdog works.
const SPIN_MAX: Duration = Duration::from_secs(4);

/// Runs without a sleep until `stop` is set; `None` where the thread may not be real-time.
fn spin(stop: &AtomicBool) -> Option<Duration> {
    let cpu = sched::affinity_of(0).unwrap().last().unwrap();
    sched::set_affinity(0, &[cpu].into_iter().collect()).unwrap();
    sched::set_policy(Policy::Fifo(1)).ok()?;
    signals::block_all_but_watchdog();
    let began = Instant::now();
    while !stop.load(Ordering::Relaxed) && began.elapsed() < SPIN_MAX {
        std::hint::spin_loop();
    }
    Some(began.elapsed())
}

#[test]
fn a_realtime_thread_that_never_sleeps_is_stopped() {
    let stop = Arc::new(AtomicBool::new(false));
    let ended_early = Arc::new(AtomicBool::new(false));
    signals::register(&ended_early, &stop).unwrap();
    if let Err(error) = signals::arm_watchdog(1) {
        println!("not run: the watchdog cannot be armed: {error}");
        return;
    }
    let spinning = Arc::clone(&stop);
    let spun = std::thread::spawn(move || spin(&spinning)).join().unwrap();
    signals::arm_watchdog(0).unwrap();
    let Some(spun) = spun else {
        println!("not run: real-time priority is not granted");
        return;
    };
    // The kernel counts ticks, of which a host can withhold some: when the signal comes is not judged, only that it comes.
    assert!(stop.load(Ordering::Relaxed), "nobody stopped a thread that ran for {spun:?}");
    assert!(spun >= Duration::from_millis(900), "stopped after {spun:?} already");
    assert!(!ended_early.load(Ordering::Relaxed), "the watchdog is not an order to end");
}
