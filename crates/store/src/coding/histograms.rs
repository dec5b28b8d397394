//! The histograms of an hour, one for each CPU.
//!
//! They are kept in bins of a thirty-second of an octave (at most 3.2 % wide), since an hour of a thousand samples a second fills
//! hundreds of the narrow ones and is kept for years. Exact are the number of samples, the smallest, the largest, and both sums. A
//! sample reads back as the highest value of its bin: nothing looks better than it was.

use histogram::Histogram;

use super::bits::{BitReader, BitWriter, Damaged, length};

const FORM: u64 = 1;
/// Bins of an octave, as a power of two.
const OCTAVE_BITS: u32 = 5;
const MOST_CPUS: u64 = 1 << 16;
/// There are fewer bins than this below 2^64.
const MOST_BINS: u64 = 64 << OCTAVE_BITS;

/// The bin of a value: those below 32 ns have each their own.
const fn bin_of(value_ns: u64) -> u64 {
    let octave = length(value_ns).saturating_sub(OCTAVE_BITS + 1);
    ((octave as u64) << OCTAVE_BITS) + (value_ns >> octave)
}

/// The highest value of a bin.
fn highest_of(bin: u64) -> Result<u64, Damaged> {
    if bin >= MOST_BINS {
        return Err(Damaged);
    }
    let octave = (bin >> OCTAVE_BITS).saturating_sub(1);
    let lowest = u128::from(bin - (octave << OCTAVE_BITS)) << octave;
    u64::try_from(lowest + (1 << octave) - 1).map_err(|_| Damaged)
}

/// Writes histograms with the numbers of their CPUs.
pub(crate) fn histograms_to_bytes(cpus: &[(u32, &Histogram)]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.bits(FORM, 8);
    bits.number(u64::try_from(cpus.len()).unwrap_or(u64::MAX), 4);
    for (cpu, histogram) in cpus {
        bits.number(u64::from(*cpu), 3);
        put_histogram(&mut bits, histogram);
    }
    bits.finish()
}

/// Reads histograms with the numbers of their CPUs.
pub(crate) fn histograms_from_bytes(bytes: &[u8]) -> Result<Vec<(u32, Histogram)>, Damaged> {
    let mut bits = BitReader::new(bytes);
    if bits.bits(8)? != FORM {
        return Err(Damaged);
    }
    let count = bits.number(4)?;
    if count > MOST_CPUS {
        return Err(Damaged);
    }
    let cpu = |_| {
        let cpu = u32::try_from(bits.number(3)?).map_err(|_| Damaged)?;
        Ok((cpu, take_histogram(&mut bits)?))
    };
    (0..count).map(cpu).collect()
}

fn put_histogram(bits: &mut BitWriter, histogram: &Histogram) {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for bin in histogram.bins() {
        let number = bin_of(bin.from_ns);
        match bins.last_mut().filter(|(last, _)| *last == number) {
            Some((_, count)) => *count = count.saturating_add(bin.count),
            None => bins.push((number, bin.count)),
        }
    }
    bits.number(u64::try_from(bins.len()).unwrap_or(u64::MAX), 7);
    let (Some(min_ns), Some(max_ns)) = (histogram.min_ns(), histogram.max_ns()) else { return };
    bits.number(min_ns, 13);
    bits.number(max_ns, 16);
    bits.number(histogram.sum_ns(), 36);
    let squares = histogram.sum_squares_ns2();
    bits.number(u64::try_from(squares >> 64).unwrap_or(0), 0);
    bits.number(u64::try_from(squares & u128::from(u64::MAX)).unwrap_or(0), 50);
    let (mut next, mut expected) = (bin_of(min_ns), 4);
    for (number, count) in bins {
        bits.number(number.saturating_sub(next), 0);
        bits.number(count, expected);
        (next, expected) = (number + 1, length(count));
    }
}

fn take_histogram(bits: &mut BitReader<'_>) -> Result<Histogram, Damaged> {
    let bins = bits.number(7)?;
    if bins > MOST_BINS {
        return Err(Damaged);
    }
    let mut histogram = Histogram::new();
    if bins == 0 {
        return Ok(histogram);
    }
    let (min_ns, max_ns, sum_ns) = (bits.number(13)?, bits.number(16)?, bits.number(36)?);
    let squares = u128::from(bits.number(0)?) << 64 | u128::from(bits.number(50)?);
    let (mut next, mut expected) = (bin_of(min_ns), 4);
    for at in 0..bins {
        let number = next.checked_add(bits.number(0)?).ok_or(Damaged)?;
        let count = bits.number(expected)?.checked_sub(1).ok_or(Damaged)?;
        let highest_ns = highest_of(number)?.min(max_ns);
        // One sample of the first bin is the smallest, and one of the last the largest.
        histogram.record_n(if at == 0 { min_ns } else { highest_ns }, 1);
        histogram.record_n(highest_ns, count);
        (next, expected) = (number + 1, length(count + 1));
    }
    histogram.set_sums(sum_ns, squares);
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_ends_and_sums_are_exact_and_samples_at_most_a_bin_higher(
            samples in proptest::collection::vec((any::<u64>(), 0..64_u32, 1..2_000_u64), 0..60),
        ) {
            let mut histogram = Histogram::new();
            for (value, shift, count) in &samples {
                histogram.record_n(value >> shift, *count);
            }
            let bytes = histograms_to_bytes(&[(3, &histogram), (70, &Histogram::new())]);
            let read = histograms_from_bytes(&bytes).unwrap();
            prop_assert_eq!((read[0].0, read[1].0, read.len(), read[1].1.count()), (3, 70, 2, 0));
            let read = &read[0].1;
            prop_assert_eq!((read.count(), read.min_ns(), read.max_ns()), (histogram.count(), histogram.min_ns(), histogram.max_ns()));
            prop_assert_eq!((read.sum_ns(), read.sum_squares_ns2()), (histogram.sum_ns(), histogram.sum_squares_ns2()));
            for share in [0.0, 0.5, 0.9, 0.999] {
                let (Some(was), Some(is)) = (histogram.quantile_ns(share), read.quantile_ns(share)) else { continue };
                // A bin of the narrow ones, and one of these.
                prop_assert!(is >= was - was / 1_000 && is <= was.saturating_add(was / 31 + 1), "{} was {}", is, was);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = histograms_from_bytes(&[&[1], &bytes[..]].concat());
        }
    }

    #[test]
    fn an_hour_of_one_cpu_takes_at_most_200_bytes() {
        let mut random = units::Random::new(1);
        let mut histogram = Histogram::new();
        for _ in 0..36_000 {
            // A hump of two octaves, and one sample of 500 in a tail of five more.
            let tail = if random.below(500) == 0 { 1 << random.below(6) } else { 1 };
            let value_ns = 8_000 + (random.below(4_000) + random.below(4_000)) * tail;
            histogram.record_n(u64::try_from(value_ns).unwrap(), 100);
        }
        let bytes = histograms_to_bytes(&[(0, &histogram)]);
        assert!(bytes.len() <= 200, "{} bytes", bytes.len());
    }
}
