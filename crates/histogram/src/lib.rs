//! A log-linear histogram that loses no sample: bins of three significant digits, and exact minimum, maximum and sum.
//!
//! The bins and their compressed text form are those of HdrHistogram (V2, deflate, base64), so that its tools can read
//! them. This type adds the exact values that the format rounds away.
#![forbid(unsafe_code)]

mod bin;
mod bin_counts;
mod fine;
mod hdr;
mod recorder;
mod weighted;
mod wire;

pub use bin_counts::equal_bins_end_ns;
pub use recorder::HistogramRecorder;
pub use weighted::weighted_sum;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::approx_f64;

use self::wire::ENCODING;
use crate::bin::{highest_of_bin, lowest_of_bin};

/// Significant decimal digits of a bin: it is at most 0.1 % wide.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// The maximum length of an encoded histogram (characters); a full one of ours needs less than a tenth of it.
const MAX_ENCODED_LEN: usize = 4 << 20;

/// The highest value that HdrHistogram's format can represent (ns); 146 years.
pub(crate) const MAX_ENCODABLE_NS: u64 = u64::MAX / 4;

/// The maximum number of samples in a bin of the format, and in a whole encoded histogram.
const MAX_ENCODABLE_COUNT: u64 = u64::MAX / 2;

/// A histogram of nanoseconds in compact form: it holds only the non-empty bins.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Lowest value (ns) and sample count of each bin, in ascending order.
    bins: Vec<(u64, u64)>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    sum_squares_ns2: u128,
    unplaced: Option<Unplaced>,
}

/// Samples of another program of which only the range is known: they were above the range of its table, so it counted them
/// without keeping their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unplaced {
    /// Number of such samples; part of the histogram's count, and in none of its bins.
    pub count: u64,
    /// The lowest value that they can have (ns); the highest is the histogram's maximum.
    pub from_ns: u64,
}

/// One non-empty bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Lowest value of the bin (ns).
    pub from_ns: u64,
    /// Highest value of the bin (ns).
    pub to_ns: u64,
    /// Samples in the bin.
    pub count: u64,
}

/// A quantile as it is written into a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// The share of samples that do not exceed the value (0 to 1).
    pub share: f64,
    /// The value, exact to the width of a bin (ns).
    pub value_ns: u64,
}

