//! Reading clocks, through the vDSO and through a real system call, and sleeping until a moment.

use std::io;

use units::ClockId;

/// A clock in the kernel's numbering, looked up once so that the loop does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelClock(libc::clockid_t);

impl From<ClockId> for KernelClock {
    fn from(clock: ClockId) -> Self {
        Self(match clock {
            ClockId::Monotonic => libc::CLOCK_MONOTONIC,
            ClockId::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            ClockId::Realtime => libc::CLOCK_REALTIME,
            ClockId::Tai => libc::CLOCK_TAI,
            ClockId::Boottime => libc::CLOCK_BOOTTIME,
        })
    }
}

const NS_PER_S: i64 = 1_000_000_000;

// time_t and long are 32 bits wide on armv7 and 64 elsewhere, where these conversions are none.
#[allow(clippy::useless_conversion, reason = "not useless on 32-bit machines")]
#[inline(always)]
fn to_ns(time: &libc::timespec) -> i64 {
    i64::from(time.tv_sec) * NS_PER_S + i64::from(time.tv_nsec)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::unnecessary_cast,
    reason = "the remainder is below 10^9, and seconds fit time_t as far as the kernel's own clock does"
)]
#[inline(always)]
fn from_ns(ns: i64) -> libc::timespec {
    libc::timespec { tv_sec: ns.div_euclid(NS_PER_S) as libc::time_t, tv_nsec: ns.rem_euclid(NS_PER_S) as libc::c_long }
}

/// Nanoseconds on `clock`, by the C library: through the vDSO wherever the kernel offers one.
///
/// A clock that the kernel does not know reads 0; [`resolution_ns`] tells beforehand.
#[inline(always)]
#[must_use]
pub fn now_ns(clock: KernelClock) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the length of the call.
    unsafe { libc::clock_gettime(clock.0, &raw mut time) };
    to_ns(&time)
}

/// Nanoseconds on `clock`, by a system call even where a vDSO exists.
#[inline(always)]
#[must_use]
pub fn now_by_syscall_ns(clock: KernelClock) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the number is clock_gettime's, whose second argument points to a valid, writable timespec of the
    // C library's layout, which is the kernel's for this system-call number.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock.0, &raw mut time) };
    to_ns(&time)
}

/// What `clock_getres` says of a clock: 1 where high-resolution timers run, a tick's length where they do not.
///
/// # Errors
/// Where this kernel does not know the clock.
pub fn resolution_ns(clock: KernelClock) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the length of the call.
    if unsafe { libc::clock_getres(clock.0, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    u64::try_from(to_ns(&time)).map_err(io::Error::other)
}

/// A sleep ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepEnded {
    /// The kernel's error number: `EINTR` for a signal.
    pub errno: i32,
}

/// Sleeps until `clock` shows `at_ns`; returns at once where it does already.
///
/// # Errors
/// Where a signal handler ran, or the clock cannot be slept on.
#[inline(always)]
pub fn sleep_until(clock: KernelClock, at_ns: i64) -> Result<(), SleepEnded> {
    let time = from_ns(at_ns);
    // SAFETY: `time` is a valid timespec for the length of the call; the remaining time is not asked for.
    let errno = unsafe { libc::clock_nanosleep(clock.0, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut()) };
    if errno == 0 { Ok(()) } else { Err(SleepEnded { errno }) }
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
    fn a_sleep_never_ends_before_its_time() {
        let clock = KernelClock::from(ClockId::Monotonic);
        let at = now_ns(clock) + 300_000;
        assert_eq!(sleep_until(clock, at), Ok(()));
        assert!(now_ns(clock) >= at);
    }

    #[test]
    fn negative_times_keep_their_nanoseconds_positive() {
        assert_eq!((from_ns(-1).tv_sec, from_ns(-1).tv_nsec), (-1, 999_999_999));
    }
}
