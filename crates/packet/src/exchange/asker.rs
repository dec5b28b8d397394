//! The side that asks.

use std::collections::VecDeque;

use sync::bound::ClockReading;

use super::{Came, Departure, Exchanged, LONGEST_NS, MOST_OPEN, Message, PERIOD_NS, Spoken, are_in_order};
use crate::probe::{ExchangeTimes, ProbeKind};

/// A question that was sent.
#[derive(Debug)]
struct Asked {
    number: u64,
    began_ns: i64,
    departure: Departure,
    first: ClockReading,
    /// The first answer that came.
    answer: Option<Came>,
    /// What was said of when it was sent, or of another answer's as long as there is none.
    told: Option<Came>,
}

/// Asks at a steady rate, with several exchanges under way if they take long.
#[derive(Debug)]
pub struct Asker {
    next_number: u64,
    /// When the next pair begins (ns, `CLOCK_MONOTONIC`).
    next_ns: i64,
    open: VecDeque<Asked>,
    /// The first exchange of the present pair, until it is complete.
    first_of_pair: Option<u64>,
    is_second_due: bool,
    complete: VecDeque<Exchanged>,
}

impl Asker {
    /// Begins at `now_ns` of `CLOCK_MONOTONIC`. `now_raw_ns` is the time of a clock that only runs forward, also from one program
    /// to the next: numbers begin with it.
    #[must_use]
    pub fn new(now_ns: i64, now_raw_ns: i64) -> Self {
        Self {
            next_number: now_raw_ns.unsigned_abs(),
            next_ns: now_ns,
            open: VecDeque::new(),
            first_of_pair: None,
            is_second_due: false,
            complete: VecDeque::new(),
        }
    }

    /// What is to be said now. [`Self::said`] is to be called for each message before the next one.
    pub fn next(&mut self, now_ns: i64) -> Option<Message> {
        while self.open.front().is_some_and(|asked| now_ns.saturating_sub(asked.began_ns) >= LONGEST_NS) {
            self.open.pop_front();
        }
        let whole = self.open.iter().find_map(|asked| Some((asked, asked.answer?, asked.told?)));
        if let Some((asked, answer, _)) = whole {
            return Some(Message {
                kind: ProbeKind::QuestionStamp,
                number: asked.number,
                answer: answer.probe.answer,
                sent_ns: asked.departure.ns(),
                received_ns: answer.at_ns,
            });
        }
        let is_second = std::mem::take(&mut self.is_second_due);
        if !is_second && now_ns < self.next_ns {
            return None;
        }
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        if !is_second {
            self.first_of_pair = Some(number);
            self.next_ns = self.next_ns.saturating_add(PERIOD_NS).max(now_ns);
        }
        Some(Message { kind: ProbeKind::Question, number, answer: 0, sent_ns: 0, received_ns: 0 })
    }

    /// Takes how the message that [`Self::next`] gave last was sent.
    pub fn said(&mut self, message: &Message, spoken: &Spoken) {
        match message.kind {
            ProbeKind::Question => {
                let Some(transmission) = spoken.transmission else { return };
                if self.open.len() == MOST_OPEN {
                    self.open.pop_front();
                }
                self.open.push_back(Asked {
                    number: message.number,
                    began_ns: spoken.now_ns,
                    departure: Departure::new(transmission, spoken.before_ns),
                    first: spoken.reading,
                    answer: None,
                    told: None,
                });
            }
            ProbeKind::QuestionStamp => {
                let place = self.open.iter().position(|asked| asked.number == message.number);
                let Some(asked) = place.and_then(|place| self.open.remove(place)) else { return };
                // Two, one right after the other: the first warms caches up, the second is the shorter one by far.
                if self.first_of_pair == Some(asked.number) {
                    self.first_of_pair = None;
                    self.is_second_due = true;
                }
                self.complete.extend(asked.exchanged(message.sent_ns, spoken.reading));
            }
            ProbeKind::Answer | ProbeKind::AnswerStamp => {}
        }
    }

    /// Takes one of the kernel's stamps of a message that was sent (ns, `CLOCK_REALTIME`).
    pub fn stamped(&mut self, transmission: u64, stamp_ns: i64) {
        for asked in &mut self.open {
            asked.departure.stamped(transmission, stamp_ns);
        }
    }

    /// Takes a message that came.
    pub fn came(&mut self, came: &Came) {
        let probe = &came.probe;
        let Some(asked) = self.open.iter_mut().find(|asked| asked.number == probe.number) else { return };
        match probe.kind {
            ProbeKind::Answer if asked.answer.is_none() => {
                asked.answer = Some(*came);
                asked.told = asked.told.filter(|told| told.probe.answer == probe.answer);
            }
            ProbeKind::AnswerStamp if asked.told.is_none() => {
                let is_of_it = asked.answer.is_none_or(|answer| answer.probe.answer == probe.answer);
                asked.told = Some(*came).filter(|_| is_of_it);
            }
            _ => {}
        }
    }

    /// When something is to be said at the latest (ns, `CLOCK_MONOTONIC`), unless a message comes before.
    #[must_use]
    pub const fn wake_ns(&self) -> i64 {
        self.next_ns
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

impl Asked {
    fn exchanged(&self, t1_ns: i64, last: ClockReading) -> Option<Exchanged> {
        let (answer, told) = (self.answer?, self.told?);
        let (t2_ns, t3_ns, t4_ns) = (answer.probe.received_ns, told.probe.sent_ns, answer.at_ns);
        let are_own = are_in_order(Some(self.first), [t1_ns, t4_ns], last);
        // Its first comparison is from between both.
        let between = answer.probe.reading;
        let are_partner = are_in_order(None, [t2_ns, t2_ns], between)
            && are_in_order(Some(between), [t3_ns, t3_ns], told.probe.reading);
        (are_own && are_partner && t2_ns <= t3_ns).then(|| Exchanged {
            is_asker: true,
            own: vec![self.first, last],
            partner: vec![between, told.probe.reading],
            times: ExchangeTimes { t1_ns, t2_ns, t3_ns, t4_ns },
        })
    }
}
