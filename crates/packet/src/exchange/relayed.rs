//! Both sides over a relay that delays, loses, copies and reorders by chance, in a time of its own: what the exchanges make of the
//! clocks is held against how these were set.

use std::collections::BTreeMap;

use sync::bound::ClockReading;
use units::Random;

use super::{Answerer, Asker, Came, Exchanged, LONGEST_NS, Spoken};
use crate::probe::Probe;
use crate::relation::Relation;

const MS: i64 = 1_000_000;
const S: i64 = 1_000_000_000;
/// The answerer's system clock less the asker's when both start (ns), and how much faster its clocks run.
const AHEAD_NS: i64 = 3_000_000_000;
const FASTER_PPM: i64 = 60;

/// What a relay does.
#[derive(Clone, Copy)]
struct Relay {
    /// Shortest delay to the answerer and back (ns).
    least_ns: [i64; 2],
    /// What comes on top, by chance (ns).
    jitter_ns: i64,
    /// Of a thousand messages so many are lost, and so many copied.
    lost: usize,
    copied: usize,
    /// A copy comes up to so much after the original (ns).
    copy_after_ns: i64,
}

enum Event {
    Arrives { at_asker: bool, probe: Probe },
    Stamp { of_asker: bool, transmission: u64, stamp_ns: i64 },
    Look,
}

struct Side {
    relation: Relation,
    exchanges: u64,
    sent: u64,
}

struct World {
    relay: Relay,
    random: Random,
    now_ns: i64,
    asker: Asker,
    answerer: Answerer,
    sides: [Side; 2],
    events: BTreeMap<(i64, u64), Event>,
    scheduled: u64,
}

fn clock_ns(at_ns: i64, is_asker: bool) -> i64 {
    if is_asker { at_ns } else { at_ns + AHEAD_NS + at_ns / 1_000_000 * FASTER_PPM }
}

fn reading(at_ns: i64, is_asker: bool) -> ClockReading {
    let clock_ns = clock_ns(at_ns, is_asker);
    ClockReading { raw_ns: clock_ns - if is_asker { 5 } else { AHEAD_NS - 9 }, clock_ns, error_ns: 100 }
}

impl World {
    fn new(seed: u64, relay: Relay) -> Self {
        let side = || Side { relation: Relation::new(100_000), exchanges: 0, sent: 0 };
        Self {
            relay,
            random: Random::new(seed),
            now_ns: 0,
            asker: Asker::new(0, 1),
            answerer: Answerer::new(1),
            sides: [side(), side()],
            events: BTreeMap::new(),
            scheduled: 0,
        }
    }

    fn up_to(&mut self, most_ns: i64) -> i64 {
        i64::try_from(self.random.below(usize::try_from(most_ns.max(1)).unwrap())).unwrap()
    }

    fn schedule(&mut self, at_ns: i64, event: Event) {
        self.scheduled += 1;
        self.events.insert((at_ns, self.scheduled), event);
    }

    fn say_all(&mut self, is_asker: bool) {
        loop {
            let message = if is_asker { self.asker.next(self.now_ns) } else { self.answerer.next(self.now_ns) };
            let Some(message) = message else { return };
            let side = &mut self.sides[usize::from(is_asker)];
            let transmission = side.sent;
            side.sent += 1;
            let reading = reading(self.now_ns, is_asker);
            let (before_ns, now_ns) = (reading.clock_ns, self.now_ns);
            let spoken = Spoken { transmission: Some(transmission), before_ns, reading, now_ns };
            if is_asker {
                self.asker.said(&message, &spoken);
            } else {
                self.answerer.said(&message, &spoken);
            }
            let left_ns = self.now_ns + 2_000 + self.up_to(30_000);
            if self.random.below(20) > 0 {
                let (stamp_ns, of_asker) = (clock_ns(left_ns, is_asker), is_asker);
                self.schedule(left_ns, Event::Stamp { of_asker, transmission, stamp_ns });
            }
            let arrives =
                |message: super::Message| Event::Arrives { at_asker: !is_asker, probe: message.with(reading) };
            let arrives_ns = left_ns + self.relay.least_ns[usize::from(!is_asker)] + self.up_to(self.relay.jitter_ns);
            if self.random.below(1_000) >= self.relay.lost {
                self.schedule(arrives_ns, arrives(message));
            }
            if self.random.below(1_000) < self.relay.copied {
                let copy_ns = arrives_ns + self.up_to(self.relay.copy_after_ns);
                self.schedule(copy_ns, arrives(message));
            }
        }
    }

