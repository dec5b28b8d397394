//! Whether the maxima are of one kind: how well the fitted distribution describes them.

use super::falling::Falling;
use super::gev;
use super::lmoments::l_moments;
use crate::float;
use units::Random;

/// The greatest distance of maxima of one kind, but for one in a hundred (simulated for shapes of -0.4 to 0.4 and 40 to 1,000
/// maxima; up to 3 % of heavier tails, where the fit itself wanders, and which are to be refused rather than not).
const MOST_DISTANCE: f64 = 0.76;
/// Of tails that end more abruptly than this the fit by L-moments wanders as well (of a shape of -1 and 64 maxima one in a
/// hundred is 2.8 away), so that they are held against runs of their own kind.
const ABRUPT: f64 = -0.4;
/// Runs of the fitted distribution.
const RUNS: u32 = 500;
/// The share of them that has to be as far away: with one in a hundred, three in ten mixtures of two kinds whose worse one is
/// the common one would pass.
const LEVEL: f64 = 0.03;

/// Whether ascending maxima may all be of the distribution that was fitted to them. Where it ends abruptly: at least three in
/// a hundred runs of it, fitted in the same way, is as far from its own fit (a parametric bootstrap: Stute, Gonzalez Manteiga and
/// Presedo Quindimil, Metrika 40, 1993).
pub(super) fn is_one_kind(sorted: &[f64], fit: &Falling, seed: u64) -> bool {
    let seen = distance(sorted, fit);
    if seen <= MOST_DISTANCE || fit.shape >= ABRUPT {
        return seen <= MOST_DISTANCE;
    }
    let mut random = Random::new(seed);
    let mut drawn = vec![0.0; sorted.len()];
    let as_far = (0..RUNS).filter(|_| {
        drawn.fill_with(|| fit.quantile(random.unit(), 1.0));
        drawn.sort_unstable_by(f64::total_cmp);
        let own = l_moments(drawn.iter().map(|&value| (value, 1.0))).and_then(|moments| gev::by_l_moments(&moments));
        own.is_some_and(|own| distance(&drawn, &own) >= seen)
    });
    float(as_far.count()) >= LEVEL * f64::from(RUNS)
}

/// Anderson and Darling's distance between ascending maxima and their fit.
fn distance(sorted: &[f64], fit: &Falling) -> f64 {
    let n = float(sorted.len());
    // A maximum just beyond the fit's bound is no sign of another kind: none counts as rarer than one in ten such runs.
    let rarest = 0.1 / n.max(1.0);
    let chance = |x: f64| fit.chance_within(x, 1.0).clamp(rarest, 1.0 - rarest);
    let sum: f64 = sorted
        .iter()
        .zip(sorted.iter().rev())
        .zip(0..)
        .map(|((&low, &high), at)| (2.0 * float(at) + 1.0) * (chance(low).ln() + (1.0 - chance(high)).ln()))
        .sum();
    -n - sum / n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 400 runs, those that are said to be of two kinds.
    fn mistaken(maxima: usize, mut draw: impl FnMut(&mut Random) -> f64) -> usize {
        let mut random = Random::new(7);
        let of_two_kinds = |_: &u64| {
            let mut maxima: Vec<f64> = (0..maxima).map(|_| draw(&mut random)).collect();
            maxima.sort_unstable_by(f64::total_cmp);
            let moments = l_moments(maxima.iter().map(|&value| (value, 1.0))).unwrap();
            !is_one_kind(&maxima, &gev::by_l_moments(&moments).unwrap(), 1)
        };
        (0..400_u64).filter(of_two_kinds).count()
    }

    #[test]
    fn maxima_of_one_kind_are_mistaken_once_in_a_hundred_whatever_their_shape() {
        for shape in [-1.0, -0.7, -0.4, 0.0, 0.2, 0.3] {
            let truth = Falling { location: 10.0, scale: 2.0, shape, rate: 1.0 };
            for maxima in [40, 100] {
                let mistaken = mistaken(maxima, |random| truth.quantile(random.unit(), 1.0));
                // 4 are expected; 12 come once in a thousand.
                assert!(mistaken <= 12, "{mistaken} of 400, shape {shape}, {maxima} maxima");
            }
        }
    }

    #[test]
    fn two_kinds_are_told_apart() {
        let truth = Falling { location: 10.0, scale: 2.0, shape: 0.0, rate: 1.0 };
        // With few worse ones the fit has a long tail, with many an abrupt end.
        for share in [0.2, 0.75] {
            let found = mistaken(64, |random| {
                let worse = if random.unit() < share { 20.0 } else { 0.0 };
                truth.quantile(random.unit(), 1.0) + worse
            });
            assert!(found >= 360, "{found} of 400, {share} worse");
        }
    }
}
