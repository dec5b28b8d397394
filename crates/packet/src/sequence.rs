//! Which packets of a flow arrived: once, twice, in order or not.

/// Packets below the highest one seen of which is known whether they arrived.
const WINDOW: u64 = 65_536;
const WORD_BITS: u64 = 64;

/// What became of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The first time that it is seen, after all those with a lower number that are seen at all.
    InOrder,
    /// The first time that it is seen, after one with a higher number.
    Reordered,
    /// It was seen before.
    Doubled,
    /// So far behind the highest one that nobody knows whether it was seen before.
    TooOld,
}

/// Numbers of packets, as they were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Packets that arrived, each counted once.
    pub once: u64,
    /// Of these, those that arrived after one with a higher number.
    pub reordered: u64,
    /// Copies of packets that had arrived before.
    pub doubled: u64,
    /// Packets that came so late that they can no longer be told from copies.
    pub too_old: u64,
}

/// Follows the sequence numbers of one flow.
#[derive(Clone, Debug)]
pub struct SequenceTracker {
    /// One bit for each of the last numbers, at the number's remainder by the window.
    seen: Box<[u64]>,
    highest: Option<u64>,
    arrivals: Arrivals,
}

impl Default for SequenceTracker {
    fn default() -> Self {
        let words = usize::try_from(WINDOW / WORD_BITS).unwrap_or(0);
        Self { seen: vec![0; words].into(), highest: None, arrivals: Arrivals::default() }
    }
}

impl SequenceTracker {
    /// Takes the number of a packet that arrived.
    #[inline]
    pub fn take(&mut self, sequence: u64) -> Arrival {
        let arrival = match self.highest {
            None => {
                self.highest = Some(sequence);
                Arrival::InOrder
            }
            Some(highest) if sequence > highest => {
                // Its own place is marked anew below.
                if sequence - highest > 1 {
                    self.forget_between(highest, sequence);
                }
                self.highest = Some(sequence);
                Arrival::InOrder
            }
            Some(highest) if highest - sequence >= WINDOW => Arrival::TooOld,
            Some(_) if self.is_seen(sequence) => Arrival::Doubled,
            Some(_) => Arrival::Reordered,
        };
        match arrival {
            Arrival::InOrder | Arrival::Reordered => {
                self.mark(sequence);
                self.arrivals.once += 1;
                self.arrivals.reordered += u64::from(arrival == Arrival::Reordered);
            }
            Arrival::Doubled => self.arrivals.doubled += 1,
            Arrival::TooOld => self.arrivals.too_old += 1,
        }
        arrival
    }

    /// What was counted so far.
    #[must_use]
    pub const fn arrivals(&self) -> Arrivals {
        self.arrivals
    }

    fn place(sequence: u64) -> (usize, u64) {
        let within = sequence % WINDOW;
        (usize::try_from(within / WORD_BITS).unwrap_or(0), 1 << (within % WORD_BITS))
    }

    fn is_seen(&self, sequence: u64) -> bool {
        let (word, bit) = Self::place(sequence);
        self.seen[word] & bit != 0
    }

    fn mark(&mut self, sequence: u64) {
        let (word, bit) = Self::place(sequence);
        self.seen[word] |= bit;
    }

    /// The places of the numbers above `highest` belonged to numbers that are too old now.
    fn forget_between(&mut self, highest: u64, sequence: u64) {
        if sequence - highest >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for number in highest + 1..sequence {
            let (word, bit) = Self::place(number);
            self.seen[word] &= !bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn copies_and_overtaken_packets_are_counted_apart() {
        let mut tracker = SequenceTracker::default();
        let arrivals: Vec<Arrival> = [5, 6, 9, 7, 7, 6, 10].into_iter().map(|one| tracker.take(one)).collect();
        use Arrival::{Doubled, InOrder, Reordered};
        assert_eq!(arrivals, [InOrder, InOrder, InOrder, Reordered, Doubled, Doubled, InOrder]);
        assert_eq!(tracker.arrivals(), Arrivals { once: 5, reordered: 1, doubled: 2, too_old: 0 });
    }

    #[test]
    fn a_number_that_left_the_window_is_neither_new_nor_a_copy() {
        let mut tracker = SequenceTracker::default();
        tracker.take(0);
        tracker.take(WINDOW - 1);
        assert_eq!(tracker.take(0), Arrival::Doubled);
        tracker.take(WINDOW);
        assert_eq!(tracker.take(0), Arrival::TooOld);
        // A jump of more than a window leaves nothing of before.
        tracker.take(u64::MAX);
        assert_eq!(tracker.take(u64::MAX - WINDOW + 1), Arrival::Reordered);
        assert_eq!(tracker.take(WINDOW), Arrival::TooOld);
    }

    proptest! {
        #[test]
        fn it_counts_as_a_set_does(numbers in prop::collection::vec(0..500_u64, 0..2_000)) {
            let (mut tracker, mut seen) = (SequenceTracker::default(), BTreeSet::new());
            for number in numbers {
                let is_highest = seen.last().is_none_or(|highest| number > *highest);
                let expected = match (seen.insert(number), is_highest) {
                    (true, true) => Arrival::InOrder,
                    (true, false) => Arrival::Reordered,
                    (false, _) => Arrival::Doubled,
                };
                prop_assert_eq!(tracker.take(number), expected);
            }
            prop_assert_eq!(tracker.arrivals().once, seen.len() as u64);
        }
    }
}
