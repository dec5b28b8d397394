//! Simulated processes with a known tail, to compare predictions with outcomes.

use super::blocks::{Block, Blocks, HIGHEST};
use crate::float;
use units::Random;

/// Number of samples in each interval.
const SAMPLES: f64 = 1_000.0;
const BLOCK_NS: u64 = 60_000_000_000;
/// A typical latency, and the scale of the tails (ns).
const BASE_NS: f64 = 20_000.0;
const SCALE_NS: f64 = 2_000.0;
/// The upper bound of delays that end abruptly (ns).
const DELAY_NS: f64 = 30_000.0;

/// A kind of simulated process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tail with an upper bound.
    Bounded,
    /// A tail with an abrupt end: a bounded delay, to which the machine adds a small latency of its own.
    Abrupt,
    /// A tail that falls like an exponential or a normal distribution.
    Exponential,
    /// The same, but neighboring intervals are correlated and samples come in bursts.
    Dependent,
    /// A periodic disturbance with many periods within the run.
    ManyTurns,
    /// A heavy tail, which falls by a power law.
    Heavy,
    /// Some intervals have a different distribution.
    TwoRegimes,
    /// The machine switches between two states and stays in each for a while.
    Switching,
    /// A periodic disturbance with few periods within the run, or with a period longer than the run.
    FewTurns,
    /// As `Switching`, but the first part contains only the better state: nothing in it shows the worse one.
    Unseen,
    /// A short body, and above it a delay of bounded size that occurs about once an interval.
    Disturbed,
    /// The same, with two such delays of different sizes.
    TwiceDisturbed,
    /// The same, with one delay whose size grows over the whole run.
    Growing,
}

/// All kinds. A new kind must be appended at the end, because its index is part of the seed.
pub(super) const KINDS: [Kind; 13] = [
    Kind::Bounded,
    Kind::Exponential,
    Kind::Dependent,
    Kind::ManyTurns,
    Kind::Abrupt,
    Kind::Heavy,
    Kind::TwoRegimes,
    Kind::Switching,
    Kind::FewTurns,
    Kind::Unseen,
    Kind::Disturbed,
    Kind::TwiceDisturbed,
    Kind::Growing,
];

impl Kind {
    /// The name of the kind in the rehearsal's tables.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Bounded => "bounded",
            Self::Abrupt => "bounded, ends abruptly",
            Self::Exponential => "exponential",
            Self::Dependent => "exponential, neighbors alike",
            Self::ManyTurns => "periodic, many turns",
            Self::Heavy => "heavy",
            Self::TwoRegimes => "two regimes, mixed",
            Self::Switching => "two regimes, switching",
            Self::FewTurns => "periodic, few turns",
            Self::Unseen => "a second regime, not yet seen",
            Self::Disturbed => "body and bounded disturbance",
            Self::TwiceDisturbed => "two bounded disturbances",
            Self::Growing => "disturbance that grows",
        }
    }

    /// Whether an answer can be sound; `None` if the first part does not show the process.
    pub(super) const fn is_sound(self) -> Option<bool> {
        match self {
            Self::Bounded
            | Self::Abrupt
            | Self::Exponential
            | Self::Dependent
            | Self::ManyTurns
            | Self::Disturbed
            | Self::TwiceDisturbed => Some(true),
            Self::Heavy | Self::TwoRegimes | Self::Switching | Self::FewTurns | Self::Growing => Some(false),
            Self::Unseen => None,
        }
    }
}

/// Random numbers of the distributions that the processes need.
struct Draw(Random);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform on a logarithmic scale between `low` and `high`.
    fn ratio(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    fn normal(&mut self) -> f64 {
        distrs::Normal::ppf(self.unit(), 0.0, 1.0)
    }

    fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// The number of events of a Poisson process with this mean, drawn by the gaps between events.
    fn poisson(&mut self, mean: f64) -> u64 {
        let (mut count, mut time) = (0, self.exponential());
        while time <= mean {
            count += 1;
            time += self.exponential();
        }
        count
    }
}

