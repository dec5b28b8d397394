//! What simulated nodes measured: a function of a seed, so that whoever looks at a hub knows what has to be there.
//!
//! A node's time is a row of slots of five minutes, each of which has an interval or a gap. Where what is kept is looked at, no two
//! intervals of a CPU have the same maximum: one that is counted twice, or in the place of another one, is seen.

use farm::monitor::{
    BootId, Cause, ContentKind, ContentOf, CpuHistogram, CpuInterval, Figures, GapReason, Histograms, Interval,
    LeftTimes, MonitorEntry, SourceInterval, StreamBegin, WallTime,
};
use farm::stream::ContentHash;
use histogram::Histogram;
use units::Random;

/// Length of a slot (ns): five minutes, as intervals have it unless somebody wants another one.
pub(crate) const SLOT_NS: i64 = 300 * 1_000_000_000;
/// Maxima of a CPU are apart by their slot below this (ns).
const APART_NS: i64 = 1_000_000;
/// Slots of an hour.
const HOUR_SLOTS: u64 = 12;
/// What all intervals are measured under.
pub(crate) const CONDITION: &str = r#"{"kind": "wakeup", "interval-ns": 1000000, "limit-ns": 400000000}"#;

/// What one node measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    /// Where all random numbers begin.
    pub(crate) seed: u64,
    /// The node.
    pub(crate) node: u64,
    /// CPUs that it has.
    pub(crate) cpus: u32,
    /// When its first slot begins (ns since 1970).
    pub(crate) first_utc_ns: i64,
    /// Whether no two maxima of a CPU are the same. Else they are as of a machine, tens of microseconds, of which many are: what a store
    /// takes is that of these.
    pub(crate) are_maxima_apart: bool,
}

/// A start of the node's kernel: which, and its first slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Boot {
    pub(crate) number: u64,
    pub(crate) first_slot: u64,
}

