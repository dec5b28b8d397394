//! Rings that user space and the kernel share, each with one producer and one consumer.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::abi::{Descriptor, NEED_WAKEUP, OFFSET_WORDS};

/// A ring of which this process is either the producer or the consumer.
#[derive(Debug)]
pub(super) struct Ring<T> {
    map: NonNull<u8>,
    map_bytes: usize,
    /// How many were put in, and how many taken out.
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    /// A power of two.
    size: u32,
    /// Our own side's count, which nobody else changes.
    own: u32,
    /// The other side's count as it was last seen, so that it is not read for each entry.
    other: u32,
}

// SAFETY: the mapping belongs to this value alone, and its counts are read and written by atomic operations.
unsafe impl<T: Entry> Send for Ring<T> {}

/// What stands in a ring: integers alone.
pub(super) trait Entry: Copy {}
impl Entry for u64 {}
impl Entry for Descriptor {}

impl<T: Entry> Ring<T> {
    /// Maps the ring that lies at `place` of the socket's file.
    pub(super) fn map(socket: &OwnedFd, place: u64, offsets: &[u64], size: u32) -> io::Result<Self> {
        let impossible = || io::Error::other("the kernel's description of a ring makes no sense");
        let offset = |word: usize| offsets.get(word).and_then(|&bytes| usize::try_from(bytes).ok());
        let (Some(producer), Some(consumer), Some(entries), Some(flags), OFFSET_WORDS) =
            (offset(0), offset(1), offset(2), offset(3), offsets.len())
        else {
            return Err(impossible());
        };
        let count = usize::try_from(size).map_err(io::Error::other)?;
        let map_bytes = entries.checked_add(count * size_of::<T>()).ok_or_else(impossible)?;
        let is_sound = size.is_power_of_two()
            && [producer, consumer, flags].iter().all(|offset| offset % 4 == 0 && offset + 4 <= map_bytes)
            && entries % align_of::<T>() == 0;
        if !is_sound {
            return Err(impossible());
        }
        // SAFETY: a new shared mapping of a file that we hold, populated at once; nothing else is touched.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                map_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
                socket,
                place,
            )?
        };
        let map = NonNull::new(start.cast::<u8>()).ok_or_else(|| io::Error::other("the kernel mapped it at 0"))?;
        // SAFETY: all four lie within the mapping, and are aligned, as was checked above.
        let (producer, consumer, flags, entries) = unsafe {
            (map.add(producer).cast(), map.add(consumer).cast(), map.add(flags).cast(), map.add(entries).cast())
        };
        Ok(Self { map, map_bytes, producer, consumer, flags, entries, size, own: 0, other: 0 })
    }

    /// Puts one in; false where there is no room. For the producer.
    #[inline]
    pub(super) fn push(&mut self, entry: T) -> bool {
        if self.own.wrapping_sub(self.other) == self.size {
            self.other = load(self.consumer);
            if self.own.wrapping_sub(self.other) == self.size {
                return false;
            }
        }
        // SAFETY: within the ring by the mask; the consumer does not read it before the count says so.
        unsafe { self.entry(self.own).write(entry) };
        self.own = self.own.wrapping_add(1);
        store(self.producer, self.own);
        true
    }

    /// Whether the consumer has not taken all that was put in. For the producer.
    #[inline]
    pub(super) fn has_untaken(&mut self) -> bool {
        self.other = load(self.consumer);
        self.other != self.own
    }

    /// Takes one out, if there is one. For the consumer.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.other == self.own {
            self.other = load(self.producer);
            if self.other == self.own {
                return None;
            }
        }
        // SAFETY: within the ring by the mask; the producer wrote it before the count that was read with acquire.
        let entry = unsafe { self.entry(self.own).read() };
        self.own = self.own.wrapping_add(1);
        store(self.consumer, self.own);
        Some(entry)
    }

    /// Whether there is something to take out. For the consumer.
    #[inline]
    pub(super) fn has_any(&mut self) -> bool {
        if self.other == self.own {
            self.other = load(self.producer);
        }
        self.other != self.own
    }

    /// Whether the kernel waits for a call before it goes on with this ring.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        // SAFETY: aligned and within the mapping, which lives as long as `self`.
        unsafe { self.flags.as_ref() }.load(Ordering::Relaxed) & NEED_WAKEUP != 0
    }

    #[inline]
    fn entry(&self, count: u32) -> *mut T {
        let place = count & (self.size - 1);
        // SAFETY: below `size`, for which the mapping was made. A `u32` fits the pointer's width on all our machines.
        unsafe { self.entries.as_ptr().add(usize::try_from(place).unwrap_or(0)) }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.map.as_ptr().cast(), self.map_bytes) };
    }
}

