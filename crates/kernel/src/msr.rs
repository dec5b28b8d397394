//! Model-specific registers of x86 processors, through the `msr` driver where it is loaded.
//!
//! Reading a register of another CPU interrupts that CPU once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// `MSR_SMI_COUNT` (Intel SDM volume 4, Nehalem and later): system management interrupts since reset.
const SMI_COUNT: u64 = 0x34;
/// `IA32_TIME_STAMP_COUNTER`: ticks since reset, at the rate of `MPERF`.
const TSC: u64 = 0x10;
/// `IA32_MPERF`: ticks at a constant rate while the CPU is not idle (Intel SDM volume 3, 15.2; AMD APM volume 2, 17.3).
const MPERF: u64 = 0xe7;
/// `IA32_APERF`: cycles while the CPU is not idle.
const APERF: u64 = 0xe8;

fn read(file: &File, register: u64) -> io::Result<[u8; 8]> {
    let mut bytes = [0_u8; 8];
    file.read_exact_at(&mut bytes, register)?;
    Ok(bytes)
}

fn open(cpu: u32) -> io::Result<File> {
    File::open(format!("/dev/cpu/{cpu}/msr"))
}

/// System management interrupts of a CPU since reset; its lower 32 bits count.
///
/// # Errors
/// Where the driver is not loaded, the right is missing, or the processor has no such register (all but Intel's).
pub fn smi_count(cpu: u32) -> io::Result<u32> {
    let bytes = read(&open(cpu)?, SMI_COUNT)?;
    Ok(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// Cycles of a CPU while it was not idle, and time in the same while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Cycles that were executed (APERF).
    pub delivered: u64,
    /// Ticks of a constant rate (MPERF).
    pub reference: u64,
    /// Ticks of that rate since reset, idle or not (TSC).
    pub ticks: u64,
}

/// Cycles of a CPU since reset.
///
/// # Errors
/// Where the driver is not loaded, the right is missing, or the processor or its hypervisor has no such registers.
pub fn cycles(cpu: u32) -> io::Result<Cycles> {
    let file = open(cpu)?;
    let number = |register| read(&file, register).map(u64::from_ne_bytes);
    Ok(Cycles { delivered: number(APERF)?, reference: number(MPERF)?, ticks: number(TSC)? })
}
