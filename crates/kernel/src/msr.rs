//! Model-specific registers of x86 processors, through the `msr` driver where it is loaded.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// `MSR_SMI_COUNT` (Intel SDM volume 4, Nehalem and later): system management interrupts since reset.
const SMI_COUNT: u64 = 0x34;

/// System management interrupts of a CPU since reset; its lower 32 bits count.
///
/// # Errors
/// Where the driver is not loaded, the right is missing, or the processor has no such register (all but Intel's).
pub fn smi_count(cpu: u32) -> io::Result<u32> {
    let mut bytes = [0_u8; 8];
    File::open(format!("/dev/cpu/{cpu}/msr"))?.read_exact_at(&mut bytes, SMI_COUNT)?;
    Ok(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
