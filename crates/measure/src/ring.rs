//! The hand-over from a measuring thread to the drain thread: one writer, one reader, no lock, no allocation.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// What a measuring thread writes down of one turn: raw readings, subtracted later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The first point (ns): for `wakeup` the schedule, for `noise` the reading before the gap.
    pub(crate) first_ns: i64,
    /// The second point (ns): for `wakeup` the wake-up, for `noise` the reading after the gap.
    pub(crate) second_ns: i64,
}

/// Two cells of one slot; relaxed stores of aligned words cost what plain stores do.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    first_ns: AtomicI64,
    second_ns: AtomicI64,
}

impl Slot {
    /// What is written in it, to one that was handed it by [`Ring::drain`].
    #[inline(always)]
    pub(crate) fn pair(&self) -> Pair {
        Pair { first_ns: self.first_ns.load(Ordering::Relaxed), second_ns: self.second_ns.load(Ordering::Relaxed) }
    }
}

/// Keeps what the writer and the reader write on cache lines of their own (two lines, since x86 fetches pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
struct Own<T>(T);

/// A ring of pairs. Its memory is touched when it is made.
#[derive(Debug)]
pub(crate) struct Ring {
    slots: Box<[Slot]>,
    written: Own<AtomicUsize>,
    read: Own<AtomicUsize>,
    dropped: Own<AtomicU64>,
}

impl Ring {
    /// A ring of at least `slots` places, rounded up to a power of two.
    #[must_use]
    pub(crate) fn new(slots: usize) -> Self {
        let slots = slots.max(2).next_power_of_two();
        Self {
            // Written one by one: a page that only the allocator promised would fault in the loop.
            slots: (0..slots)
                .map(|_| Slot { first_ns: AtomicI64::new(i64::MIN), second_ns: AtomicI64::new(i64::MIN) })
                .collect(),
            written: Own::default(),
            read: Own::default(),
            dropped: Own::default(),
        }
    }

    /// Places in the ring.
    #[must_use]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The writing end; one thread alone may hold it.
    pub(crate) fn writer(&self) -> RingWriter<'_> {
        RingWriter { ring: self, free: [].iter() }
    }

    /// Hands all waiting slots to `take`, oldest first, and returns how many there were; one thread alone may read.
    ///
    /// They come in at most two pieces, up to the ring's end and on from its start: nothing to check in between.
    #[inline(always)]
    pub(crate) fn drain(&self, mut take: impl FnMut(&[Slot])) -> usize {
        let from = self.read.0.load(Ordering::Relaxed);
        let to = self.written.0.load(Ordering::Acquire);
        let waiting = to.wrapping_sub(from);
        let (wrapped, first) = self.slots.split_at(from & (self.slots.len() - 1));
        let first = &first[..waiting.min(first.len())];
        let wrapped = &wrapped[..waiting - first.len()];
        for piece in [first, wrapped] {
            take(piece);
        }
        self.read.0.store(to, Ordering::Release);
        waiting
    }

    /// The free slots from the one that is written next, up to the ring's end; if there is none, a dropped pair is counted.
    #[cold]
    #[inline(never)]
    fn room(&self) -> std::slice::Iter<'_, Slot> {
        let written = self.written.0.load(Ordering::Relaxed);
        let waiting = written.wrapping_sub(self.read.0.load(Ordering::Acquire));
        let to_end = &self.slots[written & (self.slots.len() - 1)..];
        let free = &to_end[..to_end.len().min(self.slots.len() - waiting)];
        if free.is_empty() {
            self.dropped.0.fetch_add(1, Ordering::Relaxed);
        }
        free.iter()
    }

    /// Pairs that found no place.
    #[must_use]
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.0.load(Ordering::Relaxed)
    }
}

/// The writing end of a [`Ring`].
#[derive(Debug)]
pub(crate) struct RingWriter<'a> {
    ring: &'a Ring,
    /// The slots that are known to be free, up to the ring's end at most; only when they are used up the reader is looked at.
    free: std::slice::Iter<'a, Slot>,
}

impl RingWriter<'_> {
    /// Writes one pair down; where the reader is a whole ring behind, the pair is counted as dropped.
    #[inline(always)]
    pub(crate) fn push(&mut self, pair: Pair) {
        let Some(slot) = self.free.next().or_else(|| {
            // By values: a writer whose place in memory is known to nobody can be in registers.
            self.free = self.ring.room();
            self.free.next()
        }) else {
            return;
        };
        slot.first_ns.store(pair.first_ns, Ordering::Relaxed);
        slot.second_ns.store(pair.second_ns, Ordering::Relaxed);
        // Nobody else writes it: one instruction on memory, where a number of the writer's own would take a register.
        let written = &self.ring.written.0;
        written.store(written.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(n: i64) -> Pair {
        Pair { first_ns: n, second_ns: n + 1 }
    }

    #[test]
    fn keeps_order_and_counts_what_it_drops() {
        let ring = Ring::new(4);
        let mut writer = ring.writer();
        (0..6).for_each(|n| writer.push(pair(n)));
        let mut seen = Vec::new();
        assert_eq!(ring.drain(|slots| seen.extend(slots.iter().map(Slot::pair))), 4);
        assert_eq!((&seen, ring.dropped()), (&(0..4).map(pair).collect(), 2));
        writer.push(pair(9));
        seen.clear();
        assert_eq!(ring.drain(|slots| seen.extend(slots.iter().map(Slot::pair))), 1);
        assert_eq!(seen, [pair(9)]);
    }

    #[test]
    fn nothing_is_lost_or_torn_between_two_threads() {
        const PAIRS: i64 = 200_000;
        let ring = Ring::new(256);
        let mut next = 0;
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let mut writer = ring.writer();
                for n in 0..PAIRS {
                    while ring.written.0.load(Ordering::Relaxed).wrapping_sub(ring.read.0.load(Ordering::Acquire))
                        >= ring.capacity()
                    {
                        std::thread::yield_now();
                    }
                    writer.push(pair(n));
                }
            });
            while next < PAIRS {
                ring.drain(|slots| {
                    for slot in slots {
                        assert_eq!(slot.pair(), pair(next));
                        next += 1;
                    }
                });
            }
            writing.join().unwrap();
        });
        assert_eq!(ring.dropped(), 0);
    }
}
