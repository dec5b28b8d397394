//! Memory for frames that user space and the kernel share, touched and locked before the first packet.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};

/// The memory, in chunks of one frame each.
#[derive(Debug)]
pub(super) struct Umem {
    start: NonNull<u8>,
    bytes: usize,
    chunk_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Umem {}
// SAFETY: frames are read by whom the kernel handed them to, and chunks are written by whom they belong to.
unsafe impl Sync for Umem {}

impl Umem {
    /// So many chunks, of 2,048 or 4,096 bytes.
    pub(super) fn new(chunks: usize, chunk_bytes: usize) -> io::Result<Self> {
        let bytes = chunks * chunk_bytes;
        // SAFETY: a new private mapping, populated at once; nothing else is touched.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("the kernel mapped it at 0"))?;
        let memory = Self { start, bytes, chunk_bytes };
        // SAFETY: the whole of the mapping that was just made. Where it is refused the kernel still keeps the pages, since
        // it pins them for the socket.
        let _ = unsafe { mlock(memory.start.as_ptr().cast(), bytes) };
        Ok(memory)
    }

    pub(super) fn address(&self) -> u64 {
        u64::try_from(self.start.as_ptr().expose_provenance()).unwrap_or(0)
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// The place of a chunk that a descriptor's address lies in.
    #[inline]
    pub(super) const fn chunk_of(&self, address: u64) -> u64 {
        address & !(self.chunk_bytes as u64 - 1)
    }

    /// A frame that the kernel handed to us; nothing of it where the descriptor makes no sense.
    #[inline]
    pub(super) fn frame(&self, address: u64, bytes: u32) -> &[u8] {
        let (Ok(start), Ok(length)) = (usize::try_from(address), usize::try_from(bytes)) else { return &[] };
        match start.checked_add(length) {
            // SAFETY: within the mapping, which was populated with zeros; the kernel writes to a chunk only between the
            // moment that it gets it and the moment that it hands it over.
            Some(end) if end <= self.bytes => unsafe {
                std::slice::from_raw_parts(self.start.as_ptr().add(start), length)
            },
            _ => &[],
        }
    }

    /// The whole chunk at a place, for a frame that is to be sent.
    ///
    /// # Safety
    /// The chunk is the caller's alone: it was not given to the kernel for received frames, the kernel has completed it if
    /// it was sent before, and no other reference into it exists.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "chunks are handed out one by one, to whom they belong")]
    pub(super) unsafe fn chunk_mut(&self, place: u64) -> &mut [u8] {
        let start = usize::try_from(place).unwrap_or(usize::MAX);
        if start > self.bytes - self.chunk_bytes {
            return &mut [];
        }
        // SAFETY: within the mapping; that nobody else refers to it is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(start), self.chunk_bytes) }
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made, and no reference into it outlives `self`. The kernel holds pages that it still
        // uses by itself.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_lie_within_and_nothing_lies_beyond() {
        let memory = Umem::new(4, 2_048).unwrap();
        // SAFETY: each of these references is gone before the next one is made.
        let chunk = |place| unsafe { memory.chunk_mut(place) };
        chunk(2_048)[256..259].copy_from_slice(&[1, 2, 3]);
        assert_eq!(memory.frame(2_048 + 256, 3), [1, 2, 3]);
        assert_eq!(memory.chunk_of(2_048 + 256), 2_048);
        assert_eq!((memory.frame(8_190, 2).len(), memory.frame(8_190, 3).len()), (2, 0));
        assert_eq!((memory.frame(u64::MAX, 1).len(), memory.frame(8_192, 0).len()), (0, 0));
        assert_eq!((chunk(6_144).len(), chunk(8_192).len()), (2_048, 0));
        assert!(chunk(u64::MAX).is_empty());
    }
}
