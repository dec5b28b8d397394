//! Equal bins of whole units beside the record's log-linear ones, and the samples themselves while they pass.
//!
//! Older tools truncate each sample to a unit before they do anything else with it. [`EqualBins`] makes their numbers from
//! the record's bins and from the few samples that these leave open; [`LinearHistogram::record`] counts each sample, for
//! bins that are too many or too narrow for that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};

use record::{Histogram, equal_bins_end_ns};

/// A histogram with bins of equal width, as older tools print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearBins {
    /// Width of a bin (ns, at least 1); also the unit of all other numbers of the histogram.
    pub width_ns: u64,
    /// Number of bins; samples above the last bin are counted as overflows.
    pub bins: usize,
    /// Number of overflows whose sample number is kept.
    pub kept_overflows: usize,
}

/// The samples of one thread, each truncated to a whole unit of [`LinearBins::width_ns`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearHistogram {
    width_ns: u64,
    counts: Vec<u64>,
    overflow_samples: Vec<u64>,
    kept_overflows: usize,
    overflows: u64,
    below_zero: u64,
    samples: u64,
    sum: u64,
    min: u64,
    max: u64,
    last: u64,
}

impl LinearHistogram {
    /// Without any sample; all memory is taken now.
    #[must_use]
    pub fn new(bins: LinearBins) -> Self {
        Self {
            width_ns: bins.width_ns.max(1),
            counts: vec![0; bins.bins],
            overflow_samples: Vec::with_capacity(bins.kept_overflows),
            kept_overflows: bins.kept_overflows,
            overflows: 0,
            below_zero: 0,
            samples: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            last: 0,
        }
    }

    /// Counts one sample. One below zero (a clock stepped back) is counted apart and is in no bin.
    #[inline(always)]
    pub(crate) fn record(&mut self, latency_ns: i64) {
        let number = self.samples;
        self.samples += 1;
        let Ok(latency_ns) = u64::try_from(latency_ns) else {
            self.below_zero += 1;
            return;
        };
        // Whole nanoseconds need no division, the costliest instruction here.
        let units = if self.width_ns == 1 { latency_ns } else { latency_ns / self.width_ns };
        self.sum = self.sum.wrapping_add(units);
        self.min = self.min.min(units);
        self.max = self.max.max(units);
        self.last = units;
        match usize::try_from(units).ok().and_then(|bin| self.counts.get_mut(bin)) {
            Some(count) => *count += 1,
            None => {
                self.overflows += 1;
                if self.overflow_samples.len() < self.kept_overflows {
                    self.overflow_samples.push(number);
                }
            }
        }
    }

    /// Samples in each bin, from 0 units on.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Samples in all bins.
    #[must_use]
    pub fn in_range(&self) -> u64 {
        self.samples - self.overflows - self.below_zero
    }

    /// Samples beyond the last bin.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// The numbers (from 0) of the first samples beyond the last bin.
    #[must_use]
    pub fn overflow_samples(&self) -> &[u64] {
        &self.overflow_samples
    }

    /// Samples below zero.
    #[must_use]
    pub fn below_zero(&self) -> u64 {
        self.below_zero
    }

    /// Number of samples, those outside the bins included.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The sum of all truncated samples (units).
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The mean of all truncated samples, itself truncated (units), 0 where there is none.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.sum / (self.samples - self.below_zero).max(1)
    }

    /// The smallest sample (units).
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.samples > self.below_zero).then_some(self.min)
    }

    /// The largest sample (units).
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.samples > self.below_zero).then_some(self.max)
    }

    /// The latest sample (units), 0 where there is none.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }
}

/// What the record's own bins do not say about bins of equal width: the numbers of the first samples beyond the last bin,
/// and the units of samples from [`equal_bins_end_ns`] on. All others are only counted by the recorder.
#[derive(Clone, Debug)]
pub(crate) struct EqualBins {
    bins: LinearBins,
    far_sum: u64,
    overflow_samples: Vec<u64>,
}

