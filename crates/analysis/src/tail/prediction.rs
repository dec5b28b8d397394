//! The worst case of a future time span: its prediction interval, and the chance that it exceeds a value.
//!
//! Two things are uncertain: the tail, whose uncertainty the resamples show, and the maximum itself, which is random
//! even if the tail is known. The chance of exceeding a value is therefore the mean of the chances under all resamples
//! (a predictive distribution; Fushiki, Komaki and Aihara, "Nonparametric bootstrap prediction", Bernoulli 11, 2005).
//! At each end, the more cautious of the two fits counts. For the upper end, the shape of a tail that ends abruptly is
//! raised to [`HARDEST`].

use super::falling::{Falling, HARDEST};
use super::resample::Fits;
use super::{gev, gpd};
use crate::float;

/// Factor by which resamples are moved away from their center. Resamples of few blocks vary less than new runs would,
/// by n / (n - 1) and by the part of the tail that was not drawn. With this factor, 90 % intervals cover at least 90 %
/// of simulated outcomes from 60 blocks on.
pub(super) const STRETCH: f64 = 1.15;
/// Number of bisections of a quantile's bracket; each adds one bit of precision.
const HALVINGS: u32 = 40;

/// The resampled models of both fits.
#[derive(Clone, Debug)]
pub(super) struct Prediction {
    /// The resampled fits of the GEV and of the GPD, as they were fitted.
    models: [Vec<Falling>; 2],
    /// The same models for the upper end: no shape is below [`HARDEST`].
    above: [Vec<Falling>; 2],
    /// Share of the blocks that count as independent (above 0, at most 1).
    independent: f64,
}

/// The prediction interval of the worst case of a future time span, and its median (ns).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) low: f64,
    pub(super) typical: f64,
    pub(super) high: f64,
    /// The same values (low, typical, high) of each fit alone.
    pub(super) each: [[f64; 3]; 2],
}

impl Prediction {
    /// Combines the fits and their resamples. `closer` is the spread that the resamples would have after a longer run, as a
    /// part of their present spread (1 for this run).
    pub(super) fn new(center: &Fits, resamples: &[Fits], independent: f64, closer: f64) -> Self {
        let factor = STRETCH * closer;
        let gev: Vec<_> = resamples.iter().map(|fits| fits.gev.stretched(&center.gev, factor)).collect();
        let gpd: Vec<_> = resamples.iter().map(|fits| fits.gpd.stretched(&center.gpd, factor)).collect();
        let held =
            |tail: &Falling, hold: fn(&Falling) -> Falling| if tail.shape < HARDEST { hold(tail) } else { *tail };
        let above = [
            gev.iter()
                .map(|tail| match center.is_above_body {
                    true => held(tail, |tail| gpd::held_at(HARDEST, tail)),
                    false => held(tail, |tail| gev::held_at(HARDEST, tail).unwrap_or(*tail)),
                })
                .collect(),
            gpd.iter().map(|tail| held(tail, |tail| gpd::held_at(HARDEST, tail))).collect(),
        ];
        Self { models: [gev, gpd], above, independent }
    }

    /// The chance that the worst of `blocks` blocks exceeds `x` (ns): the largest of both fits, with limited shape and without.
    pub(super) fn chance_beyond(&self, x: f64, blocks: f64) -> f64 {
        self.models.iter().chain(&self.above).map(|model| 1.0 - within(model, x, blocks)).fold(0.0, f64::max)
    }

    /// An upper bound of the chance that the worst of `blocks` blocks exceeds `x` (ns), which holds in a share `sure`
    /// of the resamples: the largest of both fits, with limited shape and without, and at least
    /// [`Self::chance_beyond`].
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

    /// The interval that contains the worst of `blocks` blocks with the probability `level`.
    pub(super) fn expected(&self, blocks: f64, level: f64) -> Expected {
        let outside = (1.0 - level) / 2.0;
        // The correlation of neighbors makes the worst case of a span smaller. It is used for the lower end of the
        // interval, and not for the upper one.
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

/// The value that the worst of `blocks` blocks does not exceed with this probability (ns).
fn quantile(model: &[Falling], chance: f64, blocks: f64) -> f64 {
    let mut each: Vec<f64> = model.iter().map(|tail| tail.quantile(chance, blocks)).collect();
    each.sort_unstable_by(f64::total_cmp);
    let (Some(&lowest), Some(&highest)) = (each.first(), each.last()) else { return 0.0 };
    // The mean of the probabilities lies between the smallest and the largest of them, and so does its quantile.
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
