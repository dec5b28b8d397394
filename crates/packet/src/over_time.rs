//! What a receiver knew of the packets of a flow over time, in bounded memory: neighboring intervals are joined as a run grows.

use record::{FlowInterval, PacketFlow};

use crate::sequence::Arrivals;

/// Length of an interval at first (ns): a run of a minute has 600 of them.
const FIRST_LENGTH_NS: u64 = 100_000_000;

/// Follows the numbers of one flow, in at most [`PacketFlow::MOST_INTERVALS`] intervals.
#[derive(Clone, Debug)]
pub struct OverTime {
    start_ns: i64,
    length_ns: u64,
    intervals: Vec<FlowInterval>,
    /// Where the last of them ends (ns after the start); 0 before there is one.
    last_end_ns: u64,
    /// What was known when the last packet had been counted.
    seen: Arrivals,
    known_sent: u64,
}

impl OverTime {
    /// Follows a flow from a moment on (ns, `CLOCK_REALTIME` of the receiver).
    #[must_use]
    pub const fn from(start_ns: i64) -> Self {
        let seen = Arrivals { once: 0, reordered: 0, doubled: 0, too_old: 0 };
        Self { start_ns, length_ns: FIRST_LENGTH_NS, intervals: Vec::new(), last_end_ns: 0, seen, known_sent: 0 }
    }

    /// Takes what is counted since the start, after the packet that the program had at `at_ns`.
    pub fn take(&mut self, at_ns: i64, arrivals: Arrivals, known_sent: u64) {
        let offset_ns = self.offset_ns(at_ns);
        let missing = known_sent.saturating_sub(arrivals.once).saturating_sub(arrivals.too_old);
        let (seen, sent_before) = (self.seen, self.known_sent);
        let interval = self.interval_at(offset_ns);
        interval.sent += known_sent.saturating_sub(sent_before);
        interval.arrived += arrivals.once - seen.once;
        interval.missing = missing;
        interval.doubled += arrivals.doubled - seen.doubled;
        interval.reordered += arrivals.reordered - seen.reordered;
        self.seen = arrivals;
        self.known_sent = known_sent;
    }

    /// Whether a moment lies after all that was taken before, and begins an interval.
    #[inline]
    pub(crate) fn is_after(&self, at_ns: i64) -> bool {
        self.offset_ns(at_ns) >= self.last_end_ns
    }

    #[inline]
    fn offset_ns(&self, at_ns: i64) -> u64 {
        at_ns.saturating_sub(self.start_ns).max(0).unsigned_abs()
    }

    /// The interval that contains a moment. A clock that is set back starts none anew: the last one takes what comes.
    #[inline]
    fn interval_at(&mut self, offset_ns: u64) -> &mut FlowInterval {
        if offset_ns >= self.last_end_ns {
            self.begin_at(offset_ns);
        }
        let last = self.intervals.len() - 1;
        &mut self.intervals[last]
    }

    /// Begins the interval that contains a moment after all that there are, or lengthens the last one to contain it.
    #[cold]
    fn begin_at(&mut self, offset_ns: u64) {
        let start_of = |offset_ns: u64, length_ns: u64| offset_ns - offset_ns % length_ns;
        let is_new = |intervals: &[FlowInterval], length_ns: u64| {
            intervals.last().is_none_or(|last| last.start_offset_ns < start_of(offset_ns, length_ns))
        };
        while is_new(&self.intervals, self.length_ns) && self.intervals.len() == PacketFlow::MOST_INTERVALS {
            self.length_ns = self.length_ns.saturating_mul(2);
            self.join();
        }
        if is_new(&self.intervals, self.length_ns) {
            self.intervals.push(FlowInterval {
                start_offset_ns: start_of(offset_ns, self.length_ns),
                length_ns: self.length_ns,
                ..FlowInterval::default()
            });
        }
        self.last_end_ns = start_of(offset_ns, self.length_ns).saturating_add(self.length_ns);
    }

