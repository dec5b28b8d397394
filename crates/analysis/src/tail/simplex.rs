//! The minimum of a function of a few variables, by the simplex method of Nelder and Mead (The Computer Journal 7,
//! 1965).

/// Maximum number of steps.
const MOST_STEPS: usize = 2_000;
/// The search ends when the relative difference between the best and the worst corner is at most this.
const CLOSE: f64 = 1e-13;

/// The point of the lowest cost, searched from `start` with first steps of the given sizes. A cost of NaN counts as
/// infinite.
pub(super) fn lowest<const N: usize>(start: [f64; N], steps: [f64; N], cost: impl Fn(&[f64; N]) -> f64) -> [f64; N] {
    let cost = |at: &[f64; N]| {
        let cost = cost(at);
        if cost.is_nan() { f64::INFINITY } else { cost }
    };
    let mut corners: Vec<([f64; N], f64)> = vec![(start, cost(&start))];
    for (axis, step) in steps.iter().enumerate() {
        let mut corner = start;
        corner[axis] += step;
        corners.push((corner, cost(&corner)));
    }
    for _ in 0..MOST_STEPS {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, second_worst, worst) = (corners[0], corners[N - 1], corners[N]);
        if (worst.1 - best.1).abs() <= CLOSE * (best.1.abs() + 1.0) {
            break;
        }
        let mut center = [0.0; N];
        for (corner, _) in &corners[..N] {
            center.iter_mut().zip(corner).for_each(|(center, at)| *center += at / crate::float(N));
        }
        let along = |factor: f64| {
            let mut at = center;
            at.iter_mut().zip(&worst.0).for_each(|(at, worst)| *at += factor * (*at - worst));
            (at, cost(&at))
        };
        let reflected = along(1.0);
        corners[N] = if reflected.1 < best.1 {
            let further = along(2.0);
            if further.1 < reflected.1 { further } else { reflected }
        } else if reflected.1 < second_worst.1 {
            reflected
        } else {
            let inside = along(if reflected.1 < worst.1 { 0.5 } else { -0.5 });
            if inside.1 < worst.1.min(reflected.1) {
                inside
            } else {
                for corner in corners.iter_mut().skip(1) {
                    corner.0.iter_mut().zip(&best.0).for_each(|(at, best)| *at = f64::midpoint(*at, *best));
                    corner.1 = cost(&corner.0);
                }
                continue;
            }
        };
    }
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    corners[0].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_curved_valley_is_found() {
        let found = lowest([-1.2, 1.0], [0.5, 0.5], |[x, y]| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2));
        assert!((found[0] - 1.0).abs() < 1e-5 && (found[1] - 1.0).abs() < 1e-5, "{found:?}");
    }
}
