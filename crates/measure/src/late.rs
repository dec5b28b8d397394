//! The late wake-ups of a thread, for the scan for rhythms: as many as there is room for, the latest.

use analysis::rhythm::LateWakeup;

/// How often the threshold has to have risen before a wake-up above it is rare: about one in 2^5.
const RARE_AFTER: u32 = 5;

/// Keeps the latest wake-ups in the order of time; the common case costs one comparison.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    wakeups: Vec<LateWakeup>,
    room: usize,
    raised: u32,
    /// Every wake-up later than this is kept (ns).
    pub(crate) above_ns: i64,
}

impl Late {
    /// With room for at least so many; for none, nothing is kept.
    pub(crate) fn new(room: usize) -> Self {
        Self { wakeups: Vec::new(), room, raised: 0, above_ns: if room == 0 { i64::MAX } else { 0 } }
    }

    /// Whether so few wake-ups are kept that they need not be looked for among all; also where none is.
    pub(crate) const fn are_rare(&self) -> bool {
        self.room == 0 || self.raised >= RARE_AFTER
    }

    /// Keeps a wake-up that is later than the threshold.
    pub(crate) fn keep(&mut self, scheduled_ns: i64, latency_ns: u64) {
        self.wakeups.push(LateWakeup { scheduled_ns, latency_ns });
        if self.wakeups.len() >= 2 * self.room {
            let mut latencies: Vec<u64> = self.wakeups.iter().map(|one| one.latency_ns).collect();
            let (_, bound_ns, _) = latencies.select_nth_unstable(self.room);
            // Of equals all go: what is later than the bound is kept completely.
            self.wakeups.retain(|one| one.latency_ns > *bound_ns);
            self.above_ns = i64::try_from(*bound_ns).unwrap_or(i64::MAX);
            self.raised += 1;
        }
    }

    /// All wake-ups later than `above_ns`, in the order of time.
    pub(crate) fn into_wakeups(self) -> Vec<LateWakeup> {
        self.wakeups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_completely_and_in_order() {
        let mut late = Late::new(100);
        let latency = |n: u64| n * 617 % 1_009;
        for n in 0..10_000_u64 {
            if i64::try_from(latency(n)).unwrap() > late.above_ns {
                late.keep(i64::try_from(n).unwrap(), latency(n));
            }
        }
        let above_ns = u64::try_from(late.above_ns).unwrap();
        let kept = late.into_wakeups();
        let expected = (0..10_000).filter(|n| latency(*n) > above_ns).count();
        assert_eq!(kept.len(), expected);
        assert!(kept.len() < 200 && kept.len() > 50, "{}", kept.len());
        assert!(kept.is_sorted_by_key(|one| one.scheduled_ns));
    }

    #[test]
    fn equal_values_are_kept_all_or_none_and_without_room_none() {
        let mut late = Late::new(4);
        for n in 0..20 {
            if late.above_ns < 5 {
                late.keep(n, 5);
            }
        }
        assert!(late.above_ns == 5 && late.into_wakeups().len() < 8);
        assert_eq!(Late::new(0).above_ns, i64::MAX);
    }
}