    fn take(&mut self, exchanged: &Exchanged) {
        let side = &mut self.sides[usize::from(exchanged.is_asker)];
        side.exchanges += 1;
        exchanged.own.iter().for_each(|one| assert_eq!(side.relation.own_reading(*one), None));
        exchanged.partner.iter().for_each(|one| assert_eq!(side.relation.partner_reading(*one), None));
        let times = exchanged.times;
        let (asked, answered) = ((times.t1_ns, times.t2_ns), (times.t3_ns, times.t4_ns));
        let (from, to) = if exchanged.is_asker { (answered, asked) } else { (asked, answered) };
        let seen = side.relation.exchange(from, to).unwrap();
        // Its moment: the later of this node's own two stamps, less what the clocks changed in between.
        let own_ns = from.1.max(to.0);
        let ahead_ns = |at_ns: i64| clock_ns(at_ns, false) - clock_ns(at_ns, true);
        let at_ns = if exchanged.is_asker { own_ns } else { own_ns - ahead_ns(own_ns - AHEAD_NS) };
        let truth_ns = if exchanged.is_asker { -ahead_ns(at_ns) } else { ahead_ns(at_ns) };
        let bound = seen.bound;
        assert!(bound.lower_ns <= truth_ns && truth_ns <= bound.upper_ns, "{truth_ns} {bound:?} {exchanged:?}");
    }

    fn run(mut self, for_ns: i64) -> [Side; 2] {
        self.schedule(0, Event::Look);
        while let Some(((at_ns, _), event)) = self.events.pop_first() {
            self.now_ns = at_ns;
            if at_ns > for_ns {
                break;
            }
            match event {
                Event::Arrives { at_asker, probe } => {
                    let (at_ns, before) = (clock_ns(at_ns, at_asker), reading(at_ns, at_asker));
                    let came = Came { probe, at_ns, before };
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
                Event::Look => {
                    self.schedule(at_ns + MS, Event::Look);
                }
            }
            self.say_all(true);
            self.say_all(false);
            while let Some(exchanged) = self.asker.take().or_else(|| self.answerer.take()) {
                self.take(&exchanged);
            }
            let most = usize::try_from(LONGEST_NS / super::PERIOD_NS * 2).unwrap() + 2;
            assert!(self.asker.open() <= most && self.answerer.open() <= most);
        }
        self.sides
    }
}

const USUAL: Relay = Relay { least_ns: [3 * MS, 200_000], jitter_ns: 0, lost: 0, copied: 0, copy_after_ns: 1_500_000 };

#[test]
fn the_truth_is_in_every_bound_over_a_relay_that_doubles_delays_loses_and_reorders() {
    for seed in 0..100 {
        let relay = match seed % 4 {
            0 => Relay { copied: 1_000, ..USUAL },
            1 => Relay { copied: 10, copy_after_ns: 4 * MS, ..USUAL },
            2 => Relay { jitter_ns: 60 * MS, copied: 300, copy_after_ns: 90 * MS, lost: 100, ..USUAL },
            _ => Relay { jitter_ns: 5 * MS, copied: 100, copy_after_ns: 2 * S, lost: 300, ..USUAL },
        };
        let sides = World::new(seed, relay).run(3 * S);
        assert!(sides.iter().all(|side| side.exchanges >= 15), "{seed}: {:?}", sides.map(|side| side.exchanges));
    }
}

#[test]
fn neither_jitter_nor_long_ways_cost_exchanges_and_a_lost_message_costs_its_own() {
    for (relay, least) in [
        (USUAL, 90),
        (Relay { jitter_ns: 10 * MS, ..USUAL }, 49),
        (Relay { jitter_ns: 60 * MS, ..USUAL }, 49),
        (Relay { least_ns: [600 * MS, 600 * MS], ..USUAL }, 49),
        // Of four messages one is lost with one in three exchanges.
        (Relay { lost: 100, ..USUAL }, 49),
    ] {
        let sides = World::new(1, relay).run(12 * S);
        for side in sides {
            assert!(side.exchanges >= least * 10, "{} exchanges where {least} a second are due", side.exchanges);
        }
    }
}
