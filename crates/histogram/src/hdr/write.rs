//! Writes bins in HdrHistogram's V2 format.
//!
//! The writer of the `hdrhistogram` crate needs a table of all bins up to the highest sample, and a compressor that keeps 0.3 MiB
//! to look for repetitions, which counts have hardly any of. A measurement that writes its intervals to a file while it goes on
//! would hold 0.7 MiB for that. This writer allocates only for the bins that are there.

use super::{COOKIE, COOKIE_COMPRESSED, huffman};
use crate::bin::bin_index;
use crate::{MAX_ENCODABLE_COUNT, MAX_ENCODABLE_NS, SIGNIFICANT_DIGITS};

/// The histogram of the given bins, each with its lowest value (ns) and its samples, in ascending order and in the layout of
/// `bin`; what exceeds the format counts as the highest that it has. `highest_ns` is the highest value that it is told to hold.
pub(crate) fn compressed(bins: &[(u64, u64)], highest_ns: u64) -> Vec<u8> {
    let packed = huffman::zlib(&plain(bins, highest_ns));
    let mut bytes = COOKIE_COMPRESSED.to_be_bytes().to_vec();
    bytes.extend(length(packed.len()).to_be_bytes());
    bytes.extend(packed);
    bytes
}

/// The same, uncompressed.
fn plain(bins: &[(u64, u64)], highest_ns: u64) -> Vec<u8> {
    // Most bins take a count of one or two bytes, and a number of empty bins before it.
    let mut counts = Vec::with_capacity(4 * bins.len());
    let mut index = 0;
    let index_of = |(from_ns, _): &(u64, u64)| bin_index((*from_ns).min(MAX_ENCODABLE_NS));
    for same in bins.chunk_by(|one, next| index_of(one) == index_of(next)) {
        let empty = index_of(&same[0]) - index;
        let count = units::total(same.iter().map(|(_, count)| *count)).min(MAX_ENCODABLE_COUNT);
        match empty {
            0 => {}
            1 => counts.push(0),
            // As their number below zero.
            _ => push_zig_zag(&mut counts, 2 * u64::from(length(empty)) - 1),
        }
        push_zig_zag(&mut counts, 2 * count);
        index += empty + 1;
    }
    if bins.is_empty() {
        // The crate writes the first bin always.
        counts.push(0);
    }
    let mut bytes = Vec::with_capacity(40 + counts.len());
    for field in [COOKIE, length(counts.len()), 0, u32::from(SIGNIFICANT_DIGITS)] {
        bytes.extend(field.to_be_bytes());
    }
    for field in [1, highest_ns, 1.0_f64.to_bits()] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(counts);
    bytes
}

/// Appends a number whose lowest bit is its sign: seven bits per byte, the lowest first, and all eight bits of a ninth byte.
fn push_zig_zag(bytes: &mut Vec<u8>, mut number: u64) {
    for _ in 0..8 {
        let [low, ..] = number.to_le_bytes();
        if number < 0x80 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
        number >>= 7;
    }
    bytes.extend(number.to_le_bytes().first());
}

/// A number of bytes or bins, of which there are never more than some 2^20.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
    use proptest::prelude::*;

    use super::*;
    use crate::Histogram;
    use crate::bin::{highest_of_bin, lowest_of_bin};

    fn theirs(bins: &[(u64, u64)], highest_ns: u64) -> hdrhistogram::Histogram<u64> {
        let mut theirs = hdrhistogram::Histogram::new_with_bounds(1, highest_ns, SIGNIFICANT_DIGITS).unwrap();
        for (from_ns, count) in bins {
            theirs.record_n(*from_ns, *count).unwrap();
        }
        theirs
    }

    fn assert_is_what_the_crate_writes(bins: &[(u64, u64)]) {
        let highest_ns = bins.last().map_or(2, |(from_ns, _)| highest_of_bin(*from_ns).clamp(2, MAX_ENCODABLE_NS));
        let theirs = theirs(bins, highest_ns);
        let mut expected = Vec::new();
        V2Serializer::new().serialize(&theirs, &mut expected).unwrap();
        assert_eq!(plain(bins, highest_ns), expected, "{bins:?}");
        let packed = compressed(bins, highest_ns);
        let read: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut packed.as_slice()).unwrap();
        assert_eq!(read, theirs, "{bins:?}");
    }

    #[test]
    fn the_ends_of_what_can_be_written() {
        let last = lowest_of_bin(MAX_ENCODABLE_NS);
        for bins in [&[][..], &[(0, 1)], &[(0, 1), (1, 1)], &[(1, 1), (3, 2)], &[(last, u64::MAX / 2)]] {
            assert_is_what_the_crate_writes(bins);
        }
        let beyond = [(last, u64::MAX - 7), (2 * last, 9), (3 * last, 1)];
        assert_eq!(plain(&beyond, 2), plain(&[(last, u64::MAX / 2)], 2));
        // Each number of bytes that a count can take.
        let counts = (0..63).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit]).filter(|count| *count > 0);
        for count in counts {
            assert_is_what_the_crate_writes(&[(5, count)]);
        }
    }

    #[test]
    fn intervals_are_no_longer_than_by_a_compressor_that_looks_for_repetitions() {
        // A run's tail: many bins of one sample, and a bulk.
        let mut histogram = Histogram::new();
        for at in 0..2_000_u64 {
            histogram.record_n(4_000 + at * at % 9_973 + if at % 50 == 0 { 40 * at } else { 0 }, 1);
        }
        let mut expected = Vec::new();
        let theirs = theirs(&histogram.bins, highest_of_bin(histogram.max_ns));
        hdrhistogram::serialization::V2DeflateSerializer::new().serialize(&theirs, &mut expected).unwrap();
        let ours = compressed(&histogram.bins, highest_of_bin(histogram.max_ns)).len();
        assert!(ours <= expected.len(), "{ours} against {}", expected.len());
    }

    proptest! {
        // The crate's histogram has a table of all bins up to the highest: use fewer cases.
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_crate_writes_the_same_and_reads_it(samples in proptest::collection::vec((0_u64..1 << 61, 0_u32..61, 1_u64..1 << 40, 0_u32..40), 1..400)) {
            let mut histogram = Histogram::new();
            for (value, shift, count, count_shift) in samples {
                histogram.record_n(value >> shift, (count >> count_shift).max(1));
            }
            assert_is_what_the_crate_writes(&histogram.bins);
        }
    }
}
