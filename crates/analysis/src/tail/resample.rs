//! Both fits of the tail, and the same fits to resampled blocks of intervals.
//!
//! The tail of the same intervals is estimated in two ways: from their maxima (GEV), and from their highest samples
//! over a threshold that three samples of an interval exceed on average (GPD). Resampling draws whole intervals with
//! all of their samples, in circular blocks of neighbors (Politis and Romano 1992), which preserves the correlation of
//! neighbors.

use super::blocks::Blocks;
use super::falling::Falling;
use super::lmoments::{LMoments, l_moments};
use super::{gev, gpd};
use crate::float;
use units::Random;

/// Mean number of samples of a block beyond the threshold. More would belong to the body, fewer would waste
/// information: with 60 blocks, three peaks per block reduce the standard error of the shape from 0.11 to 0.08.
const PEAKS_OF_A_BLOCK: f64 = 3.0;
/// Lower bound of the extremal index (clusters per peak).
const LEAST_EXTREMAL_INDEX: f64 = 0.02;

/// A sample over the threshold, with its excess (ns), how often it counts, and the index of its block.
#[derive(Clone, Copy, Debug)]
struct Peak {
    excess: f64,
    count: f64,
    block: usize,
}

/// Maxima and peaks sorted by size, so that each resample is one weighted pass.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    maxima: Vec<(f64, usize)>,
    peaks: Vec<Peak>,
    /// The threshold (ns) above which excesses are counted.
    pub(super) threshold: f64,
    /// The level (ns) at which the clustering of peaks is counted: a block exceeds it once on average. It is the
    /// threshold if that is exceeded less often.
    level: f64,
    /// A second threshold (ns), whose peaks check the first fit in place of the maxima; `None` if the maxima are
    /// fitted.
    higher: Option<f64>,
}

/// Both fits to one weighting of the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fits {
    /// The fit to the maxima of blocks, or to the peaks over a higher threshold if only the part above a body is
    /// fitted.
    pub(super) gev: Falling,
    /// Whether only the part above a body is fitted.
    pub(super) is_above_body: bool,
    /// The fit to the peaks over the threshold.
    pub(super) gpd: Falling,
    /// Clusters per peak (0 to 1).
    pub(super) extremal_index: f64,
}

impl Sample {
    /// All maxima, and the peaks over a threshold that three samples of a block exceed on average.
    pub(super) fn from_blocks(blocks: &Blocks) -> Self {
        Self::over(blocks, None)
    }

    /// The peaks over a threshold and those over a higher one (both in ns).
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

    /// Whether only the part above a body is fitted.
    pub(super) const fn is_above_body(&self) -> bool {
        self.higher.is_some()
    }

    /// Number of peaks over the threshold.
    pub(super) fn peaks(&self) -> f64 {
        self.peaks.iter().map(|peak| peak.count).sum()
    }

    /// The excesses (ns), each repeated as often as it counts.
    pub(super) fn excesses(&self) -> Vec<f64> {
        let times = |peak: &Peak| usize::try_from(units::round_u64(peak.count)).unwrap_or(0);
        self.peaks.iter().flat_map(|peak| std::iter::repeat_n(peak.excess, times(peak))).collect()
    }

    /// The fits with each block counted `weights` times; `None` if the remaining values do not vary.
    pub(super) fn fit(&self, weights: &[f64]) -> Option<Fits> {
        let weight = |block: usize| weights.get(block).copied().unwrap_or(0.0);
        let maxima: LMoments = l_moments(self.maxima.iter().map(|&(value, block)| (value, weight(block))))?;
        let blocks = maxima.count;
        // The tail beyond a threshold (ns) at or above the first one, with the number of peaks per block as its rate.
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
        // Without clusters, a share exp(-peaks per block) of the blocks stays below the level.
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

/// The fits to `resamples` resamples in blocks of `at_once` neighbors; resamples that cannot be fitted are left out.
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
