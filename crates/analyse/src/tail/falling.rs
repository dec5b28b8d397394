//! How often a tail exceeds a value: the one form that both fits come to.

/// `rate (1 + shape (x - location) / scale) ^ (-1 / shape)` exceedances of x in one block, on average.
///
/// With a rate of 1 it is what lies behind a GEV; with the rate of peaks, what lies behind peaks over a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Falling {
    /// Where it begins (ns).
    pub(super) location: f64,
    /// How fast it falls there (ns, above 0).
    pub(super) scale: f64,
    /// Above 0 without a bound, below 0 with one at `location - scale / shape`.
    pub(super) shape: f64,
    /// Exceedances of the location in one block.
    pub(super) rate: f64,
}

/// Shapes closer to 0 than this are 0: an exponential tail.
const EXPONENTIAL: f64 = 1e-7;
/// The smallest shape for which an upper end is estimated. A tail that ends more abruptly has its end where the highest of a
/// few values stand, and no fit says how far beyond (below -1/2 likelihood is not regular: Smith, Biometrika 72, 1985);
/// what little else the machine adds to a delay that ends so is not seen in it and makes it longer. Chosen by simulation:
/// docs/decisions/0010.
pub(super) const HARDEST: f64 = -0.25;

impl Falling {
    /// Exceedances of `x` in one block, on average.
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

    /// The chance that the largest of `blocks` blocks does not exceed `x`.
    pub(super) fn chance_within(&self, x: f64, blocks: f64) -> f64 {
        (-blocks * self.exceedances(x)).exp()
    }

    /// What the largest of `blocks` blocks does not exceed with the probability `chance`, above 0 and below 1.
    pub(super) fn quantile(&self, chance: f64, blocks: f64) -> f64 {
        let ratio = (blocks * self.rate / -chance.ln()).ln();
        if self.shape.abs() < EXPONENTIAL {
            return self.location + self.scale * ratio;
        }
        self.location + self.scale * (self.shape * ratio).exp_m1() / self.shape
    }

    /// What a single excess over the location exceeds with that chance, above 0 and below 1, counted from there (ns).
    pub(super) fn excess(&self, chance: f64) -> f64 {
        if self.shape.abs() < EXPONENTIAL {
            return -self.scale * chance.ln();
        }
        self.scale * (-self.shape * chance.ln()).exp_m1() / self.shape
    }

    /// The extreme-value distribution of a block's maximum that lies behind it, as far as that exceeds the location.
    pub(super) fn of_maxima(&self) -> Self {
        let ln_rate = self.rate.ln();
        let (location, scale) = if self.shape.abs() < EXPONENTIAL {
            (self.location + self.scale * ln_rate, self.scale)
        } else {
            let grown = (self.shape * ln_rate).exp();
            (self.location + self.scale * (grown - 1.0) / self.shape, self.scale * grown)
        };
        Self { location, scale, shape: self.shape, rate: 1.0 }
    }

    /// Carried away from `centre` by a factor: positive parts on their logarithms.
    pub(super) fn stretched(&self, centre: &Self, factor: f64) -> Self {
        let positive = |own: f64, centre: f64| centre * (factor * (own / centre).ln()).exp();
        Self {
            location: centre.location + factor * (self.location - centre.location),
            scale: positive(self.scale, centre.scale),
            shape: centre.shape + factor * (self.shape - centre.shape),
            rate: positive(self.rate, centre.rate),
        }
    }
}
