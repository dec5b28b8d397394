//! What readings of one thread's counters mean: only calls that the loop made count.

/// The counters of one thread, all read at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// After the last counter was read (ns, monotonic).
    pub(super) time_ns: u64,
    /// One count for each function.
    pub(super) counts: Vec<u64>,
}

/// The account of one thread. A reading counts once a turn of the loop was seen to begin after it: until then nobody knows
/// whether the thread has left its loop and frees what it held.
#[derive(Debug)]
pub(super) struct Account {
    first: Reading,
    /// The last reading that counts.
    counted: Option<Reading>,
    pending: Option<Reading>,
}

impl Account {
    /// Begins with what the counters showed as the last of them was placed.
    pub(super) fn new(first: Reading) -> Self {
        Self { first, counted: None, pending: None }
    }

    /// Takes the next reading, unless one still waits for the loop's next turn.
    pub(super) fn look(&mut self, last_turn_ns: Option<u64>, read: impl FnOnce() -> Option<Reading>) {
        let has_gone_on = |reading: &mut Reading| last_turn_ns.is_some_and(|turn_ns| turn_ns > reading.time_ns);
        if let Some(counted) = self.pending.take_if(has_gone_on) {
            self.counted = Some(counted);
        }
        if self.pending.is_none() {
            self.pending = read();
        }
    }

    /// How often each function was called inside the loop; `None` where no reading counts.
    pub(super) fn times(&self) -> Option<Vec<u64>> {
        let counts = self.counted.as_ref()?.counts.iter().zip(&self.first.counts);
        Some(counts.map(|(count, before)| count.saturating_sub(*before)).collect())
    }

    /// For how long the calls were counted (ns).
    pub(super) fn counted_ns(&self) -> u64 {
        self.counted.as_ref().map_or(0, |counted| counted.time_ns.saturating_sub(self.first.time_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(time_ns: u64, count: u64) -> Reading {
        Reading { time_ns, counts: vec![count, 0] }
    }

    #[test]
    fn a_reading_counts_once_the_loop_has_gone_on() {
        let mut account = Account::new(reading(1_000, 5));
        account.look(Some(900), || Some(reading(2_000, 15)));
        assert_eq!(account.times(), None, "it may have left its loop before");
        account.look(Some(1_999), || panic!("one reading waits already"));
        assert_eq!(account.times(), None);
        account.look(Some(2_001), || Some(reading(3_000, 25)));
        assert_eq!((account.times(), account.counted_ns()), (Some(vec![10, 0]), 1_000));
    }

    #[test]
    fn what_is_called_after_the_last_turn_does_not_count() {
        let mut account = Account::new(reading(1_000, 0));
        account.look(Some(900), || Some(reading(2_000, 0)));
        account.look(Some(2_500), || Some(reading(3_000, 80)));
        // It has ended its loop and freed its memory; no turn begins any more.
        account.look(Some(2_500), || Some(reading(4_000, 900)));
        assert_eq!(account.times(), Some(vec![0, 0]));
    }
}
