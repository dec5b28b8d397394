//! The same task as periodic-good.rs, written as it should not be: each FAULT is one that `punctual app` finds.
//!
//! Build: rustc --edition 2021 -o periodic-bad periodic-bad.rs
//! Usage: periodic-bad [TURNS]      200 Hz, 300 turns unless told otherwise; needs the right to real-time priority

use std::ffi::{c_int, c_long};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PERIOD_NS: c_long = 5_000_000;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

extern "C" {
    fn sched_setscheduler(pid: c_int, policy: c_int, priority: *const c_int) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn clock_nanosleep(clock: c_int, flags: c_int, until: *const Timespec, left: *mut Timespec) -> c_int;
}

const SCHED_FIFO: c_int = 1;
const CLOCK_REALTIME: c_int = 0;
const TIMER_ABSTIME: c_int = 1;

static DONE: AtomicBool = AtomicBool::new(false);

fn control(turns: usize, shared: Arc<Mutex<Vec<u64>>>, log: &mut std::fs::File) {
    if unsafe { sched_setscheduler(0, SCHED_FIFO, &99) } != 0 {
        // FAULT app-top-priority
        eprintln!("no real-time priority: {}", std::io::Error::last_os_error());
        std::process::exit(2);
    }
    // FAULT app-helper-threads: it inherits the policy, and has no period.
    let helper = std::thread::Builder::new().name("helper".to_owned()).spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    let mut next = Timespec::default();
    unsafe { clock_gettime(CLOCK_REALTIME, &mut next) };
    for turn in 0..turns {
        next.nanoseconds += PERIOD_NS;
        if next.nanoseconds >= 1_000_000_000 {
            next.nanoseconds -= 1_000_000_000;
            next.seconds += 1;
        }
        // FAULT app-realtime-clock: somebody may set it.
        unsafe { clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &next, std::ptr::null_mut()) };
        // FAULT app-lock-without-inheritance: the standard library's locks have none.
        shared.lock().expect("a lock").clear();
        // FAULT app-heap-in-loop, app-memory-in-loop, app-page-faults-in-loop: more each time, so that the stock never suffices.
        let mut data = vec![0_u8; 256 * 1024 + turn * 8192];
        data.iter_mut().step_by(4096).take(32).for_each(|byte| *byte = 1);
        std::hint::black_box(&data);
        // FAULT app-logging-in-loop
        writeln!(log, "turn {turn}").expect("a log");
        // FAULT app-threads-in-loop, app-blocking-in-loop: it waits for a thread that it makes.
        std::thread::spawn(|| std::thread::sleep(Duration::from_micros(100))).join().expect("a thread");
        // FAULT app-files-in-loop
        let mut text = String::new();
        std::fs::File::open("/proc/self/statm").and_then(|mut file| file.read_to_string(&mut text)).expect("a file");
    }
    DONE.store(true, Ordering::Relaxed);
    let _ = helper.map(std::thread::JoinHandle::join);
}

fn main() {
    // FAULT app-memory-not-locked: nothing is.
    let turns = std::env::args().nth(1).map_or(300, |turns| turns.parse().expect("a number of turns"));
    let shared = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&shared);
    // Holds the lock most of the time, at ordinary priority.
    std::thread::spawn(move || {
        while !DONE.load(Ordering::Relaxed) {
            let mut data = theirs.lock().expect("a lock");
            data.push(1);
            std::thread::sleep(Duration::from_millis(3));
            drop(data);
            std::thread::sleep(Duration::from_micros(500));
        }
    });
    let path = std::env::temp_dir().join(format!("periodic-bad-{}.log", std::process::id()));
    let mut log = std::fs::File::create(&path).expect("a log");
    std::thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || control(turns, shared, &mut log))
        .expect("a thread")
        .join()
        .expect("the thread's end");
    let _ = std::fs::remove_file(path);
}
