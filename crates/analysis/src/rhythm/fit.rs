//! From a frequency to a period: the longest that explains the events, with its error.

use super::statistic::{Concentration, Part, Point, concentration, part};
use crate::float;

/// A whole number of these periods, or a part of one, is tried beside each candidate.
const RATIOS: [f64; 10] = [0.2, 0.25, 1.0 / 3.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// The longest period is at most so many times the one that was found at first.
const MOST_MULTIPLE: i64 = 24;
/// What may lie outside of one of several phases for the multiple of a period to be the period.
const OUTSIDE: f64 = 0.1;
/// No moment is known better than this: a wake-up itself takes microseconds (ns).
const LEAST_GRAIN_NS: f64 = 5_000.0;

/// The frequency near `frequency` at which the events keep their phase best, and what they say there.
pub(super) fn refined(points: &[Point], frequency: f64, step: f64, harmonics: usize) -> (f64, Concentration) {
    let mut best = (frequency, concentration(points, frequency, harmonics));
    for (count, part) in [(2_i32, 3.0), (2, 9.0)] {
        let (middle, fine) = (best.0, step / (part * float(harmonics)));
        for at in (-count..=count).filter(|at| *at != 0) {
            let tried = middle + f64::from(at) * fine;
            let found = concentration(points, tried, harmonics);
            if tried > 0.0 && found.power > best.1.power {
                best = (tried, found);
            }
        }
    }
    // What is said in the end uses all that there is to see.
    (best.0, concentration(points, best.0, usize::MAX))
}

/// Of the frequencies in simple ratios to this one, the least probable by chance.
pub(super) fn best_ratio(points: &[Point], frequency: f64, lowest: f64, highest: f64) -> (f64, Concentration) {
    let tried = RATIOS.iter().map(|ratio| frequency * ratio).filter(|tried| (lowest..=highest).contains(tried));
    tried.map(|tried| (tried, concentration(points, tried, usize::MAX))).fold(
        (frequency, Concentration { log_p: 0.0, power: 0.0 }),
        |best, found| {
            if found.1.log_p < best.1.log_p { found } else { best }
        },
    )
}

/// A period with what lies in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Fit {
    /// The period (ns).
    pub(super) period_ns: f64,
    /// 95 % (ns).
    pub(super) uncertainty_ns: f64,
    /// One of the moments, by the fit (ns from the start of the run).
    pub(super) moment_ns: f64,
    /// Width of the part of the period that the events fall into (ns).
    pub(super) width_ns: f64,
    /// What was looked at (ns from the start of the run).
    pub(super) span_ns: (f64, f64),
}

impl Fit {
    /// Whole periods from the moment of the fit to `at_ns`, and what is left of them (ns).
    fn turns(&self, at_ns: f64) -> (f64, f64) {
        let turns = ((at_ns - self.moment_ns) / self.period_ns).round();
        (turns, at_ns - self.moment_ns - turns * self.period_ns)
    }

    /// Whether the rhythm holds a moment.
    pub(super) fn holds(&self, at_ns: f64) -> bool {
        self.turns(at_ns).1.abs() <= self.width_ns / 2.0
    }

    /// Whether a moment lies in it or at its edge.
    pub(super) fn is_near(&self, at_ns: f64) -> bool {
        self.turns(at_ns).1.abs() <= self.width_ns.min(0.4 * self.period_ns)
    }

    /// A straight line through the moments of the rhythm within the span. `None` where too few are left.
    fn line(&self, moments_ns: &[f64], grain_ns: f64) -> Option<Self> {
        let inside: Vec<(f64, f64)> = self
            .within(moments_ns)
            .filter(|at_ns| self.holds(*at_ns))
            .map(|at_ns| (self.turns(at_ns).0, at_ns))
            .collect();
        let count = float(inside.len());
        if inside.len() < 4 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| inside.iter().map(of).sum::<f64>() / count;
        let (mean_turn, mean_ns) = (mean(|one| one.0), mean(|one| one.1));
        let spread: f64 = inside.iter().map(|(turn, _)| (turn - mean_turn).powi(2)).sum();
        if spread < 1.0 {
            return None;
        }
        let together: f64 = inside.iter().map(|(turn, at_ns)| (turn - mean_turn) * (at_ns - mean_ns)).sum();
        let period_ns = together / spread;
        let residual = |(turn, at_ns): &(f64, f64)| (at_ns - mean_ns - period_ns * (turn - mean_turn)).powi(2);
        let variance = inside.iter().map(residual).sum::<f64>() / (count - 2.0);
        let error_ns = variance.sqrt() / spread.sqrt();
        // What the grid of schedules rounds off can grow from one end of the run to the other.
        let turns = inside.iter().fold((f64::MAX, f64::MIN), |(least, most), one| (least.min(one.0), most.max(one.0)));
        let uncertainty_ns = 2.0 * error_ns * (1.0 + 2.0 / count) + (grain_ns + LEAST_GRAIN_NS) / (turns.1 - turns.0);
        let moment_ns = mean_ns + period_ns * (mean_turn.round() - mean_turn);
        Some(Self { period_ns, uncertainty_ns, moment_ns, ..self.clone() })
    }

    fn within(&self, moments_ns: &[f64]) -> impl Iterator<Item = f64> {
        let (from_ns, to_ns) = self.span_ns;
        moments_ns.iter().copied().filter(move |at_ns| (from_ns..=to_ns).contains(at_ns))
    }

