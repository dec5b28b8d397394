//! Reading clocks, through the vDSO and through a real system call, and sleeping until a moment.

use std::io;

use rustix::time::Timespec;
use units::ClockId;

use crate::time64::{self, NS_PER_S, to_ns};

/// A clock in the kernel's numbering, looked up once so that the loop does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelClock {
    number: libc::clockid_t,
    /// The same in the library that sleeps without a wrapper, which has no name for CLOCK_TAI.
    named: Option<rustix::time::ClockId>,
}

impl From<ClockId> for KernelClock {
    fn from(clock: ClockId) -> Self {
        use rustix::time::ClockId as Named;
        let (number, named) = match clock {
            ClockId::Monotonic => (libc::CLOCK_MONOTONIC, Some(Named::Monotonic)),
            ClockId::MonotonicRaw => (libc::CLOCK_MONOTONIC_RAW, Some(Named::MonotonicRaw)),
            ClockId::Realtime => (libc::CLOCK_REALTIME, Some(Named::Realtime)),
            ClockId::Tai => (libc::CLOCK_TAI, None),
            ClockId::Boottime => (libc::CLOCK_BOOTTIME, Some(Named::Boottime)),
        };
        Self { number, named }
    }
}

/// A clock as a loop uses it that sleeps on it and reads it in each turn: nothing is looked up, and what it reads into is
/// written once, beforehand.
#[derive(Debug)]
pub struct LoopClock {
    number: libc::clockid_t,
    named: rustix::time::ClockId,
    time: time64::timespec,
}

impl LoopClock {
    /// `None` for a clock that the library which sleeps without a wrapper does not know, and on 32-bit machines, where the C
    /// library also knows kernels before 5.1: they lack the system call with 64-bit times, and the other library then sleeps for
    /// the absolute time as if it were a span.
    #[must_use]
    pub fn new(clock: KernelClock) -> Option<Self> {
        let named = clock.named.filter(|_| cfg!(not(target_pointer_width = "32")))?;
        Some(Self { number: clock.number, named, time: time64::time(0, 0) })
    }

    /// Nanoseconds on it, like [`now_ns`]. Where it cannot be read, which [`resolution_ns`] shows beforehand, what it showed last.
    #[inline(always)]
    pub fn now_ns(&mut self) -> i64 {
        // SAFETY: `time` is a valid, writable timespec for the length of the call.
        unsafe { time64::clock_gettime(self.number, &raw mut self.time) };
        to_ns(&self.time)
    }

    /// Like [`sleep_until`].
    ///
    /// # Errors
    /// Those of [`sleep_until`].
    #[inline(always)]
    pub fn sleep_until(&self, schedule: &Schedule) -> Result<(), SleepEnded> {
        by_system_call(self.named, schedule)
    }
}

/// A moment to sleep until, in the kernel's own form, so that the loop divides nothing. A loop that needs its nanoseconds in
/// each turn counts them beside: the kernel reads this from memory, and a number of the loop's own can be in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule(Timespec);

impl Schedule {
    /// From nanoseconds on the clock that will be slept on.
    #[must_use]
    pub const fn at_ns(ns: i64) -> Self {
        Self(Timespec { tv_sec: ns.div_euclid(NS_PER_S), tv_nsec: nanoseconds(ns.rem_euclid(NS_PER_S)) })
    }

    /// The schedule in nanoseconds of its clock.
    #[inline(always)]
    #[must_use]
    pub const fn ns(&self) -> i64 {
        // The second of the lowest moment that fits begins before it.
        self.0.tv_sec.wrapping_mul(NS_PER_S).wrapping_add(wide(self.0.tv_nsec))
    }

    /// Moves on by a step (ns, above 0); whether another second has begun.
    #[inline(always)]
    pub fn advance(&mut self, step_ns: i64) -> bool {
        let within_ns = wide(self.0.tv_nsec) + step_ns;
        if within_ns < NS_PER_S {
            self.0.tv_nsec = nanoseconds(within_ns);
            return false;
        }
        // Rare enough to divide.
        self.0.tv_sec += within_ns / NS_PER_S;
        self.0.tv_nsec = nanoseconds(within_ns % NS_PER_S);
        true
    }
}

