//! Programs that the kernel checks and runs at its trace points, and memory that they share with this process.
//!
//! All of it is gone when its files are closed, and so with this process, however that ends. Source: `bpf(2)`,
//! `include/uapi/linux/bpf.h`.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

use flight::instruction::Instruction;
use flight::programs::Program;
use flight::ring;

const MAP_CREATE: libc::c_long = 0;
const PROG_LOAD: libc::c_long = 5;
const RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_IS_MAPPABLE: u32 = 1 << 10;
const PROG_TYPE_TRACING: u32 = 26;
const ATTACH_TO_TRACE_POINT: u32 = 23;
/// What the kernel says of a program that it refuses.
const LOG_BYTES: usize = 64 * 1024;
/// The kernel lets programs call its services for tracing where their license is compatible with its own.
const LICENSE: &std::ffi::CStr = c"Dual MIT/GPL";

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map: u32,
    numa_node: u32,
    name: [u8; 16],
}

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    prog_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    expected_attach_type: u32,
    btf_file: u32,
    func_info_size: u32,
    func_info: u64,
    func_info_count: u32,
    line_info_size: u32,
    line_info: u64,
    line_info_count: u32,
    attach_btf_id: u32,
    attach_to: u32,
    core_relo_count: u32,
}

#[repr(C)]
#[derive(Default)]
struct RawTracepointOpen {
    name: u64,
    program: u32,
    pad: u32,
}

pub(crate) fn bpf<T>(command: libc::c_long, attributes: &mut T) -> io::Result<i32> {
    let size = size_of::<T>();
    // SAFETY: `attributes` is a whole structure of `size` bytes, and what its addresses lead to outlives the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(i32::try_from(result).unwrap_or(-1)) }
}

pub(crate) fn owned(file: i32) -> OwnedFd {
    // SAFETY: the kernel has just handed this descriptor out, and nothing else holds it.
    unsafe { OwnedFd::from_raw_fd(file) }
}

/// The rings of all CPUs, shared with the programs.
#[derive(Debug)]
pub struct FlightMemory {
    map: OwnedFd,
    start: NonNull<u8>,
    length: usize,
    element_bytes: usize,
    cpus: u32,
    slots: usize,
}

// SAFETY: the memory is touched by atomic operations alone, and by copies of what is disarmed.
unsafe impl Send for FlightMemory {}
// SAFETY: as above.
unsafe impl Sync for FlightMemory {}

