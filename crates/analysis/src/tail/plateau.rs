//! A threshold above the body, for runs whose maxima have several distributions while the values above some threshold
//! have one.
//!
//! A delay of bounded size that occurs about once an interval is the most common disturbance of real machines. Some
//! intervals contain it and others do not. So no single distribution describes the maxima, and above a threshold within
//! the body the tail seems to have no end. The values above a threshold can be fitted separately if the shape and the
//! predicted worst case stay the same for all higher thresholds; the lowest such threshold is used (threshold
//! stability: Davison and Smith, Journal of the Royal Statistical Society B 52, 1990).

use super::blocks::Blocks;
use super::falling::Falling;
use super::gpd;
use super::lmoments::l_moments;
use super::prediction::Prediction;
use super::resample::{Fits, Sample, resampled};
use super::stationarity;
use crate::float;
use units::Random;

/// A fit needs at least this many peaks, from at least `LEAST_FROM` blocks.
const LEAST_PEAKS: usize = 30;
const LEAST_FROM: usize = 20;
/// Maximum number of thresholds to try.
const MOST_TRIED: usize = 5;
/// A prediction may exceed the threshold by at most this multiple of the worst sample's excess. For a tail that ends
/// abruptly and is well known, predictions reach 2.5 times as far.
pub(super) const MOST_REACH: f64 = 4.0;
/// Factor between the numbers of peaks above one threshold and above the next higher one.
const FEWER: f64 = 0.85;
/// Share of the peaks above the higher one of the two thresholds that have to agree.
const HIGHER: f64 = 0.5;
/// Number of samples simulated from the fitted distribution for the goodness-of-fit test, and its significance level.
const RUNS: u32 = 200;
const LEVEL: f64 = 0.05;
/// Upper limit for the 95 % confidence bound of the shape; above the higher threshold the limit is 0. A distribution
/// that is fitted above a body must have an end that the data show. With 0 instead of this limit, 10 of 100 mixtures of
/// two exponential distributions got a prediction, and 3 of these 10 were too low.
const MOST_SHAPE: f64 = -0.2;
/// Significance level of the test whether the values above the threshold change over the run.
const LEAST_CHANGE_P: f64 = 0.04;
/// Significance level of the test for a trend of these values.
const LEAST_TREND_P: f64 = 0.01;
/// The horizon for which both thresholds have to agree, in lengths of the run.
const TIMES: f64 = 10.0;

/// The fitted sample, the fit, and its resamples.
pub(super) type Fitted = (Sample, Fits, Vec<Fits>);

/// Options of the resampling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resampling {
    /// Number of neighboring blocks that are drawn together.
    pub(super) at_once: usize,
    /// Number of resamples.
    pub(super) resamples: u32,
    /// Seed of the random numbers.
    pub(super) seed: u64,
}

/// The fit above the lowest stable threshold; `None` if no threshold is stable.
pub(super) fn above_body(blocks: &Blocks, how: Resampling) -> Option<Fitted> {
    let mut peaks: Vec<(f64, usize)> = Vec::new();
    for (block, number) in blocks.blocks.iter().zip(0..) {
        let peaks_of_block = block.highest.iter().flat_map(|&(value, count)| {
            std::iter::repeat_n((units::approx_f64(value), number), usize::try_from(count).unwrap_or(0))
        });
        peaks.extend(peaks_of_block);
    }
    peaks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut random = Random::new(how.seed);
    peaks.truncate(blocks.blocks.len().saturating_mul(3));
    // Just above the lowest stable threshold, a few values of the body can still be among the peaks, so more are tried.
    let counts = stable(&peaks, LEAST_FROM, &mut random);
    counts.into_iter().rev().take(MOST_TRIED).find_map(|count| fitted(blocks, &peaks, count, how))
}

