//! Deciding a claim while its run goes on.

use record::{Interval, Sign};

use super::answer::When;
use super::assemble::{answered, so_far};
use super::blocks::Blocks;
use super::claim::{Claim, ClaimAnswer, ClaimState};
use super::judge::{Judgment, LEAST_BLOCKS};
use super::rate::Exceedances;

/// The run grows by this factor between two looks at the fits. Each look can be wrong, and each later look has a
/// smaller share of the permitted chance to be wrong.
const BETWEEN_LOOKS: f64 = 1.5;
/// Resamples of each look, enough to estimate a chance of 1 %.
const RESAMPLES: u32 = 1_000;
/// A claim is not called broken before this many intervals, because one burst may fill fewer.
const LEAST_INTERVALS: usize = 8;

/// Looks at a run repeatedly, and reports when its claim is decided.
///
/// Once the limit was exceeded, the count of exceedances is tested after each interval: its sequential test allows
/// that. The fits are tested seldom.
#[derive(Clone, Debug)]
pub struct Watch {
    claim: Claim,
    /// Number of intervals at the next look at the fits.
    next: usize,
    /// Number of intervals at the last look at the count.
    counted: usize,
    /// Number of looks at the fits so far.
    looks: u32,
    decided: Option<ClaimAnswer>,
}

impl Watch {
    /// Starts to watch a claim.
    #[must_use]
    pub const fn new(claim: Claim) -> Self {
        Self { claim, next: LEAST_BLOCKS, counted: 0, looks: 0, decided: None }
    }

    /// Takes the intervals of each thread so far and the worst of all samples (ns); returns whether the run can end.
    pub fn look(&mut self, threads: &[&[Interval]], worst_ns: u64) -> bool {
        if self.decided.is_some() {
            return true;
        }
        let whole = threads.iter().map(|intervals| intervals.len()).min().unwrap_or(0);
        if !self.is_due(whole, worst_ns) {
            return false;
        }
        let blocks = Blocks::from_threads(threads, whole, Sign::NotNegative);
        self.look_at(&blocks, || so_far(&blocks, RESAMPLES), whole, worst_ns)
    }

    /// Whether a look is due after `whole` intervals.
    pub(super) const fn is_due(&self, whole: usize, worst_ns: u64) -> bool {
        let is_exceeded = worst_ns > self.claim.limit_ns && whole >= LEAST_INTERVALS && whole > self.counted;
        whole >= self.next || is_exceeded
    }

    /// Looks at `whole` intervals; the fits are made only if the count does not decide. Returns whether the run can
    /// end.
    pub(super) fn look_at(
        &mut self,
        blocks: &Blocks,
        judged: impl FnOnce() -> Judgment,
        whole: usize,
        worst_ns: u64,
    ) -> bool {
        self.counted = whole;
        let is_due = whole >= self.next;
        let alike_ns = units::approx_f64(blocks.block_ns);
        if !is_due && !Exceedances::new(blocks, self.claim, alike_ns).is_broken() {
            return false;
        }
        if is_due {
            let times = crate::float(whole) * BETWEEN_LOOKS;
            self.next = usize::try_from(units::round_u64(times)).unwrap_or(usize::MAX);
            self.looks += 1;
        }
        let answer = answered(&judged(), worst_ns, self.claim, When::Look(self.looks));
        if matches!(answer.state, ClaimState::Shown | ClaimState::Broken) {
            self.decided = Some(answer);
        }
        self.decided.is_some()
    }

    /// The answer that ended the run; `None` if the claim was not decided.
    #[must_use]
    pub fn decided(&self) -> Option<&ClaimAnswer> {
        self.decided.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;
    use units::Random;

    /// Intervals of one second with 50 samples each, between 20 us and 29 us.
    fn intervals(count: u64) -> Vec<Interval> {
        let mut random = Random::new(3);
        let interval = |number: u64| {
            let mut histogram = Histogram::new();
            (0..50).for_each(|_| histogram.record_n(20_000 + random.below(9_000) as u64, 1));
            let start_offset_ns = number * 1_000_000_000;
            Interval { start_offset_ns, length_ns: 1_000_000_000, missed_periods: 0, histogram, ..Interval::default() }
        };
        (0..count).map(interval).collect()
    }

    #[test]
    fn the_fits_are_made_seldom() {
        let all = intervals(200);
        let mut watch = Watch::new("1ms for 4s at 90%".parse().unwrap());
        assert!(!watch.look(&[&all[..39]], 29_000), "too few intervals for a look");
        assert_eq!(watch.next, LEAST_BLOCKS);
        // These maxima vary too little for a fit until the last look.
        let ends = (40..200).find(|&count| watch.look(&[&all[..count], &all], 29_000));
        // Without a model it takes 6 / 0.105 times as long as the claim: 203 s.
        assert_eq!(ends.filter(|ends| ![40, 60, 90, 135].contains(ends)), None, "at a look, if at all");
        let mut narrow = Watch::new("29001ns for 4s at 99.9%".parse().unwrap());
        assert_eq!((40..140).find(|&count| narrow.look(&[&all[..count]], 28_999)), None);
        assert_eq!((narrow.next, narrow.looks), (203, 4), "looks at 40, 60, 90 and 135 intervals");
    }

    #[test]
    fn a_limit_exceeded_in_every_interval_ends_the_run_and_a_single_sample_does_not() {
        let all = intervals(200);
        let mut watch = Watch::new("21us for 1 day at 99%".parse().unwrap());
        assert!(!watch.look(&[&[]], 100_001), "one sample does not show how often the limit is exceeded");
        let ends = (1..60).find(|&count| watch.look(&[&all[..count]], 29_000));
        assert_eq!(ends, Some(LEAST_INTERVALS));
        assert_eq!(watch.decided().map(|answer| answer.state), Some(ClaimState::Broken));
        // One exceedance in 200 intervals, while the claim allows one span of 10 s in two to exceed the limit.
        let mut one = intervals(200);
        one[100].histogram.record_n(100_000, 1);
        let mut watch = Watch::new("99us for 10s at 50%".parse().unwrap());
        let broken = (1..200).find(|&count| watch.look(&[&one[..count]], 100_000));
        assert!(broken.is_none_or(|_| watch.decided().unwrap().state == ClaimState::Shown), "{:?}", watch.decided());
    }
}
