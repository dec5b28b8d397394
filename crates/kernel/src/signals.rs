//! Which signals a thread takes, and the flag that they set.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use units::ClockId;

use crate::clock;

/// Within this time a second signal is the same order: `timeout -s INT` signals its child, and then the child's whole
/// group once more (ns).
const SAME_ORDER_NS: i64 = 500_000_000;

/// Makes SIGINT, SIGTERM and SIGHUP set `ended_early`, and the watchdog's SIGXCPU set `watchdog`; a second SIGINT
/// or SIGTERM, where it is not of the same order, ends the program at once.
///
/// # Errors
/// Where the kernel refuses a handler, which it has no reason to.
pub fn register(ended_early: &Arc<AtomicBool>, watchdog: &Arc<AtomicBool>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU};
    let first_ns = Arc::new(AtomicI64::new(0));
    for signal in [SIGINT, SIGTERM] {
        let first_ns = Arc::clone(&first_ns);
        let insist = move || {
            let now_ns = clock::now_ns(ClockId::Monotonic.into());
            let first = first_ns.compare_exchange(0, now_ns, Ordering::SeqCst, Ordering::SeqCst);
            if first.is_err_and(|first_ns| now_ns - first_ns > SAME_ORDER_NS) {
                signal_hook::low_level::exit(128 + signal);
            }
        };
        // SAFETY: the handler reads a clock, exchanges an atomic and may call _exit, all of it async-signal-safe.
        unsafe { signal_hook::low_level::register(signal, insist) }?;
    }
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(ended_early))?;
    }
    signal_hook::flag::register(SIGXCPU, Arc::clone(watchdog))?;
    Ok(())
}

/// Leaves all signals but SIGXCPU to other threads: a measuring thread's sleep must not end for a signal, save for
/// the watchdog's, which has to reach it even where no other thread gets the CPU.
pub fn block_all_but_watchdog() {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is valid and writable; these calls only fill it in and hand it to the kernel.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        libc::sigdelset(set.as_mut_ptr(), libc::SIGXCPU);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Leaves all signals to other threads. No handler runs on the calling thread any more, so the only thing that still
/// ends one of its interruptible waits with `EINTR` is the kernel itself: to stop, trace or freeze the thread
/// (signal(7), "Interruption of system calls and library functions by stop signals").
pub fn block_all() {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is valid and writable; these calls only fill it in and hand it to the kernel.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Arms the kernel's watchdog on real-time threads (`RLIMIT_RTTIME`): one that runs for `seconds` without a sleep
/// gets SIGXCPU, and again every second; 0 takes the watchdog away.
///
/// # Errors
/// Where a lower hard limit is in force.
pub fn arm_watchdog(seconds: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let current = (seconds > 0).then(|| seconds.saturating_mul(1_000_000));
    Ok(setrlimit(Resource::Rttime, Rlimit { current, maximum: getrlimit(Resource::Rttime).maximum })?)
}
