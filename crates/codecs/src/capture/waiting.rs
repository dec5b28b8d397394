//! Messages of a capture that wait for their other half, each of which is answered once.

use std::collections::VecDeque;

use crate::linuxptp::TimeInterval;

/// Messages that wait for their other half.
pub(super) const MOST_WAITING: usize = 256;
/// A Follow_Up, or an answer, that comes later is of another message with the same number (ns): numbers begin anew after 65,535, and
/// when a port is started anew.
const MOST_ANSWER_NS: i64 = 1_000_000_000;
/// A message whose other half has not come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<K> {
    pub(super) key: K,
    pub(super) at_ns: i64,
    /// When it was captured; for a received one the latest moment at which that can have been.
    pub(super) stamp_ns: i64,
    pub(super) correction: TimeInterval,
    /// When the last copy of it was captured, as late as `stamp_ns`: the time of a received one is of one of these.
    pub(super) latest_ns: i64,
    /// Whether the capture says that it went the way that a client's would.
    pub(super) is_directed: bool,
    pub(super) state: State,
}

/// What became of a request or a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its answer has not come.
    Open,
    /// Its answer came: what comes with the same number is a copy.
    Answered,
    /// Another one with the same number was not answered: whose an answer is cannot be known.
    Doubtful,
}

impl<K> Waiting<K> {
    /// Whether a message with the same number can be of this one.
    pub(super) const fn is_near(&self, at_ns: i64) -> bool {
        at_ns.saturating_sub(self.at_ns).saturating_abs() <= MOST_ANSWER_NS
    }
}

/// What a request or a question is, or an answer, to those that were captured before.
pub(super) enum Matched<K> {
    /// The answer of this one.
    Answer(Waiting<K>),
    /// A copy, which says nothing new.
    Copy,
    /// Of none that was captured.
    None,
}

/// Puts a request or a question to those that wait. A copy of one is none: of the two stamps the earlier one is certainly from
/// before the message left. Returns whether it is one.
pub(super) fn asked<K: PartialEq>(queue: &mut VecDeque<Waiting<K>>, mut asked: Waiting<K>) -> bool {
    if let Some(place) = queue.iter().rposition(|waiting| waiting.key == asked.key) {
        if queue[place].is_near(asked.at_ns) {
            return true;
        }
        if queue[place].state != State::Answered {
            asked.state = State::Doubtful;
        }
        queue.remove(place);
    }
    push(queue, MOST_WAITING, asked);
    false
}

/// Finds what an answer belongs to. Each is answered once.
pub(super) fn matched<K: PartialEq + Copy>(queue: &mut VecDeque<Waiting<K>>, key: K, at_ns: i64) -> Matched<K> {
    let waiting = queue.iter_mut().rev().find(|waiting| waiting.key == key && waiting.is_near(at_ns));
    match waiting {
        Some(waiting) if waiting.state == State::Answered => Matched::Copy,
        Some(waiting) => {
            let is_open = waiting.state == State::Open;
            waiting.state = State::Answered;
            if is_open { Matched::Answer(*waiting) } else { Matched::None }
        }
        None => Matched::None,
    }
}

/// Keeps the newest ones.
pub(super) fn push<T>(queue: &mut VecDeque<T>, most: usize, item: T) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(item);
}