/// The fit to the first `count` of descending peaks; `None` if they change over the run, may have no upper bound, or
/// disagree with the fit above a higher threshold.
fn fitted(blocks: &Blocks, peaks: &[(f64, usize)], count: usize, how: Resampling) -> Option<Fitted> {
    let [threshold, higher] = [1.0, HIGHER].map(|part| {
        let place = usize::try_from(units::round_u64(float(count) * part)).unwrap_or(0);
        peaks.get(place).map_or(0.0, |peak| peak.0)
    });
    if !stays(peaks, threshold, blocks.blocks.len()) {
        return None;
    }
    let sample = Sample::above(blocks, threshold, higher);
    let center = sample.fit(&vec![1.0; blocks.blocks.len()])?;
    let fits = resampled(&sample, blocks, how.at_once, how.resamples, how.seed);
    let most = |shape: fn(&Fits) -> f64| super::heavy::shape_bounds(&fits, shape).1;
    let is_bounded = most(|fits| fits.gpd.shape) < MOST_SHAPE && most(|fits| fits.gev.shape) < 0.0;
    if float(fits.len()) < 0.9 * f64::from(how.resamples) || !is_bounded {
        return None;
    }
    let expected = Prediction::new(&center, &fits, 1.0, 1.0).expected(TIMES * float(blocks.blocks.len()), 0.9);
    let [[low, typical, high], [other_low, other, other_high]] = expected.each;
    let agree = (low..=high).contains(&other) || (other_low..=other_high).contains(&typical);
    let worst = peaks.first().map_or(0.0, |peak| peak.0);
    let is_wide = expected.high - threshold > MOST_REACH * (worst - threshold);
    (agree && !is_wide).then_some((sample, center, fits))
}

/// The numbers of descending peaks above each stable threshold, smallest first. A threshold is stable if the peaks
/// above it and above all higher thresholds have one distribution and come from at least `least_from` blocks.
pub(super) fn stable(peaks: &[(f64, usize)], least_from: usize, random: &mut Random) -> Vec<usize> {
    let mut stable = Vec::new();
    for count in counts(peaks.len().saturating_sub(1)) {
        let Some(above) = peaks.get(..=count) else { continue };
        if !is_one_kind(above, random) {
            break;
        }
        let mut from: Vec<usize> = above.iter().map(|(_, block)| *block).collect();
        from.sort_unstable();
        from.dedup();
        if from.len() >= least_from {
            stable.push(count);
        }
    }
    stable
}

/// The numbers of peaks above the thresholds to test, smallest first.
fn counts(most: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut count = float(most);
    while count >= float(LEAST_PEAKS) {
        counts.push(usize::try_from(units::round_u64(count)).unwrap_or(0));
        count *= FEWER;
    }
    // The number of peaks that a disturbance makes lies between two steps, so the search starts at the smallest number.
    counts.reverse();
    counts
}

/// Whether descending peaks may all come from one generalized Pareto distribution above the last of them. Their
/// distance from the fit is compared with the distances of simulated samples from their own fits.
fn is_one_kind(above: &[(f64, usize)], random: &mut Random) -> bool {
    let Some(threshold) = above.last().map(|peak| peak.0) else { return false };
    let mut excesses: Vec<f64> = above.iter().rev().skip(1).map(|peak| peak.0 - threshold).collect();
    let fit = |ascending: &[f64]| {
        let moments = l_moments(ascending.iter().map(|&excess| (excess, 1.0)))?;
        let (scale, shape) = gpd::by_l_moments(&moments)?;
        Some(Falling { location: 0.0, scale, shape, rate: 1.0 })
    };
    let Some(own) = fit(&excesses) else { return false };
    let seen = distance(&excesses, &own);
    let as_far = (0..RUNS).filter(|_| {
        excesses.fill_with(|| own.excess(random.unit()));
        excesses.sort_unstable_by(f64::total_cmp);
        fit(&excesses).is_some_and(|drawn| distance(&excesses, &drawn) >= seen)
    });
    float(as_far.count()) >= LEVEL * f64::from(RUNS)
}

