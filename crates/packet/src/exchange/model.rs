//! Both sides and the network between them, with every fate of every message and stamp: the stated truth lies in every bound.

use std::collections::BTreeMap;

use sync::bound::ClockReading;

use super::{Answerer, Asker, Came, Exchanged, Message, Spoken};
use crate::probe::{Probe, ProbeKind};

/// The answerer's clock less the asker's (ns).
pub(super) const AHEAD_NS: i64 = 7_000_000_123;
const MS: i64 = 1_000_000;

/// Goes through all choices, one sequence of them after the other.
#[derive(Default)]
struct Choices {
    made: Vec<(usize, usize)>,
    at: usize,
}

impl Choices {
    fn choose<T: Copy>(&mut self, of: &[T]) -> T {
        if self.at == self.made.len() {
            self.made.push((0, of.len()));
        }
        let (chosen, _) = self.made[self.at];
        self.at += 1;
        of[chosen]
    }

    /// Whether there is another sequence.
    fn advance(&mut self) -> bool {
        self.made.truncate(self.at);
        self.at = 0;
        while let Some((chosen, of)) = self.made.pop() {
            if chosen + 1 < of {
                self.made.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

enum Event {
    Arrives { at_asker: bool, probe: Probe },
    Stamp { of_asker: bool, transmission: u64, stamp_ns: i64 },
    Restart { of_asker: bool },
    Look,
}

/// When copies of a message arrive after it left (ns); the first one is the original, wherever it arrives.
type Wire = &'static [i64];
/// When the kernel stamps a message after it left, and when the program sees the stamp (ns).
type StampFate = &'static [(i64, i64)];

/// How the fates of a model differ.
pub(super) struct Fates {
    wire: &'static [Wire],
    stamps: &'static [StampFate],
    /// Which side is started anew, and when (ns).
    restarts: &'static [Option<(bool, i64)>],
    questions: u64,
}

struct Model {
    now_ns: i64,
    asker: Asker,
    answerer: Answerer,
    events: BTreeMap<(i64, u64), Event>,
    scheduled: u64,
    /// Transmissions of each side.
    sent: [u64; 2],
    questions: u64,
    complete: Vec<Exchanged>,
}

impl Model {
    fn new(restart: Option<(bool, i64)>) -> Self {
        let mut model = Self {
            now_ns: 0,
            asker: Asker::new(0, 0),
            answerer: Answerer::new(0),
            events: BTreeMap::new(),
            scheduled: 0,
            sent: [0; 2],
            questions: 0,
            complete: Vec::new(),
        };
        for look in 0..3 {
            model.schedule(look * 20 * MS, Event::Look);
        }
        if let Some((of_asker, at_ns)) = restart {
            model.schedule(at_ns, Event::Restart { of_asker });
        }
        model
    }

    fn schedule(&mut self, at_ns: i64, event: Event) {
        self.scheduled += 1;
        self.events.insert((at_ns, self.scheduled), event);
    }

    fn clock_ns(&self, is_asker: bool) -> i64 {
        if is_asker { self.now_ns } else { self.now_ns + AHEAD_NS }
    }

    fn reading(&self, is_asker: bool) -> ClockReading {
        ClockReading { raw_ns: self.now_ns, clock_ns: self.clock_ns(is_asker), error_ns: 0 }
    }

    /// Sends one message, which leaves a little later than the program says.
    fn send(&mut self, choices: &mut Choices, fates: &Fates, is_asker: bool, message: &Message) {
        const QUEUED_NS: i64 = 10_000;
        let is_question = message.kind == ProbeKind::Question;
        self.questions += u64::from(is_question);
        let is_sent = !is_question || self.questions <= fates.questions;
        let reading = self.reading(is_asker);
        let transmission = self.sent[usize::from(is_asker)];
        self.sent[usize::from(is_asker)] += 1;
        let spoken = Spoken {
            transmission: is_sent.then_some(transmission),
            before_ns: self.clock_ns(is_asker),
            reading,
            now_ns: self.now_ns,
        };
        if is_asker {
            self.asker.said(message, &spoken);
        } else {
            self.answerer.said(message, &spoken);
        }
        if !is_sent {
            return;
        }
        let left_ns = self.now_ns + QUEUED_NS;
        for delay_ns in choices.choose(fates.wire) {
            let event = Event::Arrives { at_asker: !is_asker, probe: message.with(reading) };
            self.schedule(left_ns + delay_ns, event);
        }
        if matches!(message.kind, ProbeKind::Question | ProbeKind::Answer) {
            for (after_ns, seen_after_ns) in choices.choose(fates.stamps) {
                let stamp_ns = self.clock_ns(is_asker) + QUEUED_NS + after_ns;
                let event = Event::Stamp { of_asker: is_asker, transmission, stamp_ns };
                self.schedule(left_ns + seen_after_ns, event);
            }
        } else {
            // Stamps of the others come too, and are nobody's.
            let stamp_ns = self.clock_ns(is_asker) + QUEUED_NS;
            self.schedule(left_ns, Event::Stamp { of_asker: is_asker, transmission, stamp_ns });
        }
    }

    fn run(&mut self, choices: &mut Choices, fates: &Fates) {
        while let Some(((at_ns, _), event)) = self.events.pop_first() {
            self.now_ns = at_ns;
            match event {
                Event::Arrives { at_asker, probe } => {
                    let came = Came { probe, at_ns: self.clock_ns(at_asker), before: self.reading(at_asker) };
                    if at_asker {
                        self.asker.came(&came);
                    } else {
                        self.answerer.came(&came);
                    }
                }
                Event::Stamp { of_asker: true, transmission, stamp_ns } => self.asker.stamped(transmission, stamp_ns),
                Event::Stamp { of_asker: false, transmission, stamp_ns } => {
                    self.answerer.stamped(transmission, stamp_ns);
                }
                Event::Restart { of_asker: true } => self.asker = Asker::new(at_ns, at_ns),
                Event::Restart { of_asker: false } => self.answerer = Answerer::new(at_ns),
                Event::Look => {}
            }
            while let Some(message) = self.asker.next(at_ns) {
                self.send(choices, fates, true, &message);
            }
            while let Some(message) = self.answerer.next(at_ns) {
                self.send(choices, fates, false, &message);
            }
            if self.answerer.awaits_stamp() {
                self.schedule(at_ns + 200_000, Event::Look);
            }
            self.complete.extend(std::iter::from_fn(|| self.asker.take()));
            self.complete.extend(std::iter::from_fn(|| self.answerer.take()));
        }
    }
}

pub(super) fn holds_the_truth(exchanged: &Exchanged) -> bool {
    let times = exchanged.times;
    times.t3_ns - times.t4_ns <= AHEAD_NS && AHEAD_NS <= times.t2_ns - times.t1_ns
}

/// Goes through all fates: sequences, and exchanges that were completed by either side.
fn go_through(fates: &Fates) -> (u64, [u64; 2]) {
    let mut choices = Choices::default();
    let (mut sequences, mut complete) = (0, [0; 2]);
    loop {
        let mut model = Model::new(choices.choose(fates.restarts));
        model.run(&mut choices, fates);
        for exchanged in &model.complete {
            assert!(holds_the_truth(exchanged), "{exchanged:?} by the choices {:?}", choices.made);
            complete[usize::from(exchanged.is_asker)] += 1;
        }
        if sequences == 0 {
            assert_eq!(model.complete.len() as u64, 2 * fates.questions, "where nothing is lost or copied");
        }
        sequences += 1;
        if !choices.advance() {
            return (sequences, complete);
        }
    }
}

#[test]
fn the_truth_is_in_every_bound_of_an_exchange_whatever_happens_to_its_messages_and_stamps() {
    let fates = Fates {
        // Once, never, copied (the copy has the same bytes, so it does not matter which of them comes first), replayed afterwards.
        wire: &[&[MS], &[], &[2 * MS, 5 * MS], &[MS, 60 * MS]],
        // In time, never, seen late, and by a second driver later, seen the wrong way round.
        stamps: &[&[(0, 0)], &[], &[(0, 3 * MS)], &[(400_000, 10_000), (0, 20_000)]],
        restarts: &[None, Some((false, 3 * MS)), Some((true, 3 * MS))],
        questions: 1,
    };
    let (sequences, complete) = go_through(&fates);
    assert!(sequences > 100_000 && complete.iter().all(|complete| *complete > 10_000), "{sequences} {complete:?}");
}

#[test]
fn the_truth_is_in_every_bound_of_exchanges_that_are_under_way_together() {
    let fates = Fates {
        // The second question leaves 20 ms after the first where that is not complete by then, or right after it.
        wire: &[&[MS], &[], &[30 * MS], &[MS, 30 * MS]],
        stamps: &[&[(0, 0)]],
        restarts: &[None],
        questions: 2,
    };
    let (sequences, complete) = go_through(&fates);
    assert!(sequences > 10_000 && complete.iter().all(|complete| *complete > 10_000), "{sequences} {complete:?}");
}

#[test]
fn an_answer_that_was_given_twice_has_two_names_and_the_stamp_of_one_is_not_the_other_s() {
    // The answerer starts anew between a question and its copy: both answers come to one asker, which has asked once.
    let fates = Fates {
        wire: &[&[MS], &[MS, 9 * MS], &[MS, 15 * MS], &[]],
        stamps: &[&[(0, 0)], &[]],
        restarts: &[Some((false, 4 * MS)), Some((false, 8 * MS)), Some((false, 12 * MS)), None],
        questions: 1,
    };
    // Restarts come first here, so that nothing is claimed of a sequence without one.
    let mut choices = Choices::default();
    let mut complete = 0;
    loop {
        let mut model = Model::new(choices.choose(fates.restarts));
        model.run(&mut choices, &fates);
        assert!(model.complete.iter().all(holds_the_truth), "{:?} by {:?}", model.complete, choices.made);
        complete += model.complete.len();
        if !choices.advance() {
            break;
        }
    }
    assert!(complete > 100, "{complete}");
}
