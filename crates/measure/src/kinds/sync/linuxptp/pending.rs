//! Offsets that wait until ptp4l has said that they are still of the time that was known.
//!
//! An offset comes at once, and what it is an offset of is asked for a few times a second. So each waits for the answer to a question
//! that was asked after it. Where that answer tells another time, nobody knows which of the two it is of, and it is left out.

use std::collections::VecDeque;

use ::sync::bound::OffsetBound;
use ::sync::follow::{Follower, Shown};
use ::sync::growth::Steering;
use record::Moment;
use units::format::count;

/// Offsets and bounds that wait at most; a ptp4l sends a few in the time of one look, and a flood of forged ones fills no memory.
const MOST_WAITING: usize = 8_192;
/// Questions without an answer that are kept in mind.
const MOST_QUESTIONS: usize = 64;

#[derive(Clone, Copy, Debug)]
enum Shows {
    Offset(Shown, Option<OffsetBound>, Option<Steering>),
    Bound(OffsetBound),
    /// What the servo itself takes for its offset (ns).
    Own(i64),
}

/// What waits, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    waiting: Vec<(Moment, Shows)>,
    /// The numbers of the questions without an answer, and how many of those that wait came before each.
    questions: VecDeque<(u16, usize)>,
    left_out: u64,
}

impl Pending {
    /// A question was sent: its answer confirms all that waits now.
    pub(super) fn asked(&mut self, sequence: u16) {
        if self.questions.len() == MOST_QUESTIONS {
            self.questions.pop_front();
        }
        self.questions.push_back((sequence, self.waiting.len()));
    }

    /// Whether an answer is to one of the questions.
    pub(super) fn is_answer(&self, sequence: u16) -> bool {
        self.questions.iter().any(|(asked, _)| *asked == sequence)
    }

    /// Whether something waits for an answer.
    pub(super) fn is_waiting(&self) -> bool {
        self.questions.iter().any(|(_, before)| *before > 0)
    }

    /// An offset, as of now.
    pub(super) fn offset(&mut self, at: Moment, shown: Shown, bound: Option<OffsetBound>, steering: Option<Steering>) {
        self.push(at, Shows::Offset(shown, bound, steering));
    }

    /// What the servo takes for its offset (ns), as of now.
    pub(super) fn own_estimate(&mut self, at: Moment, offset_ns: i64) {
        self.push(at, Shows::Own(offset_ns));
    }

    /// A bound without an offset, as of now.
    pub(super) fn bound(&mut self, at: Moment, bound: OffsetBound) {
        let confirmed = self.questions.back().map_or(0, |(_, before)| *before);
        let newest = self.waiting.len().checked_sub(1).filter(|newest| *newest >= confirmed);
        match newest.and_then(|newest| self.waiting.get_mut(newest)) {
            // It has grown: the wider one stands for both.
            Some((_, Shows::Bound(held))) => *held = held.hull(bound),
            _ => self.push(at, Shows::Bound(bound)),
        }
    }

    fn push(&mut self, at: Moment, shows: Shows) {
        if self.waiting.len() >= MOST_WAITING {
            self.drop_all();
        }
        self.waiting.push((at, shows));
    }

    /// The answer to a question told the same time as before.
    pub(super) fn confirm(&mut self, sequence: u16, follower: &mut Follower) {
        let Some(place) = self.questions.iter().position(|(asked, _)| *asked == sequence) else { return };
        let confirmed = self.questions.drain(..=place).next_back().map_or(0, |(_, before)| before);
        for (at, shows) in self.waiting.drain(..confirmed.min(self.waiting.len())) {
            match shows {
                Shows::Offset(shown, bound, steering) => {
                    if let Some(steering) = steering {
                        follower.steered(steering);
                    }
                    follower.offset(at, shown, bound);
                }
                Shows::Bound(bound) => follower.bound(at, bound),
                Shows::Own(offset_ns) => follower.own_estimate(offset_ns),
            }
        }
        for (_, before) in &mut self.questions {
            *before = before.saturating_sub(confirmed);
        }
    }

    /// The bounds alone of what waits.
    pub(super) fn release_bounds(&mut self, follower: &mut Follower) {
        for (at, shows) in self.waiting.drain(..) {
            let (Shows::Offset(_, Some(bound), _) | Shows::Bound(bound)) = shows else { continue };
            follower.bound(at, bound);
        }
    }

    /// Another time is told: what waits may be of either.
    pub(super) fn drop_all(&mut self) {
        let is_offset = |(_, shows): &&(Moment, Shows)| matches!(shows, Shows::Offset(..));
        self.left_out += u64::try_from(self.waiting.iter().filter(is_offset).count()).unwrap_or(0);
        self.waiting.clear();
        self.questions.clear();
    }

    /// What was left out, as a sentence; `None` if there was nothing.
    pub(super) fn words(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} offsets at changes of the time that is told: which of the two times they are of is not known, and they are left out",
                count(self.left_out)
            )
        })
    }
}
