//! The worst samples of a run.

use std::cmp::Reverse;

use record::{Moment, Place, WorstSample};

/// How many are kept.
pub(crate) const KEPT: usize = 64;

/// One of the worst samples of a place, as it is kept while the run goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeptSample {
    /// The latency (ns).
    pub(crate) latency_ns: i64,
    /// Its number among the samples of its place, from 0.
    pub(crate) sample: u64,
    /// Schedules that it swallowed.
    pub(crate) missed_periods: u64,
    /// The first of the latency's two points.
    pub(crate) from: Moment,
    /// The second of them.
    pub(crate) to: Moment,
}

impl KeptSample {
    /// As it stands in a record.
    pub(crate) fn at(&self, place: &Place, latency: &str) -> WorstSample {
        WorstSample {
            place: place.clone(),
            name: latency.to_owned(),
            latency_ns: self.latency_ns,
            sample: self.sample,
            missed_periods: self.missed_periods,
            from: self.from.into(),
            to: self.to.into(),
            ..WorstSample::default()
        }
    }
}

/// The worst of all places, the earlier of equal ones first.
pub(crate) fn worst_of(mut samples: Vec<WorstSample>) -> Vec<WorstSample> {
    samples.sort_by_key(|sample| (Reverse(sample.latency_ns), sample.from.at.monotonic));
    samples.truncate(KEPT);
    samples
}

/// Of equal latencies the earlier comes first: the first time it happened is the better clue.
fn rank(sample: &KeptSample) -> (Reverse<i64>, i64) {
    (Reverse(sample.latency_ns), sample.from.monotonic.as_ns())
}

/// Keeps the worst samples; the common case costs one comparison.
#[derive(Clone, Debug)]
pub(crate) struct Worst {
    samples: Vec<KeptSample>,
    /// A sample has to exceed this to be kept (ns).
    pub(crate) above_ns: i64,
}

impl Worst {
    pub(crate) fn new() -> Self {
        Self { samples: Vec::with_capacity(2 * KEPT), above_ns: i64::MIN }
    }

    pub(crate) fn keep(&mut self, sample: KeptSample) {
        self.samples.push(sample);
        if self.samples.len() == 2 * KEPT {
            let (_, last_kept, _) = self.samples.select_nth_unstable_by_key(KEPT - 1, rank);
            self.above_ns = last_kept.latency_ns;
            self.samples.truncate(KEPT);
        }
    }

    /// All that are kept, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &KeptSample> {
        self.samples.iter()
    }

    /// Takes out the worst so far; the threshold stays.
    pub(crate) fn take(&mut self) -> Vec<KeptSample> {
        let taken = self.sorted();
        self.samples.clear();
        taken
    }

    /// The least of the worst `n` so far (ns); `None` where there are fewer.
    pub(crate) fn nth_ns(&self, n: usize) -> Option<i64> {
        let mut latencies: Vec<i64> = self.samples.iter().map(|sample| sample.latency_ns).collect();
        let at = latencies.len().checked_sub(n)?;
        Some(*latencies.select_nth_unstable(at).1)
    }

    /// The worst so far, worst first.
    pub(crate) fn sorted(&self) -> Vec<KeptSample> {
        let mut samples = self.samples.clone();
        samples.sort_by_key(rank);
        samples.truncate(KEPT);
        samples
    }
}

#[cfg(test)]
mod tests {
    use units::Timestamp;

    use super::*;

    #[test]
    fn keeps_the_worst_of_many_in_order() {
        let mut worst = Worst::new();
        // A fixed scramble of 0..1000.
        for n in 0..1_000_i64 {
            let latency_ns = n * 617 % 1_000;
            if latency_ns > worst.above_ns {
                let at = Moment { monotonic: Timestamp::from_ns(n), realtime: Timestamp::from_ns(n) };
                worst.keep(KeptSample { latency_ns, from: at, to: at, ..KeptSample::default() });
            }
        }
        assert_eq!((worst.nth_ns(1), worst.nth_ns(8)), (Some(999), Some(992)));
        let kept: Vec<i64> = worst.sorted().iter().map(|s| s.latency_ns).collect();
        assert_eq!(kept, (936..1_000).rev().collect::<Vec<_>>());
    }
}
