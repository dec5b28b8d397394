//! A few words of memory that two processes share.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicI64;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// How many words there are.
pub const WORDS: usize = 8;
/// The length of the mapping: a page of every architecture that this program runs on is at least so long (bytes).
const BYTES: usize = 4_096;

/// Words that another process that has the same file sees as they are.
#[derive(Debug)]
pub struct SharedWords {
    address: NonNull<[AtomicI64; WORDS]>,
}

// SAFETY: the memory is mapped as long as this lives, and consists of atomics alone.
unsafe impl Send for SharedWords {}
// SAFETY: as above; atomics are made to be used from several threads.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Makes words that are all 0, and the file by which another process maps them (`memfd_create(2)`).
    ///
    /// # Errors
    /// Where the kernel has no memory.
    pub fn make() -> io::Result<(Self, OwnedFd)> {
        let file = rustix::fs::memfd_create("punctual-words", rustix::fs::MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, BYTES as u64)?;
        Ok((Self::map(&file)?, file))
    }

    /// Maps the words of a file that [`Self::make`] made.
    ///
    /// # Errors
    /// Where the file is shorter, or cannot be mapped.
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        if u64::try_from(rustix::fs::fstat(&file)?.st_size).is_ok_and(|bytes| bytes < BYTES as u64) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // SAFETY: a new mapping, at an address that the kernel chooses, of a file that is as long.
        let address = unsafe {
            mmap(
                std::ptr::null_mut(),
                BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                file,
                0,
            )?
        };
        NonNull::new(address.cast()).map(|address| Self { address }).ok_or_else(|| io::Error::other("no address"))
    }

    /// The words.
    #[must_use]
    pub fn words(&self) -> &[AtomicI64; WORDS] {
        // SAFETY: it is mapped as long as this lives, aligned to a page, and every bit pattern is a word.
        unsafe { self.address.as_ref() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has a reference that outlives this.
        let _ = unsafe { munmap(self.address.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn both_ends_see_the_same_words() {
        let (ours, file) = SharedWords::make().unwrap();
        let theirs = SharedWords::map(&file).unwrap();
        ours.words()[3].store(-7, Ordering::Release);
        assert_eq!(theirs.words()[3].load(Ordering::Acquire), -7);
        theirs.words()[WORDS - 1].store(9, Ordering::Release);
        assert_eq!(ours.words()[WORDS - 1].load(Ordering::Acquire), 9);
        let short = rustix::fs::memfd_create("short", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert!(SharedWords::map(&short).is_err());
    }
}
