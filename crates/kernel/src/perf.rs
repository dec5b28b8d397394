//! Counters of one CPU through `perf_event_open(2)`: opened once, read when asked.
//!
//! A counter that is only read costs the CPU nothing in between; each reading interrupts it once.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::FromRawFd as _;

/// Processor-specific events by their own numbers (PERF_TYPE_RAW, include/uapi/linux/perf_event.h).
pub const TYPE_RAW: u32 = 4;
/// `pinned` among the flags of `struct perf_event_attr`: without it the kernel lets counters take turns where others want
/// some too, and this one would miss what comes meanwhile. Where there is no room it then fails to be read.
const PINNED: u64 = 1 << 2;
/// `PERF_FLAG_FD_CLOEXEC`, include/uapi/linux/perf_event.h.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// `struct perf_event_attr` in its first published size (PERF_ATTR_SIZE_VER0).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const ATTRIBUTES_SIZE: u32 = 64;

/// A counter of one CPU, whatever runs there; it counts until it is dropped.
#[derive(Debug)]
pub struct CpuCounter(File);

impl CpuCounter {
    /// Opens the event `config` of the source `kind` (a number from `/sys/bus/event_source/devices/*/type`) on `cpu`.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` without the right (CAP_PERFMON, or `kernel.perf_event_paranoid` below 1), `ENOENT`,
    /// `EOPNOTSUPP` or `EINVAL` where the processor has no such event, `ENOSYS` without CONFIG_PERF_EVENTS.
    pub fn open(kind: u32, config: u64, cpu: u32) -> io::Result<Self> {
        let attributes = Attributes { kind, size: ATTRIBUTES_SIZE, config, flags: PINNED, ..Attributes::default() };
        let cpu = libc::c_int::try_from(cpu).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        // SAFETY: `attributes` is valid for the size that it states, and the call only reads it.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, -1, cpu, -1, CLOSE_ON_EXEC) };
        let fd = libc::c_int::try_from(fd).map_err(|_| io::Error::from(io::ErrorKind::Other))?;
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor for us and nobody else has it.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    /// What was counted since it was opened.
    ///
    /// # Errors
    /// Where the CPU is offline, or had no counter left for it.
    pub fn read(&self) -> io::Result<u64> {
        let mut bytes = [0_u8; 8];
        (&self.0).read_exact(&mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_kernel_s_size() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn an_event_that_does_not_exist_is_an_error() {
        assert!(CpuCounter::open(u32::MAX - 1, 0, 0).is_err());
        assert!(CpuCounter::open(TYPE_RAW, 0, u32::MAX).is_err());
    }
}