impl Boot {
    fn name(&self) -> BootId {
        BootId(format!("boot-{}", self.number))
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Truth {
    fn random(&self, slot: u64, what: u64) -> Random {
        let mixed = [self.node, slot, what].into_iter().fold(self.seed, |seed, part| Random::new(seed ^ part).next());
        Random::new(mixed)
    }

    /// When a slot begins (ns since 1970).
    pub(crate) fn utc_ns(&self, slot: u64) -> i64 {
        self.first_utc_ns.saturating_add(SLOT_NS.saturating_mul(signed(slot)))
    }

    /// The slot that begins at a time (ns since 1970), where one does.
    pub(crate) fn slot_at(&self, utc_ns: i64) -> Option<u64> {
        let since_ns = utc_ns.checked_sub(self.first_utc_ns)?;
        (since_ns.rem_euclid(SLOT_NS) == 0).then(|| u64::try_from(since_ns / SLOT_NS).ok()).flatten()
    }

    /// Whether a slot is a gap.
    pub(crate) fn is_gap(&self, slot: u64) -> bool {
        self.random(slot, 0).below(40) == 0
    }

    /// What a CPU has in a slot that is no gap.
    pub(crate) fn figures(&self, slot: u64, cpu: u32) -> Figures {
        let mut random = self.random(slot, 1 + u64::from(cpu));
        let mut below = |bound: usize| u64::try_from(random.below(bound)).unwrap_or(0);
        if !self.are_maxima_apart {
            return Figures {
                maximum_ns: signed(12_000 + below(16_000) + below(16_000)),
                maximum_at_ns: below(300_000) * 1_000_000,
                samples: 300_000 - below(2),
                missed_periods: u64::from(below(100) == 0),
                beyond_limit: 0,
                cause: (below(100) == 0).then(|| Cause {
                    class: "interrupt".to_owned(),
                    name: format!("interrupt {} of eth0", 40 + below(4)),
                    is_shown: true,
                    covers_percent: Some(80),
                }),
            };
        }
        let is_late = below(50) == 0;
        Figures {
            maximum_ns: APART_NS * signed(10 + below(20) + if is_late { below(500) } else { 0 }) + signed(slot),
            maximum_at_ns: below(300_000) * 1_000_000,
            samples: 300_000 - below(3),
            missed_periods: u64::from(below(60) == 0),
            beyond_limit: u64::from(is_late),
            cause: is_late.then(|| Cause {
                class: "interrupt".to_owned(),
                name: format!("interrupt {}", 40 + below(4)),
                is_shown: true,
                covers_percent: Some(80),
            }),
        }
    }

    /// Whether an hour's histograms are written behind a slot.
    pub(crate) fn has_histograms(&self, slot: u64) -> bool {
        slot % HOUR_SLOTS == HOUR_SLOTS - 1
    }

    /// Samples of CPU 0 in the histogram that is written behind a slot.
    pub(crate) fn histogram_samples(&self, slot: u64) -> u64 {
        self.random(slot, u64::MAX).next() % 1_000 + 1
    }

    /// When a slot is, by its boot's clock.
    pub(crate) fn times(&self, slot: u64, boot: &Boot) -> LeftTimes {
        let start_ns = 11_000_000_000 + SLOT_NS.saturating_mul(signed(slot - boot.first_slot));
        let wall = WallTime { ns: self.utc_ns(slot), is_synchronized: true, error_ns: Some(1_000) };
        LeftTimes { boot: boot.name(), start_ns, length_ns: SLOT_NS.unsigned_abs(), wall: Some(wall) }
    }

    /// What a start of the agent writes first.
    pub(crate) fn begin(&self, slot: u64, boot: &Boot) -> [MonitorEntry; 2] {
        let LeftTimes { boot, start_ns, wall, .. } = self.times(slot, boot);
        let begin = StreamBegin {
            boot: boot.clone(),
            start_ns,
            wall,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: format!("node-{}", self.node),
            hardware: Vec::new(),
            earlier: Vec::new(),
            isolated_and_not_monitored: Vec::new(),
        };
        let content = ContentOf { kind: ContentKind::Condition, text: CONDITION.to_owned(), since_ns: start_ns, boot };
        [MonitorEntry::Begin(begin), MonitorEntry::Content(content)]
    }

    /// The interval of a slot.
    pub(crate) fn interval(&self, slot: u64, boot: &Boot) -> Interval {
        let times = self.times(slot, boot);
        let bound_ns = Some(3_000_000 + self.random(slot, u64::MAX - 1).next() % 1_000_000);
        Interval {
            times,
            condition: ContentHash::of(CONDITION),
            made_of: 1,
            cut_short: None,
            cpus: (0..self.cpus)
                .map(|cpu| CpuInterval { cpu, valid: Some(self.figures(slot, cpu)), ..CpuInterval::default() })
                .collect(),
            sources: vec![SourceInterval {
                source: "system".to_owned(),
                bound_ns,
                state: "synchronized".to_owned(),
                ..SourceInterval::default()
            }],
        }
    }

    /// All that is written of a slot.
    pub(crate) fn entries(&self, slot: u64, boot: &Boot) -> Vec<MonitorEntry> {
        let times = self.times(slot, boot);
        let mut entries = vec![if self.is_gap(slot) {
            MonitorEntry::Gap { times: times.clone(), why: GapReason::Measuring, cpus: Vec::new() }
        } else {
            MonitorEntry::Interval(self.interval(slot, boot))
        }];
        if self.has_histograms(slot) {
            let mut histogram = Histogram::new();
            histogram.record_n(5_000 + slot, self.histogram_samples(slot));
            entries.push(MonitorEntry::Histograms(Histograms {
                times,
                condition: ContentHash::of(CONDITION),
                cpus: vec![CpuHistogram { cpu: 0, histogram }],
            }));
        }
        entries
    }
}
