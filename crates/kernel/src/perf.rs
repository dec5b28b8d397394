//! Counters of one CPU, or of one thread at one instruction, through `perf_event_open(2)`: opened once, read when asked.
//!
//! A counter that is only read costs the CPU nothing in between; each reading interrupts it once.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::FromRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Processor-specific events by their own numbers (PERF_TYPE_RAW, include/uapi/linux/perf_event.h).
pub const TYPE_RAW: u32 = 4;
/// `pinned` among the flags of `struct perf_event_attr`: without it the kernel lets counters take turns where others want
/// some too, and this one would miss what comes meanwhile. Where there is no room it then fails to be read.
const PINNED: u64 = 1 << 2;
/// `PERF_FLAG_FD_CLOEXEC`, include/uapi/linux/perf_event.h.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// `struct perf_event_attr` in its second published size (PERF_ATTR_SIZE_VER1).
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
    /// `config1`: for a uprobe the address of its file's path.
    config1: u64,
    /// `config2`: for a uprobe the offset of its instruction in that file.
    config2: u64,
}

const ATTRIBUTES_SIZE: u32 = 72;

/// Opens an event of one thread (`tid`, or -1 for any) on one CPU (or -1 for any).
fn open(attributes: &Attributes, tid: libc::pid_t, cpu: libc::c_int) -> io::Result<File> {
    let attributes = std::ptr::from_ref(attributes);
    // SAFETY: `attributes` is valid for the size that it states, and the call only reads it.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes, tid, cpu, -1, CLOSE_ON_EXEC) };
    let fd = libc::c_int::try_from(fd).map_err(|_| io::Error::from(io::ErrorKind::Other))?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor for us and nobody else has it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

fn read_count(mut file: &File) -> io::Result<u64> {
    let mut bytes = [0_u8; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

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
        Ok(Self(open(&attributes, -1, cpu)?))
    }

    /// What was counted since it was opened.
    ///
    /// # Errors
    /// Where the CPU is offline, or had no counter left for it.
    pub fn read(&self) -> io::Result<u64> {
        read_count(&self.0)
    }
}

/// Counts how often one thread executes one instruction of a file, by a uprobe (Documentation/trace/uprobetracer.rst).
///
/// The kernel puts a breakpoint into the memory of the thread's process alone: all threads of that process take the trap,
/// one is counted, and no other process is touched. The breakpoint is gone with the last counter of it, however this
/// process ends.
#[derive(Debug)]
pub struct UprobeCounter(File);

impl UprobeCounter {
    /// Counts from now on what the thread `tid` does at `offset` of the file at `path`. Takes some ten milliseconds, in
    /// which the kernel waits for all CPUs.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` without CAP_PERFMON (before Linux 5.8 CAP_SYS_ADMIN), `NotFound` where the kernel has no uprobes
    /// for perf (Linux 4.17 and CONFIG_UPROBE_EVENTS) or no such file, `ESRCH` where the thread has ended, others where no
    /// breakpoint can stand there.
    pub fn open(path: &Path, offset: u64, tid: u32) -> io::Result<Self> {
        let kind = fs::read_to_string("/sys/bus/event_source/devices/uprobe/type")?;
        let kind = kind.trim().parse().map_err(io::Error::other)?;
        let path = CString::new(path.as_os_str().as_bytes())?;
        let address = u64::try_from(path.as_ptr().addr()).map_err(io::Error::other)?;
        let attributes =
            Attributes { kind, size: ATTRIBUTES_SIZE, config1: address, config2: offset, ..Attributes::default() };
        let tid = libc::pid_t::try_from(tid).map_err(io::Error::other)?;
        // `path` lives until the kernel has read it.
        Ok(Self(open(&attributes, tid, -1)?))
    }

    /// How often it was executed since the counter was opened.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn read(&self) -> io::Result<u64> {
        read_count(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_kernel_s_size() {
        assert_eq!(size_of::<Attributes>(), 72);
    }

    #[test]
    fn an_event_that_does_not_exist_is_an_error() {
        assert!(CpuCounter::open(u32::MAX - 1, 0, 0).is_err());
        assert!(CpuCounter::open(TYPE_RAW, 0, u32::MAX).is_err());
    }
}
