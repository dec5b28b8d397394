//! The clock that a node acts by: how far its own CLOCK_REALTIME is ahead of the server's, as the controller last knew.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};

/// How many times a reading is tried again that the controller has written over.
const TRIES: u32 = 8;

/// How far the node's clock is ahead of the server's, at a moment and by a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// Node's CLOCK_REALTIME less the server's (ns).
    pub(crate) ns: i64,
    /// When that was so (ns, CLOCK_REALTIME of the node).
    pub(crate) at_ns: i64,
    /// How fast it grows (parts per billion).
    pub(crate) ppb: i64,
}

impl Ahead {
    /// A time of the server's on the node's clock.
    #[inline(always)]
    pub(crate) const fn on_own(&self, server_ns: i64) -> i64 {
        let near_ns = server_ns.wrapping_add(self.ns);
        if self.ppb == 0 {
            return near_ns;
        }
        let passed_us = near_ns.wrapping_sub(self.at_ns) / 1_000;
        // Within the longest lead, 10 s, of a rate below 1 % this is far from the bounds.
        near_ns.wrapping_add(passed_us.wrapping_mul(self.ppb) / 1_000_000)
    }
}

/// Handed from the controller to the acting thread; one writes, one reads, and nobody waits.
#[derive(Debug, Default)]
pub(crate) struct ActingClock {
    /// Odd while it is written.
    version: AtomicU64,
    ns: AtomicI64,
    at_ns: AtomicI64,
    ppb: AtomicI64,
}

impl ActingClock {
    /// Sets it. Only one thread may.
    pub(crate) fn set(&self, ahead: Ahead) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.ns.store(ahead.ns, Ordering::Relaxed);
        self.at_ns.store(ahead.at_ns, Ordering::Relaxed);
        self.ppb.store(ahead.ppb, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// Which setting it has; another number where it was set since.
    #[inline(always)]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// What it was set to last; `None` where it was never set, or is being set right now: whoever sets it may have been interrupted by
    /// who reads.
    #[inline(always)]
    pub(crate) fn read(&self) -> Option<Ahead> {
        for _ in 0..TRIES {
            let before = self.version.load(Ordering::Acquire);
            if before == 0 {
                return None;
            }
            let ahead = Ahead {
                ns: self.ns.load(Ordering::Relaxed),
                at_ns: self.at_ns.load(Ordering::Relaxed),
                ppb: self.ppb.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            if before % 2 == 0 && self.version.load(Ordering::Relaxed) == before {
                return Some(ahead);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_server_is_put_on_the_own_clock() {
        assert_eq!(Ahead::default().on_own(1_700_000_000_000_000_000), 1_700_000_000_000_000_000);
        let ahead = Ahead { ns: -3_000, at_ns: 10_000_000_000, ppb: 50_000 };
        // 2 s after the moment it is 100 us more.
        assert_eq!(ahead.on_own(12_000_003_000), 12_000_100_000);
        assert_eq!(ahead.on_own(10_000_003_000), 10_000_000_000);
    }

    #[test]
    fn what_is_read_was_set_as_one() {
        let clock = ActingClock::default();
        assert_eq!(clock.read(), None);
        // Whoever sets it for the first time is interrupted.
        clock.version.store(1, Ordering::Relaxed);
        assert_eq!(clock.read(), None);
        clock.version.store(0, Ordering::Relaxed);
        let is_whole = |ahead: Ahead| ahead.at_ns == ahead.ns * 3 && ahead.ppb == ahead.ns * 5;
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut known = Ahead::default();
                while known.ns < 100_000 {
                    let Some(read) = clock.read() else { continue };
                    assert!(is_whole(read) && read.ns >= known.ns, "{read:?}");
                    known = read;
                }
            });
            (1..=100_000).for_each(|ns| clock.set(Ahead { ns, at_ns: ns * 3, ppb: ns * 5 }));
            assert!(reader.join().is_ok());
        });
    }
}
