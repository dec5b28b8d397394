//! Both fits, and both again for blocks of intervals that were drawn again.
//!
//! Two ways lead from the same intervals to one tail: their maxima (GEV), and their highest samples over a threshold that
//! three of an interval exceed on average (GPD). Whole intervals are drawn, with all of their samples, in blocks of neighbours
//! on a circle (Politis and Romano 1992), so that what is alike stays together.

use super::blocks::Blocks;
use super::falling::Falling;
use super::lmoments::{LMoments, l_moments};
use super::{gev, gpd};
use crate::float;
use units::Random;

/// Samples of a block beyond the threshold, on average. More would be of the body, fewer waste what is known: with 60 blocks
/// three bring the shape's standard error from 0.11 to 0.08.
const PEAKS_OF_A_BLOCK: f64 = 3.0;
/// How few clusters there can be at the least, as a part of the peaks.
const LEAST_EXTREMAL_INDEX: f64 = 0.02;

/// One peak over the threshold.
#[derive(Clone, Copy, Debug)]
struct Peak {
    excess: f64,
    count: f64,
    block: usize,
}

/// Maxima and peaks in the order of their size, ready to be weighted.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    maxima: Vec<(f64, usize)>,
    peaks: Vec<Peak>,
    /// What the excesses are counted from (ns).
    pub(super) threshold: f64,
    /// Exceeded once in a block on average, or the threshold where that is exceeded less often: where it is counted how peaks
    /// cluster.
    level: f64,
    /// A second threshold, by which the first is checked in place of the maxima (ns); absent where these are fitted.
    higher: Option<f64>,
}

/// Both fits to one weighting of the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fits {
    /// To the blocks' maxima; where only what lies above a body is fitted, to the peaks over a higher threshold.
    pub(super) gev: Falling,
    /// Whether that is so.
    pub(super) is_above_body: bool,
    /// To the peaks over the threshold.
    pub(super) gpd: Falling,
    /// Clusters to a peak, 0 to 1.
    pub(super) extremal_index: f64,
}

impl Sample {
    /// All maxima, and the peaks over a threshold that three of a block exceed on average.
    pub(super) fn of(blocks: &Blocks) -> Self {
        Self::over(blocks, None)
    }

    /// The peaks over a threshold, and those over a higher one (ns).
    pub(super) fn above(blocks: &Blocks, threshold: f64, higher: f64) -> Self {
        Self::over(blocks, Some((threshold, higher)))
    }

    fn over(blocks: &Blocks, thresholds: Option<(f64, f64)>) -> Self {
        let mut maxima: Vec<(f64, usize)> = blocks.maxima().into_iter().zip(0..).collect();
        maxima.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut highest: Vec<Peak> = Vec::new();
        for (block, number) in blocks.blocks.iter().zip(0..) {
            let peak = |&(value, count): &(u64, u64)| Peak {
                excess: units::approx_f64(value),
                count: units::approx_f64(count),
                block: number,
            };
            highest.extend(block.highest.iter().map(peak));
        }
        highest.sort_unstable_by(|a, b| b.excess.total_cmp(&a.excess));
        let beyond = |wanted: f64| {
            let mut seen = 0.0;
            let found = highest.iter().find(|peak| {
                seen += peak.count;
                seen > wanted
            });
            found.or(highest.last()).map_or(0.0, |peak| peak.excess)
        };
        let blocks = float(blocks.blocks.len());
        let level = beyond(blocks);
        let (threshold, level, higher) = match thresholds {
            None => (beyond(PEAKS_OF_A_BLOCK * blocks), level, None),
            Some((threshold, higher)) => (threshold, level.max(threshold), Some(higher)),
        };
        let above = highest.iter().filter(|peak| peak.excess > threshold);
        let peaks = above.rev().map(|peak| Peak { excess: peak.excess - threshold, ..*peak });
        Self { maxima, peaks: peaks.collect(), threshold, level, higher }
    }

    /// Whether only what lies above a body is fitted.
    pub(super) const fn is_above_body(&self) -> bool {
        self.higher.is_some()
    }

    /// Peaks that the second fit goes by.
    pub(super) fn peaks(&self) -> f64 {
        self.peaks.iter().map(|peak| peak.count).sum()
    }

    /// The excesses (ns), each as often as it counts.
    pub(super) fn excesses(&self) -> Vec<f64> {
        let times = |peak: &Peak| usize::try_from(units::round_u64(peak.count)).unwrap_or(0);
        self.peaks.iter().flat_map(|peak| std::iter::repeat_n(peak.excess, times(peak))).collect()
    }

    /// The fits where each block counts as often as `weights` says; `None` where what is left does not vary.
    pub(super) fn fit(&self, weights: &[f64]) -> Option<Fits> {
        let weight = |block: usize| weights.get(block).copied().unwrap_or(0.0);
        let maxima: LMoments = l_moments(self.maxima.iter().map(|&(value, block)| (value, weight(block))))?;
        let blocks = maxima.count;
        // Peaks over a threshold (ns) at or above the first: the tail beyond it, with how many there are in a block.
        let beyond = |threshold: f64| {
            let above = self.peaks.iter().map(|peak| (peak.excess + self.threshold - threshold, peak));
            let above = above.filter(|(excess, _)| *excess > 0.0);
            let excesses = l_moments(above.map(|(excess, peak)| (excess, peak.count * weight(peak.block))))?;
            let (scale, shape) = gpd::by_l_moments(&excesses)?;
            Some(Falling { location: threshold, scale, shape, rate: excesses.count / blocks })
        };
        let gpd = beyond(self.threshold)?;
        let gev = match self.higher {
            None => gev::by_l_moments(&maxima)?,
            Some(higher) => beyond(higher)?,
        };
        let level = self.level - self.threshold;
        let above = self.peaks.iter().rev().take_while(|peak| peak.excess > level);
        let peaks_above: f64 = above.map(|peak| peak.count * weight(peak.block)).sum();
        let within: f64 =
            self.maxima.iter().take_while(|(value, _)| *value <= self.level).map(|&(_, block)| weight(block)).sum();
        // Without clusters a share of exp(-peaks in a block) of the blocks stays below the level.
        let extremal_index = if within > 0.0 && peaks_above > 0.0 {
            (-(within / blocks).ln() / (peaks_above / blocks)).clamp(LEAST_EXTREMAL_INDEX, 1.0)
        } else {
            1.0
        };
        let gpd = Falling { rate: gpd.rate * extremal_index, ..gpd };
        let is_above_body = self.higher.is_some();
        let gev = if is_above_body { Falling { rate: gev.rate * extremal_index, ..gev } } else { gev };
        Some(Fits { gev, is_above_body, gpd, extremal_index })
    }
}

/// The fits to `resamples` drawings of blocks of `at_once` neighbours each; those that cannot be fitted are left out.
pub(super) fn resampled(sample: &Sample, blocks: &Blocks, at_once: usize, resamples: u32, seed: u64) -> Vec<Fits> {
    let mut random = Random::new(seed);
    let mut weights = vec![0.0; blocks.blocks.len()];
    let mut fits = Vec::with_capacity(usize::try_from(resamples).unwrap_or(0));
    for _ in 0..resamples {
        weights.fill(0.0);
        for run in &blocks.runs {
            let at_once = at_once.clamp(1, run.len().max(1));
            let mut left = run.len();
            while left > 0 {
                let start = random.below(run.len());
                for step in 0..at_once.min(left) {
                    weights[run.start + (start + step) % run.len()] += 1.0;
                }
                left = left.saturating_sub(at_once);
            }
        }
        fits.extend(sample.fit(&weights));
    }
    fits
}
