//! Schedules at random within their intervals, so that no period hides behind the sampling interval.

use units::Random;

/// From the start of each interval to the schedule in it (ns), for `count` intervals that are taken over and over.
///
/// Every place within the interval is as likely as any other, and two schedules that follow each other are at least half
/// an interval apart: a random walk of steps of up to half an interval that the ends of the interval reflect.
#[must_use]
pub fn offsets(interval_ns: u64, seed: u64, count: usize) -> Vec<i64> {
    let interval_ns = i64::try_from(interval_ns).unwrap_or(i64::MAX).max(2);
    let mut random = Random::new(seed);
    let mut below = |bound: i64| i64::try_from(random.below(usize::try_from(bound).unwrap_or(usize::MAX))).unwrap_or(0);
    let mut at_ns = below(interval_ns);
    let mut offsets: Vec<i64> = Vec::with_capacity(count);
    for _ in 0..count {
        offsets.push(at_ns);
        let half_ns = interval_ns / 2;
        // Over the ends it comes back by as much: the places 0 and interval - 1 are mirrors.
        let stepped_ns = at_ns + below(2 * half_ns + 1) - half_ns;
        at_ns = if stepped_ns < 0 {
            -1 - stepped_ns
        } else if stepped_ns >= interval_ns {
            2 * interval_ns - 1 - stepped_ns
        } else {
            stepped_ns
        };
    }
    // The last is followed by the first.
    if let [first, .., before, last] = offsets.as_mut_slice() {
        *last = (*before + *first) / 2;
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_as_likely_and_neighbors_keep_their_distance() {
        for interval_ns in [200_000_u64, 1_001, 10_000_000] {
            let found = offsets(interval_ns, 5, 1 << 16);
            let whole = i64::try_from(interval_ns).unwrap();
            assert!(found.iter().all(|at| (0..whole).contains(at)));
            let closest = (0..found.len()).map(|n| whole + found[(n + 1) % found.len()] - found[n]).min().unwrap();
            assert!(closest >= whole / 2, "{closest} of {whole}");
            let mut tenths = [0_u32; 10];
            found.iter().for_each(|at| tenths[usize::try_from(at * 10 / whole).unwrap()] += 1);
            // A walk has fewer independent places than steps: a tenth of 6 554 varies by some 150.
            assert!(tenths.iter().all(|count| (5_900..7_200).contains(count)), "{tenths:?}");
        }
        assert_eq!(offsets(200_000, 5, 64), offsets(200_000, 5, 64));
        assert_ne!(offsets(200_000, 5, 64), offsets(200_000, 6, 64));
    }
}