impl EqualBins {
    /// `None` if the bins reach further than they can be made from the record's.
    pub(crate) fn new(bins: LinearBins) -> Option<Self> {
        let bins = LinearBins { width_ns: bins.width_ns.max(1), ..bins };
        let new = Self { bins, far_sum: 0, overflow_samples: Vec::with_capacity(bins.kept_overflows) };
        (new.overflows_from_ns() <= equal_bins_end_ns(bins.width_ns)).then_some(new)
    }

    pub(crate) fn width_ns(&self) -> u64 {
        self.bins.width_ns
    }

    /// The end of the last bin (ns).
    fn overflows_from_ns(&self) -> u64 {
        u64::try_from(self.bins.bins).unwrap_or(u64::MAX).saturating_mul(self.bins.width_ns)
    }

    /// [`look`](Self::look) has to see each sample from here on (ns).
    pub(crate) fn looks_from_ns(&self) -> u64 {
        // The record's sum is exact in nanoseconds.
        let far_from_ns = if self.bins.width_ns == 1 { u64::MAX } else { equal_bins_end_ns(self.bins.width_ns) };
        let is_full = self.overflow_samples.len() >= self.bins.kept_overflows;
        if is_full { far_from_ns } else { far_from_ns.min(self.overflows_from_ns()) }
    }

    /// Looks at one sample with its number (from 0).
    pub(crate) fn look(&mut self, latency_ns: i64, number: u64) {
        let Ok(latency_ns) = u64::try_from(latency_ns) else { return };
        if latency_ns >= self.overflows_from_ns() && self.overflow_samples.len() < self.bins.kept_overflows {
            self.overflow_samples.push(number);
        }
        if latency_ns >= equal_bins_end_ns(self.bins.width_ns) {
            self.far_sum = self.far_sum.wrapping_add(latency_ns / self.bins.width_ns);
        }
    }

    /// All samples: `counts` by unit from the recorder, `all` with exact statistics.
    pub(crate) fn histogram(&self, counts: &[u64], all: &Histogram, below_zero: u64, last_ns: i64) -> LinearHistogram {
        let width_ns = self.bins.width_ns;
        let in_range = &counts[..self.bins.bins.min(counts.len())];
        let near_sum = (0_u64..).zip(counts).fold(0_u64, |sum, (unit, count)| sum.wrapping_add(unit * count));
        LinearHistogram {
            counts: in_range.to_vec(),
            overflow_samples: self.overflow_samples.clone(),
            overflows: all.count() - units::total(in_range.iter().copied()),
            below_zero,
            samples: all.count() + below_zero,
            sum: if width_ns == 1 { all.sum_ns() } else { near_sum.wrapping_add(self.far_sum) },
            min: all.min_ns().map_or(u64::MAX, |ns| ns / width_ns),
            max: all.max_ns().map_or(0, |ns| ns / width_ns),
            last: u64::try_from(last_ns).unwrap_or(0) / width_ns,
            ..LinearHistogram::new(self.bins)
        }
    }
}

/// One sample on its way to somebody who prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TappedSample {
    /// The thread's number.
    pub thread: u32,
    /// The sample's number, from 0.
    pub sample: u64,
    /// The latency (ns).
    pub latency_ns: i64,
}

/// Where the drain sends each sample; it never waits for the receiver.
#[derive(Clone, Debug)]
pub struct SampleTap {
    sender: SyncSender<TappedSample>,
    lost: Arc<AtomicU64>,
}

impl SampleTap {
    /// A tap that holds up to `waiting` samples for its receiver.
    #[must_use]
    pub fn new(waiting: usize) -> (Self, Receiver<TappedSample>) {
        let (sender, receiver) = mpsc::sync_channel(waiting);
        (Self { sender, lost: Arc::default() }, receiver)
    }

    /// Samples that were not received, since the receiver was too slow for them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn send(&self, thread: u32, sample: u64, latency_ns: i64) {
        if self.sender.try_send(TappedSample { thread, sample, latency_ns }).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use units::ClockId;

    use super::*;
    use crate::clock_watch::ClockWatch;
    use crate::collect::Collector;
    use crate::ring::Pair;