/// Anderson-Darling distance between ascending excesses and their distribution.
fn distance(ascending: &[f64], fit: &Falling) -> f64 {
    let n = float(ascending.len());
    let rarest = 0.1 / n.max(1.0);
    let within = |x: f64| (1.0 - fit.exceedances(x)).clamp(rarest, 1.0 - rarest);
    let sum: f64 = ascending
        .iter()
        .zip(ascending.iter().rev())
        .zip(0..)
        .map(|((&low, &high), at)| (2.0 * float(at) + 1.0) * (within(low).ln() + (1.0 - within(high)).ln()))
        .sum();
    -n - sum / n
}

/// Whether the size and the rate of the peaks above the threshold stay the same over the run.
fn stays(peaks: &[(f64, usize)], threshold: f64, blocks: usize) -> bool {
    let above: Vec<(f64, usize)> = peaks.iter().copied().filter(|peak| peak.0 > threshold).collect();
    if trend_p(&above, blocks) < LEAST_TREND_P {
        return false;
    }
    let mut often = vec![0.0_f64; blocks];
    let mut greatest = vec![0.0_f64; blocks];
    for &(value, block) in &above {
        often[block] += 1.0;
        greatest[block] = greatest[block].max(value);
    }
    greatest.retain(|&value| value > 0.0);
    [often, greatest].iter().all(|values| stationarity::change_p(values) >= LEAST_CHANGE_P)
}

/// The chance that peaks without a trend grow or shrink, or become more or less frequent, as steadily as these do. It
/// is the smaller chance of two tests in normal approximation: the rank correlation of size and time, and the mean
/// time. A steady trend makes neighbors correlated, so the test for changes, which allows for correlation, does not
/// detect it.
fn trend_p(peaks: &[(f64, usize)], blocks: usize) -> f64 {
    let n = float(peaks.len());
    let sizes = stationarity::normal_scores(&peaks.iter().map(|peak| peak.0).collect::<Vec<_>>());
    let times = stationarity::normal_scores(&peaks.iter().map(|peak| float(peak.1)).collect::<Vec<_>>());
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let spread = (sum(&sizes, &sizes) * sum(&times, &times)).sqrt();
    let grows = if spread > 0.0 { sum(&sizes, &times) / spread * (n - 1.0).max(0.0).sqrt() } else { 0.0 };
    let place = peaks.iter().map(|peak| (float(peak.1) + 0.5) / float(blocks)).sum::<f64>() / n.max(1.0);
    let comes = if peaks.is_empty() { 0.0 } else { (place - 0.5) * (12.0 * n).sqrt() };
    2.0 * (1.0 - distrs::Normal::cdf(grows.abs().max(comes.abs()), 0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of 500 runs in which a trend is shown; each has 60 peaks in 60 blocks, whose size and rate grow by these factors.
    fn shown(growth: f64, more_often: f64) -> usize {
        let mut random = Random::new(3);
        let has_trend = |_: &u32| {
            let peak = |random: &mut Random| loop {
                let at = random.unit();
                if random.unit() * (1.0 + more_often) <= 1.0 + more_often * at {
                    let block = usize::try_from(units::round_u64((at * 60.0).floor())).unwrap_or(0);
                    return (random.unit() + growth * at, block);
                }
            };
            let peaks: Vec<(f64, usize)> = (0..60).map(|_| peak(&mut random)).collect();
            trend_p(&peaks, 60) < LEAST_TREND_P
        };
        (0..500).filter(has_trend).count()
    }

    #[test]
    fn a_trend_in_size_or_rate_is_detected() {
        // Two tests at 1 % each: 10 are expected, more than 22 have a chance of 0.1 %.
        assert!(shown(0.0, 0.0) <= 22, "{} of 500 without a trend", shown(0.0, 0.0));
        // The size grows by its own width over the run; the rate is ten times as high at its end.
        assert!(shown(1.0, 0.0) >= 495, "{} of 500 grow", shown(1.0, 0.0));
        assert!(shown(0.0, 9.0) >= 400, "{} of 500 come more often", shown(0.0, 9.0));
    }
}
