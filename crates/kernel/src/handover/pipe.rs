//! By a pipe: one byte.

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use super::{CallFailed, Found, HandOver, HandOverError};

/// A pipe (`pipe(2)`). Its writing end does not block; one byte is on the way at most.
#[derive(Debug)]
pub struct Pipe {
    reading: OwnedFd,
    writing: OwnedFd,
}

impl HandOver for Pipe {
    fn open() -> Result<Self, HandOverError> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for two descriptors.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(HandOverError::last("a pipe"));
        }
        // SAFETY: both are new, and nobody else owns them.
        let [reading, writing] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        // SAFETY: takes no pointers.
        if unsafe { libc::fcntl(writing.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
            return Err(HandOverError::last("a pipe whose writing end does not block"));
        }
        Ok(Self { reading, writing })
    }

    #[inline(always)]
    fn wake(&self) -> Result<Found, CallFailed> {
        let byte = 1_u8;
        // SAFETY: the buffer is valid for its length.
        let written = unsafe { libc::write(self.writing.as_raw_fd(), (&raw const byte).cast(), 1) };
        if written < 0 { Err(CallFailed::last()) } else { Ok(Found::Unknown) }
    }

    #[inline(always)]
    fn wait(&self) -> Result<u32, CallFailed> {
        let mut byte = 0_u8;
        // SAFETY: the buffer is valid and writable for its length.
        let read = unsafe { libc::read(self.reading.as_raw_fd(), (&raw mut byte).cast(), 1) };
        if read < 0 { Err(CallFailed::last()) } else { Ok(0) }
    }
}