#[inline]
fn load(count: NonNull<AtomicU32>) -> u32 {
    // SAFETY: aligned and within the mapping, which the caller's ring holds.
    unsafe { count.as_ref() }.load(Ordering::Acquire)
}

#[inline]
fn store(count: NonNull<AtomicU32>, value: u32) {
    // SAFETY: as above.
    unsafe { count.as_ref() }.store(value, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both sides of a ring over one file, as the kernel and user space have them.
    fn both_sides(size: u32) -> (Ring<u64>, Ring<u64>) {
        let file = rustix::fs::memfd_create("ring", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 4096).unwrap();
        let side = || Ring::<u64>::map(&file, 0, &[0, 64, 192, 128], size).unwrap();
        (side(), side())
    }

    #[test]
    fn what_was_put_in_comes_out_in_order_and_no_more_than_fits_goes_in() {
        let (mut producer, mut consumer) = both_sides(4);
        assert!(!consumer.has_any() && consumer.pop().is_none());
        for round in 0..5_u64 {
            for place in 0..4 {
                assert!(producer.push(10 * round + place));
            }
            assert!(!producer.push(99), "it is full");
            assert!(consumer.has_any());
            for place in 0..4 {
                assert_eq!(consumer.pop(), Some(10 * round + place));
            }
            assert_eq!(consumer.pop(), None);
        }
    }

    #[test]
    fn counts_go_on_beyond_32_bits() {
        let (mut producer, mut consumer) = both_sides(2);
        for ring in [&mut producer, &mut consumer] {
            (ring.own, ring.other) = (u32::MAX, u32::MAX);
        }
        store(producer.producer, u32::MAX);
        store(producer.consumer, u32::MAX);
        assert!(producer.push(1) && producer.push(2) && !producer.push(3));
        assert_eq!([consumer.pop(), consumer.pop(), consumer.pop()], [Some(1), Some(2), None]);
        assert!(!producer.has_untaken() && producer.push(4) && producer.has_untaken());
        assert_eq!(consumer.pop(), Some(4));
        assert!(!producer.has_untaken());
    }

    #[test]
    fn two_threads_lose_and_double_nothing() {
        const ENTRIES: u64 = 100_000;
        let (mut producer, mut consumer) = both_sides(64);
        let producing = std::thread::spawn(move || {
            for entry in 0..ENTRIES {
                while !producer.push(entry) {
                    std::thread::yield_now();
                }
            }
        });
        for entry in 0..ENTRIES {
            let taken = loop {
                match consumer.pop() {
                    Some(taken) => break taken,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(taken, entry);
        }
        producing.join().unwrap();
    }

    #[test]
    fn a_description_that_makes_no_sense_is_refused() {
        let file = rustix::fs::memfd_create("ring", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 4096).unwrap();
        let map = |offsets: &[u64], size| Ring::<u64>::map(&file, 0, offsets, size).is_ok();
        assert!(map(&[0, 64, 192, 128], 4));
        assert!(!map(&[0, 64, 192, 128], 3), "no power of two");
        assert!(!map(&[0, 64, 192], 4) && !map(&[1, 64, 192, 128], 4) && !map(&[0, 64, 196, 128], 4));
        assert!(!map(&[0, 4_000, 192, 128], 4) && !map(&[0, 64, u64::MAX, 128], 4));
    }
}
