//! The model of restores: a node, hubs that are restored elsewhere from backups, and the old ones that wake up.
//!
//! Here the truth is all that the node has measured, and nothing is forgiven: at every step each hub counts nothing twice and no life that
//! the node follows falls; in the end the hub of the latest life has every interval, each counted once. What is assumed is what the docs
//! say: backups are of the latest life, and from the moment until which one is complete no more than [`KEEP_DAYS`] pass until the node
//! hears of the hub that is restored from it. A hub that was restored itself is complete until then alone where its backup was, as long
//! as the node has not sent all again.

use super::*;

/// So long a node keeps what was acknowledged (days).
const KEEP_DAYS: u64 = 7;
/// The model's clock stands here at first (s since 1970).
const FIRST_S: u64 = 1_796_000_000;

/// A hub that serves somewhere.
struct Place {
    hub: Hub,
    /// The day until which the backup was complete that it was restored from; that of its beginning for the first one.
    of_day: u64,
    /// The day on which it began.
    since_day: u64,
    /// Whether the node has sent all to it since.
    is_complete: bool,
}

struct Backup {
    hub: Hub,
    complete_day: u64,
}

/// A message on its way to the hub that it was sent to, or from there to the node.
enum Letter {
    To(usize, Message),
    From(Message),
}

struct Restores {
    random: Random,
    spool: Spool<Content>,
    acknowledged: Acknowledgments,
    starts: u64,
    day: u64,
    /// Hubs that are awake, in the order in which they began.
    places: Vec<Place>,
    backups: Vec<Backup>,
    network: Vec<Letter>,
    truth: BTreeSet<u64>,
    highest_seen: u64,
    log: Vec<String>,
}

impl Restores {
    fn new(seed: u64) -> Self {
        let first = Hub { epoch: 1, streams: BTreeMap::new() };
        let mut world = Self {
            random: Random::new(seed),
            spool: Spool::new(NODE),
            acknowledged: Acknowledgments::default(),
            starts: 0,
            day: 0,
            places: vec![Place { hub: first, of_day: 0, since_day: 0, is_complete: true }],
            backups: Vec::new(),
            network: Vec::new(),
            truth: BTreeSet::new(),
            highest_seen: 0,
            log: Vec::new(),
        };
        world.start();
        world
    }

    fn start(&mut self) {
        self.starts += 1;
        let random = self.random.next();
        self.spool.begin(StreamId { start: self.starts, random });
    }

    /// The hub of the latest life.
    fn latest(&self) -> usize {
        (0..self.places.len()).max_by_key(|at| self.places[*at].hub.epoch).unwrap()
    }

    fn take(&mut self, answer: &Message) {
        let before = self.spool.epoch();
        if let Message::Mark(mark) = answer {
            let meant = self.spool.take_mark(mark);
            self.log.push(format!("  {meant:?} {mark:?}"));
            assert_ne!(meant, Marked::Diverged, "a node has one history, and no hub has another one");
            assert_eq!(meant == Marked::OldHub, mark.epoch < before, "an old life is refused, and no other");
            if self.spool.epoch() != before {
                self.acknowledged.forget();
            }
            let marked = self.spool.marks().find(|(stream, _)| *stream == mark.stream);
            if let Some((stream, sequence)) = marked {
                self.acknowledged.take(stream, sequence, self.day, KEEP_DAYS);
            }
        }
        assert!(self.spool.epoch() >= self.highest_seen, "it goes back to an earlier life");
        self.highest_seen = self.spool.epoch();
    }

    /// Asks a hub and takes its answer at once.
    fn exchange(&mut self, place: usize, most: usize) {
        let turn = self.random.below(3);
        // Without either nothing was acknowledged, and so nothing can be lost.
        let Some(batch) = self.spool.batch(most).or_else(|| self.spool.question(turn)) else { return };
        if let Some(answer) = World::answer(&mut self.places[place].hub, &Message::Batch(batch)) {
            self.take(&answer);
        }
    }

    /// A backup becomes a hub elsewhere; all others stay awake.
    fn restore(&mut self) {
        let is_good = |backup: &&Backup| self.day < backup.complete_day + KEEP_DAYS;
        let good: Vec<&Backup> = self.backups.iter().filter(is_good).collect();
        if good.is_empty() || self.places.len() > 4 {
            return;
        }
        let Backup { hub, complete_day } = good[self.random.below(good.len())];
        // Restores of one day are of one second.
        let now_wall_ns = i64::try_from((FIRST_S + self.day * 86_400) * 1_000_000_000).unwrap();
        let epoch = next_epoch(hub.epoch, now_wall_ns, self.random.next());
        let earlier = self.places.iter().filter(|place| place.since_day < self.day);
        assert!(earlier.map(|place| place.hub.epoch).all(|earlier| earlier < epoch), "it outranks those of before");
        let hub = Hub { epoch, ..hub.clone() };
        let place = Place { hub, of_day: *complete_day, since_day: self.day, is_complete: false };
        self.log.push(format!("  epoch {epoch} of a backup that is complete until day {complete_day}"));
        self.places.push(place);
    }

