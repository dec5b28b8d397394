//! A threshold above the body: where all maxima together are of several kinds, and what lies above some value is of one.
//!
//! A delay of bounded size that comes about once an interval is the most common disturbance of real machines. Some intervals
//! hold it and others do not, so that no one distribution describes the maxima, and a threshold in the body sees a tail that
//! seems to have no end. From the lowest threshold on at which both the shape and the worst case that follows stay the same
//! for all higher ones, the rest can be fitted by itself (threshold stability: Davison and Smith, Journal of the Royal
//! Statistical Society B 52, 1990).

use super::blocks::Blocks;
use super::falling::Falling;
use super::gpd;
use super::lmoments::l_moments;
use super::prediction::Prediction;
use super::resample::{Fits, Sample, resampled};
use super::stationarity;
use crate::float;
use units::Random;

/// Peaks, and blocks that they come from, that a fit takes at the least.
const LEAST_PEAKS: usize = 30;
const LEAST_FROM: usize = 20;
/// Thresholds that are tried at the most.
const MOST_TRIED: usize = 5;
/// How many times as far beyond the threshold as the worst that was seen an answer may reach. What ends abruptly is told with
/// 2.5 times of it, where it is well known.
pub(super) const MOST_REACH: f64 = 4.0;
/// From one threshold to the next the peaks become fewer by this factor.
const FEWER: f64 = 0.85;
/// The higher threshold of the two that have to agree leaves this part of the peaks.
const HIGHER: f64 = 0.5;
/// Runs of the fitted distribution that its distance is held against, and the share of them that has to be as far away.
const RUNS: u32 = 200;
const LEVEL: f64 = 0.05;
/// The shape may be this at the most, with 95 % confidence, and above the higher threshold no more than 0: what is fitted above a
/// body has an end, and is seen to have it. Of mixtures of two exponential kinds 10 of 100 were answered with 0 in its place,
/// and 3 of these 10 too low.
const MOST_SHAPE: f64 = -0.2;
/// A change of what lies above the threshold is shown below this chance of its being none.
const LEAST_CHANGE_P: f64 = 0.04;
/// A trend of it is shown below this chance of its being none.
const LEAST_TREND_P: f64 = 0.01;
/// The time that thresholds have to agree about, in lengths of the run.
const TIMES: f64 = 10.0;

/// What a fit goes by, and the fit.
pub(super) type Fitted = (Sample, Fits, Vec<Fits>);

/// How to resample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resampling {
    /// Neighbouring blocks that are drawn together.
    pub(super) at_once: usize,
    /// Number of peaks.
    pub(super) resamples: u32,
    /// Where the random numbers begin.
    pub(super) seed: u64,
}

/// The fit above the lowest stable threshold; `None` where there is none.
pub(super) fn above_body(blocks: &Blocks, how: Resampling) -> Option<Fitted> {
    let mut peaks: Vec<(f64, usize)> = Vec::new();
    for (block, number) in blocks.blocks.iter().zip(0..) {
        let of_block = block.highest.iter().flat_map(|&(value, count)| {
            std::iter::repeat_n((units::approx_f64(value), number), usize::try_from(count).unwrap_or(0))
        });
        peaks.extend(of_block);
    }
    peaks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut random = Random::new(how.seed);
    peaks.truncate(blocks.blocks.len().saturating_mul(3));
    // Just above the lowest one a few values of the body can still be among the peaks.
    let counts = stable(&peaks, LEAST_FROM, &mut random);
    counts.into_iter().rev().take(MOST_TRIED).find_map(|count| fitted(blocks, &peaks, count, how))
}

