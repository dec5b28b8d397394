//! A claim that is asked about while its run goes on.

use record::{Interval, Sign};

use super::answer::When;
use super::assemble::{answered, so_far};
use super::blocks::Blocks;
use super::claim::{Claim, ClaimAnswer, ClaimState};
use super::judge::{Judgement, LEAST_BLOCKS};
use super::rate::Exceedances;

/// From one look at the fits to the next the run gets longer by this factor: each look is a chance to be wrong, and of the
/// chance that is left each later look has less.
const BETWEEN_LOOKS: f64 = 1.5;
/// Resamples of a look: enough for one in a hundred.
const RESAMPLES: u32 = 1_000;
/// A claim is not broken before so many intervals: below, one burst may fill them all.
const LEAST_INTERVALS: usize = 8;

/// Looks at a run now and then, and says when its claim is decided.
///
/// Once the limit was exceeded the count is looked at after each interval, which its test allows; the fits are looked at
/// seldom.
#[derive(Clone, Debug)]
pub struct Watch {
    claim: Claim,
    /// Intervals at the next look at the fits.
    next: usize,
    /// Intervals at the last look at the count.
    counted: usize,
    /// Looks at the fits.
    looks: u32,
    decided: Option<ClaimAnswer>,
}

impl Watch {
    /// For a claim.
    #[must_use]
    pub const fn new(claim: Claim) -> Self {
        Self { claim, next: LEAST_BLOCKS, counted: 0, looks: 0, decided: None }
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
        let blocks = Blocks::of_threads(threads, whole, Sign::NotNegative);
        self.take(&blocks, || so_far(&blocks, RESAMPLES), whole, worst_ns)
    }

    /// Whether it is time for a look at so many intervals.
    pub(super) const fn is_due(&self, whole: usize, worst_ns: u64) -> bool {
        let is_exceeded = worst_ns > self.claim.limit_ns && whole >= LEAST_INTERVALS && whole > self.counted;
        whole >= self.next || is_exceeded
    }

    /// Looks at so many intervals, judging them only where the count does not decide. Whether the run can end.
    pub(super) fn take(
        &mut self,
        blocks: &Blocks,
        judged: impl FnOnce() -> Judgement,
        whole: usize,
        worst_ns: u64,
    ) -> bool {
        self.counted = whole;
        let is_due = whole >= self.next;
        let alike_ns = units::approx_f64(blocks.block_ns);
        if !is_due && !Exceedances::of(blocks, self.claim, alike_ns).is_broken() {
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
    use units::Random;

    /// Intervals of a second with a sample each, about 20 us.
    fn intervals(count: u64) -> Vec<Interval> {
        let mut random = Random::new(3);
        let of = |number: u64| {
            let mut histogram = Histogram::new();
            (0..50).for_each(|_| histogram.record_n(20_000 + random.below(9_000) as u64, 1));
            let start_offset_ns = number * 1_000_000_000;
            Interval { start_offset_ns, length_ns: 1_000_000_000, missed_periods: 0, histogram, ..Interval::default() }
        };
        (0..count).map(of).collect()
    }

    #[test]
    fn the_fits_are_looked_at_seldom() {
        let all = intervals(200);
        let mut watch = Watch::new("1ms for 4s at 90%".parse().unwrap());
        assert!(!watch.look(&[&all[..39]], 29_000), "too few for a look");
        assert_eq!(watch.next, LEAST_BLOCKS);
        // These maxima are too much alike for a fit until the last look.
        let ends = (40..200).find(|&count| watch.look(&[&all[..count], &all], 29_000));
        // Without a model it takes 6 / 0.105 times as long as the claim: 203 s.
        assert_eq!(ends.filter(|ends| ![40, 60, 90, 135].contains(ends)), None, "at a look, if at all");
        let mut narrow = Watch::new("29001ns for 4s at 99.9%".parse().unwrap());
        assert_eq!((40..140).find(|&count| narrow.look(&[&all[..count]], 28_999)), None);
        assert_eq!((narrow.next, narrow.looks), (203, 4), "looks at 40, 60, 90 and 135 intervals");
    }

    #[test]
    fn what_is_exceeded_all_the_time_ends_it_soon_and_a_single_sample_does_not() {
        let all = intervals(200);
        let mut watch = Watch::new("21us for 1 day at 99%".parse().unwrap());
        assert!(!watch.look(&[&[]], 100_001), "one sample says nothing of how often");
        let ends = (1..60).find(|&count| watch.look(&[&all[..count]], 29_000));
        assert_eq!(ends, Some(LEAST_INTERVALS));
        assert_eq!(watch.decided().map(|answer| answer.state), Some(ClaimState::Broken));
        // One interval of 200, with a limit that is to be exceeded once in a hundred of ten.
        let mut one = intervals(200);
        one[100].histogram.record_n(100_000, 1);
        let mut watch = Watch::new("99us for 10s at 50%".parse().unwrap());
        let broken = (1..200).find(|&count| watch.look(&[&one[..count]], 100_000));
        assert!(broken.is_none_or(|_| watch.decided().unwrap().state == ClaimState::Shown), "{:?}", watch.decided());
    }
}
