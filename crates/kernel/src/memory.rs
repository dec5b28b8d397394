//! Keeping memory resident.

use std::io;

use rustix::mm::MlockAllFlags;

/// Locks all present and future pages as they are touched (`MCL_ONFAULT`): the loop touches its own beforehand,
/// and the rest of the binary is not dragged in.
///
/// # Errors
/// Where the limit on locked memory (`ulimit -l`) is too small and the capability `CAP_IPC_LOCK` is missing.
pub fn lock_on_fault() -> io::Result<()> {
    Ok(rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT)?)
}

/// Lets go of what [`lock_on_fault`] locked: memory that is taken afterwards counts against no limit.
pub fn unlock() {
    // It can only fail where nothing was locked.
    let _ = rustix::mm::munlockall();
}

/// Bytes of stack that [`touch_stack`] makes resident: far more than the loops and the C library need.
pub const TOUCHED_STACK_BYTES: usize = 64 * 1024;

/// Makes the next pages of the calling thread's stack resident.
#[inline(never)]
pub fn touch_stack() {
    let mut pages = [0_u8; TOUCHED_STACK_BYTES];
    for byte in pages.iter_mut().step_by(1024) {
        *byte = 1;
    }
    std::hint::black_box(&mut pages);
}
