//! A simulated year of one node whose clocks do what clocks of boards do: they begin in 1970, drift, are set, stand still in a suspend;
//! the node restarts and is cut off from its hub for days. The truth of each interval is known.

use std::collections::BTreeMap;

use farm::monitor::BootId;
use farm::monitor::{CpuInterval, Figures, GapReason, Interval, LeftTimes, MonitorEntry, RawEntry, WallTime};
use farm::stream::ContentHash;
use store::{GapWhy, HistoryAsked, Quotas, Store};
use units::Random;

use super::support::{CONDITION, Fresh, INTERVAL, Kept, NOW, S, Sender};

/// An hour (ns).
const HOUR: i64 = 3_600 * S;
/// A day (ns).
const DAY: i64 = 24 * HOUR;

/// What is true of an interval or a gap.
#[derive(Debug)]
struct True {
    utc_ns: i64,
    boot: u64,
}

/// The node and the world around it.
struct World {
    random: Random,
    /// The true time (ns since 1970).
    utc_ns: i64,
    boot: u64,
    /// CLOCK_BOOTTIME now (ns).
    boot_ns: i64,
    /// How much faster its oscillator is than it should be (parts per million).
    drift_ppm: i64,
    /// CLOCK_REALTIME less the true time (ns).
    wall_off_ns: i64,
    /// Until when something keeps the clock right (true time, ns), and how well (ns).
    synchronized_until_ns: i64,
    bound_ns: u64,
    /// From when on the node reaches its hub (true time, ns).
    online_from_ns: i64,
    /// Boots that were heard of while they were, or whose clock was right at some time.
    known: BTreeMap<u64, bool>,
    intervals: BTreeMap<i64, True>,
    gaps: Vec<(GapReason, True)>,
    spoiled: BTreeMap<i64, (True, String)>,
    next: i64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            random: Random::new(seed),
            utc_ns: NOW,
            boot: 0,
            boot_ns: 0,
            drift_ppm: 0,
            wall_off_ns: 0,
            synchronized_until_ns: 0,
            bound_ns: 0,
            online_from_ns: 0,
            known: BTreeMap::new(),
            intervals: BTreeMap::new(),
            gaps: Vec::new(),
            spoiled: BTreeMap::new(),
            next: 1_000,
        };
        world.restart();
        world
    }

    fn below(&mut self, most: i64) -> i64 {
        i64::try_from(self.random.below(usize::try_from(most).unwrap())).unwrap()
    }

    /// The machine is off for a while, and starts: its clock begins in 1970, or with what its battery kept.
    fn restart(&mut self) {
        self.utc_ns += 30 * S + self.below(6 * HOUR);
        self.boot += 1;
        self.boot_ns = 20 * S;
        self.drift_ppm = self.below(301) - 150;
        self.wall_off_ns = if self.below(2) == 0 { -self.utc_ns } else { self.below(10 * S) - 5 * S };
        self.synchronized_until_ns = 0;
        self.known.insert(self.boot, false);
    }

    /// Time goes on (ns of the node's clock).
    fn pass(&mut self, boot_ns: i64) {
        let wrong_ns = boot_ns / 1_000_000 * self.drift_ppm;
        self.utc_ns += boot_ns - wrong_ns;
        self.boot_ns += boot_ns;
        // Nobody corrects it, or something does.
        if self.is_synchronized() {
            let bound = i64::try_from(self.bound_ns).unwrap();
            self.wall_off_ns = self.below(2 * bound) - bound;
        } else {
            self.wall_off_ns += wrong_ns;
        }
    }

    fn is_synchronized(&self) -> bool {
        self.utc_ns < self.synchronized_until_ns
    }

    fn wall(&self) -> WallTime {
        let is_synchronized = self.is_synchronized();
        WallTime {
            ns: self.utc_ns + self.wall_off_ns,
            is_synchronized,
            error_ns: is_synchronized.then_some(self.bound_ns),
        }
    }

    fn times(&mut self, length_ns: i64) -> (LeftTimes, True) {
        if self.is_synchronized() {
            self.known.insert(self.boot, true);
        }
        let truth = True { utc_ns: self.utc_ns, boot: self.boot };
        let (boot, start_ns, wall) = (BootId(format!("boot-{}", self.boot)), self.boot_ns, Some(self.wall()));
        self.pass(length_ns);
        (LeftTimes { boot, start_ns, length_ns: length_ns.unsigned_abs(), wall }, truth)
    }

    /// An interval; what spoils it is said with its reason.
    fn interval(&mut self, spoiled: Option<&str>) -> MonitorEntry {
        let (times, truth) = self.times(INTERVAL);
        self.next += 1;
        let figures = Figures { maximum_ns: self.next, samples: 300_000, ..Figures::default() };
        let mut cpu = CpuInterval { cpu: 0, ..CpuInterval::default() };
        if let Some(reason) = spoiled {
            (cpu.spoiled, cpu.reasons) = (Some(figures), vec![reason.to_owned()]);
            self.spoiled.insert(self.next, (truth, reason.to_owned()));
        } else {
            cpu.valid = Some(figures);
            self.intervals.insert(self.next, truth);
        }
        let (condition, cpus, sources) = (ContentHash::of(CONDITION), vec![cpu], Vec::new());
        MonitorEntry::Interval(Interval { times, condition, made_of: 1, cut_short: None, cpus, sources })
    }

    fn gap(&mut self, why: GapReason, length_ns: i64) -> MonitorEntry {
        let (times, truth) = self.times(length_ns);
        self.gaps.push((why.clone(), truth));
        MonitorEntry::Gap { times, why, cpus: Vec::new() }
    }

    /// What happens next.
    fn step(&mut self, node: &mut Sender) {
        let entry = match self.below(2_000) {
            0..4 => {
                self.restart();
                node.boot = format!("boot-{}", self.boot);
                node.restart();
                return;
            }
            4..8 => {
                // A clock that counts in a suspend is read from a battery's, to a second.
                let length_ns = 60 * S + self.below(10 * HOUR);
                let gap = self.gap(GapReason::Suspended, length_ns);
                let jump_ns = self.below(2 * S) - S;
                self.utc_ns -= jump_ns;
                gap
            }
            8..12 => {
                self.wall_off_ns = self.below(20 * DAY) - 10 * DAY;
                self.synchronized_until_ns = 0;
                self.interval(Some("clock-set"))
            }
            12..30 => {
                self.bound_ns = 1_000 + self.below(50_000_000).unsigned_abs();
                self.synchronized_until_ns = self.utc_ns + self.below(5 * DAY);
                self.wall_off_ns = 0;
                self.interval(None)
            }
            30..40 => self.interval(Some("throttled")),
            40..44 => {
                self.online_from_ns = self.utc_ns + self.below(6 * DAY);
                self.interval(None)
            }
            44..50 => {
                let length_ns = 60 * S + self.below(HOUR);
                self.gap(GapReason::Measuring, length_ns)
            }
            _ => self.interval(None),
        };
        node.spool.append(RawEntry::new(&entry).unwrap());
    }

    /// Sends what waits, where the hub is reached.
    fn send(&mut self, node: &mut Sender, store: &mut dyn Store) {
        if self.utc_ns < self.online_from_ns {
            return;
        }
        self.known.insert(self.boot, true);
        node.next_ns = self.boot_ns;
        while let Some(body) = node.body(1_000) {
            let way_ns = 1_000_000 + self.below(200_000_000);
            let mut arriving = node.arriving(&body, self.utc_ns + way_ns / 2);
            arriving.round_trip_ns = way_ns.unsigned_abs();
            let committed = store.take_batch(&arriving).unwrap();
            node.take(body.stream, &committed);
        }
    }
}

