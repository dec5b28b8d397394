//! By a futex: `FUTEX_WAKE` and `FUTEX_WAIT` on a word of this process.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{CallFailed, Found, HandOver, HandOverError};

/// A word that is 1 while a wake-up is to be taken (`futex(2)`, private).
#[derive(Debug, Default)]
pub struct Futex(AtomicU32);

/// The system call, without a timeout.
#[inline(always)]
pub(super) fn futex(word: &AtomicU32, operation: libc::c_int, value: u32) -> libc::c_long {
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is valid for the length of the call; an operation without a timeout and a second word reads no other
    // pointer.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, std::ptr::null::<libc::timespec>()) }
}

#[cfg(test)]
impl Futex {
    /// Wakes the sleeper without a wake-up to take.
    pub(super) fn wake_for_nothing(&self) {
        futex(&self.0, libc::FUTEX_WAKE, 1);
    }
}

impl HandOver for Futex {
    fn open() -> Result<Self, HandOverError> {
        Ok(Self::default())
    }

    #[inline(always)]
    fn wake(&self) -> Result<Found, CallFailed> {
        self.0.store(1, Ordering::Release);
        match futex(&self.0, libc::FUTEX_WAKE, 1) {
            0 => Ok(Found::Nobody),
            woken if woken > 0 => Ok(Found::Sleeper),
            _ => Err(CallFailed::last()),
        }
    }

    #[inline(always)]
    fn wait(&self) -> Result<u32, CallFailed> {
        let mut for_nothing = 0;
        loop {
            if self.0.swap(0, Ordering::Acquire) == 1 {
                return Ok(for_nothing);
            }
            if futex(&self.0, libc::FUTEX_WAIT, 0) == 0 {
                // It is counted only where it has to wait again.
                if self.0.load(Ordering::Relaxed) == 0 {
                    for_nothing += 1;
                }
            } else {
                let failed = CallFailed::last();
                // The word had changed already.
                if failed.errno != libc::EAGAIN {
                    return Err(failed);
                }
            }
        }
    }
}
