//! Intervals of a run whose length is not known at its start: they are joined where they become many.

use record::Interval;

/// The length of the first intervals (ns).
pub(crate) const FIRST_NS: u64 = 1_000_000_000;
/// More than so many that are shorter than [`LONG_NS`] are joined in pairs, so that a run has about as many as one of known length.
const MOST_SHORT: usize = 120;
/// The power of two (s) below five minutes, above which a run of known length has none (ns).
const LONG_NS: u64 = 256_000_000_000;
/// More than so many longer ones are joined too, so that a log of years fits the memory.
const MOST: usize = 2_048;

/// Adds an interval to those before it; one that begins with the last one is a part of that.
pub(crate) fn push(intervals: &mut Vec<Interval>, interval: Interval) {
    match intervals.last_mut().filter(|last| last.start_offset_ns == interval.start_offset_ns) {
        Some(last) => {
            last.length_ns = last.length_ns.max(interval.length_ns);
            last.histogram.merge(&interval.histogram);
            if let Some(below) = interval.below_zero {
                last.below_zero.get_or_insert_default().merge(&below);
            }
            last.uncertainty = match (last.uncertainty, interval.uncertainty) {
                (Some(one), Some(other)) => Some(one.widest(other)),
                (one, other) => one.or(other),
            };
        }
        None => intervals.push(interval),
    }
}

/// Joins neighboring intervals of `interval_ns` until each of the series has few enough; how long they are then (ns). The first one
/// begins at `begun_ns` at the earliest.
pub(crate) fn join(series: &mut [Vec<Interval>], interval_ns: u64, begun_ns: u64) -> u64 {
    let mut interval_ns = interval_ns;
    let is_many = |intervals: &[Interval], interval_ns: u64| {
        intervals.len() > if interval_ns < LONG_NS { MOST_SHORT } else { MOST }
    };
    while series.iter().any(|intervals| is_many(intervals, interval_ns)) {
        let Some(twice_ns) = interval_ns.checked_mul(2) else { return interval_ns };
        interval_ns = twice_ns;
        for intervals in series.iter_mut() {
            for interval in std::mem::take(intervals) {
                let start_offset_ns = (interval.start_offset_ns / interval_ns * interval_ns).max(begun_ns);
                let length_ns =
                    (interval.start_offset_ns / interval_ns + 1).saturating_mul(interval_ns) - start_offset_ns;
                push(intervals, Interval { start_offset_ns, length_ns, ..interval });
            }
        }
    }
    interval_ns
}

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;

    #[test]
    fn a_run_of_months_has_few_intervals_and_all_samples() {
        let (mut series, mut interval_ns) = ([Vec::new(), Vec::new()], FIRST_NS);
        let seconds = 40 * 86_400_u64;
        for second in 0..seconds {
            let mut histogram = Histogram::default();
            histogram.record_n(second % 50, 1);
            let start_offset_ns = second * 1_000_000_000 / interval_ns * interval_ns;
            let interval = Interval {
                start_offset_ns,
                length_ns: interval_ns,
                missed_periods: 0,
                histogram,
                below_zero: None,
                uncertainty: None,
                max_at: None,
            };
            push(&mut series[0], interval);
            interval_ns = join(&mut series, interval_ns, 0);
        }
        let intervals = &series[0];
        assert!(intervals.len() <= MOST && intervals.len() > MOST / 3, "{}", intervals.len());
        assert_eq!(intervals.iter().map(|interval| interval.histogram.count()).sum::<u64>(), seconds);
        assert!(intervals.windows(2).all(|pair| pair[1].start_offset_ns == pair[0].start_offset_ns + interval_ns));
    }
}
