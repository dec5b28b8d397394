//! The C library's clock functions with 64-bit seconds on every machine.
//!
//! On 32-bit machines their plain names fill in 32-bit seconds, which end in January 2038; the crate `libc` knows only
//! these. The functions with wide seconds stand beside them since the GNU C library 2.34 (`_TIME_BITS=64` in C), and know
//! the way around a kernel before 5.1, which lacks the system calls for them.

#[cfg(target_pointer_width = "64")]
pub(crate) use libc::{clock_getres, clock_gettime, clock_nanosleep, timespec};

#[cfg(target_pointer_width = "32")]
pub(crate) use wide::{clock_getres, clock_gettime, clock_gettime_by_syscall, clock_nanosleep, timespec};

/// Nanoseconds of a time.
#[allow(clippy::useless_conversion, reason = "not useless on 32-bit machines")]
#[inline(always)]
pub(crate) fn to_ns(time: &timespec) -> i64 {
    time.tv_sec * NS_PER_S + i64::from(time.tv_nsec)
}

pub(crate) const NS_PER_S: i64 = 1_000_000_000;

/// A time of so many seconds and nanoseconds below one second.
#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "what is below 10^9 fits either width")]
#[inline(always)]
pub(crate) const fn time(seconds: i64, within_ns: i64) -> timespec {
    timespec {
        tv_sec: seconds,
        tv_nsec: within_ns as libc::c_long,
        #[cfg(target_pointer_width = "32")]
        padding: 0,
    }
}

/// What a real system call shows on a clock, without the vDSO; a clock that the kernel does not know reads 0.
#[cfg(target_pointer_width = "64")]
#[inline(always)]
pub(crate) fn clock_gettime_by_syscall(number: libc::clockid_t) -> timespec {
    let mut now = time(0, 0);
    // SAFETY: the number is clock_gettime's, whose second argument points to a valid, writable timespec of the C
    // library's layout, which is the kernel's for this system-call number.
    unsafe { libc::syscall(libc::SYS_clock_gettime, number, &raw mut now) };
    now
}

#[cfg(target_pointer_width = "32")]
mod wide {
    use libc::{c_int, c_long, clockid_t};

    /// `struct timespec` of C where time_t has 64 bits: the nanoseconds lie where a 64-bit number would have them.
    #[allow(non_camel_case_types, reason = "the name in C, as the crate libc has it on other machines")]
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct timespec {
        pub(crate) tv_sec: i64,
        #[cfg(target_endian = "big")]
        pub(crate) padding: c_int,
        pub(crate) tv_nsec: c_long,
        #[cfg(target_endian = "little")]
        pub(crate) padding: c_int,
    }

    unsafe extern "C" {
        #[link_name = "__clock_gettime64"]
        pub(crate) fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
        #[link_name = "__clock_getres64"]
        pub(crate) fn clock_getres(clock: clockid_t, time: *mut timespec) -> c_int;
        #[link_name = "__clock_nanosleep_time64"]
        pub(crate) fn clock_nanosleep(
            clock: clockid_t,
            flags: c_int,
            time: *const timespec,
            rest: *mut timespec,
        ) -> c_int;
    }

    /// `clock_gettime64`, the same on all 32-bit machines (Linux include/uapi/asm-generic/unistd.h).
    const SYS_CLOCK_GETTIME64: c_long = 403;

    /// What a real system call shows on a clock, without the vDSO; a clock that the kernel does not know reads 0.
    #[inline(always)]
    pub(crate) fn clock_gettime_by_syscall(number: clockid_t) -> timespec {
        let mut now = super::time(0, 0);
        // SAFETY: the second argument of this system call points to a valid, writable timespec of the layout that the
        // kernel has for it.
        let status = unsafe { libc::syscall(SYS_CLOCK_GETTIME64, number, &raw mut now) };
        if status == 0 { now } else { clock_gettime_by_old_syscall(number) }
    }

    /// On a kernel before 5.1, whose seconds have 32 bits.
    #[cold]
    #[inline(never)]
    fn clock_gettime_by_old_syscall(number: clockid_t) -> timespec {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the number is clock_gettime's, whose second argument points to a valid, writable timespec of the
        // layout that the kernel has for it.
        unsafe { libc::syscall(libc::SYS_clock_gettime, number, &raw mut now) };
        super::time(i64::from(now.tv_sec), i64::from(now.tv_nsec))
    }
}
