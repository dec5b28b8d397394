//! What every source of time has to offer to a run.

use std::os::fd::BorrowedFd;

use ::sync::follow::Followed;
use record::Moment;

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

    /// What became of it.
    ///
    /// # Errors
    /// Where it was looked for and never answered: why, in words.
    fn finish(self: Box<Self>, at: Moment) -> Result<Followed, String>;
}
