//! Hand-overs: the means by which one thread wakes another that waits for it.
//!
//! One [`HandOver`] is one means, shared by the two threads of a pair: the *waker* calls [`wake`](HandOver::wake), the
//! *sleeper* [`wait`](HandOver::wait)s. A loop that measures it is generic over the means. Nothing but
//! [`open`](HandOver::open) allocates.
//!
//! Of every means a wake-up is kept: where the sleeper does not wait yet, its next wait returns at once.

mod condvar;
mod eventfd;
mod futex;
mod futex_pi;
mod mqueue;
mod pipe;
mod signal;
#[cfg(test)]
mod tests;

use std::io;

pub use self::condvar::Condvar;
pub use self::eventfd::Eventfd;
pub use self::futex::Futex;
pub use self::futex_pi::FutexPi;
pub use self::mqueue::Mqueue;
pub use self::pipe::Pipe;
pub use self::signal::Signal;

/// Why a means of hand-over cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HandOverError {
    /// The kernel was built without POSIX message queues.
    #[error("this kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE): take another kind of event")]
    NoMqueue,
    /// A limit on POSIX message queues.
    #[error(
        "the kernel refused a POSIX message queue: {0}; limits are RLIMIT_MSGQUEUE ('ulimit -q') and /proc/sys/fs/mqueue/queues_max"
    )]
    MqueueLimit(io::Error),
    /// Another refusal of the kernel's.
    #[error("the kernel refused {what}: {error}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl HandOverError {
    fn last(what: &'static str) -> Self {
        Self::Refused { what, error: io::Error::last_os_error() }
    }
}

/// Whom a waking call found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The sleeper, waiting.
    Sleeper,
    /// Nobody who waits: the sleeper's next wait returns at once.
    Nobody,
    /// This means does not tell.
    Unknown,
}

/// A call that failed, or that a signal handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFailed {
    /// The kernel's error number: `EINTR` for a signal handler.
    pub errno: i32,
}

impl CallFailed {
    #[cold]
    pub(crate) fn last() -> Self {
        // Without `io::Error`, whose constructors are nothing for a loop.
        // SAFETY: the C library's errno of the calling thread.
        Self { errno: unsafe { *libc::__errno_location() } }
    }
}

/// A means by which one thread, the waker, wakes another one, the sleeper.
pub trait HandOver: Send + Sync + Sized + 'static {
    /// Opens what it needs.
    ///
    /// # Errors
    /// Where the kernel lacks it, or a limit forbids it.
    fn open() -> Result<Self, HandOverError>;

    /// Called once by the sleeper, before anybody wakes it.
    fn begin_waiting(&self) {}

    /// Called once by the waker, before the sleeper waits for the first time.
    fn begin_waking(&self) {}

    /// Called by the waker before each [`wake`](Self::wake), for what is no part of waking. The sleeper is back from its last
    /// wait and has [`left`](Self::leave) it.
    #[inline(always)]
    fn prepare(&self) {}

    /// The waking call itself. It never blocks.
    ///
    /// # Errors
    /// Where the kernel refuses it, which it has no reason to.
    fn wake(&self) -> Result<Found, CallFailed>;

    /// Waits to be woken. Returns how often it was woken for nothing before, as far as this means shows it.
    ///
    /// # Errors
    /// Where a signal handler ran meanwhile; the wait is to be taken up again.
    fn wait(&self) -> Result<u32, CallFailed>;

    /// Called by the sleeper after each wait that ended well, for what is no part of it.
    #[inline(always)]
    fn leave(&self) {}

    /// Called by the waker when no hand-over follows: ends the sleeper's wait, also one that has not begun.
    fn wake_last(&self) {
        let _ = self.wake();
    }

    /// The same, by a third thread, where the waker is gone or gets no CPU.
    fn release(&self) {
        let _ = self.wake();
    }
}

/// How often the calling thread has given up its CPU to wait (`ru_nvcsw` of `getrusage(2)`): where this is the same before and
/// after a wait, the thread did not sleep in it.
#[inline(always)]
#[must_use]
pub fn sleeps_so_far() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills the whole struct, which is valid and writable; it is read only where it did.
    #[allow(clippy::useless_conversion, reason = "not useless on 32-bit machines")]
    unsafe {
        if libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) == 0 {
            usage.assume_init().ru_nvcsw.into()
        } else {
            0
        }
    }
}
