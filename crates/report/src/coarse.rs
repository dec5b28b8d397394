//! Coarse log-linear bins for drawing, so that a page stays small.
//!
//! A record's bins are at most 0.1 % wide, but a screen shows only a few hundred columns. Counts are summed, and the exact
//! minimum, maximum and quantiles are kept separately, so that a drawing loses nothing visible.

use std::collections::BTreeMap;

use record::Histogram;

/// The width of the bins: each octave (a factor of 2) has `2^bits` bins of equal width, but no bin is narrower than 1 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Number of binary digits of a value, after the leading one, that determine its bin.
    pub bits: u32,
}

impl Resolution {
    /// The resolution of the latency histogram: bins are at most 0.4 % wide.
    pub const PLOT: Self = Self { bits: 8 };
    /// The resolution of the heat map: bins are at most 6.3 % wide.
    pub const HEAT: Self = Self { bits: 4 };
}

/// The index of the bin that contains `value_ns`; indices start at 0 and ascend.
#[must_use]
pub fn bin_index(value_ns: u64, resolution: Resolution) -> u32 {
    let top_bit = u64::BITS - 1 - (value_ns | 1).leading_zeros();
    let shift = top_bit.saturating_sub(resolution.bits);
    // `within` includes the leading digit, so it already counts one octave; `shift` more octaves of 2^bits bins precede.
    let within = u32::try_from(value_ns >> shift).unwrap_or(u32::MAX);
    (shift << resolution.bits).saturating_add(within)
}

/// The lowest value of the bin with the given index (ns).
#[must_use]
pub fn bin_from_ns(index: u32, resolution: Resolution) -> u64 {
    let octave = 1_u32 << resolution.bits;
    let shift = (index / octave).saturating_sub(1);
    u64::from(index - shift * octave).checked_shl(shift).unwrap_or(u64::MAX)
}

/// The sample counts of the non-empty bins of `histogram`, by bin index. The bins are those of values in units of `unit_ns`:
/// 1, or the resolution of the series. A bin is then never narrower than those of an import's source, and begins with one of
/// them.
pub(crate) fn coarse_bins(histogram: &Histogram, resolution: Resolution, unit_ns: u64) -> BTreeMap<u32, u64> {
    let unit_ns = unit_ns.max(1);
    let mut bins = BTreeMap::new();
    for bin in histogram.bins() {
        // An import's values are multiples of its unit. A bin of the record is named by its lowest value, which can lie just
        // below that multiple.
        let within_ns = if unit_ns == 1 { bin.from_ns } else { bin.to_ns };
        let sum: &mut u64 = bins.entry(bin_index(within_ns / unit_ns, resolution)).or_default();
        *sum = sum.saturating_add(bin.count);
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_contiguous_and_ascending() {
        for resolution in [Resolution::PLOT, Resolution::HEAT] {
            let mut last = 0;
            for value_ns in 0..5_000 {
                let index = bin_index(value_ns, resolution);
                assert!(index == last || index == last + 1, "{value_ns}");
                last = index;
            }
            for value_ns in (0..5_000).chain((1..54).flat_map(|e| [(1 << e) - 1, 1 << e, (1 << e) + 1])) {
                let index = bin_index(value_ns, resolution);
                assert!(bin_from_ns(index, resolution) <= value_ns, "{value_ns}");
                assert!(value_ns < bin_from_ns(index + 1, resolution), "{value_ns}");
            }
        }
    }

    #[test]
    fn no_sample_is_lost() {
        let mut histogram = Histogram::new();
        for value_ns in [0, 1, 77, 5_000, 5_001, 123_456, 24_310_000] {
            histogram.record_n(value_ns, 3);
        }
        for unit_ns in [1, 1_000, 7_777] {
            let bins = coarse_bins(&histogram, Resolution::PLOT, unit_ns);
            assert_eq!(bins.values().sum::<u64>(), histogram.count());
        }
    }

    #[test]
    fn every_bin_of_a_source_that_counts_microseconds_stays_one_bin() {
        let mut histogram = Histogram::new();
        // A flat table from 1 us to 400 us: a bin that is split or joined with its neighbor would not hold 1,000 samples.
        (1..=400).for_each(|us| histogram.record_n(us * 1_000, 1_000));
        let bins = coarse_bins(&histogram, Resolution::PLOT, 1_000);
        let found: Vec<(u32, u64)> = bins.into_iter().collect();
        assert_eq!(found, (1..=400).map(|us| (us, 1_000)).collect::<Vec<_>>());
        // Wide bins are recorded at their upper ends: 9 us stands for 0 to 9 us.
        let mut wide = Histogram::new();
        (0..50).for_each(|row| wide.record_n(row * 10_000 + 9_000, 7));
        let bins = coarse_bins(&wide, Resolution::PLOT, 10_000);
        assert_eq!(bins.into_iter().collect::<Vec<_>>(), (0..50).map(|row| (row, 7)).collect::<Vec<_>>());
        // In steps of nanoseconds the table of 1 us falls into bins of which some are empty and others hold it twice.
        let torn = coarse_bins(&histogram, Resolution::PLOT, 1);
        assert!(torn.values().any(|count| *count == 2_000), "{torn:?}");
    }
}
