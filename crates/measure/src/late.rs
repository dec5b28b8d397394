//! The late wake-ups of a thread, for the scan for rhythms: as many as there is room for, the latest.

use analysis::rhythm::LateWakeup;

use crate::ring::Pair;

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
        // All that it can come to, which it does within minutes: growing would copy it again and again.
        let wakeups = Vec::with_capacity(2 * room);
        Self { wakeups, room, raised: 0, above_ns: if room == 0 { i64::MAX } else { 0 } }
    }

    /// Whether so few wake-ups are kept that they need not be looked for among all; also where none is.
    pub(crate) const fn are_rare(&self) -> bool {
        self.room == 0 || self.raised >= RARE_AFTER
    }

    /// Keeps those of some wake-ups, in the order of time, that are later than the threshold.
    #[inline(always)]
    pub(crate) fn keep_each(&mut self, mut pairs: impl ExactSizeIterator<Item = Pair>) {
        while self.room > 0 && pairs.len() > 0 {
            let (kept, at_once) = (self.wakeups.len(), pairs.len().min(2 * self.room - self.wakeups.len()));
            self.wakeups.resize(kept + at_once, LateWakeup { scheduled_ns: 0, latency_ns: 0 });
            let mut late = 0;
            let places = &mut self.wakeups[kept..];
            for pair in pairs.by_ref().take(at_once) {
                let latency_ns = pair.second_ns - pair.first_ns;
                // Each is written, and the next one over it where it is not late: at first nearly all are.
                if let Some(place) = places.get_mut(late) {
                    *place = LateWakeup { scheduled_ns: pair.first_ns, latency_ns: latency_ns.unsigned_abs() };
                }
                late += usize::from(latency_ns > self.above_ns);
            }
            self.wakeups.truncate(kept + late);
            if self.wakeups.len() >= 2 * self.room {
                self.keep_latest();
            }
        }
    }

    /// Keeps the latest half.
    #[cold]
    fn keep_latest(&mut self) {
        let mut latencies: Vec<u64> = self.wakeups.iter().map(|one| one.latency_ns).collect();
        let (_, bound_ns, _) = latencies.select_nth_unstable(self.room);
        // Of equals all go: what is later than the bound is kept completely.
        self.wakeups.retain(|one| one.latency_ns > *bound_ns);
        self.above_ns = i64::try_from(*bound_ns).unwrap_or(i64::MAX);
        self.raised += 1;
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
        let pair = |n: i64| Pair { first_ns: n, second_ns: n + i64::try_from(latency(n.unsigned_abs())).unwrap() };
        // One at a time, a few, and more than there is room for.
        let all: Vec<i64> = (0..10_000).collect();
        let (single, others) = all.split_at(1_000);
        single.iter().for_each(|n| late.keep_each(std::iter::once(pair(*n))));
        let (few, many) = others.split_at(7_000);
        few.chunks(7).chain([many]).for_each(|some| late.keep_each(some.iter().map(|n| pair(*n))));
        let above_ns = u64::try_from(late.above_ns).unwrap();
        let kept = late.into_wakeups();
        let expected = (0..10_000).filter(|n| latency(*n) > above_ns).map(|n| (i64::try_from(n).unwrap(), latency(n)));
        assert!(kept.iter().map(|one| (one.scheduled_ns, one.latency_ns)).eq(expected));
        assert!(kept.len() < 200 && kept.len() > 50, "{}", kept.len());
        assert!(kept.is_sorted_by_key(|one| one.scheduled_ns));
    }

    #[test]
    fn equal_values_are_kept_all_or_none_and_without_room_none() {
        let mut late = Late::new(4);
        late.keep_each([Pair { first_ns: 0, second_ns: 5 }; 20].into_iter());
        assert!(late.above_ns == 5 && late.into_wakeups().len() < 8);
        let mut none = Late::new(0);
        none.keep_each([Pair { first_ns: 0, second_ns: i64::MAX }].into_iter());
        assert!(none.above_ns == i64::MAX && none.into_wakeups().is_empty());
    }
}
