//! The worst case of a time to come: where it will lie, and how likely it exceeds a value.
//!
//! Two things are uncertain: the tail, whose uncertainty the resamples give, and the maximum itself, which is random even where the tail
//! is known. The chance of a value is therefore the mean over all resamples of the chance under each (a predictive distribution;
//! Fushiki, Komaki and Aihara, "Nonparametric bootstrap prediction", Bernoulli 11, 2005). Of the two fits the more careful one
//! counts, at each end; and a tail that ends abruptly is held at [`HARDEST`] for the upper one.

use super::falling::{Falling, HARDEST};
use super::resample::Fits;
use super::{gev, gpd};
use crate::float;

/// By how much the resamples are carried away from their centre. Resamples of few blocks wander less than new runs would
/// (by n / (n - 1) and by the tail that was not drawn); with this factor stated intervals of 90 % cover 90 % and more of
/// simulated outcomes from 60 blocks on.
pub(super) const STRETCH: f64 = 1.15;
/// Halvings of the bracket of a quantile; each makes it exact by one bit.
const HALVINGS: u32 = 40;

/// Two fits with all that their resamples say.
#[derive(Clone, Debug)]
pub(super) struct Prediction {
    /// Of the GEV and of the GPD, as they were fitted.
    models: [Vec<Falling>; 2],
    /// The same for what lies above: none ends more abruptly than [`HARDEST`].
    above: [Vec<Falling>; 2],
    /// Blocks that count as independent ones, as a part of all, above 0 to 1.
    independent: f64,
}

/// Where the worst case of a time to come lies (ns).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) low: f64,
    pub(super) typical: f64,
    pub(super) high: f64,
    /// The same of each fit alone.
    pub(super) each: [[f64; 3]; 2],
}

impl Prediction {
    /// From the fits and their resamples. `closer` is how much less the resamples would wander after a longer run: 1 is as
    /// they are.
    pub(super) fn new(centre: &Fits, resamples: &[Fits], independent: f64, closer: f64) -> Self {
        let factor = STRETCH * closer;
        let gev: Vec<_> = resamples.iter().map(|fits| fits.gev.stretched(&centre.gev, factor)).collect();
        let gpd: Vec<_> = resamples.iter().map(|fits| fits.gpd.stretched(&centre.gpd, factor)).collect();
        let held = |tail: &Falling, of: fn(&Falling) -> Falling| if tail.shape < HARDEST { of(tail) } else { *tail };
        let above = [
            gev.iter()
                .map(|tail| match centre.is_above_body {
                    true => held(tail, |tail| gpd::held_at(HARDEST, tail)),
                    false => held(tail, |tail| gev::held_at(HARDEST, tail).unwrap_or(*tail)),
                })
                .collect(),
            gpd.iter().map(|tail| held(tail, |tail| gpd::held_at(HARDEST, tail))).collect(),
        ];
        Self { models: [gev, gpd], above, independent }
    }

    /// The chance that the worst of `blocks` blocks exceeds `x`: the greatest of both fits', held and not.
    pub(super) fn chance_beyond(&self, x: f64, blocks: f64) -> f64 {
        self.models.iter().chain(&self.above).map(|model| 1.0 - within(model, x, blocks)).fold(0.0, f64::max)
    }

    /// What the chance that the worst of `blocks` blocks exceeds `x` does not exceed in a share `sure` of the resamples: the
    /// greatest of both fits', held and not, and no less than [`Self::chance_beyond`].
    pub(super) fn chance_at_most(&self, x: f64, blocks: f64, sure: f64) -> f64 {
        let of_model = |model: &Vec<Falling>| {
            let mut each: Vec<f64> = model.iter().map(|tail| 1.0 - tail.chance_within(x, blocks)).collect();
            each.sort_unstable_by(f64::total_cmp);
            let place = (sure * float(each.len())).ceil();
            let place = usize::try_from(units::round_u64(place)).unwrap_or(usize::MAX);
            each.get(place.min(each.len()).saturating_sub(1)).copied().unwrap_or(1.0)
        };
        self.models.iter().chain(&self.above).map(of_model).fold(self.chance_beyond(x, blocks), f64::max)
    }

    /// The interval that holds the worst of `blocks` blocks with the probability `level`.
    pub(super) fn expected(&self, blocks: f64, level: f64) -> Expected {
        let outside = (1.0 - level) / 2.0;
        // That neighbours are alike makes the worst of a time less bad: it counts where the interval begins, not where it ends.
        let fewer = (blocks * self.independent).max(1.0_f64.min(blocks));
        let [gev, gpd] = &self.models;
        let [gev_above, gpd_above] = &self.above;
        let each = [(gev, gev_above), (gpd, gpd_above)].map(|(model, above)| {
            [quantile(model, outside, fewer), quantile(model, 0.5, blocks), quantile(above, 1.0 - outside, blocks)]
        });
        let [gev, gpd] = each;
        Expected { low: gev[0].min(gpd[0]), typical: f64::midpoint(gev[1], gpd[1]), high: gev[2].max(gpd[2]), each }
    }
}

/// The chance that the worst of `blocks` blocks does not exceed `x`.
fn within(model: &[Falling], x: f64, blocks: f64) -> f64 {
    let sum: f64 = model.iter().map(|tail| tail.chance_within(x, blocks)).sum();
    sum / float(model.len().max(1))
}

/// What the worst of `blocks` blocks does not exceed with that chance (ns).
fn quantile(model: &[Falling], chance: f64, blocks: f64) -> f64 {
    let mut each: Vec<f64> = model.iter().map(|tail| tail.quantile(chance, blocks)).collect();
    each.sort_unstable_by(f64::total_cmp);
    let (Some(&lowest), Some(&highest)) = (each.first(), each.last()) else { return 0.0 };
    // The mean of the chances lies between the least and the greatest of them, and so does its quantile.
    let (mut low, mut high) = (lowest, highest);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if high - low <= 1e-6 * middle.abs() {
            break;
        }
        if within(model, middle, blocks) < chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
