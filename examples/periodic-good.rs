//! A periodic program that acts on time: what `punctual app` finds nothing wrong with.
//!
//! Build: rustc -O --edition 2021 -o periodic-good periodic-good.rs
//! Usage: periodic-good [TURNS]     1 kHz, 3000 turns unless told otherwise; needs the right to real-time priority
//!
//! It uses the standard library and four functions of the C library, which it declares itself; a program of yours would
//! take them from the crate `libc`.

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

const PERIOD_NS: c_long = 1_000_000;
const RING: usize = 1024;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

extern "C" {
    fn mlockall(flags: c_int) -> c_int;
    fn sched_setscheduler(pid: c_int, policy: c_int, priority: *const c_int) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn clock_nanosleep(clock: c_int, flags: c_int, until: *const Timespec, left: *mut Timespec) -> c_int;
}

const MCL_CURRENT_AND_FUTURE: c_int = 3;
const SCHED_FIFO: c_int = 1;
const CLOCK_MONOTONIC: c_int = 1;
const TIMER_ABSTIME: c_int = 1;

/// What the loop tells the rest of the program: written by one thread, read by one, without a lock.
static TOLD_NS: [AtomicI64; RING] = [const { AtomicI64::new(0) }; RING];
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

fn now() -> Timespec {
    let mut time = Timespec::default();
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time
}

/// As deep as the loop will ever get, once, so that no page of it is new later.
#[inline(never)]
fn touch_stack() {
    let mut deep = [0_u8; 64 * 1024];
    deep.iter_mut().step_by(1024).for_each(|byte| *byte = 1);
    std::hint::black_box(&mut deep);
}

fn control(turns: usize) {
    touch_stack();
    // Of this thread alone: the main thread goes on as an ordinary one.
    if unsafe { sched_setscheduler(0, SCHED_FIFO, &80) } != 0 {
        eprintln!("no real-time priority: {}", std::io::Error::last_os_error());
        std::process::exit(2);
    }
    let mut next = now();
    for turn in 0..turns {
        next.nanoseconds += PERIOD_NS;
        if next.nanoseconds >= 1_000_000_000 {
            next.nanoseconds -= 1_000_000_000;
            next.seconds += 1;
        }
        // Until a moment, on a clock that nobody sets; again where a signal came between.
        while unsafe { clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, std::ptr::null_mut()) } != 0 {}
        let woke = now();
        let late_ns = (woke.seconds - next.seconds) * 1_000_000_000 + woke.nanoseconds - next.nanoseconds;
        TOLD_NS[turn % RING].store(late_ns as i64, Ordering::Relaxed);
        WRITTEN.store(turn + 1, Ordering::Release);
    }
}

fn main() {
    let turns = std::env::args().nth(1).map_or(3_000, |turns| turns.parse().expect("a number of turns"));
    if unsafe { mlockall(MCL_CURRENT_AND_FUTURE) } != 0 {
        eprintln!("memory cannot be locked: {}", std::io::Error::last_os_error());
        std::process::exit(1);
    }
    let thread = std::thread::Builder::new()
        .name("control".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || control(turns))
        .expect("a thread");
    // What may take its time is done by an ordinary thread.
    let (mut read, mut worst_ns) = (0, 0);
    while read < turns {
        std::thread::sleep(Duration::from_millis(20));
        let written = WRITTEN.load(Ordering::Acquire);
        for turn in read..written {
            worst_ns = worst_ns.max(TOLD_NS[turn % RING].load(Ordering::Relaxed));
        }
        read = written;
    }
    thread.join().expect("the thread's end");
    println!("worst lateness {} us", worst_ns / 1_000);
}
