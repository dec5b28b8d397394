//! A dense histogram for counting samples during a run: no search, and no allocation for samples up to 1.07 s.
//!
//! Short samples are counted more finely than by bins until these are asked for.

use crate::Histogram;
use crate::bin::{OCTAVE_BITS, bin_index, bin_index_of_common, bin_value, highest_of_bin, lowest_of_bin};
use crate::fine::FineCounts;

/// Samples below this (16.8 ms), at most [`PLAIN_AT_ONCE`] in one call, are summed in 64 bits without an overflow check:
/// so are their squares.
const PLAIN_BELOW_NS: u64 = 1 << 24;
/// See [`PLAIN_BELOW_NS`]: the sum of so many squares is below 2^64.
const PLAIN_AT_ONCE: usize = 1 << 16;

/// Octaves above the first 2048 bins that are allocated at the start: up to 2^30 ns, 1.07 s.
const FIRST_OCTAVES: u32 = 19;

/// Bins that are allocated at the start.
const FIRST_BINS: usize = (FIRST_OCTAVES as usize + 2) << OCTAVE_BITS;

/// The end of the range in which bins of equal width can be made from a recorder's own (ns, exclusive): no own bin below
/// it is wider than they are, so that none has more than one of their boundaries.
#[must_use]
pub const fn equal_bins_end_ns(width_ns: u64) -> u64 {
    let octave = if width_ns == 0 { 0 } else { width_ns.ilog2() };
    // Within the memory of the first octaves.
    let octave = if octave < FIRST_OCTAVES { octave } else { FIRST_OCTAVES };
    1 << (octave + OCTAVE_BITS + 1)
}

/// Where bins of equal width begin that lie across a recorder's own bins, and the samples that this leaves open: an own
/// bin with a boundary inside says only how many samples it has on both sides.
#[derive(Clone, Debug)]
struct Boundaries {
    width_ns: u64,
    /// By equal bin: the samples from its lower boundary to the end of the own bin that the boundary splits. They are
    /// counted from the first sample on, also across [`HistogramRecorder::take`].
    from_boundary: Vec<u64>,
    /// By equal bin: the samples of the own bin that its lower boundary splits, since they were last taken. Short samples are in
    /// neither.
    in_split: Vec<u64>,
}

impl Boundaries {
    fn new(width_ns: u64) -> Self {
        let width_ns = width_ns.max(1);
        let units = usize::try_from(equal_bins_end_ns(width_ns).div_ceil(width_ns)).unwrap_or(0);
        Self { width_ns, from_boundary: vec![0; units + 1], in_split: vec![0; units + 1] }
    }

    /// The equal bin that a value falls into.
    fn unit(&self, value_ns: u64) -> usize {
        usize::try_from(value_ns / self.width_ns).unwrap_or(usize::MAX - 1)
    }

    /// The lower boundary of an equal bin (ns).
    fn at_ns(&self, unit: usize) -> u64 {
        u64::try_from(unit).unwrap_or(u64::MAX).saturating_mul(self.width_ns)
    }

    /// The equal bin whose lower boundary splits the own bin of a value, if there is one.
    fn splitting(&self, value_ns: u64) -> Option<usize> {
        let unit = self.unit(highest_of_bin(value_ns));
        (lowest_of_bin(value_ns) < self.at_ns(unit) && unit < self.from_boundary.len()).then_some(unit)
    }

    /// Counts samples of one value as bins of equal width need it; whether its own bin is split.
    fn count(&mut self, value_ns: u64, samples: u64) -> bool {
        let Some(unit) = self.splitting(value_ns) else { return false };
        if value_ns >= self.at_ns(unit) {
            self.from_boundary[unit] += samples;
        }
        true
    }
}

/// Calls `take` with the position of each set bit, in ascending order.
#[inline(always)]
fn for_each_bit(mut bits: u64, mut take: impl FnMut(usize)) {
    while bits != 0 {
        take(usize::try_from(bits.trailing_zeros()).unwrap_or(0));
        bits &= bits - 1;
    }
}