    /// The node removes what was acknowledged long ago. By then it has heard of a hub that was restored from an old backup.
    fn day_passes(&mut self, days: u64) {
        let latest = self.latest();
        let is_unheard = self.spool.epoch() < self.places[latest].hub.epoch;
        if is_unheard && self.day + days > self.places[latest].of_day + KEEP_DAYS {
            self.exchange(latest, 3);
        }
        self.day += days;
        for (stream, through) in self.acknowledged.long_ago(self.day, KEEP_DAYS) {
            self.spool.remove(stream, through);
        }
    }
}

impl Model for Restores {
    fn step(&mut self, choice: usize) {
        self.log.push(format!("{choice}, day {}", self.day));
        let latest = self.latest();
        let other = self.random.below(self.places.len());
        match choice {
            0 => {
                let id = self.truth.last().copied().unwrap_or(0) + 1;
                self.truth.insert(id);
                self.spool.append(Content::interval(id, u8::from(self.random.below(8) == 0)));
            }
            // To the latest hub, or to whichever is awake.
            1 => self.exchange(latest, 3),
            2 => self.exchange(other, 3),
            3 => {
                let turn = self.random.below(3);
                if let Some(batch) = self.spool.batch(2).or_else(|| self.spool.question(turn)) {
                    self.network.push(Letter::To(other, Message::Batch(batch)));
                }
            }
            // What is on its way comes in any order, and perhaps again.
            4 if !self.network.is_empty() => {
                let at = self.random.below(self.network.len());
                match self.network.swap_remove(at) {
                    Letter::To(place, message) => {
                        let answer = World::answer(&mut self.places[place].hub, &message);
                        self.network.extend(answer.map(Letter::From));
                        if self.random.below(3) == 0 {
                            self.network.push(Letter::To(place, message));
                        }
                    }
                    Letter::From(answer) => {
                        self.take(&answer);
                        if self.random.below(3) == 0 {
                            self.network.push(Letter::From(answer));
                        }
                    }
                }
                self.network.truncate(8);
            }
            5 => self.day_passes(1),
            6 => self.day_passes(3),
            7 => {
                let Place { hub, of_day, is_complete, .. } = &self.places[latest];
                let complete_day = if *is_complete { self.day } else { *of_day };
                self.backups.push(Backup { hub: hub.clone(), complete_day });
            }
            8 => self.restore(),
            // Killed, and started again from its disk.
            9 => {
                self.spool = Spool::restore(NODE, self.spool.epoch(), self.spool.kept().collect());
                self.acknowledged = Acknowledgments::restore(self.acknowledged.known().to_vec());
                self.start();
            }
            10 => {
                self.spool.make_room();
            }
            _ => {}
        }
        let has_all = self.spool.batch(1).is_none();
        for place in &mut self.places {
            place.hub.check();
            place.is_complete |= has_all && place.hub.epoch == self.spool.epoch();
        }
    }

    /// From now on everything comes through to the latest hub.
    fn end(&mut self) {
        let latest = self.latest();
        self.exchange(latest, 3);
        for turn in 0.. {
            assert!(turn < 500, "it does not come to an end: {:#?}", self.spool);
            if self.spool.batch(3).is_none() {
                break;
            }
            self.exchange(latest, 3);
        }
        let hub = &self.places[latest].hub;
        hub.check();
        let counted: BTreeSet<u64> = hub.contents().flat_map(|content| content.counted.iter().copied()).collect();
        assert_eq!(hub.worst(), self.truth, "every maximum equals the truth");
        assert_eq!(counted, self.truth, "each is counted once");
    }

    fn log(&self) -> &[String] {
        &self.log
    }
}

fn lives(seed: u64, choices: &mut dyn FnMut(&mut Random) -> Option<usize>) {
    run(seed, &mut Restores::new(seed), choices);
}

#[test]
fn a_hub_restored_elsewhere_has_every_interval_while_the_old_ones_wake_up() {
    for seed in 0..6_000 {
        let mut left = 100;
        lives(seed, &mut |random| {
            left -= 1;
            (left > 0).then(|| random.below(11))
        });
    }
}

#[test]
fn a_hub_restored_elsewhere_has_every_interval_in_every_order_of_four_steps() {
    /// All steps, without those that differ from another one by a number alone.
    const STEPS: [usize; 10] = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10];
    // Two entries are acknowledged, a backup is made, two more are acknowledged, days pass, and a hub is restored from it.
    const BEFORE: [usize; 11] = [0, 0, 1, 7, 0, 0, 1, 6, 8, 0, 3];
    let orders = u64::try_from(STEPS.len().pow(4)).unwrap();
    for order in 0..orders {
        let mut steps: Vec<usize> = BEFORE.to_vec();
        let mut rest = usize::try_from(order).unwrap();
        for _ in 0..4 {
            steps.push(STEPS[rest % STEPS.len()]);
            rest /= STEPS.len();
        }
        let mut steps = steps.into_iter();
        lives(order, &mut |_| steps.next());
    }
}
