//! What every source of time has to offer to a run.

use std::os::fd::BorrowedFd;

use ::sync::follow::{Followed, Part, SeriesName};
use record::{Interval, Moment, SourceChoice};

use super::linuxptp;
use super::live::LiveSource;
use crate::clocks::Now;

/// Why a source was not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotFollowed {
    /// The reason, in words.
    pub(crate) words: String,
    /// Whether nothing of it is there; otherwise it is there, and could not be followed.
    pub(crate) is_absent: bool,
    /// Whether the user named it.
    pub(crate) is_named: bool,
}

impl NotFollowed {
    /// Nothing of it is there.
    pub(crate) const fn absent(words: String) -> Self {
        Self { words, is_absent: true, is_named: false }
    }

    /// It is there, and could not be followed.
    pub(crate) const fn there(words: String) -> Self {
        Self { words, is_absent: false, is_named: false }
    }
}

impl NotFollowed {
    /// It was named, or not.
    pub(crate) fn named(self, is_named: bool) -> Self {
        Self { is_named, ..self }
    }
}

/// A source that is followed.
pub(crate) trait Source {
    /// Its kind, by which a user can name it; `None` for what nobody names.
    fn kind(&self) -> Option<SourceChoice>;

    /// Descriptors that can be read once the source says something unasked, in an order that stays the same.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Takes what can be read, without waiting; called soon after it came.
    fn take(&mut self);

    /// Looks and asks, a few times a second.
    fn look(&mut self, now: &Now);

    /// What a person sees of it while the run goes on.
    fn live(&self) -> LiveSource;

    /// The intervals that ended before a moment and were not handed on yet, each with the name of its series.
    fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)>;

    /// What became of it in a part of the run.
    ///
    /// # Errors
    /// Where it was looked for and did not answer until now.
    fn so_far(&self, part: Part) -> Result<Followed, NotFollowed>;

    /// Its process, where it is one.
    fn process(&self) -> Option<u32> {
        None
    }

    /// Whether a ptp4l that was seen while the run goes on is this source, which then follows it.
    fn meets(&mut self, _: &linuxptp::Found) -> bool {
        false
    }

    /// Whether it notices by itself that the system clock was set.
    fn sees_system_clock(&self) -> bool {
        false
    }

    /// The system clock was set: what follows is no continuation.
    fn system_clock_was_set(&mut self, _: Moment) {}

    /// Whether it waits for answers that confirm what it showed last.
    fn is_waiting(&self) -> bool {
        false
    }
}
