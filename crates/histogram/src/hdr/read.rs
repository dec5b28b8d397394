//! Reads bins in HdrHistogram's V2 format.
//!
//! The reader of the `hdrhistogram` crate allocates whatever a header claims: 4 GiB for a text of sixty characters.
//! This reader allocates only for the bins that are present, and rejects input that is too long.

use std::io::{BufReader, Read};

use flate2::read::ZlibDecoder;

use super::{COOKIE, COOKIE_COMPRESSED};
use crate::bin::lowest_of_bin;
use crate::{HistogramError, MAX_ENCODABLE_NS};

/// The maximum size of the counts (bytes); all 54 octaves of our own layout need half of it.
const MAX_PAYLOAD: u32 = 1 << 20;

/// The highest precision of the format (significant digits).
const MAX_DIGITS: u32 = 5;

/// Decodes the lowest value (ns) and the sample count of each bin, in ascending order and in the layout of `recorder`.
pub(crate) fn bins(bytes: &[u8]) -> Result<Vec<(u64, u64)>, HistogramError> {
    let mut rest = bytes;
    match read_u32(&mut rest)? {
        COOKIE => read_v2_bins(rest),
        COOKIE_COMPRESSED => {
            let len = read_u32(&mut rest)?;
            let mut inflated = BufReader::new(ZlibDecoder::new(rest.take(u64::from(len))));
            if read_u32(&mut inflated)? != COOKIE {
                return Err(format("the decompressed data is not a histogram"));
            }
            read_v2_bins(inflated)
        }
        _ => Err(format("the first four bytes are not the format's")),
    }
}

/// Reads everything that follows the cookie.
fn read_v2_bins(mut reader: impl Read) -> Result<Vec<(u64, u64)>, HistogramError> {
    let payload_len = read_u32(&mut reader)?;
    let offset = read_u32(&mut reader)?;
    let digits = read_u32(&mut reader)?;
    let low = read_u64(&mut reader)?;
    let _high = read_u64(&mut reader)?;
    let ratio = read_u64(&mut reader)?;
    if payload_len > MAX_PAYLOAD {
        return Err(format("the header claims more counts than a histogram of nanoseconds can have"));
    }
    if offset != 0 || ratio != 1.0_f64.to_bits() {
        return Err(format("shifted and scaled histograms are not supported"));
    }
    if digits > MAX_DIGITS || low == 0 {
        return Err(format("its precision is not one that the format supports"));
    }
    let layout = Layout { unit_bits: low.ilog2(), half_bits: (2 * 10_u64.pow(digits)).next_power_of_two().ilog2() - 1 };
    let mut payload = reader.take(u64::from(payload_len));
    let mut bins: Vec<(u64, u64)> = Vec::new();
    let mut index: u64 = 0;
    while payload.limit() > 0 {
        let number = read_zig_zag(&mut payload)?;
        // A negative number skips as many empty bins.
        let skipped = if number < 0 { number.unsigned_abs() } else { 1 };
        if number > 0 {
            let value = layout.lowest_value(index).filter(|value| *value <= MAX_ENCODABLE_NS);
            let from_ns = lowest_of_bin(value.ok_or_else(|| format("a bin lies beyond 146 years"))?);
            // Another program may use a different bin layout; its bins are mapped to ours by their values.
            match bins.last_mut() {
                Some(last) if last.0 == from_ns => last.1 = last.1.saturating_add(number.unsigned_abs()),
                _ => bins.push((from_ns, number.unsigned_abs())),
            }
        }
        index = index.checked_add(skipped).ok_or_else(|| format("a bin lies beyond 146 years"))?;
    }
    // A record has a histogram for each interval, and many records are held at a time.
    bins.shrink_to_fit();
    Ok(bins)
}

/// The bin layout: `2^half_bits` bins per octave, in units of `2^unit_bits` ns.
struct Layout {
    unit_bits: u32,
    half_bits: u32,
}

impl Layout {
    fn lowest_value(&self, index: u64) -> Option<u64> {
        let octave = u32::try_from((index >> self.half_bits).saturating_sub(1)).ok()?;
        // The first two octaves have bins of one unit.
        let within = index - (u64::from(octave) << self.half_bits);
        let shift = octave.checked_add(self.unit_bits).filter(|shift| *shift <= within.leading_zeros())?;
        within.checked_shl(shift)
    }
}

fn format(what: &str) -> HistogramError {
    HistogramError::Format(what.to_owned())
}

