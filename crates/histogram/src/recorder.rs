//! A dense histogram for counting samples during a run: no search, and no allocation for samples up to 1.07 s.
//!
//! Short samples are counted more finely than by bins until these are asked for.

use crate::Histogram;
use crate::bin::{bin_index, bin_index_of_common};
use crate::bin_counts::BinCounts;
use crate::fine::{CountsBelow, FineCounts};

/// Samples below this (16.8 ms), at most [`PLAIN_AT_ONCE`] in one call, are summed in 64 bits without an overflow check:
/// so are their squares.
const PLAIN_BELOW_NS: u64 = 1 << 24;
/// See [`PLAIN_BELOW_NS`]: the sum of so many squares is below 2^64.
const PLAIN_AT_ONCE: usize = 1 << 16;

/// The range of no sample.
const NO_RANGE_NS: (u64, u64) = (u64::MAX, 0);

/// Counts samples during a run; [`snapshot`](Self::snapshot) makes a [`Histogram`] of them.
#[derive(Clone, Debug)]
pub struct HistogramRecorder {
    /// Samples below 8,192 ns.
    fine: FineCounts,
    /// Those from there on.
    bins: BinCounts,
    count: u64,
    /// The least and the largest sample (ns).
    range_ns: (u64, u64),
    // Both sums saturate: 64 bits of nanoseconds hold 584 years of summed latency.
    sum_ns: u64,
    /// Of the samples that are in bins.
    sum_squares_ns2: u128,
}

/// Samples that are counted one after the other.
struct Common<'a> {
    fine: CountsBelow<'a>,
    bins: &'a mut BinCounts,
    range_ns: &'a mut (u64, u64),
    /// What is counted in bins and widens no range begins here (ns) and is so wide: one comparison tells both its ends.
    from_ns: u64,
    width_ns: u64,
    sum_ns: u64,
    sum_squares_ns2: u64,
}

impl Common<'_> {
    /// Counts a sample, where it is below the limit and neither widens the range of those in bins.
    #[inline(always)]
    fn add(&mut self, value_ns: u64) -> bool {
        match self.fine.add(value_ns) {
            Some(false) => {}
            Some(true) => widen(self.range_ns, value_ns),
            None if value_ns.wrapping_sub(self.from_ns) < self.width_ns => {
                self.bins.add(bin_index_of_common(value_ns), value_ns);
                self.sum_squares_ns2 = self.sum_squares_ns2.wrapping_add(value_ns.wrapping_mul(value_ns));
            }
            None => return false,
        }
        self.sum_ns = self.sum_ns.wrapping_add(value_ns);
        true
    }
}

/// Widens the range of all samples to one.
#[cold]
#[inline(never)]
fn widen((min_ns, max_ns): &mut (u64, u64), value_ns: u64) {
    *min_ns = (*min_ns).min(value_ns);
    *max_ns = (*max_ns).max(value_ns);
}

impl Default for HistogramRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl HistogramRecorder {
    /// An empty recorder. It allocates 235 KiB, of which only pages with samples become resident.
    #[must_use]
    pub fn new() -> Self {
        Self {
            fine: FineCounts::new(),
            bins: BinCounts::new(),
            count: 0,
            range_ns: NO_RANGE_NS,
            sum_ns: 0,
            sum_squares_ns2: 0,
        }
    }

    /// Adds one sample.
    #[inline(always)]
    pub fn record(&mut self, value_ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(value_ns);
        match self.fine.add(value_ns) {
            Some(false) => {}
            Some(true) => widen(&mut self.range_ns, value_ns),
            None => {
                let index = bin_index(value_ns);
                self.bins.make_room(index);
                self.bins.add(index, value_ns);
                widen(&mut self.range_ns, value_ns);
                self.add_squares(u128::from(value_ns) * u128::from(value_ns));
            }
        }
    }

    #[inline]
    fn add_squares(&mut self, sum_squares_ns2: u128) {
        self.sum_squares_ns2 = self.sum_squares_ns2.saturating_add(sum_squares_ns2);
    }

    /// Adds samples until one is not below `below_ns`, is a new maximum, exceeds 16 ms, or is a new minimum above 8 us. Returns
    /// how many were added, at most 65,536. The result is that of [`record`](Self::record) for each sample, with less than half the
    /// instructions.
    // Not inlined: among the caller's many variables the compiler keeps those of this loop in memory.
    #[inline(never)]
    pub fn record_common<T>(&mut self, samples: &[T], value_ns: impl Fn(&T) -> u64, below_ns: u64) -> usize {
        let limit_ns = below_ns.min(PLAIN_BELOW_NS).min(self.range_ns.1.saturating_add(1));
        let from_ns = self.range_ns.0.max(FineCounts::END_NS);
        let mut common = Common {
            fine: self.fine.below(limit_ns),
            bins: &mut self.bins,
            range_ns: &mut self.range_ns,
            from_ns,
            width_ns: limit_ns.saturating_sub(from_ns),
            sum_ns: 0,
            sum_squares_ns2: 0,
        };
        let samples = &samples[..samples.len().min(PLAIN_AT_ONCE)];
        let mut left = samples;
        // Two in each turn halve what a turn takes beside counting.
        while let [first, others @ ..] = left {
            if !common.add(value_ns(first)) {
                break;
            }
            left = others;
            let [second, others @ ..] = left else { break };
            if !common.add(value_ns(second)) {
                break;
            }
            left = others;
        }
        let Common { sum_ns, sum_squares_ns2, .. } = common;
        let added = samples.len() - left.len();
        self.count += u64::try_from(added).unwrap_or(u64::MAX);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        self.add_squares(u128::from(sum_squares_ns2));
        added
    }

