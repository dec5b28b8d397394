//! By an eventfd: `write(2)` of a number, blocking `read(2)`.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use super::{CallFailed, Found, HandOver, HandOverError};

/// An eventfd (`eventfd(2)`).
#[derive(Debug)]
pub struct Eventfd(OwnedFd);

/// Bytes of a read or a write.
const BYTES: usize = size_of::<u64>();

impl HandOver for Eventfd {
    fn open() -> Result<Self, HandOverError> {
        // SAFETY: takes no pointers; what it returns is a new descriptor that nobody else owns.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(HandOverError::last("an eventfd"));
        }
        // SAFETY: as above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    #[inline(always)]
    fn wake(&self) -> Result<Found, CallFailed> {
        let one = 1_u64;
        // SAFETY: the buffer is valid for its length. The counter is far from its end, so the write does not block.
        let written = unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), BYTES) };
        if written < 0 { Err(CallFailed::last()) } else { Ok(Found::Unknown) }
    }

    #[inline(always)]
    fn wait(&self) -> Result<u32, CallFailed> {
        let mut count = 0_u64;
        // SAFETY: the buffer is valid and writable for its length.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), BYTES) };
        if read < 0 { Err(CallFailed::last()) } else { Ok(0) }
    }
}