    /// The share of the moments in the span that it holds.
    pub(super) fn share(&self, moments_ns: &[f64]) -> f64 {
        let all = self.within(moments_ns).count();
        float(self.within(moments_ns).filter(|at_ns| self.holds(*at_ns)).count()) / float(all.max(1))
    }

    /// The greatest multiple of the period at one of whose phases nearly all of the moments lie.
    fn multiple(&self, moments_ns: &[f64]) -> Option<(i64, f64)> {
        let turns: Vec<i64> = self
            .within(moments_ns)
            .filter(|at_ns| self.holds(*at_ns))
            .map(|at_ns| {
                i64::try_from(units::round_u64(self.turns(at_ns).0.abs())).unwrap_or(0) * sign(self.turns(at_ns).0)
            })
            .collect();
        if turns.len() < 4 {
            return None;
        }
        (2..=MOST_MULTIPLE).rev().find_map(|multiple| {
            let mut counts = vec![0_usize; usize::try_from(multiple).unwrap_or(1)];
            turns.iter().for_each(|turn| counts[usize::try_from(turn.rem_euclid(multiple)).unwrap_or(0)] += 1);
            let (phase, most) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
            let outside = turns.len() - most;
            (float(outside) <= OUTSIDE * float(turns.len())).then_some((multiple, float(phase)))
        })
    }
}

fn sign(value: f64) -> i64 {
    if value < 0.0 { -1 } else { 1 }
}

/// How exactly the moments of a run are known (ns).
#[derive(Clone, Copy, Debug)]
pub(super) struct Blur {
    /// The error of each moment as it was read.
    pub(super) grain_ns: f64,
    /// By how much the points were spread that were searched for a period.
    pub(super) spread_ns: f64,
}

/// The period behind `frequency`, which was found within `window_ns` among points; `moments_ns` are the moments of the
/// whole run as they were read.
pub(super) fn fit(
    points: &[Point],
    moments_ns: &[f64],
    frequency: f64,
    Blur { grain_ns, spread_ns }: Blur,
    window_ns: (f64, f64),
    run_ns: f64,
) -> Option<Fit> {
    let period_ns = 1.0 / frequency;
    let Part { middle, width } = part(points, frequency, 1.5 * spread_ns / period_ns);
    // The points were counted from the start of the window.
    let moment_ns = window_ns.0 + middle * period_ns;
    let mut fit =
        Fit { period_ns, uncertainty_ns: period_ns, moment_ns, width_ns: width * period_ns, span_ns: window_ns };
    fit = settled(&fit, moments_ns, grain_ns)?;
    let longest_ns = (window_ns.1 - window_ns.0) / super::spectrum::LEAST_TURNS;
    while let Some((multiple, phase)) = fit.multiple(moments_ns) {
        let longer_ns = fit.period_ns * units::approx_f64_i64(multiple);
        if longer_ns > longest_ns {
            break;
        }
        fit.moment_ns += phase * fit.period_ns;
        fit.period_ns = longer_ns;
        fit = settled(&fit, moments_ns, grain_ns)?;
    }
    fit = opened(fit, moments_ns, grain_ns);
    Some(extended(fit, moments_ns, grain_ns, run_ns))
}

/// A few lines through what lies in it, until it stays.
fn settled(fit: &Fit, moments_ns: &[f64], grain_ns: f64) -> Option<Fit> {
    (0..3).try_fold(fit.clone(), |fit, _| fit.line(moments_ns, grain_ns))
}

/// The same with all that belongs to it: the part that is least probable by chance can be the core of a wider one, and
/// a line through the core alone is surer of itself than it may be.
fn opened(mut fit: Fit, moments_ns: &[f64], grain_ns: f64) -> Fit {
    while 4.0 * fit.width_ns < fit.period_ns {
        let twice = Fit { width_ns: 2.0 * fit.width_ns, ..fit.clone() };
        let Some(twice) = settled(&twice, moments_ns, grain_ns) else { break };
        let all = float(fit.within(moments_ns).count());
        let (inside, added) = (all * fit.share(moments_ns), all * (twice.share(moments_ns) - fit.share(moments_ns)));
        // As many others as lie in an equal part elsewhere would be added by chance.
        let elsewhere = (all - inside - added) * fit.width_ns / (fit.period_ns - twice.width_ns);
        if added <= elsewhere + 3.0 * elsewhere.sqrt() + 0.03 * inside {
            break;
        }
        fit = twice;
    }
    fit
}

/// The same beyond its window, as far as the phase holds.
fn extended(mut fit: Fit, moments_ns: &[f64], grain_ns: f64, run_ns: f64) -> Fit {
    loop {
        let (from_ns, to_ns) = fit.span_ns;
        if from_ns <= 0.0 && to_ns >= run_ns {
            return fit;
        }
        let more_ns = (to_ns - from_ns) / 2.0;
        let drift_ns = fit.uncertainty_ns * more_ns * 2.0 / fit.period_ns;
        let wider = Fit { span_ns: ((from_ns - more_ns).max(0.0), (to_ns + more_ns).min(run_ns)), ..fit.clone() };
        let held = settled(&wider, moments_ns, grain_ns)
            .filter(|wider| drift_ns < wider.period_ns / 4.0 && wider.share(moments_ns) > 0.6 * fit.share(moments_ns));
        match held {
            Some(wider) => fit = wider,
            None => return fit,
        }
    }
}
