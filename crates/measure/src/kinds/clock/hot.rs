//! The readings. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for words that
//! would.

use std::hint::black_box;

use kernel::clock::{KernelClock, now_by_syscall_ns, now_ns};

/// Which clocks one sample reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pairing {
    /// One clock twice.
    Alone(KernelClock),
    /// One clock between two readings of another.
    Between { inner: KernelClock, outer: KernelClock },
}

/// How a clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// By the C library: through the vDSO where there is one.
    Library,
    /// By a system call.
    Syscall,
}

impl Path {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Library => "vdso",
            Self::Syscall => "syscall",
        }
    }
}

/// Fills `out` with differences, one sample each (ns).
#[inline(never)]
pub(crate) fn readings(pairing: Pairing, path: Path, out: &mut [i64]) {
    // One loop for each path, so that no choice is made between two readings.
    match path {
        Path::Library => fill(pairing, out, now_ns),
        Path::Syscall => fill(pairing, out, now_by_syscall_ns),
    }
}

#[inline(always)]
fn fill(pairing: Pairing, out: &mut [i64], read: impl Fn(KernelClock) -> i64) {
    match pairing {
        Pairing::Alone(clock) => {
            for slot in out {
                let first = read(clock);
                let second = read(clock);
                *slot = second - first;
            }
        }
        Pairing::Between { inner, outer } => {
            for slot in out {
                let first = read(outer);
                black_box(read(inner));
                let second = read(outer);
                *slot = second - first;
            }
        }
    }
}

/// Time that `count` readings take, nothing between them (ns on the clock itself).
#[inline(never)]
pub(crate) fn timed_block(clock: KernelClock, path: Path, count: u64) -> i64 {
    match path {
        Path::Library => timed(clock, count, now_ns),
        Path::Syscall => timed(clock, count, now_by_syscall_ns),
    }
}

#[inline(always)]
fn timed(clock: KernelClock, count: u64, read: impl Fn(KernelClock) -> i64) -> i64 {
    let first = read(clock);
    let mut last = first;
    for _ in 0..count {
        last = black_box(read(clock));
    }
    last - first
}
