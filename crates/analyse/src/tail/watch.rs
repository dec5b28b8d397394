//! A claim that is asked about while its run goes on.

use record::Interval;

use super::assemble::{answered, so_far};
use super::blocks::Blocks;
use super::claim::{Claim, ClaimAnswer, ClaimState};
use super::judge::{Judgement, LEAST_BLOCKS};

/// From one look to the next the run gets longer by this factor: each look is a chance to be wrong.
const BETWEEN_LOOKS: f64 = 1.5;
/// Whoever looks often and stops at the first good answer is wrong more often than each answer says; the chance that a claim
/// leaves is shared with that.
const SHARE_OF_CHANCE: f64 = 0.5;
/// Resamples of a look: enough for one in a hundred.
const RESAMPLES: u32 = 1_000;

/// Looks at a run now and then, and says when its claim is decided.
#[derive(Clone, Debug)]
pub struct Watch {
    claim: Claim,
    /// Intervals at the next look.
    next: usize,
    decided: Option<ClaimAnswer>,
}

impl Watch {
    /// For a claim.
    #[must_use]
    pub const fn new(claim: Claim) -> Self {
        Self { claim, next: LEAST_BLOCKS, decided: None }
    }

    /// Looks at the intervals of each thread so far, and at the worst of all samples (ns). Whether the run can end.
    pub fn look(&mut self, threads: &[&[Interval]], worst_ns: u64) -> bool {
        if self.decided.is_some() {
            return true;
        }
        let whole = threads.iter().map(|intervals| intervals.len()).min().unwrap_or(0);
        if !self.is_due(whole, worst_ns) {
            return false;
        }
        let blocks = Blocks::of_threads(threads, whole);
        self.take(&so_far(&blocks, RESAMPLES), whole, worst_ns)
    }

    /// Whether it is time for a look at so many intervals.
    pub(super) const fn is_due(&self, whole: usize, worst_ns: u64) -> bool {
        whole >= self.next || worst_ns > self.claim.limit_ns
    }

    /// Looks at what is judged of so many intervals. Whether the run can end.
    pub(super) fn take(&mut self, judgement: &Judgement, whole: usize, worst_ns: u64) -> bool {
        let times = crate::float(whole) * BETWEEN_LOOKS;
        self.next = usize::try_from(units::round_u64(times)).unwrap_or(usize::MAX);
        let needed = 1.0 - (1.0 - self.claim.confidence) * SHARE_OF_CHANCE;
        let answer = answered(judgement, worst_ns, self.claim, needed);
        if matches!(answer.state, ClaimState::Shown | ClaimState::Broken) {
            self.decided = Some(answer);
        }
        self.decided.is_some()
    }

    /// What ended the run; `None` where the claim was not decided.
    #[must_use]
    pub fn decided(&self) -> Option<&ClaimAnswer> {
        self.decided.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;
    use crate::random::Random;
    use crate::tail::Basis;

    /// Intervals of a second with a sample each, about 20 us.
    fn intervals(count: u64) -> Vec<Interval> {
        let mut random = Random::new(3);
        let of = |number: u64| {
            let mut histogram = Histogram::new();
            (0..50).for_each(|_| histogram.record_n(20_000 + random.below(9_000) as u64, 1));
            let start_offset_ns = number * 1_000_000_000;
            Interval { start_offset_ns, length_ns: 1_000_000_000, missed_periods: 0, histogram }
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn it_is_looked_at_seldom_and_with_half_the_chance() {
        let all = intervals(200);
        // Without a model a chance of 10 % is left at 36 s, of 5 % at 76 s: that is asked for, so the look at 60 s is not
        // enough. These maxima are too much alike for a fit until then.
        let mut watch = Watch::new("1ms for 4s at 90%".parse().unwrap());
        assert!(!watch.look(&[&all[..39]], 29_000), "too few for a look");
        assert_eq!(watch.next, LEAST_BLOCKS);
        let ends = (40..200).find(|&count| watch.look(&[&all[..count], &all], 29_000));
        assert_eq!(ends, Some(90));
        assert_eq!(watch.decided().map(|answer| answer.basis), Some(Some(Basis::ModelFree)));
        let mut narrow = Watch::new("29001ns for 4s at 99.9%".parse().unwrap());
        assert_eq!((40..140).find(|&count| narrow.look(&[&all[..count]], 28_999)), None);
        assert_eq!(narrow.next, 203, "looks at 40, 60, 90 and 135 intervals");
    }

    #[test]
    fn a_sample_beyond_the_limit_ends_it_at_once() {
        let mut watch = Watch::new("100us for 1 day at 99%".parse().unwrap());
        assert!(!watch.look(&[&[]], 99_999));
        assert!(watch.look(&[&[]], 100_001));
        assert_eq!(watch.decided().map(|answer| answer.state), Some(ClaimState::Broken));
    }
}
