//! Whether the maxima are of one kind: how well the fitted distribution describes them.

use super::falling::Falling;
use crate::float;

/// Anderson and Darling's statistic beyond which a fit by L-moments describes maxima of one kind once in a hundred
/// (simulated for shapes of -0.4 to 0.4 and 40 to 1,000 maxima).
pub(super) const MOST_DISTANCE: f64 = 0.76;

/// Anderson and Darling's distance between ascending maxima and their fit.
pub(super) fn distance(sorted: &[f64], fit: &Falling) -> f64 {
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
    use crate::random::Random;
    use crate::tail::gev;
    use crate::tail::lmoments::l_moments;

    #[test]
    fn maxima_of_one_kind_are_mistaken_once_in_a_hundred() {
        for shape in [-0.4, 0.0, 0.2] {
            for n in [40_usize, 100, 500] {
                let truth = Falling { location: 10.0, scale: 2.0, shape, rate: 1.0 };
                let mut random = Random::new(7);
                let mistaken = (0..1_000)
                    .filter(|_| {
                        let mut unit = || (units::approx_f64(random.next() >> 11) + 0.5) / 9_007_199_254_740_992.0;
                        let mut maxima: Vec<f64> = (0..n).map(|_| truth.quantile(unit(), 1.0)).collect();
                        maxima.sort_unstable_by(f64::total_cmp);
                        let moments = l_moments(maxima.iter().map(|&value| (value, 1.0))).unwrap();
                        distance(&maxima, &gev::by_l_moments(&moments).unwrap()) > MOST_DISTANCE
                    })
                    .count();
                // Up to 3 % of heavier tails, where the fit itself wanders.
                assert!(mistaken <= 30, "{mistaken} of 1000, shape {shape}, {n} maxima");
            }
        }
    }
}
