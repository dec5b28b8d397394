//! By a condition variable of the C library: `pthread_cond_signal(3)` and `pthread_cond_wait(3)`.
//!
//! Its mutex has the protocol `PTHREAD_PRIO_INHERIT`, as a mutex that threads of different priorities share should have. The
//! signal is given once the mutex is released: a woken thread of higher priority takes the CPU within that call, and would
//! otherwise have to wait for the mutex at once.

use std::cell::UnsafeCell;
use std::io;

use super::{CallFailed, Found, HandOver, HandOverError};

/// A condition variable with its mutex, on the heap since neither may move.
pub struct Condvar(Box<Inner>);

struct Inner {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
    /// Looked at by the owner of the mutex alone.
    state: UnsafeCell<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// A wake-up is to be taken.
    is_set: bool,
    /// The sleeper waits.
    is_waited_for: bool,
}

// SAFETY: the mutex and the condition are made to be shared, and the state is touched by the owner of the mutex alone.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl std::fmt::Debug for Condvar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Condvar").finish_non_exhaustive()
    }
}

unsafe extern "C" {
    // pthread.h; the crate `libc` has it for some of the systems alone.
    fn pthread_mutexattr_setprotocol(attributes: *mut libc::pthread_mutexattr_t, protocol: libc::c_int) -> libc::c_int;
}

/// pthread.h, the same in the GNU C library and in musl.
const PTHREAD_PRIO_INHERIT: libc::c_int = 1;

fn checked(errno: libc::c_int, what: &'static str) -> Result<(), HandOverError> {
    if errno == 0 {
        return Ok(());
    }
    Err(HandOverError::Refused { what, error: io::Error::from_raw_os_error(errno) })
}

impl HandOver for Condvar {
    fn open() -> Result<Self, HandOverError> {
        let inner = Box::new(Inner {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            state: UnsafeCell::default(),
        });
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_mutexattr_t>::zeroed();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: all pointers are valid; the mutex was not used yet, and stays where it is.
        unsafe {
            checked(libc::pthread_mutexattr_init(attributes), "attributes of a mutex")?;
            let inherits = pthread_mutexattr_setprotocol(attributes, PTHREAD_PRIO_INHERIT);
            let made = if inherits == 0 { libc::pthread_mutex_init(inner.mutex.get(), attributes) } else { inherits };
            libc::pthread_mutexattr_destroy(attributes);
            checked(made, "a mutex with priority inheritance")?;
        }
        Ok(Self(inner))
    }

    #[inline(always)]
    fn wake(&self) -> Result<Found, CallFailed> {
        let inner = &*self.0;
        // SAFETY: mutex and condition are initialized and do not move; the state is touched between lock and unlock.
        let (is_waited_for, errno) = unsafe {
            let locked = libc::pthread_mutex_lock(inner.mutex.get());
            let state = &mut *inner.state.get();
            state.is_set = true;
            let is_waited_for = state.is_waited_for;
            let unlocked = libc::pthread_mutex_unlock(inner.mutex.get());
            (is_waited_for, locked | unlocked | libc::pthread_cond_signal(inner.condition.get()))
        };
        if errno != 0 {
            return Err(CallFailed { errno });
        }
        Ok(if is_waited_for { Found::Sleeper } else { Found::Nobody })
    }

    #[inline(always)]
    fn wait(&self) -> Result<u32, CallFailed> {
        let inner = &*self.0;
        let mut for_nothing = 0;
        // SAFETY: as in `wake`; while the condition is waited for the mutex is released, and no reference to the state is kept.
        let errno = unsafe {
            let mut errno = libc::pthread_mutex_lock(inner.mutex.get());
            while errno == 0 && !(*inner.state.get()).is_set {
                (*inner.state.get()).is_waited_for = true;
                errno = libc::pthread_cond_wait(inner.condition.get(), inner.mutex.get());
                for_nothing += u32::from(!(*inner.state.get()).is_set);
            }
            *inner.state.get() = State::default();
            errno | libc::pthread_mutex_unlock(inner.mutex.get())
        };
        if errno == 0 { Ok(for_nothing) } else { Err(CallFailed { errno }) }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: nobody has a reference any more.
        unsafe {
            libc::pthread_cond_destroy(self.condition.get());
            libc::pthread_mutex_destroy(self.mutex.get());
        }
    }
}
