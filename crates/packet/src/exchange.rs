//! The exchange of messages by which two nodes compare their clocks: which message is said when, and which time stamps belong
//! together. Without a socket and without a clock: both are the caller's, so that a model can go through every order of events.
//!
//! # Why no comparison excludes the truth
//!
//! The bound holds where `t1` is not after the moment at which the question left that was received at `t2`, and `t3` not after the
//! one at which the answer left that was received at `t4`. Networks lose, copy, delay and reorder messages, and somebody may
//! replay them. So:
//!
//! - A number stands for one transmission of a question. It is never used again, also not by a program that was started anew:
//!   numbers begin at the time of a clock that only runs forward.
//! - A question of each number is answered once, so that copies of it make no second answer. The answer has a name of its own
//!   from a clock as well, and what is said later of an answer is of the one with this name.
//! - A copy arrives after the transmission that it is a copy of. Whichever copy is received first, the bound holds.
//! - A queueing discipline that copies, or a bridge, makes the kernel stamp one message several times. The earliest of them counts.
//!   One from before the message was handed over is not its stamp.
//! - Each side finishes an exchange once, and forgets it then, or after [`LONGEST_NS`].
//! - Times that are not in the order in which they must have happened give nothing: a clock was set between them.

mod answerer;
mod asker;
#[cfg(test)]
mod model;
#[cfg(test)]
mod relayed;

use sync::bound::ClockReading;

use crate::probe::{ExchangeTimes, Probe, ProbeKind};

pub use answerer::Answerer;
pub use asker::Asker;

/// From one pair of exchanges to the next (ns). Between two of them bounds grow by the drift of the clocks: 2 us at 100 parts per
/// million.
pub const PERIOD_NS: i64 = 20_000_000;
/// An exchange that is not complete after this time is given up (ns).
pub const LONGEST_NS: i64 = 5_000_000_000;
/// How long the answerer waits for the kernel's stamp of its answer (ns): a driver that hands packets on by itself stamps later.
const STAMP_WITHIN_NS: i64 = 200_000;
/// Exchanges that are under way at once, at most; with more the oldest one is given up.
const MOST_OPEN: usize = 512;

/// A message to be said, before the clocks are compared for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which message it is.
    pub kind: ProbeKind,
    /// Number of the exchange.
    pub number: u64,
    /// Name of the answer that it is or speaks of; 0 in a question.
    pub answer: u64,
    /// As in [`Probe`].
    pub sent_ns: i64,
    /// As in [`Probe`].
    pub received_ns: i64,
}

impl Message {
    /// The whole message, with a comparison of the clocks taken right before it is sent.
    #[must_use]
    pub const fn with(self, reading: ClockReading) -> Probe {
        let Self { kind, number, answer, sent_ns, received_ns } = self;
        Probe { kind, number, answer, sent_ns, received_ns, reading }
    }
}

/// How a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// By which number the kernel's stamps name it, each of which is used once; `None` if it was not sent.
    pub transmission: Option<u64>,
    /// A reading of `CLOCK_REALTIME` right before it was handed to the kernel (ns).
    pub before_ns: i64,
    /// The comparison of the clocks that it brings, from before that.
    pub reading: ClockReading,
    /// When it was sent (ns, `CLOCK_MONOTONIC`).
    pub now_ns: i64,
}

/// A message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// The message.
    pub probe: Probe,
    /// When it came (ns, `CLOCK_REALTIME`): the kernel's stamp, or a reading after it.
    pub at_ns: i64,
    /// A comparison of the clocks from before it came.
    pub before: ClockReading,
}

/// A complete exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// Whether this node asked.
    pub is_asker: bool,
    /// Comparisons of this node's clocks, in their order. The first is from before its first stamp, the last from after its last.
    pub own: Vec<ClockReading>,
    /// Comparisons of the partner's clocks, in their order.
    pub partner: Vec<ClockReading>,
    /// The four stamps.
    pub times: ExchangeTimes,
}

/// What is known of when a message left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    transmission: u64,
    before_ns: i64,
    stamp_ns: Option<i64>,
}

impl Departure {
    const fn new(transmission: u64, before_ns: i64) -> Self {
        Self { transmission, before_ns, stamp_ns: None }
    }

    /// Takes one of the kernel's stamps, if it is this message's.
    fn stamped(&mut self, transmission: u64, stamp_ns: i64) {
        if transmission == self.transmission && stamp_ns >= self.before_ns {
            self.stamp_ns = Some(self.stamp_ns.map_or(stamp_ns, |known_ns| known_ns.min(stamp_ns)));
        }
    }

