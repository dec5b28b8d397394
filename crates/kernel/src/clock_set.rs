//! Detects that the realtime clock was set: the kernel cancels a timer that asks for it (`TFD_TIMER_CANCEL_ON_SET`).

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::wait::Readable;

/// No timer of ours is meant to expire: some 60 years on (s since 1970).
const FAR_S: i64 = 4_000_000_000;

/// Waits for a discontinuous change of the realtime clock (`TFD_TIMER_CANCEL_ON_SET`, `timerfd_create(2)`).
#[derive(Debug)]
pub struct ClockSet {
    timer: OwnedFd,
}

impl ClockSet {
    /// Begins to watch.
    ///
    /// # Errors
    /// Where the kernel has no such timers (none before 3.0), or this process no more descriptors.
    pub fn new() -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let watch = Self { timer };
        watch.arm()?;
        Ok(watch)
    }

    fn arm(&self) -> io::Result<()> {
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let far = Itimerspec { it_interval: never, it_value: Timespec { tv_sec: FAR_S, tv_nsec: 0 } };
        match timerfd_settime(&self.timer, flags, &far) {
            // Armed all the same; the clock was set since it was last asked (fs/timerfd.c, do_timerfd_settime()).
            Ok(_) | Err(Errno::CANCELED) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for up to `timeout_ns`, and returns whether the clock was set since the last call. May return early where a
    /// signal handler ran.
    ///
    /// # Errors
    /// Where the kernel has no memory for the wait.
    pub fn wait(&self, timeout_ns: i64) -> io::Result<bool> {
        Readable::new([self.timer.as_fd()]).wait(timeout_ns)?;
        let mut expirations = [0; 8];
        match rustix::io::read(&self.timer, &mut expirations) {
            Err(Errno::CANCELED) => self.arm().map(|()| true),
            // Nothing happened, or the far end of the timer was reached, which says nothing of a step.
            Ok(_) | Err(_) => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_clock_that_nobody_sets_is_waited_for_in_full() {
        let watch = ClockSet::new().unwrap();
        let began = Instant::now();
        assert!(!watch.wait(20_000_000).unwrap());
        assert!(began.elapsed() >= Duration::from_millis(20));
        watch.arm().unwrap();
        assert!(!watch.wait(0).unwrap());
    }
}
