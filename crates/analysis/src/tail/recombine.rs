//! Fits the rate and the size of each cause separately, and recombines the fits. This gives a prediction if one fit
//! must be refused because late samples have several causes.
//!
//! Causes are assumed independent, so the worst case stays within a value if the worst case of every cause does: the
//! probabilities are multiplied (competing risks).

use record::Histogram;
use units::{approx_f64, round_u64};

use super::causes::Attribution;
use super::falling::{Falling, HARDEST};
use super::gpd;
use super::lmoments::l_moments;
use super::plateau;
use super::prediction::{Expected, STRETCH};
use crate::float;
use units::Random;

/// A cause has to be seen this often before its size is estimated.
pub(super) const LEAST_SEEN: u64 = 30;
/// Number of the largest sizes of a cause that are fitted.
const MOST_SIZES: u64 = 2_000;
/// Upper limit for the 95 % confidence bound of a cause's shape.
const MOST_SHAPE: f64 = 0.45;
/// Lower limit of a cause's shape. At -1, all sizes up to the end are equally frequent. A fit far below that includes
/// the body of the cause, where larger sizes are more frequent, and is not a tail: a higher threshold is used.
const LEAST_SHAPE: f64 = -1.4;

/// The fitted rate and size of one cause.
#[derive(Clone, Debug)]
pub(super) struct CauseFit {
    /// Index of the cause in the attribution.
    pub(super) cause: usize,
    /// The fit, as exceedances within the measured time.
    pub(super) center: Falling,
    models: Vec<Falling>,
    above: Vec<Falling>,
    worst: f64,
}

/// The fits of all causes that exceed the level above which each cause is known.
#[derive(Clone, Debug)]
pub(super) struct Recombined {
    pub(super) fits: Vec<CauseFit>,
    /// The fits are valid above this (ns).
    from: f64,
}

impl Recombined {
    /// Fits all causes; `None` if a cause that is as large as others was seen too seldom, or cannot be fitted.
    pub(super) fn new(attribution: &Attribution, resamples: u32, seed: u64) -> Option<Self> {
        let mut level_ns = attribution.above_ns;
        // Raise the level above all samples of causes that were seen too seldom; there is no answer if nothing is left above.
        loop {
            let seldom = attribution.causes.iter().filter(|cause| {
                (1..LEAST_SEEN).contains(&cause.sizes.count_above(level_ns))
                    || (!cause.is_known() && cause.worst_ns() > level_ns)
            });
            let Some(worst_ns) = seldom.map(super::causes::Cause::worst_ns).max() else { break };
            level_ns = worst_ns;
        }
        let mut random = Random::new(seed);
        let mut fits = Vec::new();
        for (cause, number) in attribution.causes.iter().zip(0..) {
            if cause.sizes.count_above(level_ns) > 0 {
                fits.push(fit(number, &cause.sizes, level_ns, resamples, &mut random)?);
            }
        }
        let from = fits.iter().map(|fit| fit.center.location).fold(approx_f64(level_ns), f64::max);
        (!fits.is_empty()).then_some(Self { fits, from })
    }

    /// The interval that contains the worst case of `times` times the measured time with the probability `level`;
    /// `None` if possibly no cause occurs in that time, or if the interval would be too wide.
    pub(super) fn expected(&self, times: f64, level: f64) -> Option<Expected> {
        let outside = (1.0 - level) / 2.0;
        let models = |above: bool| -> Vec<&Vec<Falling>> {
            self.fits.iter().map(|fit| if above { &fit.above } else { &fit.models }).collect()
        };
        let (plain, held) = (models(false), models(true));
        if within(&plain, self.from, times) > outside {
            return None;
        }
        let at = |models: &[&Vec<Falling>], chance: f64| quantile(models, chance, times, self.from);
        let (low, typical) = (at(&plain, outside), at(&plain, 0.5));
        let high = at(&held, 1.0 - outside).max(at(&plain, 1.0 - outside));
        let worst = self.fits.iter().map(|fit| fit.worst).fold(0.0, f64::max);
        let from =
            self.fits.iter().filter(|fit| fit.worst >= worst).map(|fit| fit.center.location).fold(worst, f64::min);
        let is_wide = !high.is_finite() || high - from > plateau::MOST_REACH * (worst - from);
        (!is_wide).then_some(Expected { low, typical, high, each: [[low, typical, high]; 2] })
    }
}