fn read_array<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], HistogramError> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes).map_err(|error| HistogramError::Format(error.to_string()))?;
    Ok(bytes)
}

fn read_u32(reader: &mut impl Read) -> Result<u32, HistogramError> {
    read_array(reader).map(u32::from_be_bytes)
}

fn read_u64(reader: &mut impl Read) -> Result<u64, HistogramError> {
    read_array(reader).map(u64::from_be_bytes)
}

/// Reads a zig-zag number: seven bits per byte, the lowest first, and all eight bits of a ninth byte. The lowest bit is the
/// sign.
fn read_zig_zag(reader: &mut impl Read) -> Result<i64, HistogramError> {
    let mut number: u64 = 0;
    for place in 0..9 {
        let [byte] = read_array(reader)?;
        if place == 8 {
            number |= u64::from(byte) << 56;
            break;
        }
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    #[expect(clippy::cast_possible_wrap, reason = "the highest bit is 0")]
    let magnitude = (number >> 1) as i64;
    Ok(if number & 1 == 0 { magnitude } else { !magnitude })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer, V2Serializer};
    use proptest::prelude::*;

    use super::*;

    fn head(payload_len: u32, digits: u32) -> Vec<u8> {
        let mut bytes = COOKIE.to_be_bytes().to_vec();
        bytes.extend([payload_len, 0, digits].iter().flat_map(|field| field.to_be_bytes()));
        bytes.extend([1, u64::MAX, 1.0_f64.to_bits()].iter().flat_map(|field| field.to_be_bytes()));
        bytes
    }

    fn check(bytes: &[u8], part: &str) {
        let error = bins(bytes).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        let text = BASE64.encode(bytes);
        let json = format!(
            r#"{{"count":1,"min_ns":0,"max_ns":0,"sum_ns":0,"sum_squares_ns2":"0","encoding":"hdrhistogram-v2-deflate-base64","bins":"{text}"}}"#
        );
        let error = serde_json::from_str::<crate::Histogram>(&json).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn a_claimed_size_asks_for_no_memory() {
        check(&head(u32::MAX, 3), "claims more counts");
        check(&head(1 << 20, 3), "fill whole buffer");
    }

    #[test]
    fn extreme_numbers_are_refused() {
        let with = |payload: &[u8], digits| [&head(u32::try_from(payload.len()).unwrap(), digits), payload].concat();
        // The lowest number skips 2^63 bins; skipping that many twice exceeds every index.
        let lowest = [0xff; 9];
        check(&with(&[lowest, lowest].concat(), 3), "beyond 146 years");
        check(&with(&[lowest.as_slice(), &[2]].concat(), 3), "beyond 146 years");
        check(&with(&[2], 6), "precision");
    }

    #[test]
    fn a_decompression_bomb_is_refused() {
        use std::io::Write as _;
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&head(64 << 20, 3)).unwrap();
        packed.write_all(&vec![0; 64 << 20]).unwrap();
        let packed = packed.finish().unwrap();
        let mut bytes = COOKIE_COMPRESSED.to_be_bytes().to_vec();
        bytes.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
        bytes.extend(packed);
        check(&bytes, "claims more counts");
    }

    proptest! {
        // The crate's histogram has millions of bins at five digits, so use fewer cases.
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn reads_what_the_crate_writes(digits in 0_u8..=5, low in 1_u64..5_000,
                                       values in proptest::collection::vec((0_u64..1 << 61, 0_u32..61), 1..50)) {
            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(low, 1 << 61, digits).unwrap();
            for (value, shift) in values {
                theirs.record(value >> shift).unwrap();
            }
            let mut expected: Vec<(u64, u64)> = Vec::new();
            for bin in theirs.iter_recorded() {
                let from_ns = lowest_of_bin(theirs.lowest_equivalent(bin.value_iterated_to()));
                match expected.last_mut() {
                    Some(last) if last.0 == from_ns => last.1 += bin.count_at_value(),
                    _ => expected.push((from_ns, bin.count_at_value())),
                }
            }
            let mut plain = Vec::new();
            V2Serializer::new().serialize(&theirs, &mut plain).unwrap();
            prop_assert_eq!(bins(&plain).unwrap(), expected.clone());
            let mut packed = Vec::new();
            V2DeflateSerializer::new().serialize(&theirs, &mut packed).unwrap();
            prop_assert_eq!(bins(&packed).unwrap(), expected);
        }
    }
}
