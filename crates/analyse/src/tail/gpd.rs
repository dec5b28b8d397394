//! The generalised Pareto distribution of excesses over a threshold.

use super::falling::Falling;
use super::lmoments::LMoments;
use super::simplex;

/// A shape of 1 or more has no mean; no fit by L-moments comes to it.
const MOST_SHAPE: f64 = 0.98;
/// Excesses that end more abruptly than this say nothing more of where.
const LEAST_SHAPE: f64 = -5.0;

/// Scale (ns) and shape from the L-moments of excesses (Hosking and Wallis, Technometrics 29, 1987); the sign of the shape is
/// SciPy's. `None` where the excesses do not vary.
pub(super) fn by_l_moments(excesses: &LMoments) -> Option<(f64, f64)> {
    if !(excesses.scale > 0.0 && excesses.mean > 0.0) {
        return None;
    }
    let shape = (2.0 - excesses.mean / excesses.scale).clamp(LEAST_SHAPE, MOST_SHAPE);
    Some((excesses.mean * (1.0 - shape), shape))
}

/// The one of that shape that begins where a block exceeds `tail` once, with the same mean excess from there on. Further down
/// the body of an abruptly ending distribution would decide how far the end lies.
pub(super) fn held_at(shape: f64, tail: &Falling) -> Falling {
    let rate = tail.rate.max(1.0);
    let (location, scale) = match rate.powf(tail.shape) {
        _ if tail.shape.abs() < 1e-9 => (tail.location + tail.scale * rate.ln(), tail.scale),
        base => (tail.location + tail.scale * (base - 1.0) / tail.shape, tail.scale * base),
    };
    Falling { location, scale: scale / (1.0 - tail.shape) * (1.0 - shape), shape, rate: tail.rate / rate }
}

/// The most likely scale (ns) and shape, sought from a start; `None` where nothing is found.
pub(super) fn by_likelihood(excesses: &[f64], (scale, shape): (f64, f64)) -> Option<(f64, f64)> {
    let cost = |at: &[f64; 2]| {
        let (scale, shape) = (at[0].exp(), at[1]);
        let sum = excesses.iter().map(|&x| {
            if shape.abs() < 1e-9 {
                return at[0] + x / scale;
            }
            let base = 1.0 + shape * x / scale;
            if base > 0.0 { at[0] + (1.0 / shape + 1.0) * base.ln() } else { f64::INFINITY }
        });
        sum.sum::<f64>()
    };
    // The start of L-moments can have its bound below the largest excess, where nothing is likely at all.
    let most = excesses.iter().copied().fold(0.0, f64::max);
    let shape = if shape < 0.0 { shape.max(-0.9 * scale / most) } else { shape };
    let found = simplex::lowest([scale.ln(), shape], [0.2, 0.1], cost);
    cost(&found).is_finite().then(|| (found[0].exp(), found[1]))
}
