//! Log-linear bins as wide as a drawing needs them, so that a page stays small.
//!
//! A record's bins are at most 0.1 % wide; a screen shows no more than a few hundred columns.
//! Counts are only summed, and exact minimum, maximum and quantiles stand beside them, so nothing is lost that a
//! drawing could show.

use std::collections::BTreeMap;

use record::Histogram;

/// How fine the bins are: each octave (a doubling) is cut into `2^bits` of equal width; below that, bins are 1 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Binary digits that a bin keeps after its first.
    pub bits: u32,
}

impl Resolution {
    /// Of the latency plot: bins at most 0.4 % wide.
    pub const PLOT: Self = Self { bits: 8 };
    /// Of the heat map: bins at most 6.3 % wide.
    pub const HEAT: Self = Self { bits: 4 };
}

/// The number of the bin that holds `value_ns`, from 0, ascending.
#[must_use]
pub fn bin_index(value_ns: u64, resolution: Resolution) -> u32 {
    let top_bit = u64::BITS - 1 - (value_ns | 1).leading_zeros();
    let shift = top_bit.saturating_sub(resolution.bits);
    // Within an octave the leading digit is always set, hence `shift` octaves lie before, each of 2^bits bins.
    let within = u32::try_from(value_ns >> shift).unwrap_or(u32::MAX);
    (shift << resolution.bits).saturating_add(within)
}

/// The lowest value of the bin of that number (ns).
#[must_use]
pub fn bin_from_ns(index: u32, resolution: Resolution) -> u64 {
    let octave = 1_u32 << resolution.bits;
    let shift = (index / octave).saturating_sub(1);
    u64::from(index - shift * octave).checked_shl(shift).unwrap_or(u64::MAX)
}

/// The non-empty bins of `histogram` by their number.
pub(crate) fn coarse_bins(histogram: &Histogram, resolution: Resolution) -> BTreeMap<u32, u64> {
    let mut bins = BTreeMap::new();
    for bin in histogram.bins() {
        let sum: &mut u64 = bins.entry(bin_index(bin.from_ns, resolution)).or_default();
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
        let bins = coarse_bins(&histogram, Resolution::PLOT);
        assert_eq!(bins.values().sum::<u64>(), histogram.count());
    }
}
