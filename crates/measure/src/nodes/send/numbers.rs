//! Which sequence numbers the packets had that are on their way to the driver: what their stamps are attributed by. Used in the
//! loop that sends.

/// Packets that are on their way at the same time, at most.
const UNSTAMPED: usize = 1_024;
/// The sequence number of what is no measured packet.
pub(crate) const NO_SEQUENCE: u64 = u64::MAX;

/// Which sequence numbers the packets had that the end has taken.
pub(crate) struct Numbers {
    sequences: [u64; UNSTAMPED],
    taken: u64,
}

impl Numbers {
    pub(crate) const fn new() -> Self {
        Self { sequences: [NO_SEQUENCE; UNSTAMPED], taken: 0 }
    }

    #[inline(always)]
    fn place(number: u64) -> usize {
        usize::try_from(number % UNSTAMPED as u64).unwrap_or(0)
    }

    /// The end has taken the next packet.
    #[inline(always)]
    pub(crate) fn take(&mut self, sequence: u64) {
        self.sequences[Self::place(self.taken)] = sequence;
        self.taken += 1;
    }

    /// Whether it is the packet that the end has taken last.
    #[inline(always)]
    pub(crate) const fn is_last(&self, number: u64) -> bool {
        number.wrapping_add(1) == self.taken
    }

    /// The sequence number of a packet; [`NO_SEQUENCE`] once so many were taken after it that it is forgotten.
    #[inline(always)]
    pub(crate) fn sequence(&self, number: u64) -> u64 {
        let taken_after = self.taken.wrapping_sub(number).wrapping_sub(1);
        if taken_after >= UNSTAMPED as u64 { NO_SEQUENCE } else { self.sequences[Self::place(number)] }
    }
}

/// A count as a signed number.
#[inline(always)]
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_that_comes_too_late_belongs_to_no_other_packet() {
        let mut numbers = Numbers::new();
        let sequences = 100_000..100_000 + UNSTAMPED as u64;
        sequences.clone().for_each(|sequence| numbers.take(sequence));
        assert!(sequences.clone().enumerate().all(|(number, sequence)| numbers.sequence(number as u64) == sequence));
        numbers.take(200_000);
        assert_eq!((numbers.sequence(0), numbers.sequence(1)), (NO_SEQUENCE, 100_001));
        assert_eq!(numbers.sequence(UNSTAMPED as u64), 200_000);
        // None has this number yet.
        assert_eq!(numbers.sequence(UNSTAMPED as u64 + 1), NO_SEQUENCE);
    }
}
