//! Counts of short samples, one for each nanosecond: counting one takes neither a bin's index nor a square, and the bins are
//! made of the counts when somebody asks.

use crate::bin::lowest_of_bin;

/// Samples below this are counted by their value (ns): 64 KiB, of which only pages with samples become resident. A machine that
/// is fit for real time wakes its threads faster.
const FINE: usize = 1 << 13;

/// How often each value below 8,192 ns was seen.
#[derive(Clone, Debug)]
pub(crate) struct FineCounts {
    /// By value, the count below zero: one less with each sample. So a subtraction that borrows is a value's first sample, and
    /// two instructions count a sample and see that.
    negated: Vec<u64>,
}

/// The counts of all values below a limit: one comparison tells both whether a sample is below it and whether it has a count.
pub(crate) struct CountsBelow<'a> {
    negated: &'a mut [u64],
}

impl CountsBelow<'_> {
    /// Counts a sample; whether it is the first of its value, `None` where the value is not below the limit.
    #[inline(always)]
    pub(crate) fn add(&mut self, value_ns: u64) -> Option<bool> {
        let negated = self.negated.get_mut(usize::try_from(value_ns).ok()?)?;
        let is_first;
        (*negated, is_first) = negated.overflowing_sub(1);
        Some(is_first)
    }
}

impl FineCounts {
    /// The first value (ns) that is not counted here.
    pub(crate) const END_NS: u64 = FINE as u64;

    pub(crate) fn new() -> Self {
        // Zeros are pages that nobody has touched.
        Self { negated: vec![0; FINE] }
    }

    /// The counts of the values below `limit_ns`, as far as they are here.
    #[inline(always)]
    pub(crate) fn below(&mut self, limit_ns: u64) -> CountsBelow<'_> {
        let end = usize::try_from(limit_ns).unwrap_or(FINE).min(FINE);
        CountsBelow { negated: &mut self.negated[..end] }
    }

    /// Counts a sample; whether it is the first of its value, `None` where the value is not below 8,192 ns.
    #[inline(always)]
    pub(crate) fn add(&mut self, value_ns: u64) -> Option<bool> {
        CountsBelow { negated: &mut self.negated }.add(value_ns)
    }

    /// Calls `take` with each value of a range (ns) that was seen, in ascending order, and how often it was.
    pub(crate) fn for_each(&self, range_ns: (u64, u64), mut take: impl FnMut(u64, u64)) {
        for (negated, value_ns) in self.within(range_ns).iter().zip(range_ns.0..) {
            if *negated != 0 {
                take(value_ns, negated.wrapping_neg());
            }
        }
    }

    /// The bins of the values of a range (ns), in ascending order: the lowest value (ns) and the count of each that is not empty. Beside
    /// them the sum of the squares of all samples (ns²).
    pub(crate) fn bins(&self, range_ns: (u64, u64)) -> (Vec<(u64, u64)>, u128) {
        let (mut bins, mut sum_squares_ns2): (Vec<(u64, u64)>, u128) = (Vec::new(), 0);
        self.for_each(range_ns, |value_ns, count| {
            sum_squares_ns2 += u128::from(value_ns * value_ns) * u128::from(count);
            let from_ns = lowest_of_bin(value_ns);
            match bins.last_mut() {
                Some((last_ns, in_bin)) if *last_ns == from_ns => *in_bin += count,
                _ => bins.push((from_ns, count)),
            }
        });
        (bins, sum_squares_ns2)
    }

    /// Forgets the samples within a range (ns).
    pub(crate) fn clear(&mut self, range_ns: (u64, u64)) {
        let (from, to) = Self::places(range_ns);
        if let Some(within) = self.negated.get_mut(from..to) {
            within.fill(0);
        }
    }

    fn within(&self, range_ns: (u64, u64)) -> &[u64] {
        let (from, to) = Self::places(range_ns);
        self.negated.get(from..to).unwrap_or_default()
    }

    /// Where the values of a range, both ends included, have their counts.
    fn places((from_ns, to_ns): (u64, u64)) -> (usize, usize) {
        let at = |value_ns: u64| usize::try_from(value_ns).unwrap_or(FINE).min(FINE);
        (at(from_ns), at(to_ns.saturating_add(1)))
    }
}
