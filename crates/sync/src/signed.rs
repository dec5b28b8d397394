//! Values of both signs: a series of them is two histograms.

use record::{Histogram, Spread};

/// Values of both signs, with what their spread is computed from.
#[derive(Clone, Debug, Default)]
pub struct Signed {
    /// Values of zero and above.
    pub above: Histogram,
    /// Values below zero, by their magnitude.
    pub below: Histogram,
    /// The first value (ns). Clocks can be decades apart, and squares of such values leave nothing of how they differ.
    first_ns: i64,
    /// Sum of what the values are above the first one, and of the squares of that.
    sums: (f64, f64),
}

impl Signed {
    /// Adds a value (ns).
    pub fn record(&mut self, ns: i64) {
        if self.is_empty() {
            self.first_ns = ns;
        }
        if ns < 0 { &mut self.below } else { &mut self.above }.record_n(ns.unsigned_abs(), 1);
        let value = units::approx_f64_i64(ns.saturating_sub(self.first_ns));
        self.sums = (self.sums.0 + value, self.sums.1 + value * value);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if self.is_empty() {
            self.first_ns = other.first_ns;
        }
        self.above.merge(&other.above);
        self.below.merge(&other.below);
        // What the other one's values are above the first one of these.
        let count = units::approx_f64(other.count());
        let apart = units::approx_f64_i64(other.first_ns.saturating_sub(self.first_ns));
        let (sum, squares) = other.sums;
        self.sums.0 += sum + count * apart;
        self.sums.1 += squares + 2.0 * apart * sum + count * apart * apart;
    }

    fn count(&self) -> u64 {
        self.above.count() + self.below.count()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.above.is_empty() && self.below.is_empty()
    }

    pub(crate) fn below_zero(&self) -> Option<Histogram> {
        (!self.below.is_empty()).then(|| self.below.clone())
    }

    /// How they are spread; `None` if there are none.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let (above, below) = (&self.above, &self.below);
        let count = self.count();
        if count == 0 {
            return None;
        }
        let lowest_ns = below.max_ns().map(|ns| -signed(ns)).or_else(|| above.min_ns().map(signed))?;
        let highest_ns = above.max_ns().map(signed).or_else(|| below.min_ns().map(|ns| -signed(ns)))?;
        // The one in the middle, counted from the lowest; below zero that is from the largest magnitude.
        let middle = count.div_ceil(2);
        let ranked = |histogram: &Histogram, rank: u64| {
            histogram.quantile_ns((units::approx_f64(rank) - 0.5) / units::approx_f64(histogram.count()))
        };
        let median_ns = if middle <= below.count() {
            ranked(below, below.count() - middle + 1).map(|ns| -signed(ns))
        } else {
            ranked(above, middle - below.count()).map(signed)
        };
        let total = units::approx_f64(count);
        let above_first = self.sums.0 / total;
        let mean_ns = units::approx_f64_i64(self.first_ns) + above_first;
        let deviation_ns = (self.sums.1 / total - above_first * above_first).max(0.0).sqrt();
        Some(Spread { count, median_ns: median_ns.unwrap_or(lowest_ns), lowest_ns, highest_ns, mean_ns, deviation_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_values_differ_is_known_wherever_they_lie() {
        // A week, 25 years and minus 12 years in nanoseconds: of squares of these nothing is left below a minute.
        for origin_ns in [0, 604_800_000_000_000, 786_052_493_600_000_000, -380_258_039_690_000_000] {
            let values = [3_000, -1_000, 5_000, 1_000, -3_000].map(|ns| origin_ns + ns);
            let mut whole = Signed::default();
            values.iter().for_each(|ns| whole.record(*ns));
            let mut merged = Signed::default();
            for part in values.chunks(2) {
                let mut one = Signed::default();
                part.iter().for_each(|ns| one.record(*ns));
                merged.merge(&one);
            }
            for spread in [whole.spread().unwrap(), merged.spread().unwrap()] {
                assert_eq!((spread.count, spread.lowest_ns, spread.highest_ns), (5, values[4], values[2]));
                assert!((spread.deviation_ns - 8_000_000_f64.sqrt()).abs() < 0.01, "{origin_ns}: {spread:?}");
                let mean_ns = units::approx_f64_i64(origin_ns + 1_000);
                // A number of that size has steps of 128.
                assert!((spread.mean_ns - mean_ns).abs() <= 128.0, "{origin_ns}: {spread:?}");
            }
        }
    }
}