/// Nanoseconds within a second; the type is the kernel's, 32 bits wide on armv7.
#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "what is below 10^9 fits either width")]
#[inline(always)]
pub(crate) const fn nanoseconds(within_ns: i64) -> rustix::time::Nsecs {
    within_ns as rustix::time::Nsecs
}

/// [`nanoseconds`] in 64 bits.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "the type is narrower on 32-bit machines")]
#[inline(always)]
const fn wide(within_ns: rustix::time::Nsecs) -> i64 {
    within_ns as i64
}

/// Nanoseconds on `clock`, by the C library: through the vDSO wherever the kernel offers one (rustix finds the vDSO by
/// itself, also where valgrind has taken it away, and then faults).
///
/// A clock that the kernel does not know reads 0; [`resolution_ns`] shows this beforehand.
#[inline(always)]
#[must_use]
pub fn now_ns(clock: KernelClock) -> i64 {
    let mut time = time64::time(0, 0);
    // SAFETY: `time` is a valid, writable timespec for the length of the call.
    unsafe { time64::clock_gettime(clock.number, &raw mut time) };
    to_ns(&time)
}

/// Nanoseconds on `clock`, by a system call even where a vDSO exists.
#[inline(always)]
#[must_use]
pub fn now_by_syscall_ns(clock: KernelClock) -> i64 {
    to_ns(&time64::clock_gettime_by_syscall(clock.number))
}

/// The processor's time-stamp counter, where there is one that user space may read: x86-64.
#[must_use]
pub fn time_stamp_counter() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has RDTSC, and Linux lets user space use it unless the process itself gave it up.
    let ticks = Some(unsafe { std::arch::x86_64::_rdtsc() });
    #[cfg(not(target_arch = "x86_64"))]
    let ticks = None;
    ticks
}

/// What `clock_getres` says of a clock: 1 where high-resolution timers run, a tick's length where they do not.
///
/// # Errors
/// Where this kernel does not know the clock.
pub fn resolution_ns(clock: KernelClock) -> io::Result<u64> {
    let mut time = time64::time(0, 0);
    // SAFETY: `time` is a valid, writable timespec for the length of the call.
    if unsafe { time64::clock_getres(clock.number, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    u64::try_from(to_ns(&time)).map_err(io::Error::other)
}

/// The length of the kernel's tick (ns): the resolution of the coarse clocks, which it moves on with each tick.
#[must_use]
pub fn tick_ns() -> Option<u64> {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    let ns =
        u64::try_from(tick.tv_sec).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(tick.tv_nsec).ok()?)?;
    (ns > 1).then_some(ns)
}

/// A sleep ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepEnded {
    /// The kernel's error number: `EINTR` for a signal.
    pub errno: i32,
}

/// Sleeps until `clock` shows the schedule; returns at once where it does already.
///
/// # Errors
/// Where a signal handler ran, or the clock cannot be slept on.
#[inline(always)]
pub fn sleep_until(clock: KernelClock, schedule: &Schedule) -> Result<(), SleepEnded> {
    match LoopClock::new(clock) {
        Some(clock) => clock.sleep_until(schedule),
        None => sleep_by_c_library(clock, schedule),
    }
}

#[inline(always)]
fn by_system_call(clock: rustix::time::ClockId, schedule: &Schedule) -> Result<(), SleepEnded> {
    rustix::thread::clock_nanosleep_absolute(clock, &schedule.0)
        .map_err(|error| SleepEnded { errno: error.raw_os_error() })
}

/// A function of its own, so that the common way stays short.
#[cfg_attr(not(target_pointer_width = "32"), cold)]
#[inline(never)]
fn sleep_by_c_library(clock: KernelClock, schedule: &Schedule) -> Result<(), SleepEnded> {
    let time = time64::time(schedule.0.tv_sec, wide(schedule.0.tv_nsec));
    // SAFETY: `time` is a valid timespec for the length of the call; the remaining time is not asked for.
    let errno =
        unsafe { time64::clock_nanosleep(clock.number, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut()) };
    if errno == 0 { Ok(()) } else { Err(SleepEnded { errno }) }
}

