//! Which sequence numbers the packets had that are on their way to the driver: what their stamps are attributed by. Used in the
//! loop that sends.

/// Packets that are on their way at the same time, at most.
const UNSTAMPED: usize = 1_024;
/// The sequence number of what is no measured packet.
pub(super) const NO_SEQUENCE: u64 = u64::MAX;

/// Which sequence numbers the packets had that the end has taken.
pub(super) struct Numbers {
    sequences: [u64; UNSTAMPED],
    taken: u64,
}

impl Numbers {
    pub(super) const fn new() -> Self {
        Self { sequences: [NO_SEQUENCE; UNSTAMPED], taken: 0 }
    }

    #[inline(always)]
    fn place(number: u64) -> usize {
        usize::try_from(number % UNSTAMPED as u64).unwrap_or(0)
    }

    /// The end has taken the next packet.
    #[inline(always)]
    pub(super) fn take(&mut self, sequence: u64) {
        self.sequences[Self::place(self.taken)] = sequence;
        self.taken += 1;
    }

    /// Whether it is the packet that the end has taken last.
    #[inline(always)]
    pub(super) const fn is_last(&self, number: u64) -> bool {
        number.wrapping_add(1) == self.taken
    }

    #[inline(always)]
    pub(super) fn sequence(&self, number: u64) -> u64 {
        self.sequences[Self::place(number)]
    }
}

/// A count as a signed number.
#[inline(always)]
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
