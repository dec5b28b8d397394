//! How far a difference would wander if the runs were taken again: whole pieces are drawn again, never samples.
//!
//! A sample is correlated with the one after it, so drawing samples would take ten thousand alike ones for ten thousand witnesses
//! and give intervals that are far too narrow. Instead, each resample draws runs within a group with replacement (where there
//! are several), and within each run blocks of neighboring pieces, on a circle: the circular block bootstrap (Politis and
//! Romano, in "Exploring the Limits of Bootstrap", 1992) inside a hierarchical one (Davison and Hinkley, "Bootstrap Methods
//! and their Application", 1997, section 3.8). Drawing on both levels errs to the wide side.
//! With few units the percentiles of a bootstrap are too narrow; they are stretched about the estimate by Student's factor
//! and by n / (n - 1) (Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015), and by
//! what is known to be left out between blocks.

use std::ops::Range;

use distrs::{Normal, StudentsT};

use super::table::{Quantity, Table};
use super::{CompareOptions, float};
use crate::dependence::Dependence;
use units::Random;

/// One side of the comparison inside a table.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Its pieces among the table's.
    pub(super) columns: Range<usize>,
    /// Pieces of each of its runs, counted from its own first.
    pub(super) runs: Vec<Range<usize>>,
}

impl Side {
    /// What varies freely: runs where there are several, blocks of pieces otherwise.
    pub(super) fn units(&self, block: usize) -> usize {
        if self.runs.len() > 1 { self.runs.len() } else { self.columns.len() / block }
    }

    /// Draws the side again: how often each piece was drawn.
    fn draw(&self, block: usize, random: &mut Random, weights: &mut [f64]) {
        weights.fill(0.0);
        for _ in 0..self.runs.len() {
            let drawn = if self.runs.len() > 1 { random.below(self.runs.len()) } else { 0 };
            let Some(run) = self.runs.get(drawn).cloned() else { continue };
            let mut left = run.len();
            while left > 0 {
                let start = random.below(run.len());
                for step in 0..block.min(left) {
                    weights[run.start + (start + step) % run.len()] += 1.0;
                }
                left = left.saturating_sub(block);
            }
        }
    }
}

/// How uncertain the difference of one quantity is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// Its interval, from the estimate: no more than 0 (ns).
    pub(super) below_ns: f64,
    /// Its interval, from the estimate: no less than 0 (ns).
    pub(super) above_ns: f64,
    /// Its standard error (ns), corrected for few units.
    pub(super) error_ns: f64,
}

/// Resamples both sides and returns the spread of B - A of each quantity; `None` where one side is a single unit, so that
/// nothing is known of how it varies.
pub(super) fn spreads(
    table: &Table,
    [a, b]: [&Side; 2],
    quantities: &[Quantity],
    dependence: &Dependence,
    CompareOptions { resamples, seed, level, .. }: &CompareOptions,
) -> Vec<Option<Spread>> {
    let block = dependence.block_pieces;
    let units = [a, b].map(|side| side.units(block));
    if units.iter().any(|&units| units < 2) {
        return vec![None; quantities.len()];
    }
    let mut random = Random::new(*seed);
    let mut weights = [a, b].map(|side| vec![0.0; side.columns.len()]);
    let mut drawn = vec![[Vec::new(), Vec::new()]; quantities.len()];
    for _ in 0..*resamples {
        for ((side, weights), of) in [a, b].into_iter().zip(&mut weights).zip(0..) {
            side.draw(block, &mut random, weights);
            for (quantity, values) in quantities.iter().zip(&mut drawn) {
                values[of].push(table.value(*quantity, &side.columns, weights).unwrap_or(0.0));
            }
        }
    }
    let once = [a, b].map(|side| vec![1.0; side.columns.len()]);
    quantities
        .iter()
        .zip(&drawn)
        .map(|(quantity, values)| {
            let estimate = |side: &Side, once: &[f64]| table.value(*quantity, &side.columns, once);
            let difference = estimate(b, &once[1])? - estimate(a, &once[0])?;
            Some(spread(values, units, [a, b].map(|side| left_out(side, dependence)), difference, *level))
        })
        .collect()
}

/// What blocks leave out of the variance of a single run; drawing whole runs leaves out nothing.
fn left_out(side: &Side, dependence: &Dependence) -> f64 {
    if side.runs.len() > 1 { 0.0 } else { dependence.left_out }
}

fn spread([a, b]: &[Vec<f64>; 2], units: [usize; 2], left_out: [f64; 2], difference: f64, level: f64) -> Spread {
    let parts: Vec<(f64, f64)> = [a, b]
        .into_iter()
        .zip(units)
        .zip(left_out)
        .map(|((values, units), left_out)| {
            let free = float(units) - 1.0;
            (variance(values) * float(units) / free / (1.0 - left_out), free)
        })
        .collect();
    let corrected: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let mut differences: Vec<f64> = b.iter().zip(a).map(|(b, a)| b - a).collect();
    let plain = variance(&differences);
    let stretch = if plain > 0.0 && corrected > 0.0 {
        // Welch and Satterthwaite's degrees of freedom.
        let freedom = corrected.powi(2) / parts.iter().map(|(variance, free)| variance.powi(2) / free).sum::<f64>();
        let tail = 1.0 - level / 2.0;
        StudentsT::ppf(tail, freedom) / Normal::ppf(tail, 0.0, 1.0) * (corrected / plain).sqrt()
    } else {
        1.0
    };
    differences.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = units::round_u64(share * float(differences.len().saturating_sub(1)));
        differences.get(usize::try_from(place).unwrap_or(0)).copied().unwrap_or(difference)
    };
    Spread {
        below_ns: ((at(level / 2.0) - difference) * stretch).min(0.0),
        above_ns: ((at(1.0 - level / 2.0) - difference) * stretch).max(0.0),
        error_ns: corrected.sqrt(),
    }
}

fn variance(values: &[f64]) -> f64 {
    let n = float(values.len());
    if n < 2.0 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}