    /// Also counts what bins of equal width need. Only before the first sample.
    #[must_use]
    pub fn with_equal_bins(mut self, width_ns: u64) -> Self {
        self.bins.count_for_equal_bins(width_ns);
        self
    }

    /// The samples of `all` in bins of the width that was given to [`with_equal_bins`](Self::with_equal_bins), up to
    /// [`equal_bins_end_ns`](crate::equal_bins_end_ns); `all` is what this recorder recorded since it was made, also what was taken from it.
    #[must_use]
    pub fn equal_bins(&self, all: &Histogram) -> Vec<u64> {
        let Some(mut boundaries) = self.bins.boundaries().cloned() else { return Vec::new() };
        self.fine.for_each(self.range_ns, |value_ns, samples| {
            boundaries.count(value_ns, samples);
        });
        boundaries.equal_bins(all)
    }

    /// The lowest value (ns) and the sample count of each non-empty bin, in ascending order, and the sum of all squares (ns²).
    fn bins(&self) -> (Vec<(u64, u64)>, u128) {
        let (mut bins, of_fine_ns2) = self.fine.bins(self.range_ns);
        self.bins.append_to(&mut bins);
        // They stay as long as their interval.
        bins.shrink_to_fit();
        (bins, self.sum_squares_ns2.saturating_add(of_fine_ns2))
    }

    /// Takes all samples out, as a histogram; only bins of equal width count on. The memory is kept.
    pub fn take(&mut self) -> Histogram {
        let taken = self.snapshot();
        let range_ns = self.range_ns;
        self.bins.clear(|take| self.fine.for_each(range_ns, take));
        self.fine.clear(range_ns);
        self.forget_numbers();
        taken
    }

    /// Forgets what stands beside the bins.
    fn forget_numbers(&mut self) {
        self.count = 0;
        self.range_ns = NO_RANGE_NS;
        self.sum_ns = 0;
        self.sum_squares_ns2 = 0;
    }