/// Counts samples during a run; [`snapshot`](Self::snapshot) makes a [`Histogram`] of them.
#[derive(Clone, Debug)]
pub struct HistogramRecorder {
    /// Samples below 8,192 ns.
    fine: FineCounts,
    /// Those from there on, by bin: the count below zero, as in [`FineCounts`]. Always 0 for a bin that [`Boundaries`] split, which
    /// then have its count.
    negated: Vec<u64>,
    /// Set if bins of equal width are wanted too.
    boundaries: Option<Boundaries>,
    /// One bit for each bin, set if the bin has samples. Iteration then costs time only for non-empty bins, even if a
    /// single stall has extended the range.
    touched: Vec<u64>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    // Both sums saturate: 64 bits of nanoseconds hold 584 years of summed latency.
    sum_ns: u64,
    /// Of the samples that are in bins.
    sum_squares_ns2: u128,
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
            negated: vec![0; FIRST_BINS],
            boundaries: None,
            touched: vec![0; FIRST_BINS / 64],
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
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
            Some(true) => self.widen(value_ns),
            None => {
                let index = bin_index(value_ns);
                if index >= self.negated.len() {
                    self.make_room(((index >> OCTAVE_BITS) + 1) << OCTAVE_BITS);
                }
                self.record_in_bin(index, value_ns);
                self.widen(value_ns);
                self.add_squares(u128::from(value_ns) * u128::from(value_ns));
            }
        }
    }

    /// Widens the range of all samples to one.
    #[inline]
    fn widen(&mut self, value_ns: u64) {
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
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
        let limit_ns = below_ns.min(PLAIN_BELOW_NS).min(self.max_ns.saturating_add(1));
        let samples = &samples[..samples.len().min(PLAIN_AT_ONCE)];
        let mut left = samples.iter();
        let (mut sum_ns, mut sum_squares_ns2) = (0_u64, 0_u64);
        while let Some(sample) = left.as_slice().first() {
            let value_ns = value_ns(sample);
            if value_ns >= limit_ns {
                break;
            }
            match self.fine.add(value_ns) {
                Some(false) => {}
                Some(true) => self.widen(value_ns),
                None => {
                    if value_ns < self.min_ns {
                        break;
                    }
                    self.record_in_bin(bin_index_of_common(value_ns), value_ns);
                    sum_squares_ns2 = sum_squares_ns2.wrapping_add(value_ns.wrapping_mul(value_ns));
                }
            }
            sum_ns = sum_ns.wrapping_add(value_ns);
            left.next();
        }
        let added = samples.len() - left.len();
        self.count += u64::try_from(added).unwrap_or(u64::MAX);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        self.add_squares(u128::from(sum_squares_ns2));
        added
    }

    /// Adds a sample to its bin, which is there.
    #[inline(always)]
    fn record_in_bin(&mut self, index: usize, value_ns: u64) {
        let Some(negated) = self.negated.get_mut(index) else { return };
        let borrows;
        (*negated, borrows) = negated.overflowing_sub(1);
        if borrows {
            self.record_rare(index, value_ns);
        }
    }

    /// What is beyond counting down: for the first sample of a bin, and for those of a split bin.
    #[cold]
    #[inline(never)]
    fn record_rare(&mut self, index: usize, value_ns: u64) {
        self.touched[index / 64] |= 1 << (index % 64);
        if let Some(boundaries) = &mut self.boundaries {
            if boundaries.count(value_ns, 1) {
                let unit = boundaries.unit(highest_of_bin(value_ns));
                boundaries.in_split[unit] += 1;
                self.negated[index] = 0;
            }
        }
    }

    /// Also counts what bins of equal width need. Only before the first sample.
    #[must_use]
    pub fn with_equal_bins(mut self, width_ns: u64) -> Self {
        self.boundaries = Some(Boundaries::new(width_ns));
        self
    }

    /// The samples of `all` in bins of the width that was given to [`with_equal_bins`](Self::with_equal_bins), up to
    /// [`equal_bins_end_ns`]; `all` is what this recorder recorded since it was made, also what was taken from it.
    #[must_use]
    pub fn equal_bins(&self, all: &Histogram) -> Vec<u64> {
        let Some(boundaries) = &self.boundaries else { return Vec::new() };
        let mut boundaries = boundaries.clone();
        self.fine.for_each((self.min_ns, self.max_ns), |value_ns, samples| {
            boundaries.count(value_ns, samples);
        });
        let mut units = vec![0; boundaries.from_boundary.len()];
        let end_ns = equal_bins_end_ns(boundaries.width_ns);
        for bin in all.bins().take_while(|bin| bin.from_ns < end_ns) {
            let unit = boundaries.unit(bin.from_ns);
            let is_split = boundaries.unit(highest_of_bin(bin.from_ns)) > unit;
            let above = if is_split { boundaries.from_boundary[unit + 1] } else { 0 };
            units[unit + 1] += above;
            units[unit] += bin.count - above;
        }
        units.pop();
        units
    }

    /// The lowest value (ns) and the sample count of each non-empty bin, in ascending order, and the sum of all squares (ns²).
    fn bins(&self) -> (Vec<(u64, u64)>, u128) {
        let (mut bins, of_fine_ns2) = self.fine.bins((self.min_ns, self.max_ns));
        for (word, &touched) in self.touched.iter().enumerate().filter(|(_, touched)| **touched != 0) {
            for_each_bit(touched, |bit| {
                let index = word * 64 + bit;
                let from_ns = bin_value(index);
                bins.push((from_ns, self.count_of_bin(index, from_ns)));
            });
        }
        // They stay as long as their interval.
        bins.shrink_to_fit();
        (bins, self.sum_squares_ns2.saturating_add(of_fine_ns2))
    }

    /// The samples in a bin that has some.
    fn count_of_bin(&self, index: usize, from_ns: u64) -> u64 {
        match (self.negated[index], &self.boundaries) {
            (0, Some(boundaries)) => boundaries.splitting(from_ns).map_or(0, |unit| boundaries.in_split[unit]),
            (negated, _) => negated.wrapping_neg(),
        }
    }

    /// Takes all samples out, as a histogram; only bins of equal width count on. The memory is kept.
    pub fn take(&mut self) -> Histogram {
        let taken = self.snapshot();
        let range_ns = (self.min_ns, self.max_ns);
        if let Some(boundaries) = &mut self.boundaries {
            self.fine.for_each(range_ns, |value_ns, samples| {
                boundaries.count(value_ns, samples);
            });
            boundaries.in_split.fill(0);
        }
        self.fine.clear(range_ns);
        for (word, touched) in self.touched.iter_mut().enumerate().filter(|(_, touched)| **touched != 0) {
            for_each_bit(std::mem::take(touched), |bit| self.negated[word * 64 + bit] = 0);
        }
        self.forget_numbers();
        taken
    }

    /// Makes room for so many bins, a multiple of an octave's.
    fn make_room(&mut self, bins: usize) {
        self.negated.resize(bins, 0);
        self.touched.resize(bins / 64, 0);
    }

    /// Forgets what stands beside the bins.
    fn forget_numbers(&mut self) {
        self.count = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
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
        (self.count > 0).then_some(self.min_ns)
    }

    /// The exact largest sample; `None` if there are none.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
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
        Histogram::from_parts(bins, self.min_ns, self.max_ns, self.sum_ns, sum_squares_ns2)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        assert!(recorder.negated.iter().all(|count| *count == 0) && recorder.touched.iter().all(|bits| *bits == 0));
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
