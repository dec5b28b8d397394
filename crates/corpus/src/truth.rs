//! Simulated wake-up processes whose truth is known: a body, and disturbances, each with its own rate and size.

use record::{CauseClass, Certainty};
use units::Random;
use units::approx_f64;

/// One hour (ns).
pub(crate) const HOUR_NS: u64 = 3_600_000_000_000;
/// One second (ns).
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// The latencies of undisturbed wake-ups: a log-normal distribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    /// Median of the latency (ns).
    pub(crate) median_ns: f64,
    /// Standard deviation of the latency's natural logarithm.
    pub(crate) spread: f64,
}

impl Body {
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        self.quantile(random.unit())
    }

    /// The latency (ns) below which this share of the wake-ups lies (0 < share < 1).
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        self.median_ns * (self.spread * distrs::Normal::ppf(share, 0.0, 1.0)).exp()
    }

    /// The probability that one wake-up exceeds a limit (ns).
    fn exceeds(&self, limit_ns: f64) -> f64 {
        distrs::Normal::cdf(-(limit_ns / self.median_ns).ln() / self.spread, 0.0, 1.0)
    }
}

/// The distribution of the delay that a disturbance adds to a wake-up (ns).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// Uniformly distributed between two bounds.
    Uniform { low_ns: f64, high_ns: f64 },
    /// At least `from_ns`, and exponentially distributed above that.
    Exponential { from_ns: f64, mean_ns: f64 },
    /// A generalized Pareto distribution above `from_ns` with a positive shape: unbounded.
    Pareto { from_ns: f64, scale_ns: f64, shape: f64 },
}

impl Size {
    fn draw(&self, random: &mut Random) -> f64 {
        let unit = random.unit();
        match *self {
            Self::Uniform { low_ns, high_ns } => low_ns + (high_ns - low_ns) * unit,
            Self::Exponential { from_ns, mean_ns } => from_ns - mean_ns * unit.ln(),
            Self::Pareto { from_ns, scale_ns, shape } => from_ns + scale_ns * (unit.powf(-shape) - 1.0) / shape,
        }
    }

    /// The probability that one disturbance exceeds a limit (ns).
    fn exceeds(&self, limit_ns: f64) -> f64 {
        match *self {
            Self::Uniform { low_ns, high_ns } => ((high_ns - limit_ns) / (high_ns - low_ns)).clamp(0.0, 1.0),
            Self::Exponential { from_ns, mean_ns } => (-(limit_ns - from_ns) / mean_ns).exp().min(1.0),
            Self::Pareto { from_ns, scale_ns, shape } => {
                let above = ((limit_ns - from_ns) / scale_ns).max(0.0);
                (1.0 + shape * above).powf(-1.0 / shape)
            }
        }
    }
}

/// When a disturbance occurs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timing {
    /// At random, `per_hour` times an hour on average.
    Random { per_hour: f64 },
    /// At a fixed phase of a period; in each period with the probability `seen`.
    Periodic { period_ns: u64, seen: f64 },
}

/// Something that makes a wake-up late now and then.
#[derive(Clone, Debug)]
pub(crate) struct Disturbance {
    /// Its name in an explanation.
    pub(crate) name: &'static str,
    pub(crate) class: CauseClass,
    /// The certainty with which an explanation names it.
    pub(crate) certainty: Certainty,
    pub(crate) timing: Timing,
    pub(crate) size: Size,
    /// Growth of its size in an hour, as a share of the size at the start; 0 = constant.
    pub(crate) growth_per_hour: f64,
}

impl Disturbance {
    /// A disturbance at random moments, of constant size, whose cause the recorded events show.
    pub(crate) fn random(name: &'static str, class: CauseClass, per_hour: f64, size: Size) -> Self {
        let timing = Timing::Random { per_hour };
        Self { name, class, certainty: Certainty::Shown, timing, size, growth_per_hour: 0.0 }
    }

    /// An interrupt at random moments, with a delay between two bounds (us).
    pub(crate) fn bounded(name: &'static str, per_hour: f64, low_us: f64, high_us: f64) -> Self {
        let size = Size::Uniform { low_ns: low_us * 1e3, high_ns: high_us * 1e3 };
        Self::random(name, CauseClass::Interrupt, per_hour, size)
    }

    pub(crate) fn with_class(mut self, class: CauseClass, certainty: Certainty) -> Self {
        (self.class, self.certainty) = (class, certainty);
        self
    }

    /// The moments at which it occurs within a part of the run (ns from the run's start), in ascending order.
    pub(crate) fn moments(&self, from_ns: u64, length_ns: u64, phase: f64, random: &mut Random) -> Vec<u64> {
        let mut moments = Vec::new();
        match self.timing {
            Timing::Random { per_hour } => {
                let mean_ns = approx_f64(HOUR_NS) / per_hour;
                let mut at = -mean_ns * random.unit().ln();
                while at < approx_f64(length_ns) {
                    moments.push(from_ns + units::round_u64(at));
                    at -= mean_ns * random.unit().ln();
                }
            }
            Timing::Periodic { period_ns, seen } => {
                let first = units::round_u64(phase * approx_f64(period_ns));
                let turns = from_ns.saturating_sub(first).div_ceil(period_ns);
                let mut at = first + turns * period_ns;
                while at < from_ns + length_ns {
                    if at >= from_ns && random.unit() < seen {
                        moments.push(at);
                    }
                    at += period_ns;
                }
            }
        }
        moments
    }