pub(crate) fn a_year_of_clocks_is_placed_within_its_error(fresh: &Fresh) {
    // One whole year, and shorter times of other nodes.
    for (seed, days) in [(1, 366), (2, 60), (3, 60)] {
        let Kept { mut store, folder: _folder } = fresh(Quotas { streams: u64::MAX, ..Quotas::default() });
        let mut node = Sender::enrolled(&mut *store, 1);
        node.boot = "boot-1".to_owned();
        let mut world = World::new(seed);
        let ends_ns = NOW + days * DAY;
        while world.utc_ns < ends_ns {
            world.step(&mut node);
            world.send(&mut node, &mut *store);
        }
        world.online_from_ns = 0;
        world.send(&mut node, &mut *store);
        check(&world, &*store, &node, (seed, ends_ns));
    }
}

fn check(world: &World, store: &dyn Store, node: &Sender, (seed, ends_ns): (u64, i64)) {
    let (mut seen, mut spoiled, mut widest_ns) = (0, 0, BTreeMap::new());
    let mut gaps = Vec::new();
    let mut from_utc_ns = NOW - DAY;
    let mut seen_maxima = std::collections::BTreeSet::new();
    while from_utc_ns < ends_ns + DAY {
        let to_utc_ns = from_utc_ns + 20 * DAY;
        let history = store.history(node.key, &HistoryAsked { from_utc_ns, to_utc_ns, most_points: 12_000 }).unwrap();
        for point in history.cpus.iter().flat_map(|cpu| &cpu.points) {
            let id = point.maximum_ns.or(point.spoiled_ns).unwrap();
            if !seen_maxima.insert(id) {
                continue;
            }
            let truth = match world.intervals.get(&id) {
                Some(truth) => truth,
                None => {
                    let (truth, reason) = &world.spoiled[&id];
                    assert_eq!((&point.reasons, point.maximum_ns), (&vec![reason.clone()], None), "seed {seed}");
                    spoiled += 1;
                    truth
                }
            };
            let off_ns = point.start_utc_ns.abs_diff(truth.utc_ns);
            assert!(
                off_ns <= point.placed_error_ns,
                "seed {seed}: {truth:?} is placed {} us off, of at most {} us",
                off_ns / 1_000,
                point.placed_error_ns / 1_000
            );
            let widest = widest_ns.entry(truth.boot).or_insert(0);
            *widest = point.placed_error_ns.max(*widest);
            seen += 1;
        }
        gaps.extend(history.gaps);
        from_utc_ns = to_utc_ns;
    }
    // Every interval of a boot that something is known of is there, and of no other.
    let is_known = |truth: &True| world.known[&truth.boot];
    let expected = world.intervals.values().chain(world.spoiled.values().map(|(truth, _)| truth));
    assert_eq!(seen, expected.filter(|truth| is_known(truth)).count(), "seed {seed}");
    assert!(spoiled > 0 && world.known.values().filter(|known| **known).count() > 3, "seed {seed}");
    for (why, truth) in world.gaps.iter().filter(|(_, truth)| is_known(truth)) {
        let limit_ns = widest_ns.get(&truth.boot).copied().unwrap_or(u64::MAX);
        let is_there = gaps
            .iter()
            .any(|gap| gap.why == GapWhy::Said(why.clone()) && gap.start_utc_ns.abs_diff(truth.utc_ns) <= limit_ns);
        assert!(is_there, "seed {seed}: {why:?} {truth:?}");
    }
}
