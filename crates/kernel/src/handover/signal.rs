//! By a real-time signal to the thread: `tgkill(2)` and `sigwaitinfo(2)`.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{CallFailed, Found, HandOver, HandOverError};

/// The signal `SIGRTMIN`, sent to the sleeper's thread, which has it blocked and waits for it.
#[derive(Debug)]
pub struct Signal {
    process: u32,
    /// The thread id of the sleeper; 0 before it is there.
    sleeper: AtomicU32,
    set: libc::sigset_t,
}

/// A number of the kernel's for a process or thread, which always fits.
#[inline(always)]
fn signed(id: u32) -> libc::pid_t {
    libc::pid_t::try_from(id).unwrap_or(-1)
}

impl HandOver for Signal {
    fn open() -> Result<Self, HandOverError> {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is valid and writable, and these calls fill it in.
        let set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            if libc::sigaddset(set.as_mut_ptr(), libc::SIGRTMIN()) != 0 {
                return Err(HandOverError::last("a real-time signal"));
            }
            set.assume_init()
        };
        Ok(Self { process: std::process::id(), sleeper: AtomicU32::new(0), set })
    }

    fn begin_waiting(&self) {
        // SAFETY: the set is valid; the old mask is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.set, std::ptr::null_mut()) };
        self.sleeper.store(crate::sched::thread_id(), Ordering::Release);
    }

    #[inline(always)]
    fn wake(&self) -> Result<Found, CallFailed> {
        let (process, thread) = (signed(self.process), signed(self.sleeper.load(Ordering::Acquire)));
        // SAFETY: takes no pointers. The signal is blocked in that thread; where it has ended, none gets it.
        let sent = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGRTMIN()) };
        if sent != 0 { Err(CallFailed::last()) } else { Ok(Found::Unknown) }
    }

    #[inline(always)]
    fn wait(&self) -> Result<u32, CallFailed> {
        // SAFETY: the set is valid; what is known of the signal is not asked for.
        let signal = unsafe { libc::sigwaitinfo(&raw const self.set, std::ptr::null_mut()) };
        if signal < 0 { Err(CallFailed::last()) } else { Ok(0) }
    }

    fn release(&self) {
        // Before the sleeper has said who it is nobody waits.
        if self.sleeper.load(Ordering::Acquire) != 0 {
            let _ = self.wake();
        }
    }
}
