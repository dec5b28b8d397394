//! What every source of time has to offer to a run.

use std::os::fd::BorrowedFd;

use ::sync::follow::{Followed, Part};
use record::{Interval, Moment};

use super::clocks::Now;
use super::live::LiveSource;

/// A source that is followed.
pub(crate) trait Source {
    /// Descriptors that can be read once the source says something unasked, in an order that stays the same.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Takes what can be read, without waiting; called soon after it came.
    fn take(&mut self);

    /// Looks and asks, a few times a second.
    fn look(&mut self, now: &Now);

    /// What a person sees of it while the run goes on.
    fn live(&self) -> LiveSource;

    /// The intervals that ended before a moment and were not handed on yet, each with the name of its series.
    fn hand_on(&mut self, at: Moment) -> Vec<(&'static str, Interval)>;

    /// What became of it in a part of the run.
    ///
    /// # Errors
    /// Where it was looked for and did not answer until now: why, in words.
    fn so_far(&self, part: Part) -> Result<Followed, String>;
}