    #[test]
    fn bins_made_from_the_record_s_equal_those_of_counting_each_sample() {
        let clocks = ClockWatch::scripted(ClockId::Monotonic, Vec::new());
        // Around the boundaries of bins, where own bins are split by them, beyond the last bin and beyond all bins.
        let mut latencies_ns: Vec<i64> = (0..40_000).map(|n| n * 7_919 % 260_000).collect();
        latencies_ns.extend([-3, 0, 199_999, 200_000, 1_048_575, 1_048_576, 7_000_000, 33_000, 32_999]);
        for bins in [
            LinearBins { width_ns: 1_000, bins: 200, kept_overflows: 200 },
            LinearBins { width_ns: 1_000, bins: 0, kept_overflows: 0 },
            LinearBins { width_ns: 1, bins: 0, kept_overflows: 0 },
            LinearBins { width_ns: 1, bins: 2_000, kept_overflows: 10 },
        ] {
            let mut counted = LinearHistogram::new(bins);
            latencies_ns.iter().for_each(|&ns| counted.record(ns));
            let made = EqualBins::new(bins);
            assert!(made.is_some(), "{bins:?}");
            let mut collector = Collector::new(0, Some(0), 0, 1_000_000_000, None).with_equal_bins(made);
            let pairs: Vec<Pair> = (0_i64..)
                .map(|n| n * 10_000_000)
                .zip(&latencies_ns)
                .map(|(first_ns, latency_ns)| Pair { first_ns, second_ns: first_ns + latency_ns })
                .collect();
            for some in pairs.chunks(500) {
                collector.take_each(some, |pair| *pair, &clocks);
            }
            collector.end(i64::MAX);
            assert_eq!(collector.linear(), Some(counted), "{bins:?}");
        }
        let too_far = [
            LinearBins { width_ns: 1_000, bins: 1_049, kept_overflows: 0 },
            LinearBins { width_ns: 1, bins: 2_049, kept_overflows: 0 },
        ];
        assert!(too_far.into_iter().all(|bins| EqualBins::new(bins).is_none()));
    }

    fn filled(bins: LinearBins, latencies_ns: &[i64]) -> LinearHistogram {
        let mut histogram = LinearHistogram::new(bins);
        latencies_ns.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn each_sample_is_truncated_before_it_is_counted() {
        let bins = LinearBins { width_ns: 1_000, bins: 4, kept_overflows: 2 };
        let histogram = filled(bins, &[0, 999, 1_000, 3_999, 4_000, 2_999, 1_000_000, 9_999]);
        assert_eq!(histogram.counts(), [2, 1, 1, 1]);
        assert_eq!((histogram.in_range(), histogram.overflows(), histogram.samples()), (5, 3, 8));
        assert_eq!(histogram.overflow_samples(), [4, 6], "of further overflows only the count is kept");
        assert_eq!((histogram.min(), histogram.max(), histogram.last()), (Some(0), Some(1_000), 9));
        assert_eq!((histogram.sum(), histogram.mean()), (1_019, 127));
    }

    #[test]
    fn without_bins_all_samples_overflow_and_the_sums_still_hold() {
        let histogram = filled(LinearBins { width_ns: 1, bins: 0, kept_overflows: 0 }, &[5, 7]);
        assert_eq!((histogram.overflows(), histogram.sum(), histogram.min()), (2, 12, Some(5)));
        assert!(histogram.overflow_samples().is_empty());
    }

    #[test]
    fn below_zero_is_counted_apart() {
        let histogram = filled(LinearBins { width_ns: 1_000, bins: 2, kept_overflows: 2 }, &[-1, 500]);
        assert_eq!((histogram.below_zero(), histogram.in_range(), histogram.samples()), (1, 1, 2));
        assert_eq!(histogram.min(), Some(0));
    }

    #[test]
    fn a_slow_receiver_loses_samples_and_they_are_counted() {
        let (tap, receiver) = SampleTap::new(2);
        (0..5).for_each(|sample| tap.send(0, sample, 1));
        assert_eq!((receiver.try_iter().count(), tap.lost()), (2, 3));
    }
}
