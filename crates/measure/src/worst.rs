//! The worst samples of a run.

use std::cmp::Reverse;

use record::WorstSample;

/// How many are kept.
pub(crate) const KEPT: usize = 64;

/// Of equal latencies the earlier comes first: the first time it happened is the better clue.
fn rank(sample: &WorstSample) -> (Reverse<i64>, i64) {
    (Reverse(sample.latency_ns), sample.scheduled.monotonic_ns)
}

/// Keeps the worst samples; the common case costs one comparison.
#[derive(Clone, Debug)]
pub(crate) struct Worst {
    samples: Vec<WorstSample>,
    /// A sample has to exceed this to be kept (ns).
    pub(crate) above_ns: i64,
}

impl Worst {
    pub(crate) fn new() -> Self {
        Self { samples: Vec::with_capacity(2 * KEPT), above_ns: i64::MIN }
    }

    pub(crate) fn keep(&mut self, sample: WorstSample) {
        self.samples.push(sample);
        if self.samples.len() == 2 * KEPT {
            let (_, last_kept, _) = self.samples.select_nth_unstable_by_key(KEPT - 1, rank);
            self.above_ns = last_kept.latency_ns;
            self.samples.truncate(KEPT);
        }
    }

    /// The least of the worst `n` so far (ns); `None` where there are fewer.
    pub(crate) fn nth_ns(&self, n: usize) -> Option<i64> {
        let mut latencies: Vec<i64> = self.samples.iter().map(|sample| sample.latency_ns).collect();
        let at = latencies.len().checked_sub(n)?;
        Some(*latencies.select_nth_unstable(at).1)
    }

    pub(crate) fn into_sorted(mut self) -> Vec<WorstSample> {
        self.samples.sort_by_key(rank);
        self.samples.truncate(KEPT);
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use record::Moment;

    use super::*;

    #[test]
    fn keeps_the_worst_of_many_in_order() {
        let mut worst = Worst::new();
        // A fixed scramble of 0..1000.
        for n in 0..1_000_i64 {
            let latency_ns = n * 617 % 1_000;
            if latency_ns > worst.above_ns {
                let at = Moment { monotonic_ns: n, realtime_ns: n };
                worst.keep(WorstSample {
                    thread: 0,
                    cpu: None,
                    latency_ns,
                    sample: 0,
                    missed_periods: 0,
                    scheduled: at,
                    woke: at,
                });
            }
        }
        assert_eq!((worst.nth_ns(1), worst.nth_ns(8)), (Some(999), Some(992)));
        let kept: Vec<i64> = worst.into_sorted().iter().map(|s| s.latency_ns).collect();
        assert_eq!(kept, (936..1_000).rev().collect::<Vec<_>>());
    }
}