/// Why an encoded histogram is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// The text is longer than any histogram of nanoseconds can be.
    #[error("the encoded histogram has {len} characters, more than the maximum of {MAX_ENCODED_LEN}")]
    TooLong {
        /// Length of the text in characters.
        len: usize,
    },
    /// The bins are not base64.
    #[error("the histogram's bins are not base64: {0}")]
    Base64(String),
    /// The bins are not in HdrHistogram's V2 deflate format.
    #[error("the histogram's bins are not in HdrHistogram's V2 deflate format: {0}")]
    Format(String),
    /// The encoding is not the one that this version writes.
    #[error("the histogram's encoding is '{0}'; this version reads only {ENCODING}")]
    Encoding(String),
    /// The summary contradicts the bins.
    #[error("the histogram contradicts itself: {0}; the file was edited or damaged, use the original")]
    Contradiction(String),
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: Vec::new(), count: 0, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, sum_squares_ns2: 0, unplaced: None }
    }
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn from_parts(
        bins: Vec<(u64, u64)>,
        min_ns: u64,
        max_ns: u64,
        sum_ns: u64,
        sum_squares_ns2: u128,
    ) -> Self {
        let count = units::total(bins.iter().map(|(_, count)| *count));
        Self { bins, count, min_ns, max_ns, sum_ns, sum_squares_ns2, unplaced: None }
    }

    /// Adds samples of which a source gives only the number and the range from `from_ns` to the maximum. The histogram must
    /// contain the maximum already; [`set_sum_ns`](Self::set_sum_ns) then sets the sum that includes them.
    pub fn add_unplaced(&mut self, more: Unplaced) {
        if more.count == 0 || self.is_empty() {
            return;
        }
        let from_ns = more.from_ns.clamp(self.min_ns, self.max_ns);
        self.count = self.count.saturating_add(more.count);
        self.unplaced = Some(match self.unplaced {
            Some(own) => Unplaced { count: own.count.saturating_add(more.count), from_ns: own.from_ns.min(from_ns) },
            None => Unplaced { count: more.count, from_ns },
        });
    }

    /// Sets the sum of all samples, if a source gives its mean more precisely than its bins do.
    pub fn set_sum_ns(&mut self, sum_ns: u64) {
        self.sum_ns = sum_ns;
    }

    /// Sets the sum of all samples and of their squares, if the values that the bins hold are no good estimate of the samples: those
    /// of a wide bin stand at its end, and their mean does not.
    pub fn set_sums(&mut self, sum_ns: u64, sum_squares_ns2: u128) {
        (self.sum_ns, self.sum_squares_ns2) = (sum_ns, sum_squares_ns2);
    }

    /// Samples that are counted and are in no bin; only imported histograms have them.
    #[must_use]
    pub fn unplaced(&self) -> Option<Unplaced> {
        self.unplaced
    }

    /// Adds `count` samples of one value. This searches for the bin; use a
    /// [`HistogramRecorder`] for millions of samples.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.add_to_bin(lowest_of_bin(value_ns), count);
        self.count = self.count.saturating_add(count);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.sum_ns = self.sum_ns.saturating_add(value_ns.saturating_mul(count));
        let square = u128::from(value_ns) * u128::from(value_ns);
        self.sum_squares_ns2 = self.sum_squares_ns2.saturating_add(square.saturating_mul(u128::from(count)));
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.bins.is_empty() {
            self.bins.extend_from_slice(&other.bins);
        } else {
            let missing = self.add_to_own_bins(&other.bins);
            self.insert_bins(&other.bins, missing);
        }
        self.count = self.count.saturating_add(other.count);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.sum_squares_ns2 = self.sum_squares_ns2.saturating_add(other.sum_squares_ns2);
        self.unplaced = match (self.unplaced, other.unplaced) {
            (Some(a), Some(b)) => {
                Some(Unplaced { count: a.count.saturating_add(b.count), from_ns: a.from_ns.min(b.from_ns) })
            }
            (one, another) => one.or(another),
        };
    }

    /// Adds ascending bins to those of the same values, and returns how many have none here.
    fn add_to_own_bins(&mut self, others: &[(u64, u64)]) -> usize {
        let (mut missing, mut rest) = (0, self.bins.as_mut_slice());
        for &(from_ns, count) in others {
            // The next one is near where most bins are the same, and far where a few are added to many: in steps that double.
            let mut end = 1;
            while rest.get(end - 1).is_some_and(|(from, _)| *from < from_ns) {
                end *= 2;
            }
            let (near, far) = (end / 2, end.min(rest.len()));
            let at = near + rest[near..far].partition_point(|(from, _)| *from < from_ns);
            rest = &mut rest[at..];
            match rest.first_mut() {
                Some((from, own)) if *from == from_ns => *own = own.saturating_add(count),
                _ => missing += 1,
            }
        }
        missing
    }

    /// Inserts those of ascending bins that have none of the same value here: so many are `missing`.
    fn insert_bins(&mut self, others: &[(u64, u64)], missing: usize) {
        let mut unmoved = self.bins.len();
        let mut free_end = unmoved + missing;
        if free_end > self.bins.capacity() {
            // Twice the room, as a list takes that grows by ones, stays unused: most merges add few bins.
            self.bins.reserve_exact(missing + unmoved / 8);
        }
        self.bins.resize(free_end, (0, 0));
        // From the end, so that each moves into room that is free.
        for &bin in others.iter().rev() {
            while unmoved > 0 && unmoved < free_end && self.bins[unmoved - 1].0 > bin.0 {
                (unmoved, free_end) = (unmoved - 1, free_end - 1);
                self.bins[free_end] = self.bins[unmoved];
            }
            if unmoved == free_end {
                return;
            }
            if unmoved == 0 || self.bins[unmoved - 1].0 < bin.0 {
                free_end -= 1;
                self.bins[free_end] = bin;
            }
        }
    }

    fn add_to_bin(&mut self, from_ns: u64, count: u64) {
        match self.bins.binary_search_by_key(&from_ns, |(from, _)| *from) {
            Ok(at) => self.bins[at].1 = self.bins[at].1.saturating_add(count),
            Err(at) => self.bins.insert(at, (from_ns, count)),
        }
    }

    /// Number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the histogram has no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The exact smallest sample; `None` if there are none.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The exact largest sample; `None` if there are none.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The exact sum of all samples (ns); it saturates at `u64::MAX`.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Sum of the squares of all samples (ns²).
    #[must_use]
    pub fn sum_squares_ns2(&self) -> u128 {
        self.sum_squares_ns2
    }

    /// The mean, from the exact sum (ns); `None` if there are no samples.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| approx_f64(self.sum_ns) / approx_f64(self.count()))
    }

    /// The population standard deviation, from exact sums (ns); `None` if there are no samples, or if some are unplaced.
    #[must_use]
    pub fn sd_ns(&self) -> Option<f64> {
        if self.is_empty() || self.unplaced.is_some() {
            return None;
        }
        // n·Σx² − (Σx)² in integers: no cancellation. Saturated sums (beyond any real run) only make it inexact.
        let n = u128::from(self.count());
        let scaled = n.saturating_mul(self.sum_squares_ns2);
        let square = u128::from(self.sum_ns).saturating_mul(u128::from(self.sum_ns));
        #[expect(clippy::cast_precision_loss, reason = "a standard deviation is a float; 53 bits are plenty")]
        let variance_scaled = scaled.saturating_sub(square) as f64;
        Some(variance_scaled.sqrt() / approx_f64(self.count()))
    }

    /// The value that the given share (0 to 1) of samples does not exceed: the highest value of its bin, clamped to the
    /// exact minimum and maximum. `None` if there are no samples, or if the quantile may be among unplaced samples.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let wanted =
            units::round_u64((share.clamp(0.0, 1.0) * approx_f64(self.count)).ceil()).clamp(1, self.count.max(1));
        if wanted == self.count {
            return self.max_ns();
        }
        let known_below_ns = self.unplaced.map_or(u64::MAX, |unplaced| unplaced.from_ns);
        let mut seen: u64 = 0;
        for &(from_ns, count) in &self.bins {
            if self.unplaced.is_some() && highest_of_bin(from_ns) >= known_below_ns {
                return None;
            }
            seen = seen.saturating_add(count);
            if seen >= wanted {
                return Some(highest_of_bin(from_ns).clamp(self.min_ns, self.max_ns));
            }
        }
        None
    }

    /// How many samples exceed `limit_ns`. Samples in the same bin as the limit do not count, except that the result is at
    /// least 1 if the exact maximum exceeds the limit. Unplaced samples count, since they may exceed it.
    #[must_use]
    pub fn count_above(&self, limit_ns: u64) -> u64 {
        if self.is_empty() || self.max_ns <= limit_ns {
            return 0;
        }
        let above = self.bins.iter().rev().take_while(|(from, _)| *from > limit_ns).map(|(_, count)| *count);
        units::total(above.chain(self.unplaced.map(|unplaced| unplaced.count))).max(1)
    }

    /// The non-empty bins in ascending order; the first and the last are clamped to the exact minimum and maximum.
    /// Unplaced samples are in none of them.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.bins.iter().map(|&(bin_ns, count)| {
            let from_ns = bin_ns.max(self.min_ns);
            // Values above the format's maximum are encoded as that maximum, so their bin can be below `min_ns`.
            Bin { from_ns, to_ns: highest_of_bin(bin_ns).min(self.max_ns).max(from_ns), count }
        })
    }

    /// The bins of [`bins`](Self::bins) in descending order.
    pub fn bins_from_highest(&self) -> impl Iterator<Item = Bin> + '_ {
        self.bins.iter().rev().map(|&(bin_ns, count)| {
            let from_ns = bin_ns.max(self.min_ns);
            Bin { from_ns, to_ns: highest_of_bin(bin_ns).min(self.max_ns).max(from_ns), count }
        })
    }

    /// The quantiles that are written into a record: those for which there are enough samples.
    #[must_use]
    pub fn quantiles(&self) -> Vec<Quantile> {
        [0.5, 0.9, 0.99, 0.999, 0.9999, 0.999_99, 0.999_999]
            .into_iter()
            // A quantile with fewer than ten samples above it would say little more than the maximum.
            .filter(|share| (1.0 - share) * approx_f64(self.count()) >= 9.999 || *share <= 0.5)
            .filter_map(|share| self.quantile_ns(share).map(|value_ns| Quantile { share, value_ns }))
            .collect()
    }

    /// The quantile of a share (0 to 1), if it is one of [`quantiles`](Self::quantiles) (ns). Tables show the same ones as
    /// documents: one with fewer than ten samples above it is absent from both.
    #[must_use]
    pub fn stated_quantile_ns(&self, share: f64) -> Option<u64> {
        self.quantiles().into_iter().find(|quantile| (quantile.share - share).abs() < 1e-9).map(|found| found.value_ns)
    }

    /// The [`quantiles`](Self::quantiles) by their names in JSON: `p99_9` is the 99.9 % quantile (ns).
    #[must_use]
    pub fn quantiles_by_name(&self) -> BTreeMap<String, u64> {
        // Rounded, since 0.9999 × 100 is not 99.99 in binary. Without a dot, which ends a key in jq's and JavaScript's paths.
        let name = |share: f64| format!("p{}", (share * 1e6).round() / 1e4).replace('.', "_");
        self.quantiles().into_iter().map(|quantile| (name(quantile.share), quantile.value_ns)).collect()
    }

    /// Encodes the bins in HdrHistogram's published text form.
    #[must_use]
    pub fn encode(&self) -> String {
        let high = highest_of_bin(self.max_ns).clamp(2, MAX_ENCODABLE_NS);
        BASE64.encode(hdr::compressed(&self.bins, high))
    }

    fn decode_bins(text: &str) -> Result<Vec<(u64, u64)>, HistogramError> {
        if text.len() > MAX_ENCODED_LEN {
            return Err(HistogramError::TooLong { len: text.len() });
        }
        let bytes = BASE64.decode(text.trim()).map_err(|e| HistogramError::Base64(e.to_string()))?;
        hdr::bins(&bytes)
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("min_ns", &self.min_ns())
            .field("max_ns", &self.max_ns())
            .field("sum_ns", &self.sum_ns)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram_of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record_n(value, 1);
        }
        histogram
    }

    #[test]
    fn minimum_maximum_sum_and_deviation_are_exact() {
        let h = histogram_of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((h.count(), h.min_ns(), h.max_ns(), h.sum_ns()), (8, Some(2), Some(9), 40));
        assert!((h.sd_ns().unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(h.quantile_ns(0.5), Some(4));
    }

    #[test]
    fn nothing_is_clipped() {
        let h = histogram_of(&[0, 1, u64::MAX / 4, 24_310_123_457]);
        assert_eq!(h.count(), 4);
        assert_eq!(h.max_ns(), Some(u64::MAX / 4));
        assert_eq!(h.bins().map(|b| b.count).sum::<u64>(), 4);
    }

    #[test]
    fn bins_are_the_same_from_either_end() {
        let h = histogram_of(&[3, 1_000_003, 1_000_003, 77_777]);
        let mut downwards: Vec<Bin> = h.bins_from_highest().collect();
        assert_eq!((downwards[0].to_ns, downwards[0].count), (1_000_003, 2));
        downwards.reverse();
        assert_eq!(downwards, h.bins().collect::<Vec<Bin>>());
    }

    #[test]
    fn counts_above_a_limit() {
        let h = histogram_of(&[10_000, 99_999, 100_001, 5_000_000]);
        assert_eq!(h.count_above(5_000_000), 0);
        assert_eq!(h.count_above(4_999_999), 1);
        assert_eq!(h.count_above(50_000), 3);
    }

    #[test]
    fn a_damaged_summary_is_refused() {
        let good = serde_json::to_value(histogram_of(&[1_000, 2_000])).unwrap();
        for (field, value) in
            [("count", 3), ("max_ns", 9_000), ("min_ns", 500)].map(|(f, v)| (f, serde_json::Value::from(v)))
        {
            let mut bad = good.clone();
            bad[field] = value;
            let error = serde_json::from_value::<Histogram>(bad).unwrap_err().to_string();
            assert!(error.contains("contradicts itself"), "{field}: {error}");
        }
    }

    #[test]
    fn values_and_counts_at_the_end_of_the_range_are_written_and_read() {
        let mut crowded = Histogram::new();
        crowded.record_n(5, u64::MAX);
        assert!(!crowded.encode().is_empty());
        let late = histogram_of(&[u64::MAX - 1, u64::MAX]);
        let text = serde_json::to_string(&late).unwrap();
        let read = serde_json::from_str::<Histogram>(&text).unwrap();
        assert_eq!((read.min_ns(), read.bins().count()), (Some(u64::MAX - 1), 1));
        assert!(read.bins().all(|bin| bin.from_ns <= bin.to_ns));
    }

    #[test]
    fn a_minimum_above_the_maximum_is_refused() {
        // Both are in one bin, so a check against the bins does not detect it.
        let mut bad = serde_json::to_value(histogram_of(&[1_000_000, 1_000_001])).unwrap();
        (bad["min_ns"], bad["max_ns"]) = (1_000_001.into(), 1_000_000.into());
        let error = serde_json::from_value::<Histogram>(bad).unwrap_err().to_string();
        assert!(error.contains("contradicts itself"), "{error}");
    }

    #[test]
    fn more_samples_than_can_be_written_are_refused() {
        let mut half = Histogram::new();
        half.record_n(5, u64::MAX / 2);
        half.record_n(9_000, 1);
        let text = serde_json::to_string(&half).unwrap();
        let error = serde_json::from_str::<Histogram>(&text).unwrap_err().to_string();
        assert!(error.contains("more than 2^63 samples"), "{error}");
    }

    #[test]
    fn counts_beyond_a_limit_do_not_overflow() {
        let mut crowded = Histogram::new();
        crowded.record_n(5_000, u64::MAX);
        crowded.record_n(9_000, u64::MAX);
        assert_eq!(crowded.count_above(1), u64::MAX);
    }

    #[test]
    fn quantiles_need_samples_beyond_them() {
        let shares = |n: u64| {
            let mut h = Histogram::new();
            h.record_n(5, n);
            h.quantiles().len()
        };
        assert_eq!((shares(1), shares(100), shares(1_000), shares(10_000_000)), (1, 2, 3, 7));
    }

    proptest! {
        #[test]
        fn round_trip(values in proptest::collection::vec(0_u64..u64::MAX / 4, 0..200)) {
            let histogram = histogram_of(&values);
            let json = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram);
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in ".{0,200}") {
            let _ = Histogram::decode_bins(&text);
        }
    }
}
