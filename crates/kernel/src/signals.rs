//! Which signals a thread takes, and the flag that they set.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes SIGINT, SIGTERM and SIGHUP set `ended_early`, and the watchdog's SIGXCPU set `watchdog`; a second SIGINT
/// or SIGTERM ends the program at once.
///
/// # Errors
/// Where the kernel refuses a handler, which it has no reason to.
pub fn register(ended_early: &Arc<AtomicBool>, watchdog: &Arc<AtomicBool>) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU};
    for signal in [SIGINT, SIGTERM] {
        // Registered first, so that it acts only where the flag was set by an earlier signal.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(ended_early))?;
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