/// The fit of so many of descending peaks, where what lies above stays the same, ends, and agrees with a higher threshold.
fn fitted(blocks: &Blocks, peaks: &[(f64, usize)], count: usize, how: Resampling) -> Option<Fitted> {
    let [threshold, higher] = [1.0, HIGHER].map(|part| {
        let place = usize::try_from(units::round_u64(float(count) * part)).unwrap_or(0);
        peaks.get(place).map_or(0.0, |peak| peak.0)
    });
    if !stays(peaks, threshold, blocks.blocks.len()) {
        return None;
    }
    let sample = Sample::above(blocks, threshold, higher);
    let centre = sample.fit(&vec![1.0; blocks.blocks.len()])?;
    let fits = resampled(&sample, blocks, how.at_once, how.resamples, how.seed);
    let most = |shape: fn(&Fits) -> f64| super::judge::shape_bounds(&fits, shape).1;
    let is_bounded = most(|fits| fits.gpd.shape) < MOST_SHAPE && most(|fits| fits.gev.shape) < 0.0;
    if float(fits.len()) < 0.9 * f64::from(how.resamples) || !is_bounded {
        return None;
    }
    let expected = Prediction::new(&centre, &fits, 1.0, 1.0).expected(TIMES * float(blocks.blocks.len()), 0.9);
    let [[low, typical, high], [other_low, other, other_high]] = expected.each;
    let agree = (low..=high).contains(&other) || (other_low..=other_high).contains(&typical);
    let worst = peaks.first().map_or(0.0, |peak| peak.0);
    let is_wide = expected.high - threshold > MOST_REACH * (worst - threshold);
    (agree && !is_wide).then_some((sample, centre, fits))
}

/// How many of descending peaks lie above each threshold at which they, and those above all higher ones, are of one kind and
/// come from so many blocks; the fewest first.
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

/// Peaks above each threshold, the fewest first.
fn counts(most: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut count = float(most);
    while count >= float(LEAST_PEAKS) {
        counts.push(usize::try_from(units::round_u64(count)).unwrap_or(0));
        count *= FEWER;
    }
    // The exact number of a disturbance lies between two steps: the smallest one is sought from below.
    counts.reverse();
    counts
}

/// Whether descending peaks above the last of them may all be of the generalised Pareto distribution that is fitted to them:
/// its distance from them against that of runs of it from their own fits.
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

/// Anderson and Darling's distance between ascending excesses and their distribution.
fn distance(ascending: &[f64], of: &Falling) -> f64 {
    let n = float(ascending.len());
    let rarest = 0.1 / n.max(1.0);
    let within = |x: f64| (1.0 - of.exceedances(x)).clamp(rarest, 1.0 - rarest);
    let sum: f64 = ascending
        .iter()
        .zip(ascending.iter().rev())
        .zip(0..)
        .map(|((&low, &high), at)| (2.0 * float(at) + 1.0) * (within(low).ln() + (1.0 - within(high)).ln()))
        .sum();
    -n - sum / n
}

/// Whether neither the size of what lies above the threshold nor how often it comes changes over the run.
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

/// The chance that peaks which are independent of the time grow or shrink, or come more or less often, as steadily as these
/// do: the lesser one of the rank correlation of size and time and of the mean place in time, in normal approximation.
/// A steady trend makes neighbours alike, and so hides from a test that takes likeness for granted, as the one for changes does.
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

    /// Of 500 runs of 60 peaks in 60 blocks whose size and rate grow so much, those in which a trend is shown.
    fn shown(growth: f64, more_often: f64) -> usize {
        let mut random = Random::new(3);
        let of_run = |_: &u32| {
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
        (0..500).filter(of_run).count()
    }

    #[test]
    fn a_disturbance_that_grows_or_comes_more_often_is_told_from_one_that_does_not() {
        // Two tests at 1 % each: 10 are expected, 22 come once in a thousand times.
        assert!(shown(0.0, 0.0) <= 22, "{} of 500 without a trend", shown(0.0, 0.0));
        // Grown by its own width over the run, and come ten times as often at its end.
        assert!(shown(1.0, 0.0) >= 495, "{} of 500 grow", shown(1.0, 0.0));
        assert!(shown(0.0, 9.0) >= 400, "{} of 500 come more often", shown(0.0, 9.0));
    }
}
