//! An end that is a claim about the time to come: measured until it is decided.

use std::sync::{Mutex, PoisonError};

use analysis::tail::{Claim, ClaimState, Watch};
use measure::Decider;
use record::{Interval, Record};
use units::Ns;

use crate::error::RunError;

/// A run of the longest duration is cut into this many intervals, each within the bounds below: the first look comes after forty.
const INTERVALS: i64 = 600;
const SHORTEST: Ns = Ns::from_s(1);
const LONGEST: Ns = Ns::from_s(60);
/// Schedules that an interval has at the least.
const SCHEDULES: i64 = 100;

/// Looks at the run until its claim is decided.
pub(crate) struct UntilSure {
    claim: Claim,
    watch: Mutex<Watch>,
}

impl std::fmt::Debug for UntilSure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UntilSure").field("claim", &self.claim).finish_non_exhaustive()
    }
}

impl UntilSure {
    /// Of the text of a claim.
    pub(crate) fn new(text: &str) -> Result<Self, RunError> {
        let claim: Claim = text.parse().map_err(|error| RunError::usage(format!("until-sure: {error}")))?;
        Ok(Self { claim, watch: Mutex::new(Watch::new(claim)) })
    }

    /// The length of an interval where none was asked for, of a run that lasts so long at most.
    pub(crate) fn interval_maximum(longest: Option<Ns>, interval: Ns) -> Ns {
        let longest =
            longest.filter(|longest| *longest > Ns::ZERO).map_or(LONGEST, |longest| Ns(longest.0 / INTERVALS));
        longest.clamp(SHORTEST, LONGEST).max(Ns(interval.0.saturating_mul(SCHEDULES)))
    }

    /// What ended the run; `None` where the claim was not decided.
    fn decided(&self) -> Option<String> {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, claim) = (watch.decided()?.state, self.claim);
        let (what, wrong) = if state == ClaimState::Shown { ("shown", "false") } else { ("broken", "true") };
        Some(format!(
            "the claim '{claim}' is {what}; however often the run is looked at, at most 1 of 100 {wrong} claims is"
        ))
    }

    /// Says in the record what ended the run, where the claim did.
    pub(crate) fn conclude(&self, record: &mut Record) {
        let Some(why) = self.decided() else { return };
        record.manifest_mut().ended_because = Some(why);
        // It was judged before it was known that the claim ended it, as one that was cut short.
        if let Some(deadline_ns) = record.verdict.as_ref().map(|verdict| verdict.deadline_ns) {
            record.verdict = Some(analysis::verdict(record, deadline_ns));
        }
    }
}

impl Decider for UntilSure {
    fn look(&self, threads: &[&[Interval]], worst_ns: u64) -> bool {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).look(threads, worst_ns)
    }
}
