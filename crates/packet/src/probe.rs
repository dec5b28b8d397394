//! The messages by which two nodes find out how far their clocks are apart: an exchange of four, in which no message needs a
//! stamp that is not known yet when it is sent. Who says which when is in [`exchange`](crate::exchange).
//!
//! ```text
//! asker   t1 ── question ──────────► t2   answerer
//! asker   t4 ◄────────────── answer ── t3 answerer    brings t2
//! asker      ◄──────── answer stamp ──    answerer    brings t3
//! asker      ── question stamp ──────►    answerer    brings t1 and t4
//! ```
//! Both nodes then know all four times. Each message also brings a comparison of the sender's system clock with the one that
//! nobody corrects, so that corrections of that clock are no error of the exchange.

use sync::bound::ClockReading;

use crate::header::{NotOurs, Session, first, put_first, put_words, time_ns, unsigned, word};

/// Length of a message (bytes).
pub const PROBE_BYTES: usize = 80;

/// Which of the four messages it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProbeKind {
    /// Asks for an answer.
    Question = 16,
    /// Answers at once, with the time at which the question came.
    Answer = 17,
    /// Says when the answer was sent.
    AnswerStamp = 18,
    /// Says when the question was sent, and when its answer came.
    QuestionStamp = 19,
}

/// A message of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which message it is.
    pub kind: ProbeKind,
    /// Number of the exchange: of one transmission of a question, and never of another one.
    pub number: u64,
    /// Name of the answer that it is or speaks of; 0 in a question.
    pub answer: u64,
    /// When a message of this node's was sent (ns, its `CLOCK_REALTIME`): of an answer's stamp t3, of a question's t1; else 0.
    pub sent_ns: i64,
    /// When the partner's message came (ns, `CLOCK_REALTIME` of this node): of an answer t2, of a question's stamp t4; else 0.
    pub received_ns: i64,
    /// A comparison of this node's clocks, taken right before the message was sent.
    pub reading: ClockReading,
}

impl Probe {
    /// Writes the message, with its tag.
    pub fn write(&self, session: &Session, bytes: &mut [u8; PROBE_BYTES]) {
        put_first(bytes, self.kind as u8);
        put_words(
            bytes,
            [
                session.number,
                self.number,
                unsigned(self.sent_ns),
                unsigned(self.received_ns),
                unsigned(self.reading.raw_ns),
                unsigned(self.reading.clock_ns),
                unsigned(self.reading.error_ns),
                self.answer,
            ],
        );
        session.seal(bytes);
    }

    /// Reads a message that the session's partner wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(session: &Session, bytes: &[u8]) -> Result<Self, NotOurs> {
        let bytes: &[u8; PROBE_BYTES] = bytes.try_into().map_err(|_| NotOurs::Foreign)?;
        let kind = first(bytes).ok_or(NotOurs::Foreign)?;
        if word(bytes, 8) != session.number {
            return Err(NotOurs::Foreign);
        }
        let kind = match kind {
            16 => ProbeKind::Question,
            17 => ProbeKind::Answer,
            18 => ProbeKind::AnswerStamp,
            19 => ProbeKind::QuestionStamp,
            _ => return Err(NotOurs::Foreign),
        };
        if !session.has_sealed(bytes) {
            return Err(NotOurs::Forged);
        }
        let [sent_ns, received_ns, raw_ns, clock_ns, error_ns] = [24, 32, 40, 48, 56].map(|at| time_ns(bytes, at));
        Ok(Self {
            kind,
            number: word(bytes, 16),
            answer: word(bytes, 64),
            sent_ns,
            received_ns,
            reading: ClockReading { raw_ns, clock_ns, error_ns },
        })
    }
}

/// The four times of an exchange (ns, each on the `CLOCK_REALTIME` of its node).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeTimes {
    /// When the question was sent, at the asker.
    pub t1_ns: i64,
    /// When the question came, at the answerer.
    pub t2_ns: i64,
    /// When the answer was sent, at the answerer.
    pub t3_ns: i64,
    /// When the answer came, at the asker.
    pub t4_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Session = Session { number: 7, key: [9; 16] };

    #[test]
    fn a_message_reads_back_and_no_changed_bit_passes() {
        let probe = Probe {
            kind: ProbeKind::QuestionStamp,
            number: 12,
            answer: 13,
            sent_ns: -1,
            received_ns: 1_790_000_000_000_000_000,
            reading: ClockReading { raw_ns: 5, clock_ns: 6, error_ns: 7 },
        };
        let mut bytes = [0; PROBE_BYTES];
        probe.write(&SESSION, &mut bytes);
        assert_eq!(Probe::read(&SESSION, &bytes), Ok(probe));
        assert_eq!(Probe::read(&SESSION, &bytes[1..]), Err(NotOurs::Foreign));
        for at in 0..PROBE_BYTES * 8 {
            let mut changed = bytes;
            changed[at / 8] ^= 1 << (at % 8);
            assert!(Probe::read(&SESSION, &changed).is_err(), "bit {at}");
        }
    }

    #[test]
    fn a_measured_packet_is_no_message_of_an_exchange() {
        let mut bytes = [0; PROBE_BYTES];
        let probe = Probe {
            kind: ProbeKind::Question,
            number: 0,
            answer: 0,
            sent_ns: 0,
            received_ns: 0,
            reading: ClockReading { raw_ns: 0, clock_ns: 0, error_ns: 0 },
        };
        probe.write(&SESSION, &mut bytes);
        assert_eq!(crate::header::Genuine::read(&SESSION, &bytes), Err(NotOurs::Foreign));
    }
}