/// Moves the realtime clock, and with it TAI's, by exactly `step_ns` (`clock_adjtime(2)` with `ADJ_SETOFFSET`: the kernel
/// adds, so no time is lost between reading and setting).
///
/// # Errors
/// `EPERM` without `CAP_SYS_TIME`; `EINVAL` where the clock would lie before 1970 or beyond what it holds.
#[allow(clippy::useless_conversion, reason = "not useless on 32-bit machines")]
pub fn step_realtime(step_ns: i64) -> io::Result<()> {
    // SAFETY: timex consists of integers alone, for all of which 0 is a value.
    let mut change: libc::timex = unsafe { std::mem::zeroed() };
    change.modes = libc::ADJ_SETOFFSET | libc::ADJ_NANO;
    let (seconds, within_ns) = (step_ns.div_euclid(NS_PER_S), step_ns.rem_euclid(NS_PER_S));
    // With ADJ_NANO the field of microseconds holds nanoseconds, never below zero.
    change.time.tv_sec = seconds.try_into().map_err(io::Error::other)?;
    change.time.tv_usec = within_ns.try_into().map_err(io::Error::other)?;
    // SAFETY: `change` is a valid, writable timex for the length of the call.
    let state = unsafe { libc::clock_adjtime(libc::CLOCK_REALTIME, &raw mut change) };
    if state < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_read_the_same_clock() {
        for clock in ClockId::ALL {
            let clock = KernelClock::from(clock);
            let (before, between, after) = (now_ns(clock), now_by_syscall_ns(clock), now_ns(clock));
            assert!(before <= between && between <= after, "{clock:?}: {before} {between} {after}");
            assert!(resolution_ns(clock).unwrap() > 0);
        }
    }

    #[test]
    fn a_step_to_before_1970_is_refused_with_and_without_the_right_to_it() {
        let realtime = KernelClock::from(ClockId::Realtime);
        let before = now_ns(realtime);
        assert!(step_realtime(i64::MIN).is_err());
        assert!(now_ns(realtime) >= before);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_time_stamp_counter_advances() {
        let before = time_stamp_counter().unwrap();
        assert_eq!(sleep_until(KernelClock::from(ClockId::Monotonic), &Schedule::at_ns(0)), Ok(()));
        assert!(time_stamp_counter().unwrap() > before);
    }

    #[test]
    fn a_sleep_never_ends_before_its_time() {
        let clock = KernelClock::from(ClockId::Monotonic);
        let at = now_ns(clock) + 300_000;
        assert_eq!(sleep_until(clock, &Schedule::at_ns(at)), Ok(()));
        assert!(now_ns(clock) >= at);
    }

    #[test]
    fn a_sleep_until_2040_is_no_sleep_until_a_moment_that_is_past() {
        // 32 bits of seconds end in 2038, and begin again in 1901.
        let at = Schedule::at_ns(2_208_988_800 * NS_PER_S);
        for clock in [ClockId::Monotonic, ClockId::Realtime, ClockId::Tai] {
            let (over, is_over) = std::sync::mpsc::channel();
            // It ends with the process of the test.
            std::thread::spawn(move || over.send(sleep_until(KernelClock::from(clock), &at)));
            let heard = is_over.recv_timeout(std::time::Duration::from_millis(100));
            assert_eq!(heard, Err(std::sync::mpsc::RecvTimeoutError::Timeout), "{clock:?}");
        }
    }

    #[test]
    fn advancing_equals_adding() {
        for (start, step) in
            [(0, 200_000), (999_999_999, 1), (-1, 1_500_000_000), (7, 10_000_000_000), (i64::MAX / 2, 999_999_999)]
        {
            let mut schedule = Schedule::at_ns(start);
            for turn in 1..=3 {
                let second = schedule.0.tv_sec;
                assert_eq!(schedule.advance(step), schedule.0.tv_sec != second);
                assert_eq!(schedule, Schedule::at_ns(start + turn * step));
            }
        }
        assert_eq!((Schedule::at_ns(-1).0.tv_sec, Schedule::at_ns(-1).0.tv_nsec), (-1, 999_999_999));
    }
}