/// The fit of a cause above the lowest threshold from which its sizes have one distribution.
fn fit(cause: usize, sizes: &Histogram, level_ns: u64, resamples: u32, random: &mut Random) -> Option<CauseFit> {
    let mut peaks: Vec<(f64, usize)> = Vec::new();
    let mut left = MOST_SIZES;
    for bin in sizes.bins_from_highest().take_while(|bin| bin.to_ns > level_ns) {
        let count = bin.count.min(left);
        left -= count;
        for _ in 0..count {
            // Each value is placed at random within its bin, so that bins do not appear as steps.
            let value = approx_f64(bin.from_ns) + random.unit() * approx_f64(bin.to_ns - bin.from_ns + 1);
            let number = peaks.len();
            peaks.push((value.min(approx_f64(sizes.max_ns().unwrap_or(bin.to_ns))), number));
        }
    }
    peaks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let stable = plateau::stable(&peaks, 0, random);
    let (center, excesses) = stable
        .iter()
        .rev()
        .chain(stable.first())
        .filter_map(|&count| above(&peaks, count))
        .find(|(center, _)| center.shape >= LEAST_SHAPE)?;
    let (threshold, count) = (center.location, excesses.len());

    let mut drawn = Vec::new();
    let mut models = Vec::new();
    for _ in 0..resamples {
        // The number of events is random too.
        let normal = distrs::Normal::ppf(random.unit(), 0.0, 1.0);
        let own = round_u64((float(count) + float(count).sqrt() * normal).max(3.0));
        drawn.clear();
        drawn.extend((0..own).filter_map(|_| excesses.get(random.below(excesses.len()))));
        drawn.sort_unstable_by(f64::total_cmp);
        models.extend(fit_excesses(&drawn, threshold).map(|one| one.stretched(&center, STRETCH)));
    }
    let mut shapes: Vec<f64> = models.iter().map(|one| one.shape).collect();
    shapes.sort_unstable_by(f64::total_cmp);
    if *shapes.get(shapes.len() * 19 / 20)? >= MOST_SHAPE {
        return None;
    }
    let above = models.iter().map(|one| if one.shape < HARDEST { held_from_threshold(one) } else { *one }).collect();
    let worst = peaks.first().map_or(0.0, |peak| peak.0);
    Some(CauseFit { cause, center, models, above, worst })
}

/// The distribution above the threshold that `count` of descending peaks exceed, and the ascending excesses (ns).
fn above(peaks: &[(f64, usize)], count: usize) -> Option<(Falling, Vec<f64>)> {
    let threshold = peaks.get(count)?.0;
    let excesses: Vec<f64> = peaks.iter().take(count).rev().map(|peak| peak.0 - threshold).collect();
    Some((fit_excesses(&excesses, threshold)?, excesses))
}

/// The generalized Pareto distribution of ascending excesses (ns) over a threshold (ns).
fn fit_excesses(ascending: &[f64], threshold: f64) -> Option<Falling> {
    let moments = l_moments(ascending.iter().map(|&excess| (excess, 1.0)))?;
    let (scale, shape) = gpd::by_l_moments(&moments)?;
    Some(Falling { location: threshold, scale, shape, rate: moments.count })
}

/// The same tail with the shape [`HARDEST`] and the same mean excess above the threshold. The fit starts at the
/// threshold because its rate counts the whole measured time: the level that is exceeded once in that time is the worst
/// sample, and nothing above it shows how far away the end is.
fn held_from_threshold(one: &Falling) -> Falling {
    Falling { scale: one.scale / (1.0 - one.shape) * (1.0 - HARDEST), shape: HARDEST, ..*one }
}

/// The probability that no cause exceeds `x` (ns): the mean over all resamples.
fn within(models: &[&Vec<Falling>], x: f64, times: f64) -> f64 {
    let resamples = models.iter().map(|model| model.len()).min().unwrap_or(0);
    let beyond = |one: &Falling| if x <= one.location { one.rate } else { one.exceedances(x) };
    let chance = |at: usize| {
        let sum: f64 = models.iter().filter_map(|model| model.get(at)).map(beyond).sum();
        (-times * sum).exp()
    };
    (0..resamples).map(chance).sum::<f64>() / float(resamples.max(1))
}

/// The value that no cause exceeds with this probability (ns).
fn quantile(models: &[&Vec<Falling>], chance: f64, times: f64, from: f64) -> f64 {
    let (mut low, mut high) = (from, from * 2.0 + 1.0);
    while within(models, high, times) < chance && high < 1e18 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if within(models, middle, times) < chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
