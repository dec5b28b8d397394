//! A claim that is asked about while its run goes on.

use record::Interval;

use super::assemble::so_far;
use super::blocks::Blocks;
use super::claim::{Claim, ClaimAnswer, ClaimState};
use super::judge::LEAST_BLOCKS;

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
        let is_broken = worst_ns > self.claim.limit_ns;
        if !is_broken && whole < self.next {
            return false;
        }
        let times = crate::float(whole) * BETWEEN_LOOKS;
        self.next = usize::try_from(units::round_u64(times)).unwrap_or(usize::MAX);
        let blocks = Blocks::of_threads(threads, whole);
        let needed = 1.0 - (1.0 - self.claim.confidence) * SHARE_OF_CHANCE;
        let answer = so_far(&blocks, worst_ns, self.claim, needed, RESAMPLES);
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