/// A recurring delay of bounded size.
#[derive(Clone, Copy)]
struct Disturbance {
    /// The smallest and the largest size (ns).
    from_ns: f64,
    to_ns: f64,
    /// Mean number of occurrences in an interval.
    rate: f64,
    /// How much the size has grown at the end of the first part (ns).
    growth_ns: f64,
}

impl Disturbance {
    /// Draws the disturbances of a process of this kind, the smaller one first.
    fn draw(kind: Kind, draw: &mut Draw) -> Vec<Self> {
        let mut one = |from_us: (f64, f64), rate: (f64, f64)| {
            let from_ns = 1_000.0 * draw.between(from_us.0, from_us.1);
            let width_ns = from_ns * draw.between(0.02, 0.2);
            let growth_ns = if kind == Kind::Growing { width_ns * draw.between(1.0, 3.0) } else { 0.0 };
            Self { from_ns, to_ns: from_ns + width_ns, rate: draw.ratio(rate.0, rate.1), growth_ns }
        };
        match kind {
            Kind::Disturbed | Kind::Growing => vec![one((40.0, 250.0), (0.6, 2.0))],
            Kind::TwiceDisturbed => vec![one((30.0, 60.0), (1.0, 5.0)), one((90.0, 250.0), (0.6, 2.0))],
            _ => Vec::new(),
        }
    }
}

/// The length of a simulated process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// This multiple of its first part.
    Times(usize),
    /// This number of blocks.
    Blocks(usize),
}

/// A simulated process, whose first part is used for the prediction.
pub(super) struct Process {
    pub(super) whole: Blocks,
    /// Number of blocks in the first part.
    pub(super) first: usize,
}

/// Draws one process of a kind. The first part of a `Switching` process contains both states, that of an `Unseen` one
/// only the better state.
pub(super) fn process(kind: Kind, length: Length, seed: u64) -> Process {
    let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x9e37_79b9);
    loop {
        let (process, states) = draw_process(kind, length, Draw(Random::new(random.next())));
        let (first, rest) = states.split_at(process.first.min(states.len()));
        let worse = first.iter().filter(|&&worse| worse).count();
        let fits = match kind {
            Kind::Switching => (first.len() / 20 + 1..=first.len() - first.len() / 20).contains(&worse),
            Kind::Unseen => worse == 0 && rest.contains(&true),
            _ => true,
        };
        if fits {
            return process;
        }
    }
}

