//! Processes whose tail is known, to hold what is said against what comes.

use super::blocks::{Block, Blocks, HIGHEST};
use crate::float;
use units::Random;

/// Samples of each interval.
const SAMPLES: f64 = 1_000.0;
const BLOCK_NS: u64 = 60_000_000_000;
/// A typical latency, and what the tails are scaled by (ns).
const BASE_NS: f64 = 20_000.0;
const SCALE_NS: f64 = 2_000.0;
/// The longest of delays that end abruptly (ns).
const DELAY_NS: f64 = 30_000.0;

/// A kind of process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tail with an end.
    Bounded,
    /// A tail that ends abruptly, as a delay of any length up to a most, to which the machine adds its own little.
    Abrupt,
    /// One that falls like an exponential or a normal distribution.
    Exponential,
    /// The same, where neighbouring intervals are alike and samples come in bursts.
    Dependent,
    /// A disturbance that comes back many times within the run.
    ManyTurns,
    /// A tail that falls by a power.
    Heavy,
    /// Some intervals are of another kind.
    TwoRegimes,
    /// The machine changes from one state to another, and stays for a while.
    Switching,
    /// A disturbance that comes back few times within the run, or is longer than it.
    FewTurns,
    /// As `Switching`, where the first part saw but the better state: nothing in it shows the other.
    Unseen,
    /// A short body, and above it a delay of bounded size that comes about once an interval.
    Disturbed,
    /// The same with two such delays of different size.
    TwiceDisturbed,
    /// The same with one whose size grows all the time.
    Growing,
}

/// All of them. A new one goes to the end: its place is part of the seed.
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
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Bounded => "bounded",
            Self::Abrupt => "bounded, ends abruptly",
            Self::Exponential => "exponential",
            Self::Dependent => "exponential, neighbours alike",
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

    /// Whether an answer can be sound; unknown for what was not seen.
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

struct Draw(Random);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Evenly on the logarithm.
    fn ratio(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    fn normal(&mut self) -> f64 {
        distrs::Normal::ppf(self.unit(), 0.0, 1.0)
    }

    fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// How many happen where `mean` are expected (a Poisson process, by its gaps).
    fn poisson(&mut self, mean: f64) -> u64 {
        let (mut count, mut time) = (0, self.exponential());
        while time <= mean {
            count += 1;
            time += self.exponential();
        }
        count
    }
}

/// A delay of bounded size that comes now and then.
#[derive(Clone, Copy)]
struct Disturbance {
    /// The least and the greatest size (ns).
    from_ns: f64,
    to_ns: f64,
    /// How often it comes in an interval, on average.
    rate: f64,
    /// By how much it has grown at the end of the first part (ns).
    growth_ns: f64,
}

impl Disturbance {
    /// Those of a process of this kind, the smaller one first.
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

/// How long a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// As its first part, times this.
    Times(usize),
    /// This many blocks.
    Blocks(usize),
}

/// Blocks of a first part, and the process in whole.
pub(super) struct Process {
    pub(super) whole: Blocks,
    /// Blocks of the first part.
    pub(super) first: usize,
}

/// Draws one process of a kind; of those that switch, one whose first part saw both states, or one that did not.
pub(super) fn process(kind: Kind, length: Length, seed: u64) -> Process {
    let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x9e37_79b9);
    loop {
        let (process, states) = drawn(kind, length, Draw(Random::new(random.next())));
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

/// A process, and of one that switches which blocks were in the worse state.
fn drawn(kind: Kind, length: Length, mut draw: Draw) -> (Process, Vec<bool>) {
    let least = if kind == Kind::Dependent || kind == Kind::ManyTurns { 150.0 } else { 60.0 };
    let first = usize::try_from(units::round_u64(draw.ratio(least, least * 4.0))).unwrap_or(60);
    let shape = match kind {
        Kind::Bounded => draw.between(-0.5, -0.1),
        Kind::Heavy => draw.between(0.4, 1.0),
        _ => 0.0,
    };
    // Two forms with an exponential limit: one that is it, one that comes to it slowly.
    let is_normal = draw.unit() < 0.5 && shape.abs() < 1e-9;
    let alike = if kind == Kind::Dependent { draw.between(0.2, 0.6) } else { 0.0 };
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
    // Of delays: how many in an interval, how abruptly they end, and what the machine adds of its own.
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
        level = alike * level + (1.0 - alike * alike).sqrt() * draw.normal();
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
            // The highest of many independent samples: their ranks are the sums of exponentials.
            rank += draw.exponential() * burst;
            let share = rank / SAMPLES;
            let away = if is_normal {
                // A normal distribution of the same spread in its tail, from the body on.
                4.0 * -distrs::Normal::ppf(share.min(0.5), 0.0, 1.0)
            } else if shape.abs() > 1e-9 {
                (share.powf(-shape) - 1.0) / shape
            } else {
                -share.ln()
            };
            let value = if disturbances.is_empty() {
                units::round_u64(BASE_NS + SCALE_NS * (away + above))
            } else {
                // A body that ends: 5 to 15 us.
                units::round_u64(5_000.0 + 10_000.0 * (1.0 - share.min(1.0)))
            };
            let mut together = 0.0;
            loop {
                // Those of a burst are nearly as bad.
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
