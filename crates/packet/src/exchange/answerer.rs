//! The side that answers.

use std::collections::VecDeque;

use sync::bound::ClockReading;

use super::{Came, Departure, Exchanged, LONGEST_NS, MOST_OPEN, Message, STAMP_WITHIN_NS, Spoken, are_in_order};
use crate::probe::{ExchangeTimes, ProbeKind};
use crate::scale::is_step;
use crate::sequence::{Arrival, SequenceTracker};

/// An answer that was sent.
#[derive(Debug)]
struct Answered {
    question: Came,
    name: u64,
    began_ns: i64,
    departure: Departure,
    first: ClockReading,
    /// When it was sent, as the partner was told, with the comparison right before.
    told: Option<(i64, ClockReading)>,
}

/// Answers each question once.
#[derive(Debug)]
pub struct Answerer {
    next_name: u64,
    asked: SequenceTracker,
    /// Questions that are to be answered.
    waiting: VecDeque<Came>,
    open: VecDeque<Answered>,
    complete: VecDeque<Exchanged>,
}

impl Answerer {
    /// Begins. `now_raw_ns` is the time of a clock that only runs forward, also from one program to the next: the names of answers
    /// begin with it.
    #[must_use]
    pub fn new(now_raw_ns: i64) -> Self {
        Self {
            next_name: now_raw_ns.unsigned_abs(),
            asked: SequenceTracker::default(),
            waiting: VecDeque::new(),
            open: VecDeque::new(),
            complete: VecDeque::new(),
        }
    }

    /// What is to be said now. [`Self::said`] is to be called for each message before the next one.
    pub fn next(&mut self, now_ns: i64) -> Option<Message> {
        while self.open.front().is_some_and(|answered| now_ns.saturating_sub(answered.began_ns) >= LONGEST_NS) {
            self.open.pop_front();
        }
        if let Some(question) = self.waiting.front() {
            return Some(Message {
                kind: ProbeKind::Answer,
                number: question.probe.number,
                answer: self.next_name,
                sent_ns: 0,
                received_ns: question.at_ns,
            });
        }
        let can_tell = |answered: &&Answered| {
            let is_late = now_ns.saturating_sub(answered.began_ns) >= STAMP_WITHIN_NS;
            answered.told.is_none() && (answered.departure.stamp_ns.is_some() || is_late)
        };
        self.open.iter().find(can_tell).map(|answered| Message {
            kind: ProbeKind::AnswerStamp,
            number: answered.question.probe.number,
            answer: answered.name,
            sent_ns: answered.departure.ns(),
            received_ns: 0,
        })
    }

    /// Takes how the message that [`Self::next`] gave last was sent.
    pub fn said(&mut self, message: &Message, spoken: &Spoken) {
        match message.kind {
            ProbeKind::Answer => {
                let Some(question) = self.waiting.pop_front() else { return };
                self.next_name = self.next_name.wrapping_add(1);
                let Some(transmission) = spoken.transmission else { return };
                // Its time would be of the clock as it was before it was set: without the answer's time nothing is computed.
                if is_step(question.before, spoken.reading) {
                    return;
                }
                if self.open.len() == MOST_OPEN {
                    self.open.pop_front();
                }
                self.open.push_back(Answered {
                    question,
                    name: message.answer,
                    began_ns: spoken.now_ns,
                    departure: Departure::new(transmission, spoken.before_ns),
                    first: spoken.reading,
                    told: None,
                });
            }
            ProbeKind::AnswerStamp => {
                let Some(place) = self.open.iter().position(|answered| answered.name == message.answer) else { return };
                if spoken.transmission.is_none() {
                    self.open.remove(place);
                } else if let Some(answered) = self.open.get_mut(place) {
                    answered.told = Some((message.sent_ns, spoken.reading));
                }
            }
            ProbeKind::Question | ProbeKind::QuestionStamp => {}
        }
    }

    /// Takes one of the kernel's stamps of a message that was sent (ns, `CLOCK_REALTIME`).
    pub fn stamped(&mut self, transmission: u64, stamp_ns: i64) {
        for answered in &mut self.open {
            answered.departure.stamped(transmission, stamp_ns);
        }
    }

    /// Takes a message that came; whether it began an exchange.
    pub fn came(&mut self, came: &Came) -> bool {
        match came.probe.kind {
            ProbeKind::Question => {
                let is_first = matches!(self.asked.take(came.probe.number), Arrival::InOrder | Arrival::Reordered);
                let is_taken = is_first && self.waiting.len() < MOST_OPEN;
                if is_taken {
                    self.waiting.push_back(*came);
                }
                is_taken
            }
            ProbeKind::QuestionStamp => {
                let is_its = |answered: &Answered| {
                    (answered.question.probe.number, answered.name) == (came.probe.number, came.probe.answer)
                        && answered.told.is_some()
                };
                let place = self.open.iter().position(is_its);
                let answered = place.and_then(|place| self.open.remove(place));
                self.complete.extend(answered.and_then(|answered| answered.exchanged(came)));
                false
            }
            ProbeKind::Answer | ProbeKind::AnswerStamp => false,
        }
    }

    /// Whether a stamp of the kernel's is awaited, for fractions of a millisecond.
    #[must_use]
    pub fn awaits_stamp(&self) -> bool {
        self.open.iter().any(|answered| answered.told.is_none())
    }

    /// Exchanges that are under way.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// The next complete exchange.
    pub fn take(&mut self) -> Option<Exchanged> {
        self.complete.pop_front()
    }
}

impl Answered {
    fn exchanged(&self, came: &Came) -> Option<Exchanged> {
        let (t3_ns, second) = self.told?;
        let (t1_ns, t2_ns, t4_ns) = (came.probe.sent_ns, self.question.at_ns, came.probe.received_ns);
        let are_own = are_in_order(None, [t2_ns, t2_ns], self.first)
            && are_in_order(Some(self.first), [t3_ns, t3_ns], second)
            && t2_ns <= t3_ns;
        let asked = self.question.probe.reading;
        let are_partner = are_in_order(Some(asked), [t1_ns, t4_ns], came.probe.reading);
        (are_own && are_partner).then(|| Exchanged {
            is_asker: false,
            own: vec![self.question.before, self.first, second],
            partner: vec![asked, came.probe.reading],
            times: ExchangeTimes { t1_ns, t2_ns, t3_ns, t4_ns },
        })
    }
}
