//! Runs whose truth is known.

use record::{Interval, Measurement, Record};
use units::{Timestamp, round_u64};

use crate::compare::{CompareOptions, Comparison, Group, compare};
use samples::record_of;
use units::Random;

/// How a synthetic run comes about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) intervals: u64,
    /// Samples of each interval.
    pub(super) samples: u64,
    /// How often each of them counts.
    pub(super) times: u64,
    /// Median latency (ns).
    pub(super) level_ns: f64,
    /// Standard deviation of an interval's level about that, as a part of it.
    pub(super) wander: f64,
    /// The correlation of neighboring intervals' levels.
    pub(super) alike: f64,
    /// Standard deviation of a whole run's level, as a part of it.
    pub(super) between_runs: f64,
    /// A disturbance once an interval: its median length (ns), 0 where there is none.
    pub(super) worst_ns: f64,
    /// How much its lengths differ: the standard deviation of their logarithms.
    pub(super) worst_spread: f64,
    /// Steps of the clock (ns).
    pub(super) tick_ns: u64,
}

pub(super) const PLAN: Plan = Plan {
    intervals: 60,
    samples: 40,
    times: 1,
    level_ns: 10_000.0,
    wander: 0.05,
    alike: 0.0,
    between_runs: 0.0,
    worst_ns: 0.0,
    worst_spread: 0.0,
    tick_ns: 1,
};

/// A standard normal number, by Box and Muller's way.
pub(super) fn normal(random: &mut Random) -> f64 {
    let mut unit = || (units::approx_f64(random.next() >> 11) + 1.0) / 9_007_199_254_740_993.0;
    let (radius, angle) = (unit(), unit());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Latencies about a level that wanders from interval to interval, with a heavy tail.
pub(super) fn run(plan: &Plan, seed: u64) -> Record {
    let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let mut record = record_of(Measurement::Wakeup, &[]);
    record.id = format!("run-{seed}");
    let own = plan.level_ns * (1.0 + plan.between_runs * normal(&mut random));
    let mut wander = normal(&mut random);
    for interval in 0..plan.intervals {
        wander = plan.alike * wander + (1.0 - plan.alike * plan.alike).sqrt() * normal(&mut random);
        let mut piece =
            Interval { start_offset_ns: interval * 1_000_000_000, length_ns: 1_000_000_000, ..Interval::default() };
        for _ in 0..plan.samples {
            let value = own * (1.0 + plan.wander * wander) * (0.3 * normal(&mut random)).exp();
            piece.histogram.record_n(round_u64(value) / plan.tick_ns * plan.tick_ns, plan.times);
        }
        if plan.worst_ns > 0.0 {
            let value = plan.worst_ns * (plan.worst_spread * normal(&mut random)).exp();
            piece.histogram.record_n(round_u64(value) / plan.tick_ns * plan.tick_ns, 1);
        }
        record.series[0].histogram.merge(&piece.histogram);
        record.series[0].intervals.push(piece);
    }
    record.manifest_mut().ended.monotonic = Timestamp::from_ns(i64::try_from(plan.intervals).unwrap() * 1_000_000_000);
    record
}

pub(super) fn runs(plan: &Plan, seeds: std::ops::Range<u64>) -> Vec<Record> {
    seeds.map(|seed| run(plan, seed)).collect()
}

pub(super) fn compared(a: &[Record], b: &[Record], options: &CompareOptions) -> Comparison {
    compare(&group("a", a), &group("b", b), options).unwrap()
}

fn group<'a>(name: &str, runs: &'a [Record]) -> Group<'a> {
    Group { name: name.to_owned(), runs: runs.iter().collect() }
}
