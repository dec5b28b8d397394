//! Comparison with results of SciPy; the README in this folder describes how they were made.

use serde_json::Value;

use crate::tail::falling::Falling;
use crate::tail::lmoments::{LMoments, gamma, l_moments};
use crate::tail::{gev, gpd, stationarity};

fn fixtures() -> Value {
    serde_json::from_str(include_str!("scipy.json")).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn sorted(case: &Value) -> Vec<f64> {
    let mut values = numbers(&case["values"]);
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn moments(values: &[f64]) -> LMoments {
    l_moments(values.iter().map(|&value| (value, 1.0))).unwrap()
}

#[track_caller]
fn close(ours: f64, theirs: f64, relative: f64) {
    assert!((ours - theirs).abs() <= relative * theirs.abs().max(1.0), "{ours} is not {theirs}");
}

#[test]
fn l_moments_and_the_gev_fitted_by_them_agree() {
    for case in fixtures()["gev"].as_array().unwrap() {
        let ours = moments(&sorted(case));
        let theirs = numbers(&case["l_moments"]);
        [ours.mean, ours.scale, ours.skewness].into_iter().zip(theirs).for_each(|(a, b)| close(a, b, 1e-10));
        let fit = gev::by_l_moments(&ours).unwrap();
        let theirs = numbers(&case["by_l_moments"]);
        [fit.location, fit.scale, fit.shape].into_iter().zip(theirs).for_each(|(a, b)| close(a, b, 1e-7));
        for pair in case["quantiles"].as_array().unwrap() {
            let pair = numbers(pair);
            close(fit.quantile(pair[0], 1.0), pair[1], 1e-6);
            close(fit.chance_within(pair[1], 1.0), pair[0], 1e-6);
        }
    }
}

#[test]
fn the_most_likely_gev_agrees_with_scipy_except_for_the_sign_of_the_shape() {
    for case in fixtures()["gev"].as_array().unwrap() {
        let values = sorted(case);
        let start = gev::by_l_moments(&moments(&values)).unwrap();
        let fit = gev::by_likelihood(&values, &start).unwrap();
        close(fit.shape, -number(&case["polished"]["c"]), 1e-4);
        close(fit.location, number(&case["polished"]["loc"]), 1e-5);
        close(fit.scale, number(&case["polished"]["scale"]), 1e-4);
        close(fit.shape, -number(&case["scipy_fit"]["c"]), 1e-3);
        // The shapes are not near 0, so a wrong sign would be noticed.
        assert!((fit.shape - number(&case["scipy_fit"]["c"])).abs() > 0.05);
        close(start.shape, fit.shape, 0.1);
    }
}

#[test]
fn the_gpd_agrees_by_l_moments_and_by_likelihood() {
    for case in fixtures()["gpd"].as_array().unwrap() {
        let values = sorted(case);
        let fit = gpd::by_l_moments(&moments(&values)).unwrap();
        let theirs = numbers(&case["by_l_moments"]);
        close(fit.0, theirs[0], 1e-9);
        close(fit.1, theirs[1], 1e-9);
        let likely = gpd::by_likelihood(&values, fit).unwrap();
        close(likely.0, number(&case["scipy_fit"]["scale"]), 1e-3);
        close(likely.1, number(&case["scipy_fit"]["c"]), 1e-3);
    }
}

#[test]
fn special_functions_agree() {
    for pair in fixtures()["gamma"].as_array().unwrap() {
        let pair = numbers(pair);
        close(gamma(pair[0]), pair[1], 1e-12);
    }
    for pair in fixtures()["kuiper"].as_array().unwrap() {
        let pair = numbers(pair);
        close(stationarity::beyond_range(pair[0]), pair[1], 1e-9);
    }
}

#[test]
fn a_weight_counts_as_repetitions_of_a_value() {
    let values = [(1.0, 2.0), (4.0, 1.0), (9.0, 3.0), (11.0, 0.0)];
    let repeated = [1.0, 1.0, 4.0, 9.0, 9.0, 9.0];
    let (weighted, plain) = (l_moments(values).unwrap(), moments(&repeated));
    close(weighted.mean, plain.mean, 1e-12);
    close(weighted.scale, plain.scale, 1e-12);
    close(weighted.skewness, plain.skewness, 1e-12);
}

/// Mean and L-scale of a distribution, integrated from its quantile function.
fn by_quantiles(quantile: impl Fn(f64) -> f64) -> (f64, f64) {
    let steps = 200_000_u32;
    let at = |step: u32| (f64::from(step) + 0.5) / f64::from(steps);
    let mean = |value: &dyn Fn(f64) -> f64| (0..steps).map(|step| value(at(step))).sum::<f64>() / f64::from(steps);
    (mean(&|u| quantile(u)), mean(&|u| quantile(u) * (2.0 * u - 1.0)))
}

#[test]
fn a_tail_with_a_limited_shape_keeps_its_mean_and_spread_and_ends_further_out() {
    for shape in [-0.9, -2.0, -0.6] {
        let tail = Falling { location: 50.0, scale: 4.0, shape, rate: 1.0 };
        let held = gev::held_at(-0.25, &tail).unwrap();
        assert_eq!(held.shape.to_bits(), (-0.25_f64).to_bits());
        let (before, after) = (by_quantiles(|u| tail.quantile(u, 1.0)), by_quantiles(|u| held.quantile(u, 1.0)));
        close(after.0, before.0, 1e-4);
        close(after.1, before.1, 1e-3);
        assert!(held.quantile(0.99, 1.0) > tail.quantile(0.99, 1.0));
        // For peaks, the rate and the mean excess beyond the level that a block exceeds once stay the same.
        let peaks = Falling { rate: 3.0, ..tail };
        let held = gpd::held_at(-0.25, &peaks);
        close(peaks.exceedances(held.location), 1.0, 1e-9);
        close(held.exceedances(held.location), 1.0, 1e-9);
        let excess = |tail: &Falling, u: f64| tail.quantile((u - 1.0).exp(), 1.0) - held.location;
        let mean = |tail: &Falling| by_quantiles(|u| excess(tail, u)).0;
        close(mean(&held), mean(&peaks), 1e-3);
        assert!(held.quantile(0.99, 9.0) > peaks.quantile(0.99, 9.0));
    }
}

#[test]
fn quantiles_and_probabilities_of_a_tail_are_inverse() {
    for shape in [-0.3, 0.0, 1e-9, 0.4] {
        let tail = Falling { location: 5.0, scale: 2.0, shape, rate: 3.0 };
        for chance in [0.05, 0.5, 0.95] {
            close(tail.chance_within(tail.quantile(chance, 40.0), 40.0), chance, 1e-9);
        }
    }
    // Nothing exceeds the upper bound of a tail, and the probability is defined beyond it.
    let bounded = Falling { location: 5.0, scale: 2.0, shape: -0.5, rate: 1.0 };
    close(bounded.chance_within(9.1, 1e12), 1.0, 1e-12);
}
