//! The generalized Pareto distribution of excesses over a threshold.

use super::falling::Falling;
use super::lmoments::LMoments;
use super::simplex;

/// Upper limit of the shape: a distribution with a shape of 1 or more has no mean, so it cannot be fitted by L-moments.
const MOST_SHAPE: f64 = 0.98;
/// Lower limit of the shape: for excesses that end more abruptly, a smaller shape does not change the end any more.
const LEAST_SHAPE: f64 = -5.0;

/// Scale (ns) and shape from the L-moments of excesses (Hosking and Wallis, Technometrics 29, 1987). The shape has the
/// sign of SciPy's. `None` if the excesses do not vary.
pub(super) fn by_l_moments(excesses: &LMoments) -> Option<(f64, f64)> {
    if !(excesses.scale > 0.0 && excesses.mean > 0.0) {
        return None;
    }
    let shape = (2.0 - excesses.mean / excesses.scale).clamp(LEAST_SHAPE, MOST_SHAPE);
    Some((excesses.mean * (1.0 - shape), shape))
}

/// A tail with the given shape that starts at the level which a block exceeds once on average, with the same mean
/// excess over that level as `tail`. If it started lower, the body of an abruptly ending distribution would decide how
/// far away the end is.
pub(super) fn held_at(shape: f64, tail: &Falling) -> Falling {
    let rate = tail.rate.max(1.0);
    let (location, scale) = match rate.powf(tail.shape) {
        _ if tail.shape.abs() < 1e-9 => (tail.location + tail.scale * rate.ln(), tail.scale),
        base => (tail.location + tail.scale * (base - 1.0) / tail.shape, tail.scale * base),
    };
    Falling { location, scale: scale / (1.0 - tail.shape) * (1.0 - shape), shape, rate: tail.rate / rate }
}

/// The maximum-likelihood scale (ns) and shape, searched from a start; `None` if the search fails.
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
    // The upper bound of the start from L-moments can be below the largest excess, where the likelihood is zero.
    let most = excesses.iter().copied().fold(0.0, f64::max);
    let shape = if shape < 0.0 { shape.max(-0.9 * scale / most) } else { shape };
    let found = simplex::lowest([scale.ln(), shape], [0.2, 0.1], cost);
    cost(&found).is_finite().then(|| (found[0].exp(), found[1]))
}
