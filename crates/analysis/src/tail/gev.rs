//! The generalized extreme-value distribution (GEV) of block maxima.
//!
//! The sign of the shape follows newer literature in hydrology and finance: a shape above 0 is a tail without a bound.
//! SciPy's `c` and Hosking's `k` have the opposite sign.

use super::falling::Falling;
use super::lmoments::{LMoments, gamma};
use super::simplex;

/// Upper limit of the shape: a distribution with a shape of 1 or more has no mean, so it cannot be fitted by L-moments.
const MOST_SHAPE: f64 = 0.98;

/// The fit from L-moments (Hosking, Wallis and Wood, Technometrics 27, 1985), exact to 1e-10; `None` if the maxima do not
/// vary.
pub(super) fn by_l_moments(moments: &LMoments) -> Option<Falling> {
    if !(moments.scale > 0.0 && moments.skewness.is_finite()) {
        return None;
    }
    let k = shape_of(moments.skewness).max(-MOST_SHAPE);
    from_shape(moments.mean, moments.scale, k)
}

/// A GEV with the given shape (-0.9 or more) and with the same mean and L-scale as `tail`.
pub(super) fn held_at(shape: f64, tail: &Falling) -> Option<Falling> {
    let k = -tail.shape;
    let at = gamma(1.0 + k);
    let l_scale = tail.scale * at * (1.0 - (-k * std::f64::consts::LN_2).exp()) / k;
    from_shape(tail.location + tail.scale * (1.0 - at) / k, l_scale, -shape)
}

/// The GEV with this mean, L-scale and Hosking's k.
fn from_shape(mean: f64, l_scale: f64, k: f64) -> Option<Falling> {
    let (scale, location) = if k.abs() < 1e-6 {
        let scale = l_scale / std::f64::consts::LN_2;
        (scale, mean - 0.577_215_664_901_532_9 * scale)
    } else {
        let at = gamma(1.0 + k);
        let scale = l_scale * k / ((1.0 - (-k * std::f64::consts::LN_2).exp()) * at);
        (scale, mean - scale * (1.0 - at) / k)
    };
    (scale > 0.0 && scale.is_finite()).then_some(Falling { location, scale, shape: -k, rate: 1.0 })
}

/// Hosking's k for an L-skewness: his approximation, refined by Newton's method.
fn shape_of(skewness: f64) -> f64 {
    let skewness_of = |k: f64| {
        if k.abs() < 1e-6 {
            return 2.0 * 3_f64.ln() / 2_f64.ln() - 3.0;
        }
        2.0 * (-k * 3_f64.ln()).exp_m1() / (-k * 2_f64.ln()).exp_m1() - 3.0
    };
    let c = 2.0 / (3.0 + skewness) - 2_f64.ln() / 3_f64.ln();
    let mut k = (7.859_0 * c + 2.955_4 * c * c).clamp(-MOST_SHAPE, 10.0);
    for _ in 0..8 {
        let error = skewness_of(k) - skewness;
        if error.abs() < 1e-11 {
            break;
        }
        let slope = (skewness_of(k + 1e-5) - skewness_of(k - 1e-5)) / 2e-5;
        k = (k - error / slope).clamp(-MOST_SHAPE, 20.0);
    }
    k
}

/// The maximum-likelihood fit, searched from `start`; `None` if the search fails.
pub(super) fn by_likelihood(maxima: &[f64], start: &Falling) -> Option<Falling> {
    let model = |at: &[f64; 3]| Falling { location: at[0], scale: at[1].exp(), shape: at[2], rate: 1.0 };
    let cost = |at: &[f64; 3]| -log_likelihood(maxima, &model(at));
    let begin = [start.location, start.scale.ln(), start.shape];
    let steps = [start.scale * 0.2, 0.2, 0.1];
    let found = simplex::lowest(begin, steps, cost);
    cost(&found).is_finite().then(|| model(&found))
}

fn log_likelihood(maxima: &[f64], gev: &Falling) -> f64 {
    let sum = maxima.iter().map(|&x| {
        let exceedances = gev.exceedances(x);
        let base = 1.0 + gev.shape * (x - gev.location) / gev.scale;
        if !(base > 0.0 && exceedances.is_finite()) {
            return f64::NEG_INFINITY;
        }
        (gev.shape + 1.0) * exceedances.ln() - exceedances - gev.scale.ln()
    });
    sum.sum()
}
