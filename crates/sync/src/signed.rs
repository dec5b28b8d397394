//! Values of both signs: a series of them is two histograms.

use record::{Histogram, Spread};

/// Values of both signs, with what their spread is computed from.
#[derive(Clone, Debug, Default)]
pub struct Signed {
    /// Values of zero and above.
    pub above: Histogram,
    /// Values below zero, by their magnitude.
    pub below: Histogram,
    /// Sum of the values and of their squares.
    sums: (f64, f64),
}

impl Signed {
    /// Adds a value (ns).
    pub fn record(&mut self, ns: i64) {
        if ns < 0 { &mut self.below } else { &mut self.above }.record_n(ns.unsigned_abs(), 1);
        let value = units::approx_f64_i64(ns);
        self.sums = (self.sums.0 + value, self.sums.1 + value * value);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.above.merge(&other.above);
        self.below.merge(&other.below);
        self.sums = (self.sums.0 + other.sums.0, self.sums.1 + other.sums.1);
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
        let count = above.count() + below.count();
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
        let mean_ns = self.sums.0 / total;
        let deviation_ns = (self.sums.1 / total - mean_ns * mean_ns).max(0.0).sqrt();
        Some(Spread { count, median_ns: median_ns.unwrap_or(lowest_ns), lowest_ns, highest_ns, mean_ns, deviation_ns })
    }
}
