//! The clocks of this node at a moment: what a record states, and what a bound ages by.

use ::sync::bound::ClockReading;
use kernel::clock::{KernelClock, now_ns};
use record::Moment;
use units::{ClockId, Timestamp};

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

impl Now {
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