    /// Draws the delay (ns) of one that occurs at this moment of the run (ns).
    pub(crate) fn delay(&self, at_ns: u64, random: &mut Random) -> f64 {
        self.size.draw(random) * (1.0 + self.growth_per_hour * approx_f64(at_ns) / approx_f64(HOUR_NS))
    }

    /// How many times an hour it exceeds a limit (ns); for a growing one, at the start.
    fn beyond_per_hour(&self, limit_ns: f64) -> f64 {
        let per_hour = match self.timing {
            Timing::Random { per_hour } => per_hour,
            Timing::Periodic { period_ns, seen } => seen * approx_f64(HOUR_NS) / approx_f64(period_ns),
        };
        per_hour * self.size.exceeds(limit_ns)
    }
}

/// A machine's wake-ups under one condition.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// Latencies of the undisturbed wake-ups.
    pub(crate) body: Body,
    /// Standard deviation of a run's level, as a share of the level: runs under one condition differ a little.
    pub(crate) between_runs: f64,
    /// What makes wake-ups late, on each CPU independently.
    pub(crate) disturbances: Vec<Disturbance>,
}

impl Process {
    /// Wake-ups of about 8 us without disturbances.
    pub(crate) fn quiet() -> Self {
        Self { body: Body { median_ns: 8_000.0, spread: 0.12 }, between_runs: 0.01, disturbances: Vec::new() }
    }

    pub(crate) fn with(mut self, disturbance: Disturbance) -> Self {
        self.disturbances.push(disturbance);
        self
    }

    /// Shifts the body's median by this much (ns).
    pub(crate) fn shifted(mut self, by_ns: f64) -> Self {
        self.body.median_ns += by_ns;
        self
    }

    /// The probability that the worst case of a future time span, `horizon_ns`, exceeds a limit, on one CPU whose
    /// thread wakes every `interval_ns`.
    pub(crate) fn chance_beyond(&self, limit_ns: f64, horizon_ns: u64, interval_ns: u64) -> f64 {
        let wakeups = approx_f64(horizon_ns) / approx_f64(interval_ns);
        let hours = approx_f64(horizon_ns) / approx_f64(HOUR_NS);
        let disturbed: f64 =
            self.disturbances.iter().map(|one| self.disturbed_beyond_per_hour(one, limit_ns) * hours).sum();
        1.0 - (-(wakeups * self.body.exceeds(limit_ns) + disturbed)).exp()
    }

    /// How many times an hour a wake-up with this disturbance exceeds a limit (ns). The latency is body plus delay, so
    /// the rate is integrated over the body.
    fn disturbed_beyond_per_hour(&self, one: &Disturbance, limit_ns: f64) -> f64 {
        const STEPS: i32 = 120;
        const REACH: f64 = 6.0;
        let step = 2.0 * REACH / f64::from(STEPS);
        let each = (0..STEPS).map(|at| {
            let deviation = -REACH + step * (f64::from(at) + 0.5);
            let density = (-0.5 * deviation * deviation).exp() / std::f64::consts::TAU.sqrt();
            let own_ns = self.body.median_ns * (self.body.spread * deviation).exp();
            density * step * one.beyond_per_hour(limit_ns - own_ns)
        });
        each.sum()
    }

    /// The limit (ns) that the worst case of a future time span exceeds with this probability.
    pub(crate) fn limit_with_chance(&self, chance: f64, horizon_ns: u64, interval_ns: u64) -> f64 {
        let (mut low, mut high) = (1.0_f64, 1e12_f64);
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if self.chance_beyond(middle, horizon_ns, interval_ns) > chance { low = middle } else { high = middle }
        }
        (low * high).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_exceeded_with_its_chance() {
        let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 12.0, 160.0, 170.0));
        for chance in [0.001, 0.1, 0.9] {
            let limit_ns = process.limit_with_chance(chance, HOUR_NS, 200_000);
            let found = process.chance_beyond(limit_ns, HOUR_NS, 200_000);
            assert!((found - chance).abs() < 1e-6, "{chance}: {found} at {limit_ns}");
        }
    }

    #[test]
    fn moments_occur_at_their_rate_and_phase() {
        let mut random = Random::new(3);
        let at_random = Disturbance::bounded("x", 60.0, 1.0, 2.0);
        let count = at_random.moments(0, 100 * HOUR_NS, 0.0, &mut random).len();
        assert!((5_700..6_300).contains(&count), "{count}");
        let mut regular = at_random;
        regular.timing = Timing::Periodic { period_ns: 1_000, seen: 1.0 };
        assert_eq!(regular.moments(2_400, 2_000, 0.5, &mut random), [2_500, 3_500]);
        assert_eq!(regular.moments(0, 1_600, 0.5, &mut random), [500, 1_500]);
    }
}
