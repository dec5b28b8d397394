//! The layout of the bins: HdrHistogram's at three significant digits with a unit of one nanosecond. Each value below 2048 has its own
//! bin, and every octave above has 1024 bins.

/// Bins of one octave, as a power of two.
pub(crate) const OCTAVE_BITS: u32 = 10;

/// The width of a value's bin, as a power of two in nanoseconds.
#[inline(always)]
pub(crate) const fn coarseness(value_ns: u64) -> u32 {
    // The top 11 bits of a value are kept.
    (value_ns | ((2 << OCTAVE_BITS) - 1)).ilog2() - OCTAVE_BITS
}

/// The lowest value of the bin that `value_ns` falls into.
pub(crate) const fn lowest_of_bin(value_ns: u64) -> u64 {
    let bits = coarseness(value_ns);
    value_ns >> bits << bits
}

/// The highest value of the bin that `value_ns` falls into.
pub(crate) const fn highest_of_bin(value_ns: u64) -> u64 {
    value_ns | ((1 << coarseness(value_ns)) - 1)
}

/// The index of the bin that a value (ns) falls into.
#[inline(always)]
pub(crate) fn bin_index(value_ns: u64) -> usize {
    let bits = coarseness(value_ns);
    let index = (u64::from(bits) << OCTAVE_BITS) + (value_ns >> bits);
    // At most 54 octaves of 1024 bins: fits every usize.
    #[expect(clippy::cast_possible_truncation, reason = "below 2^16")]
    let index = index as usize;
    index
}

/// [`bin_index`] of a value from 1,024 to 2^24 ns, in a third of the instructions: exponent and upper mantissa bits of a floating
/// point number, which holds such a value exactly, are the octave and the bin within it.
#[inline(always)]
pub(crate) fn bin_index_of_common(value_ns: u64) -> usize {
    const MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;
    /// The exponent that 1,024 is written with.
    const FIRST_EXPONENT: usize = OCTAVE_BITS as usize + 127;
    // Of 32 bits: processors convert that in one instruction.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "below 2^24")]
    let number = value_ns as u32 as f32;
    let octave_and_bin = usize::try_from(number.to_bits() >> (MANTISSA_BITS - OCTAVE_BITS)).unwrap_or(0);
    octave_and_bin.wrapping_sub((FIRST_EXPONENT - 1) << OCTAVE_BITS)
}

/// The lowest value (ns) of a bin, by its index.
pub(crate) fn bin_value(index: usize) -> u64 {
    let index = u64::try_from(index).unwrap_or(u64::MAX);
    let bits = (index >> OCTAVE_BITS).saturating_sub(1);
    (index - (bits << OCTAVE_BITS)) << bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_hdrhistogram_s() {
        let theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, u64::MAX / 4, 3).unwrap();
        for exponent in 0..62 {
            for value in [(1_u64 << exponent) - 1, 1 << exponent, (1 << exponent) + (1 << exponent) / 3] {
                assert_eq!(lowest_of_bin(value), theirs.lowest_equivalent(value), "{value}");
                assert_eq!(highest_of_bin(value), theirs.highest_equivalent(value), "{value}");
                assert_eq!(bin_value(bin_index(value)), lowest_of_bin(value), "{value}");
            }
        }
    }

    #[test]
    fn common_values_fall_into_the_bins_of_all_others() {
        let edges = (10..24).flat_map(|bit| [1_u64 << bit, (1 << bit) + 1, (2 << bit) - 1, (3 << bit) / 2]);
        for value_ns in edges.chain((1_024..1 << 24).step_by(997)) {
            assert_eq!(bin_index_of_common(value_ns), bin_index(value_ns), "{value_ns}");
        }
    }
}
