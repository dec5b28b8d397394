//! The rate at which a tail exceeds a value: the common form of both fits.

/// A tail with `rate (1 + shape (x - location) / scale) ^ (-1 / shape)` exceedances of x per block on average.
///
/// With a rate of 1 it corresponds to a GEV of block maxima; with the rate of peaks, to a GPD of peaks over a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Falling {
    /// Location of a GEV, or threshold of a GPD (ns).
    pub(super) location: f64,
    /// Scale at the location (ns, above 0).
    pub(super) scale: f64,
    /// Shape: above 0 the tail has no bound, below 0 its upper bound is `location - scale / shape`.
    pub(super) shape: f64,
    /// Mean number of exceedances of the location per block.
    pub(super) rate: f64,
}

/// Shapes closer to 0 than this count as 0, an exponential tail.
const EXPONENTIAL: f64 = 1e-7;
/// The smallest shape for which an upper end is estimated. A tail that ends more abruptly has its end near the highest
/// values, and no fit shows how far beyond them (below -1/2 the likelihood is not regular: Smith, Biometrika 72, 1985).
/// The machine adds small latencies of its own to such a delay, which the fit does not show and which make it longer.
/// The value was chosen by simulation: docs/decisions/0010.
pub(super) const HARDEST: f64 = -0.25;

impl Falling {
    /// Mean number of exceedances of `x` (ns) per block.
    pub(super) fn exceedances(&self, x: f64) -> f64 {
        let away = (x - self.location) / self.scale;
        if self.shape.abs() < EXPONENTIAL {
            return self.rate * (-away).exp();
        }
        let base = 1.0 + self.shape * away;
        if base > 0.0 {
            self.rate * (-base.ln() / self.shape).exp()
        } else if self.shape > 0.0 {
            f64::INFINITY
        } else {
            0.0
        }
    }

    /// The probability that the maximum of `blocks` blocks does not exceed `x` (ns).
    pub(super) fn chance_within(&self, x: f64, blocks: f64) -> f64 {
        (-blocks * self.exceedances(x)).exp()
    }

    /// The value (ns) that the maximum of `blocks` blocks does not exceed with the probability `chance` (above 0, below 1).
    pub(super) fn quantile(&self, chance: f64, blocks: f64) -> f64 {
        let ratio = (blocks * self.rate / -chance.ln()).ln();
        if self.shape.abs() < EXPONENTIAL {
            return self.location + self.scale * ratio;
        }
        self.location + self.scale * (self.shape * ratio).exp_m1() / self.shape
    }

    /// The excess over the location (ns) that a single peak exceeds with the probability `chance` (above 0, below 1).
    pub(super) fn excess(&self, chance: f64) -> f64 {
        if self.shape.abs() < EXPONENTIAL {
            return -self.scale * chance.ln();
        }
        self.scale * (-self.shape * chance.ln()).exp_m1() / self.shape
    }

    /// The extreme-value distribution of block maxima that this tail implies above its location.
    pub(super) fn for_maxima(&self) -> Self {
        let ln_rate = self.rate.ln();
        let (location, scale) = if self.shape.abs() < EXPONENTIAL {
            (self.location + self.scale * ln_rate, self.scale)
        } else {
            let grown = (self.shape * ln_rate).exp();
            (self.location + self.scale * (grown - 1.0) / self.shape, self.scale * grown)
        };
        Self { location, scale, shape: self.shape, rate: 1.0 }
    }

    /// Moves the parameters away from `center` by a factor; scale and rate on a logarithmic scale, so that they stay positive.
    pub(super) fn stretched(&self, center: &Self, factor: f64) -> Self {
        let positive = |own: f64, center: f64| center * (factor * (own / center).ln()).exp();
        Self {
            location: center.location + factor * (self.location - center.location),
            scale: positive(self.scale, center.scale),
            shape: center.shape + factor * (self.shape - center.shape),
            rate: positive(self.rate, center.rate),
        }
    }
}
