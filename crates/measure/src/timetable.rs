//! When schedules lie at random within their intervals: which they are, and which of them a late wake-up swallows.

use std::sync::Arc;

/// Schedules of one thread, one in each interval.
#[derive(Clone, Debug)]
pub(crate) struct Timetable {
    /// Start of the first interval (ns on the measured clock).
    pub(crate) first_ns: i64,
    /// Length of an interval (ns, above 0).
    pub(crate) interval_ns: i64,
    /// From the start of an interval to its schedule (ns, 0 to the interval), over and over; a power of two of them.
    pub(crate) offsets: Arc<[i64]>,
}

impl Timetable {
    /// The schedule of an interval, counted from 0 (ns on the measured clock).
    #[inline(always)]
    pub(crate) fn schedule_ns(&self, turn: i64) -> i64 {
        let place = usize::try_from(turn).unwrap_or(0) & (self.offsets.len() - 1);
        self.first_ns + turn * self.interval_ns + self.offsets[place]
    }

    /// The interval in which a moment lies.
    pub(crate) fn turn_of(&self, at_ns: i64) -> i64 {
        (at_ns - self.first_ns).div_euclid(self.interval_ns)
    }

    /// The first interval whose schedule lies after a moment.
    pub(crate) fn next_after(&self, at_ns: i64) -> i64 {
        let turn = self.turn_of(at_ns).max(0);
        if self.schedule_ns(turn) > at_ns { turn } else { turn + 1 }
    }

    /// Schedules that a wake-up swallowed: those after its own, up to the moment of the wake-up.
    pub(crate) fn missed(&self, scheduled_ns: i64, woke_ns: i64) -> u64 {
        let following = self.turn_of(scheduled_ns) + 1;
        u64::try_from(self.next_after(woke_ns) - following).unwrap_or(0)
    }

    /// The shortest distance between two schedules (ns): half of the interval.
    pub(crate) const fn shortest_ns(&self) -> i64 {
        self.interval_ns / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_is_taken_or_missed() {
        let offsets = analysis::rhythm::offsets(200_000, 9, 1 << 10);
        let table = Timetable { first_ns: 5_000_000, interval_ns: 200_000, offsets: offsets.into() };
        let (mut turn, mut taken, mut missed) = (0_i64, 0_u64, 0_u64);
        for n in 0..3_000_i64 {
            let scheduled_ns = table.schedule_ns(turn);
            assert_eq!(table.turn_of(scheduled_ns), turn);
            let latency_ns = [8_000, 90_000, 99_999, 150_000, 700_000, 2_345_678][usize::try_from(n * 7 % 6).unwrap()];
            let woke_ns = scheduled_ns + latency_ns;
            let swallowed = (turn + 1..).take_while(|turn| table.schedule_ns(*turn) <= woke_ns).count();
            assert_eq!(table.missed(scheduled_ns, woke_ns), u64::try_from(swallowed).unwrap());
            assert!(latency_ns >= table.shortest_ns() || swallowed == 0);
            taken += 1;
            missed += table.missed(scheduled_ns, woke_ns);
            turn = table.next_after(woke_ns);
        }
        assert_eq!(u64::try_from(turn).unwrap(), taken + missed);
    }
}
