//! Counts by bin of the samples that are not counted by their value, and what bins of equal width need beside them.

use crate::Histogram;
use crate::bin::{OCTAVE_BITS, bin_value, highest_of_bin, lowest_of_bin};

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
pub(crate) struct Boundaries {
    width_ns: u64,
    /// By equal bin: the samples from its lower boundary to the end of the own bin that the boundary splits. They are
    /// counted from the first sample on, also across [`HistogramRecorder::take`].
    from_boundary: Vec<u64>,
    /// By equal bin: the samples of the own bin that its lower boundary splits, since they were last taken. Samples that are
    /// counted by their value are in neither of these two counts.
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
    pub(crate) fn count(&mut self, value_ns: u64, samples: u64) -> bool {
        let Some(unit) = self.splitting(value_ns) else { return false };
        if value_ns >= self.at_ns(unit) {
            self.from_boundary[unit] += samples;
        }
        true
    }

    /// The samples of `all` in bins of equal width, up to [`equal_bins_end_ns`]; all of them were counted here.
    pub(crate) fn equal_bins(&self, all: &Histogram) -> Vec<u64> {
        let mut units = vec![0; self.from_boundary.len()];
        let end_ns = equal_bins_end_ns(self.width_ns);
        for bin in all.bins().take_while(|bin| bin.from_ns < end_ns) {
            let unit = self.unit(bin.from_ns);
            let is_split = self.unit(highest_of_bin(bin.from_ns)) > unit;
            let above = if is_split { self.from_boundary[unit + 1] } else { 0 };
            units[unit + 1] += above;
            units[unit] += bin.count - above;
        }
        units.pop();
        units
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

/// The counts of bins.
#[derive(Clone, Debug)]
pub(crate) struct BinCounts {
    /// By bin: the count below zero, as in [`FineCounts`](crate::fine::FineCounts). Always 0 for a bin that [`Boundaries`] split,
    /// which then have its count.
    negated: Vec<u64>,
    /// Set if bins of equal width are wanted too.
    boundaries: Option<Boundaries>,
    /// One bit for each bin, set if the bin has samples. Iteration then costs time only for non-empty bins, even if a
    /// single stall has extended the range.
    touched: Vec<u64>,
}

impl BinCounts {
    pub(crate) fn new() -> Self {
        Self { negated: vec![0; FIRST_BINS], boundaries: None, touched: vec![0; FIRST_BINS / 64] }
    }

    /// Also counts what bins of equal width (ns) need. Only before the first sample.
    pub(crate) fn count_for_equal_bins(&mut self, width_ns: u64) {
        self.boundaries = Some(Boundaries::new(width_ns));
    }

    /// What bins of equal width need, where they are wanted.
    pub(crate) const fn boundaries(&self) -> Option<&Boundaries> {
        self.boundaries.as_ref()
    }

    /// Makes room for the octave of a bin.
    pub(crate) fn make_room(&mut self, index: usize) {
        if index >= self.negated.len() {
            let bins = ((index >> OCTAVE_BITS) + 1) << OCTAVE_BITS;
            self.negated.resize(bins, 0);
            self.touched.resize(bins / 64, 0);
        }
    }

    /// Adds a sample to its bin, for which there is room.
    #[inline(always)]
    pub(crate) fn add(&mut self, index: usize, value_ns: u64) {
        let Some(negated) = self.negated.get_mut(index) else { return };
        let borrows;
        (*negated, borrows) = negated.overflowing_sub(1);
        if borrows {
            self.add_rare(index, value_ns);
        }
    }

    /// What is beyond counting down: for the first sample of a bin, and for those of a split bin.
    #[cold]
    #[inline(never)]
    fn add_rare(&mut self, index: usize, value_ns: u64) {
        self.touched[index / 64] |= 1 << (index % 64);
        if let Some(boundaries) = &mut self.boundaries {
            if boundaries.count(value_ns, 1) {
                let unit = boundaries.unit(highest_of_bin(value_ns));
                boundaries.in_split[unit] += 1;
                self.negated[index] = 0;
            }
        }
    }

    /// Adds the bins that have samples, in ascending order: the lowest value (ns) and the count of each.
    pub(crate) fn append_to(&self, bins: &mut Vec<(u64, u64)>) {
        for (word, &touched) in self.touched.iter().enumerate().filter(|(_, touched)| **touched != 0) {
            for_each_bit(touched, |bit| {
                let index = word * 64 + bit;
                let from_ns = bin_value(index);
                bins.push((from_ns, self.count_of(index, from_ns)));
            });
        }
    }

    /// The samples in a bin that has some.
    fn count_of(&self, index: usize, from_ns: u64) -> u64 {
        match (self.negated[index], &self.boundaries) {
            (0, Some(boundaries)) => boundaries.splitting(from_ns).map_or(0, |unit| boundaries.in_split[unit]),
            (negated, _) => negated.wrapping_neg(),
        }
    }

    /// Forgets the samples, but for those that bins of equal width are made of: to these are added the ones of `fine`, which calls its
    /// argument with each value (ns) and the count of its samples.
    pub(crate) fn clear(&mut self, fine: impl FnOnce(&mut dyn FnMut(u64, u64))) {
        if let Some(boundaries) = &mut self.boundaries {
            fine(&mut |value_ns, samples| {
                boundaries.count(value_ns, samples);
            });
            boundaries.in_split.fill(0);
        }
        for (word, touched) in self.touched.iter_mut().enumerate().filter(|(_, touched)| **touched != 0) {
            for_each_bit(std::mem::take(touched), |bit| self.negated[word * 64 + bit] = 0);
        }
    }

    /// Whether no bin has a sample.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.negated.iter().all(|count| *count == 0) && self.touched.iter().all(|bits| *bits == 0)
    }
}