/// A process and, for each block, whether a switching process was in the worse state.
fn draw_process(kind: Kind, length: Length, mut draw: Draw) -> (Process, Vec<bool>) {
    let least = if kind == Kind::Dependent || kind == Kind::ManyTurns { 150.0 } else { 60.0 };
    let first = usize::try_from(units::round_u64(draw.ratio(least, least * 4.0))).unwrap_or(60);
    let shape = match kind {
        Kind::Bounded => draw.between(-0.5, -0.1),
        Kind::Heavy => draw.between(0.4, 1.0),
        _ => 0.0,
    };
    // Two forms have an exponential limit: the exponential itself, and the normal distribution, which converges slowly.
    let is_normal = draw.unit() < 0.5 && shape.abs() < 1e-9;
    let correlation = if kind == Kind::Dependent { draw.between(0.2, 0.6) } else { 0.0 };
    let burst = if kind == Kind::Dependent { draw.between(1.0, 4.0) } else { 1.0 };
    let worse = draw.between(0.05, 0.5);
    let shift = match kind {
        Kind::TwoRegimes | Kind::Switching | Kind::Unseen => draw.between(6.0, 20.0),
        Kind::ManyTurns => draw.between(1.0, 4.0),
        Kind::FewTurns => draw.between(2.0, 6.0),
        _ => 0.0,
    };
    let dwell = draw.ratio(8.0, 80.0);
    let period = match kind {
        Kind::ManyTurns => draw.between(3.0, float(first) / 15.0),
        _ => float(first) * draw.ratio(0.2, 3.0),
    };
    let phase = draw.unit();
    // For delays: the number in an interval, how abruptly they end, and the latency that the machine adds.
    let delays = units::round_u64(draw.ratio(6.0, 100.0));
    let (ends, own_share) = (draw.between(0.5, 1.0), draw.ratio(0.002, 0.1));
    let (mut level, mut state) = (draw.normal(), draw.unit() < worse);
    let disturbances = Disturbance::draw(kind, &mut draw);
    let whole = match length {
        Length::Times(times) => first * times,
        Length::Blocks(blocks) => blocks,
    };
    let mut states = Vec::with_capacity(whole);
    let blocks = (0..whole).map(|at| {
        level = correlation * level + (1.0 - correlation * correlation).sqrt() * draw.normal();
        if matches!(kind, Kind::Switching | Kind::Unseen) && draw.unit() < 1.0 / dwell {
            state = draw.unit() < worse;
        }
        states.push(state);
        let own_kind = draw.unit() < worse;
        let above = match kind {
            Kind::TwoRegimes => shift * f64::from(u8::from(own_kind)),
            Kind::Switching | Kind::Unseen => shift * f64::from(u8::from(state)),
            Kind::ManyTurns | Kind::FewTurns => {
                shift * 0.5 * (1.0 + (std::f64::consts::TAU * (float(at) / period + phase)).sin())
            }
            Kind::Dependent => 1.5 * level,
            _ => 0.0,
        };
        let mut rank = 0.0;
        let mut highest: Vec<(u64, u64)> = Vec::new();
        if kind == Kind::Abrupt {
            highest.extend((0..delays).map(|_| {
                let delay = DELAY_NS * (1.0 - draw.unit().powf(ends));
                let own = if is_normal { 0.5 * draw.normal() } else { draw.exponential() };
                (units::round_u64(BASE_NS + delay + DELAY_NS * own_share * own), 1)
            }));
            highest.sort_unstable_by(|a, b| b.cmp(a));
        }
        for disturbance in &disturbances {
            let grown_ns = disturbance.growth_ns * float(at) / float(first);
            for _ in 0..draw.poisson(disturbance.rate) {
                let size_ns = draw.between(disturbance.from_ns, disturbance.to_ns);
                highest.push((units::round_u64(size_ns + grown_ns), 1));
            }
        }
        while kind != Kind::Abrupt && highest.len() < usize::try_from(HIGHEST).unwrap_or(0) {
            // The ranks of the highest of many independent samples are sums of exponential variables.
            rank += draw.exponential() * burst;
            let share = rank / SAMPLES;
            let away = if is_normal {
                // A normal distribution with a tail of the same spread.
                4.0 * -distrs::Normal::ppf(share.min(0.5), 0.0, 1.0)
            } else if shape.abs() > 1e-9 {
                (share.powf(-shape) - 1.0) / shape
            } else {
                -share.ln()
            };
            let value = if disturbances.is_empty() {
                units::round_u64(BASE_NS + SCALE_NS * (away + above))
            } else {
                // A bounded body of 5 to 15 us.
                units::round_u64(5_000.0 + 10_000.0 * (1.0 - share.min(1.0)))
            };
            let mut together = 0.0;
            loop {
                // The other samples of a burst are nearly as large.
                highest.push((value.saturating_sub(units::round_u64(together * 300.0 * draw.unit())), 1));
                together += 1.0;
                if draw.unit() >= 1.0 - 1.0 / burst {
                    break;
                }
            }
        }
        highest.sort_unstable_by(|a, b| b.cmp(a));
        highest.truncate(usize::try_from(HIGHEST).unwrap_or(0));
        let max_ns = highest.first().map_or(0, |(value, _)| *value);
        Block { length_ns: BLOCK_NS, samples: units::round_u64(SAMPLES), max_ns, highest, ..Block::default() }
    });
    let whole = Blocks::from_runs(vec![blocks.collect()]);
    (Process { whole, first }, states)
}