    /// Not after it left.
    fn ns(&self) -> i64 {
        self.stamp_ns.unwrap_or(self.before_ns)
    }
}

/// Whether times of one clock were taken in this order, as far as comparisons of that clock can tell.
fn are_in_order(before: Option<ClockReading>, [earlier_ns, later_ns]: [i64; 2], after: ClockReading) -> bool {
    let is_begun = before.is_none_or(|before| before.clock_ns.saturating_sub(before.error_ns.max(0)) <= earlier_ns);
    is_begun && earlier_ns <= later_ns && later_ns <= after.clock_ns.saturating_add(after.error_ns.max(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(clock_ns: i64, error_ns: i64) -> ClockReading {
        ClockReading { raw_ns: clock_ns, clock_ns, error_ns }
    }

    #[test]
    fn of_several_stamps_the_earliest_counts_and_none_from_before_the_message() {
        let mut left = Departure::new(7, 100);
        left.stamped(6, 105);
        left.stamped(7, 99);
        assert_eq!(left.ns(), 100, "another message's, and one from before");
        left.stamped(7, 150);
        left.stamped(7, 120);
        left.stamped(7, 180);
        assert_eq!(left.ns(), 120);
    }

    #[test]
    fn times_of_a_clock_that_was_set_back_are_not_in_order() {
        assert!(are_in_order(Some(reading(10, 1)), [10, 20], reading(20, 1)));
        assert!(!are_in_order(Some(reading(12, 1)), [10, 20], reading(30, 1)));
        assert!(!are_in_order(None, [21, 20], reading(30, 1)));
        assert!(!are_in_order(None, [10, 20], reading(18, 1)));
    }

    #[derive(Clone, Debug)]
    enum Event {
        Passed(i64),
        Came { kind: u8, near: u8, answer: u8, words: [i64; 3] },
        Stamped(u64, i64),
        IsRefused,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0..6_000_000_000_i64).prop_map(Event::Passed),
            (0..30_000_000_i64).prop_map(Event::Passed),
            (16..20_u8, 0..6_u8, 0..4_u8, prop::array::uniform3(any::<i64>()))
                .prop_map(|(kind, near, answer, words)| Event::Came { kind, near, answer, words }),
            (0..20_u64, any::<i64>()).prop_map(|(number, ns)| Event::Stamped(number, ns)),
            Just(Event::IsRefused),
        ]
    }

    proptest! {
        /// Whatever a partner with the key says: no number is asked or answered twice, and little is held.
        #[test]
        fn any_messages_and_stamps_break_nothing(events in prop::collection::vec(event(), 0..120)) {
            let (mut asker, mut answerer) = (Asker::new(0, 0), Answerer::new(0));
            let (mut now_ns, mut sent, mut refused) = (0_i64, 0, false);
            let mut said = std::collections::HashSet::new();
            for event in events {
                match event {
                    Event::Passed(ns) => now_ns += ns,
                    Event::Came { kind, near, answer, words: [sent_ns, received_ns, at_ns] } => {
                        let kind = [ProbeKind::Question, ProbeKind::Answer, ProbeKind::AnswerStamp, ProbeKind::QuestionStamp]
                            [usize::from(kind - 16)];
                        let (number, answer) = (u64::from(near), u64::from(answer));
                        let probe = Probe { kind, number, answer, sent_ns, received_ns, reading: reading(sent_ns, at_ns) };
                        let came = Came { probe, at_ns, before: reading(received_ns, 0) };
                        asker.came(&came);
                        answerer.came(&came);
                    }
                    Event::Stamped(transmission, ns) => {
                        asker.stamped(transmission, ns);
                        answerer.stamped(transmission, ns);
                    }
                    Event::IsRefused => refused = !refused,
                }
                loop {
                    let asked = asker.next(now_ns);
                    let answered = if asked.is_none() { answerer.next(now_ns) } else { None };
                    let Some(message) = asked.or(answered) else { break };
                    prop_assert!(said.insert((message.kind as u8, message.number)), "twice: {:?}", message);
                    let transmission = (!refused).then_some(sent);
                    sent += 1;
                    let spoken = Spoken { transmission, before_ns: now_ns, reading: reading(now_ns, 0), now_ns };
                    if asked.is_some() { asker.said(&message, &spoken) } else { answerer.said(&message, &spoken) }
                }
                prop_assert!(asker.open() <= MOST_OPEN && answerer.open() <= MOST_OPEN);
                while asker.take().is_some() || answerer.take().is_some() {}
            }
        }
    }
}
