//! The clocks of this node at a moment: what a record states, and what a bound ages by.

use ::sync::bound::ClockReading;
use kernel::clock::{KernelClock, now_ns};
use record::Moment;
use units::{ClockId, Ns, Timestamp};

/// Readings of which the narrowest is taken.
const READINGS: usize = 5;

/// All clocks of the system at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// The moment, for the record.
    pub(crate) moment: Moment,
    /// The system clock against the one that nobody corrects.
    pub(crate) realtime: ClockReading,
}

/// Reads them: the system clock between two readings of the uncorrected one, as narrow as a few tries give.
pub(crate) fn now() -> Now {
    let [raw, realtime, monotonic] =
        [ClockId::MonotonicRaw, ClockId::Realtime, ClockId::Monotonic].map(KernelClock::from);
    let mut best = (i64::MAX, 0, 0, 0);
    for _ in 0..READINGS {
        let before = now_ns(raw);
        let (read, monotonic_ns) = (now_ns(realtime), now_ns(monotonic));
        let width = now_ns(raw) - before;
        if width < best.0 {
            best = (width, before, read, monotonic_ns);
        }
    }
    let (width, before, clock_ns, monotonic_ns) = best;
    Now {
        moment: Moment { monotonic: Timestamp::from_ns(monotonic_ns), realtime: Timestamp::from_ns(clock_ns) },
        realtime: ClockReading { raw_ns: before + width / 2, clock_ns, error_ns: width },
    }
}

/// A comparison of another clock that took longer than this did not happen at about the same moment (ns).
const MOST_GAP_NS: i64 = 10_000_000;

impl Now {
    /// The moment a little later at which the system clock showed `realtime_ns`; the same moment where it was set in between.
    pub(crate) fn when(self, realtime_ns: i64) -> Self {
        let gap_ns = realtime_ns.saturating_sub(self.realtime.clock_ns);
        if !(0..=MOST_GAP_NS).contains(&gap_ns) {
            return self;
        }
        let realtime = ClockReading {
            raw_ns: self.realtime.raw_ns + gap_ns,
            clock_ns: self.realtime.clock_ns + gap_ns,
            // Both clocks' rates differ by at most 1000 parts per million (adjtime(3)).
            error_ns: self.realtime.error_ns + gap_ns / 1_000 + 1,
        };
        Self { moment: self.moment.plus(Ns(gap_ns)), realtime }
    }

    /// Another clock that was compared with the system clock at about this moment: `ahead_ns` is that clock less the system
    /// clock, and `error_ns` how wrong that can be.
    pub(crate) const fn other(&self, ahead_ns: i64, error_ns: i64) -> ClockReading {
        ClockReading {
            raw_ns: self.realtime.raw_ns,
            clock_ns: self.realtime.clock_ns + ahead_ns,
            error_ns: self.realtime.error_ns + error_ns,
        }
    }
}
