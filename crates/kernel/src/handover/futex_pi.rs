//! By locks with priority inheritance: `FUTEX_LOCK_PI` and `FUTEX_UNLOCK_PI`.
//!
//! Two locks are used in turn. The waker holds the one for which the sleeper waits. Before a hand-over it takes the other one,
//! which is free; the hand-over is the unlocking of the first. The kernel makes the sleeper its owner, and the sleeper unlocks
//! it once it is awake.

use std::sync::atomic::{AtomicU32, Ordering};

use super::futex::futex;
use super::{CallFailed, Found, HandOver, HandOverError};

/// Two locks with priority inheritance (`futex(2)`, private; each word holds the thread id of its owner).
#[derive(Debug, Default)]
pub struct FutexPi {
    locks: [AtomicU32; 2],
    /// Hand-overs that the waker made; it alone looks at this.
    woken: AtomicU32,
    /// Waits that ended; the sleeper alone looks at this.
    waited: AtomicU32,
    /// The thread id of the waker, which it alone looks at.
    waker: AtomicU32,
    /// The thread id of the sleeper, which it alone looks at.
    sleeper: AtomicU32,
}

/// Takes a lock, waiting for it where it is not free.
#[inline(always)]
fn lock(word: &AtomicU32, own: u32) -> Result<(), CallFailed> {
    if word.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
        || futex(word, libc::FUTEX_LOCK_PI, 0) == 0
    {
        return Ok(());
    }
    Err(CallFailed::last())
}

/// Gives a lock back; whether the kernel had to, since somebody waited or had waited.
#[inline(always)]
fn unlock(word: &AtomicU32, own: u32) -> Result<bool, CallFailed> {
    if word.compare_exchange(own, 0, Ordering::Release, Ordering::Relaxed).is_ok() {
        return Ok(false);
    }
    if futex(word, libc::FUTEX_UNLOCK_PI, 0) == 0 { Ok(true) } else { Err(CallFailed::last()) }
}

impl FutexPi {
    #[inline(always)]
    fn of_turn(&self, turn: u32) -> &AtomicU32 {
        &self.locks[(turn & 1) as usize]
    }
}

impl HandOver for FutexPi {
    fn open() -> Result<Self, HandOverError> {
        Ok(Self::default())
    }

    fn begin_waiting(&self) {
        self.sleeper.store(crate::sched::thread_id(), Ordering::Relaxed);
    }

    fn begin_waking(&self) {
        let own = crate::sched::thread_id();
        self.waker.store(own, Ordering::Relaxed);
        let _ = lock(self.of_turn(0), own);
    }

    #[inline(always)]
    fn prepare(&self) {
        let next = self.woken.load(Ordering::Relaxed).wrapping_add(1);
        // The sleeper has given it back.
        let _ = lock(self.of_turn(next), self.waker.load(Ordering::Relaxed));
    }

    #[inline(always)]
    fn wake(&self) -> Result<Found, CallFailed> {
        let turn = self.woken.load(Ordering::Relaxed);
        self.woken.store(turn.wrapping_add(1), Ordering::Relaxed);
        let by_kernel = unlock(self.of_turn(turn), self.waker.load(Ordering::Relaxed))?;
        // Only who waits makes the kernel's help necessary: nobody else than the sleeper takes a lock of the waker's.
        Ok(if by_kernel { Found::Sleeper } else { Found::Nobody })
    }

    #[inline(always)]
    fn wait(&self) -> Result<u32, CallFailed> {
        lock(self.of_turn(self.waited.load(Ordering::Relaxed)), self.sleeper.load(Ordering::Relaxed)).map(|()| 0)
    }

    #[inline(always)]
    fn leave(&self) {
        let turn = self.waited.load(Ordering::Relaxed);
        self.waited.store(turn.wrapping_add(1), Ordering::Relaxed);
        let _ = unlock(self.of_turn(turn), self.sleeper.load(Ordering::Relaxed));
    }

    /// The kernel does it where the waker ends with the lock: its thread's end gives the lock to who waits for it.
    fn release(&self) {}
}