impl FlightMemory {
    /// Memory for CPUs 0 to `cpus` - 1, each with so many slots (a power of two).
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` (or where the lock-down or a security module forbids it), `ENOSYS` or `EINVAL` where
    /// the kernel is too old (before 5.5), `ENOMEM`.
    pub fn new(cpus: u32, slots: usize) -> io::Result<Self> {
        // Elements are laid out in steps of 8 bytes.
        let element_bytes = ring::ring_bytes(slots).next_multiple_of(8);
        let value_size = u32::try_from(element_bytes).unwrap_or(u32::MAX);
        let map = make_map(MAP_TYPE_ARRAY, value_size, cpus, MAP_IS_MAPPABLE)?;
        let page = rustix::param::page_size();
        let length = (element_bytes * usize::try_from(cpus).unwrap_or(0)).next_multiple_of(page);
        // SAFETY: a new shared mapping of a file that we hold; nothing else is touched.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                rustix::mm::MapFlags::SHARED,
                &map,
                0,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the kernel mapped it at 0"))?;
        Ok(Self { map, start, length, element_bytes, cpus, slots })
    }

    /// What programs name it by.
    #[must_use]
    pub fn file(&self) -> i32 {
        self.map.as_raw_fd()
    }

    fn at(&self, cpu: u32, offset: i16) -> *mut u8 {
        let cpu = usize::try_from(cpu.min(self.cpus - 1)).unwrap_or(0);
        // SAFETY: an element of a CPU below `cpus`, and an offset within its head.
        unsafe { self.start.as_ptr().add(cpu * self.element_bytes + usize::try_from(offset).unwrap_or(0)) }
    }

    /// The switch of a CPU's ring: 1 where its programs write.
    #[must_use]
    pub fn armed(&self, cpu: u32) -> &AtomicU32 {
        // SAFETY: aligned to four bytes, inside the mapping, which lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.at(cpu, ring::ARMED_AT).cast()) }
    }

    /// The number of the CPU's measuring thread, whose wake-ups are recorded in their parts; 0 for none.
    #[must_use]
    pub fn thread(&self, cpu: u32) -> &AtomicU32 {
        // SAFETY: aligned to four bytes, inside the mapping, which lives as long as `self`.
        unsafe { AtomicU32::from_ptr(self.at(cpu, ring::THREAD_AT).cast()) }
    }

    /// How late the measuring thread's timer has to be for its stack to be followed (ns).
    #[must_use]
    pub fn stack_from_ns(&self, cpu: u32) -> &AtomicU64 {
        // SAFETY: aligned to eight bytes, inside the mapping, which lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.at(cpu, ring::STACK_FROM_AT).cast()) }
    }

    /// When the measuring thread of a CPU was last woken: its timer fired, it was made runnable, it was switched to (ns,
    /// CLOCK_MONOTONIC; 0 before the first).
    #[must_use]
    pub fn wake_up(&self, cpu: u32) -> [&AtomicI64; 3] {
        [ring::OWN_TIMER_AT, ring::RUNNABLE_AT, ring::RUNNING_AT].map(|offset| {
            // SAFETY: aligned to eight bytes, inside the mapping, which lives as long as `self`.
            unsafe { AtomicI64::from_ptr(self.at(cpu, offset).cast()) }
        })
    }

    /// A copy of a CPU's ring, which has to be disarmed.
    #[must_use]
    pub fn copy(&self, cpu: u32) -> Option<ring::Copy> {
        fence(Ordering::Acquire);
        let mut bytes = vec![0_u8; self.element_bytes];
        // SAFETY: one whole element inside the mapping; the programs of a disarmed ring write nothing.
        unsafe { std::ptr::copy_nonoverlapping(self.at(cpu, 0), bytes.as_mut_ptr(), self.element_bytes) };
        ring::Copy::new(bytes, self.slots)
    }
}

impl Drop for FlightMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made, and no reference into it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// A program at work, until this is dropped.
#[derive(Debug)]
pub struct Attached {
    _program: OwnedFd,
    _link: OwnedFd,
}

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The kernel does not take it.
    #[error("the kernel refuses the program for {trace_point}: {error}{}", if log.is_empty() { String::new() } else { format!(" ({log})") })]
    Load {
        /// For which trace point.
        trace_point: &'static str,
        /// The kernel's reason.
        error: io::Error,
        /// The last line of what its verifier says.
        log: String,
    },
    /// It is not let onto its trace point.
    #[error("the kernel does not run a program at {trace_point}: {error}")]
    Attach {
        /// For which trace point.
        trace_point: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// Loads a program and attaches it.
///
/// # Errors
/// Where the kernel refuses it: `EPERM` without `CAP_BPF` and `CAP_PERFMON`, `EINVAL` or `EACCES` where its verifier
/// does.
pub fn attach(program: &Program) -> Result<Attached, AttachError> {
    let trace_point = program.trace_point;
    let loaded = load(PROG_TYPE_TRACING, ATTACH_TO_TRACE_POINT, program.type_id, &program.instructions)
        .map_err(|Refused { error, log }| AttachError::Load { trace_point, error, log })?;
    let program_file = u32::try_from(loaded.as_raw_fd()).unwrap_or(u32::MAX);
    let mut attributes = RawTracepointOpen { program: program_file, ..RawTracepointOpen::default() };
    let link = bpf(RAW_TRACEPOINT_OPEN, &mut attributes).map_err(|error| AttachError::Attach { trace_point, error })?;
    Ok(Attached { _program: loaded, _link: owned(link) })
}

/// The kernel does not take a program.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Its reason.
    pub(crate) error: io::Error,
    /// The last line of what its verifier says.
    pub(crate) log: String,
}

/// Makes a map of elements that are named by 32-bit numbers.
pub(crate) fn make_map(map_type: u32, value_size: u32, max_entries: u32, map_flags: u32) -> io::Result<OwnedFd> {
    let mut attributes =
        MapCreate { map_type, key_size: 4, value_size, max_entries, map_flags, ..MapCreate::default() };
    attributes.name[..8].copy_from_slice(b"punctual");
    Ok(owned(bpf(MAP_CREATE, &mut attributes)?))
}

/// Loads a program of a type, for an attachment and, with some of these, a function of the kernel's.
pub(crate) fn load(
    prog_type: u32,
    expected_attach_type: u32,
    attach_btf_id: u32,
    instructions: &[Instruction],
) -> Result<OwnedFd, Refused> {
    let mut attributes = ProgLoad {
        prog_type,
        expected_attach_type,
        attach_btf_id,
        instruction_count: u32::try_from(instructions.len()).unwrap_or(u32::MAX),
        instructions: address(instructions.as_ptr()),
        license: address(LICENSE.as_ptr()),
        ..ProgLoad::default()
    };
    attributes.name[..8].copy_from_slice(b"punctual");
    let error = match bpf(PROG_LOAD, &mut attributes) {
        Ok(loaded) => return Ok(owned(loaded)),
        Err(error) => error,
    };
    // Once more with the verifier's words, which cost time.
    let mut log = vec![0_u8; LOG_BYTES];
    (attributes.log_level, attributes.log) = (1, address(log.as_mut_ptr()));
    attributes.log_size = u32::try_from(LOG_BYTES).unwrap_or(u32::MAX);
    let again = bpf(PROG_LOAD, &mut attributes);
    drop(again.map(owned));
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&log[..end]).into_owned();
    let said = text.lines().rev().find(|line| !line.starts_with("processed ")).unwrap_or("").trim().to_owned();
    Err(Refused { error, log: said })
}

pub(crate) fn address<T>(of: *const T) -> u64 {
    u64::try_from(of.expose_provenance()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// Offsets within `union bpf_attr` (include/uapi/linux/bpf.h), and where it ends for the kernels that began with these members.
    #[test]
    fn attributes_lie_where_the_kernel_reads_them() {
        assert_eq!(
            [offset_of!(MapCreate, map_flags), offset_of!(MapCreate, name), size_of::<MapCreate>()],
            [16, 28, 44]
        );
        assert_eq!([offset_of!(ProgLoad, instructions), offset_of!(ProgLoad, license)], [8, 16]);
        assert_eq!([offset_of!(ProgLoad, log_level), offset_of!(ProgLoad, log)], [24, 32]);
        assert_eq!([offset_of!(ProgLoad, name), offset_of!(ProgLoad, expected_attach_type)], [48, 68]);
        assert_eq!([offset_of!(ProgLoad, func_info), offset_of!(ProgLoad, line_info)], [80, 96]);
        assert_eq!([offset_of!(ProgLoad, attach_btf_id), offset_of!(ProgLoad, core_relo_count)], [108, 116]);
        assert_eq!(size_of::<ProgLoad>(), 120);
        assert_eq!([offset_of!(RawTracepointOpen, program), size_of::<RawTracepointOpen>()], [8, 16]);
    }
}
