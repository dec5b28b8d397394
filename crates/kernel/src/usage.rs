//! What a thread has used so far (`getrusage(2)`).

use std::io;

/// Counters of the calling thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Context switches that it asked for by sleeping or waiting.
    pub voluntary_switches: u64,
    /// Context switches forced upon it.
    pub involuntary_switches: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults served from a disk.
    pub major_faults: u64,
}

impl ThreadUsage {
    /// Reads the counters of the calling thread.
    ///
    /// # Errors
    /// Only on a kernel older than 2.6.26, which lacks `RUSAGE_THREAD`.
    pub fn now() -> io::Result<Self> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel fills the whole struct, which is valid and writable.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: zeroed is a valid rusage, and the kernel has filled it.
        let usage = unsafe { usage.assume_init() };
        let counter = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
        Ok(Self {
            voluntary_switches: counter(usage.ru_nvcsw),
            involuntary_switches: counter(usage.ru_nivcsw),
            minor_faults: counter(usage.ru_minflt),
            major_faults: counter(usage.ru_majflt),
        })
    }

    /// What was used between `earlier` and `self`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
        }
    }
}

/// CPU time that all threads of this process have used so far, those that have ended too (ns); `None` where it is unknown.
#[must_use]
pub fn process_cpu_ns() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the whole struct, which is valid and writable.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: zeroed is a valid rusage, and the kernel has filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| {
        let (s, us) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_usec).ok()?);
        s.checked_mul(1_000_000_000)?.checked_add(us.checked_mul(1_000)?)
    };
    ns(usage.ru_utime)?.checked_add(ns(usage.ru_stime)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_threads_that_have_ended_counts() {
        let before = process_cpu_ns().unwrap();
        let used = move || process_cpu_ns().unwrap() - before;
        std::thread::spawn(move || while used() < 20_000_000 {}).join().unwrap();
        assert!(process_cpu_ns().unwrap() - before >= 20_000_000);
    }

    #[test]
    fn touching_new_memory_counts_as_faults() {
        let before = ThreadUsage::now().unwrap();
        std::hint::black_box(vec![1_u8; 4 << 20]);
        assert!(ThreadUsage::now().unwrap().since(&before).minor_faults > 0);
    }
}
