//! The loop that never sleeps. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for
//! words that would.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use kernel::clock::{KernelClock, now_ns};

use crate::ring::{Pair, RingWriter};

/// All that the loop touches, prepared beforehand.
pub(crate) struct HotLoop<'a> {
    pub(crate) clock: KernelClock,
    /// A turn that took at least this long is a gap (ns).
    pub(crate) threshold_ns: i64,
    /// The loop ends when the clock passes this, whatever else happens.
    pub(crate) end_ns: i64,
    pub(crate) ring: RingWriter<'a>,
    pub(crate) stop: &'a AtomicBool,
    /// Where it leaves what it counted, now and then.
    pub(crate) so_far: &'a SoFar,
}

/// Turns between two moments at which what was counted is left for others: about 2 ms.
const TURNS_UNTOLD: u64 = 1 << 16;

/// What the loop has counted so far, readable by other threads.
#[derive(Debug, Default)]
pub(crate) struct SoFar {
    turns: AtomicU64,
    observed_ns: AtomicI64,
    shortest_turn_ns: AtomicI64,
}

impl SoFar {
    /// The counts as they were last left.
    pub(crate) fn counts(&self) -> HotCounts {
        HotCounts {
            turns: self.turns.load(Ordering::Relaxed),
            observed_ns: self.observed_ns.load(Ordering::Relaxed),
            shortest_turn_ns: self.shortest_turn_ns.load(Ordering::Relaxed),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn leave(&self, counts: HotCounts) {
        self.turns.store(counts.turns, Ordering::Relaxed);
        self.observed_ns.store(counts.observed_ns, Ordering::Relaxed);
        self.shortest_turn_ns.store(counts.shortest_turn_ns, Ordering::Relaxed);
    }
}

/// What the loop counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HotCounts {
    pub(crate) turns: u64,
    pub(crate) observed_ns: i64,
    pub(crate) shortest_turn_ns: i64,
}

impl HotLoop<'_> {
    /// Reads the clock as fast as it can and writes down every gap.
    #[inline(always)]
    pub(crate) fn run(&mut self) -> HotCounts {
        let began_ns = now_ns(self.clock);
        let mut last_ns = began_ns;
        let mut turns = 0;
        let mut shortest_turn_ns = i64::MAX;
        while last_ns < self.end_ns && !self.stop.load(Ordering::Relaxed) {
            let now = now_ns(self.clock);
            let turn_ns = now - last_ns;
            if turn_ns >= self.threshold_ns {
                self.ring.push(Pair { first_ns: last_ns, second_ns: now });
            }
            shortest_turn_ns = shortest_turn_ns.min(turn_ns);
            turns += 1;
            last_ns = now;
            if turns % TURNS_UNTOLD == 0 {
                self.so_far.leave(HotCounts { turns, observed_ns: last_ns - began_ns, shortest_turn_ns });
            }
        }
        HotCounts { turns, observed_ns: last_ns - began_ns, shortest_turn_ns }
    }
}