    /// Number of samples recorded so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether no sample was recorded yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The exact smallest sample; `None` if there are none.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.range_ns.0)
    }

    /// The exact largest sample; `None` if there are none.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.range_ns.1)
    }

    /// The sum of all samples (ns); it saturates at `u64::MAX`.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// A histogram of the samples recorded so far.
    #[must_use]
    pub fn snapshot(&self) -> Histogram {
        if self.count == 0 {
            return Histogram::default();
        }
        let (bins, sum_squares_ns2) = self.bins();
        Histogram::from_parts(bins, self.range_ns.0, self.range_ns.1, self.sum_ns, sum_squares_ns2)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::equal_bins_end_ns;

    #[test]
    fn samples_above_a_second_are_not_clipped() {
        let mut recorder = HistogramRecorder::new();
        for value in [0, 1_073_741_823, 1_073_741_824, 86_400_000_000_000, u64::MAX] {
            recorder.record(value);
        }
        let histogram = recorder.snapshot();
        assert_eq!((histogram.count(), histogram.max_ns()), (5, Some(u64::MAX)));
        assert_eq!(histogram.sum_ns(), u64::MAX, "the sum saturates");
        assert_eq!(recorder.take(), histogram);
        assert!(recorder.bins.is_empty());
        assert!(recorder.fine.bins((0, u64::MAX)).0.is_empty());
        recorder.record(7);
        assert_eq!(recorder.snapshot().count(), 1);
    }

    #[test]
    fn record_common_ends_at_its_limit_and_at_the_ends_of_a_range_that_is_counted_in_bins() {
        let mut recorder = HistogramRecorder::new();
        assert_eq!(recorder.record_common(&[20_000, 20_000], |ns| *ns, u64::MAX), 0);
        recorder.record(20_000);
        assert_eq!(recorder.record_common(&[20_000, 20_000], |ns| *ns, 0), 0);
        assert_eq!(recorder.record_common(&[20_000, 20_000, 20_001], |ns| *ns, 20_001), 2);
        assert_eq!(recorder.record_common(&[20_000, 20_001], |ns| *ns, u64::MAX), 1);
        // What is counted one by one widens the range by itself.
        assert_eq!(recorder.record_common(&[20_000, 5_000, 5_001, 16_383, 5_001], |ns| *ns, 16_383), 0);
        assert_eq!(recorder.record_common(&[5_000, 5_001, 5_001, 16_383, 5_001], |ns| *ns, 16_383), 3);
        assert_eq!(recorder.record_common(&[16_384, 20_000, 20_001], |ns| *ns, u64::MAX), 2);
        assert_eq!((recorder.count(), recorder.min_ns(), recorder.max_ns()), (9, Some(5_000), Some(20_000)));
    }

    #[test]
    fn sums_of_the_longest_and_most_samples_at_once_are_exact() {
        let longest_ns = PLAIN_BELOW_NS - 1;
        let samples = vec![longest_ns; PLAIN_AT_ONCE + 1];
        let mut recorder = HistogramRecorder::new();
        recorder.record(longest_ns);
        assert_eq!(recorder.record_common(&samples, |ns| *ns, u64::MAX), PLAIN_AT_ONCE);
        assert_eq!(recorder.sum_ns, longest_ns * (PLAIN_AT_ONCE as u64 + 1));
        assert_eq!(recorder.sum_squares_ns2, u128::from(longest_ns).pow(2) * (PLAIN_AT_ONCE as u128 + 1));
        recorder.record(PLAIN_BELOW_NS);
        assert_eq!(recorder.record_common(&[PLAIN_BELOW_NS], |ns| *ns, u64::MAX), 0, "a longer one is added by itself");
    }

    /// Values of which some share a bin, and some stand alone.
    fn near_or_far() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..300, 0_u64..10_u64.pow(11)]
    }

    proptest! {
        #[test]
        fn many_at_once_equals_one_by_one(values in proptest::collection::vec(0_u64..10_u64.pow(10), 0..200),
                                          near in proptest::collection::vec(2_000_u64..9_000, 0..200),
                                          short in proptest::collection::vec(0_u64..2_000, 0..200),
                                          between in proptest::collection::vec(8_100_u64..8_300, 0..200),
                                          below in 0_u64..10_u64.pow(10)) {
            let (mut together, mut single) = (HistogramRecorder::new(), HistogramRecorder::new());
            for values in [values, near, short, between] {
                let mut rest = values.as_slice();
                while let Some((&first, others)) = rest.split_first() {
                    together.record(first);
                    let added = together.record_common(others, |ns| *ns, below);
                    prop_assert!(others[..added].iter().all(|value| *value < below));
                    rest = &others[added..];
                }
                values.iter().for_each(|value| single.record(*value));
            }
            prop_assert_eq!(together.snapshot(), single.snapshot());
        }

        #[test]
        fn equal_bins_are_those_of_counting_each_sample(values in proptest::collection::vec(0_u64..2_500_000, 0..300),
                                                        near in proptest::collection::vec(20_000_u64..300_000, 0..300),
                                                        width_ns in 1_u64..5_000) {
            let mut recorder = HistogramRecorder::new().with_equal_bins(width_ns);
            let mut all = Histogram::new();
            let mut expected = vec![0; recorder.equal_bins(&all).len()];
            prop_assert!(expected.len() as u64 * width_ns >= equal_bins_end_ns(width_ns));
            for values in [values, near] {
                let mut rest = values.as_slice();
                while let Some((&first, others)) = rest.split_first() {
                    recorder.record(first);
                    rest = &others[recorder.record_common(others, |ns| *ns, u64::MAX)..];
                }
                for value in values.iter().filter(|value| **value < equal_bins_end_ns(width_ns)) {
                    expected[usize::try_from(value / width_ns).unwrap()] += 1;
                }
                // An interval ends.
                all.merge(&recorder.take());
            }
            prop_assert_eq!(recorder.equal_bins(&all), expected);
        }

        #[test]
        fn merging_equals_recording(a in proptest::collection::vec(near_or_far(), 0..200),
                                    b in proptest::collection::vec(near_or_far(), 0..200),
                                    few in proptest::collection::vec(near_or_far(), 0..3)) {
            let recorded = |values: &[u64]| {
                let mut recorder = HistogramRecorder::new();
                values.iter().for_each(|value| recorder.record(*value));
                recorder
            };
            let all: Vec<u64> = a.iter().chain(&b).copied().collect();
            let mut merged = recorded(&a).snapshot();
            merged.merge(&recorded(&b).snapshot());
            prop_assert_eq!(&merged, &recorded(&all).snapshot());
            let mut taken = recorded(&a);
            prop_assert_eq!(taken.take(), recorded(&a).snapshot());
            b.iter().for_each(|value| taken.record(*value));
            prop_assert_eq!(taken.snapshot(), recorded(&b).snapshot());
            // A few bins into many.
            merged.merge(&recorded(&few).snapshot());
            prop_assert_eq!(merged, recorded(&[all, few].concat()).snapshot());
        }
    }
}