    /// Joins the intervals that lie in the same one of the present length.
    fn join(&mut self) {
        let mut joined: Vec<FlowInterval> = Vec::with_capacity(self.intervals.len());
        for one in &self.intervals {
            let start_offset_ns = one.start_offset_ns - one.start_offset_ns % self.length_ns;
            match joined.last_mut().filter(|last| last.start_offset_ns == start_offset_ns) {
                Some(last) => {
                    last.sent += one.sent;
                    last.arrived += one.arrived;
                    last.missing = one.missing;
                    last.doubled += one.doubled;
                    last.reordered += one.reordered;
                }
                None => joined.push(FlowInterval { start_offset_ns, length_ns: self.length_ns, ..*one }),
            }
        }
        self.intervals = joined;
    }

    /// The intervals in the order of time; those in which nothing came are left out.
    #[must_use]
    pub fn intervals(&self) -> &[FlowInterval] {
        &self.intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(once: u64, reordered: u64, doubled: u64) -> Arrivals {
        Arrivals { once, reordered, doubled, too_old: 0 }
    }

    #[test]
    fn each_number_stands_in_the_interval_in_which_it_changed() {
        let mut over_time = OverTime::from(1_000);
        let at = |ms: i64| 1_000 + ms * 1_000_000;
        over_time.take(at(0), arrivals(1, 0, 0), 1);
        over_time.take(at(99), arrivals(2, 0, 0), 4);
        over_time.take(at(100), arrivals(3, 1, 0), 4);
        over_time.take(at(350), arrivals(3, 1, 1), 4);
        let all: Vec<_> = over_time
            .intervals()
            .iter()
            .map(|one| {
                (one.start_offset_ns / 1_000_000, one.sent, one.arrived, one.missing, one.doubled, one.reordered)
            })
            .collect();
        assert_eq!(all, [(0, 4, 2, 2, 0, 0), (100, 0, 1, 1, 0, 1), (300, 0, 0, 1, 1, 0)]);
    }

    #[test]
    fn a_long_run_has_longer_intervals_and_loses_no_packet() {
        let mut over_time = OverTime::from(0);
        // One packet each 100 ms for an hour; each hundredth is lost.
        let (mut once, mut sent) = (0, 0);
        for number in 0..36_000_i64 {
            sent += 1;
            if number % 100 != 0 {
                once += 1;
                over_time.take(number * 100_000_000, arrivals(once, 0, 0), sent);
            }
        }
        let intervals = over_time.intervals();
        assert!((2_000..=PacketFlow::MOST_INTERVALS).contains(&intervals.len()), "{}", intervals.len());
        assert!(intervals.iter().all(|one| one.length_ns == 1_600_000_000 && one.start_offset_ns % one.length_ns == 0));
        assert!(intervals.windows(2).all(|pair| pair[0].start_offset_ns < pair[1].start_offset_ns));
        let sum = |of: fn(&FlowInterval) -> u64| intervals.iter().map(of).sum::<u64>();
        assert_eq!((sum(|one| one.sent), sum(|one| one.arrived)), (36_000, 35_640));
        assert_eq!(intervals.last().map(|one| one.missing), Some(360));
        let mut missing = 0;
        for one in intervals {
            missing = missing + one.sent - one.arrived;
            assert_eq!(one.missing, missing, "at {}", one.start_offset_ns);
        }
    }

    #[test]
    fn a_clock_that_is_set_back_or_far_ahead_breaks_nothing() {
        let mut over_time = OverTime::from(5_000_000_000);
        over_time.take(6_000_000_000, arrivals(1, 0, 0), 1);
        over_time.take(-9_000_000_000, arrivals(2, 0, 0), 2);
        over_time.take(i64::MAX, arrivals(3, 0, 0), 3);
        let counted: Vec<u64> = over_time.intervals().iter().map(|one| one.arrived).collect();
        assert_eq!(counted, [2, 1]);
    }
}
