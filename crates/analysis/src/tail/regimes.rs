//! Whether all maxima have one distribution: a goodness-of-fit test.

use super::falling::Falling;
use super::gev;
use super::lmoments::l_moments;
use crate::float;
use units::Random;

/// 99 % of samples from one distribution have at most this distance (simulated for shapes of -0.4 to 0.4 and 40 to
/// 1,000 maxima). Up to 3 % of heavier tails exceed it, because their fit varies more; these should be refused anyway.
const MOST_DISTANCE: f64 = 0.76;
/// The fit by L-moments also varies more for tails with a smaller shape than this: with a shape of -1 and 64 maxima, 1
/// % of the distances exceed 2.8. Such tails are compared with simulated samples from their own fit.
const ABRUPT: f64 = -0.4;
/// Number of samples simulated from the fitted distribution.
const RUNS: u32 = 500;
/// Significance level of the comparison with these samples. At a level of 1 %, 30 % of two-component mixtures would
/// pass when the worse component is the more common one.
const LEVEL: f64 = 0.03;

/// Whether ascending maxima may all come from the distribution that was fitted to them. If that ends abruptly, at least
/// 3 % of samples from it must be as far from their own fits (a parametric bootstrap: Stute, Gonzalez Manteiga and
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

/// Anderson-Darling distance between ascending maxima and their fit.
fn distance(sorted: &[f64], fit: &Falling) -> f64 {
    let n = float(sorted.len());
    // A maximum just beyond the fit's upper bound does not prove another distribution: no value counts as rarer than one
    // in ten such runs.
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

    /// The number of 400 runs that are judged to have two distributions.
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
    fn maxima_of_one_distribution_are_misjudged_once_in_a_hundred_for_every_shape() {
        for shape in [-1.0, -0.7, -0.4, 0.0, 0.2, 0.3] {
            let truth = Falling { location: 10.0, scale: 2.0, shape, rate: 1.0 };
            for maxima in [40, 100] {
                let mistaken = mistaken(maxima, |random| truth.quantile(random.unit(), 1.0));
                // 4 are expected; more than 12 have a chance of 0.1 %.
                assert!(mistaken <= 12, "{mistaken} of 400, shape {shape}, {maxima} maxima");
            }
        }
    }

    #[test]
    fn a_mixture_of_two_distributions_is_detected() {
        let truth = Falling { location: 10.0, scale: 2.0, shape: 0.0, rate: 1.0 };
        // With few values from the worse distribution the fit has a long tail, with many an abrupt end.
        for share in [0.2, 0.75] {
            let found = mistaken(64, |random| {
                let worse = if random.unit() < share { 20.0 } else { 0.0 };
                truth.quantile(random.unit(), 1.0) + worse
            });
            assert!(found >= 360, "{found} of 400, {share} worse");
        }
    }
}
