//! What a comparison could have seen, and how much longer it takes to see less.

use distrs::Normal;

use super::document::Reach;

/// The share of true differences of the stated size that would be shown: the custom of the field.
const POWER: f64 = 0.8;
/// What is wanted where nobody says: this part of A's value.
const WANTED_PART: f64 = 0.05;

/// From the standard error of the difference, which blocks of intervals (or runs) gave.
///
/// A difference of (z(1 - level/2) + z(power)) standard errors is shown with that power (NIST/SEMATECH e-Handbook of
/// Statistical Methods, 7.2.2.2; van Belle, "Statistical Rules of Thumb", 2008, chapter 2). The error falls with the square
/// root of the time measured, so that seeing a difference of X takes (visible / X)² times as long. What was seen is not used
/// for it: the power computed from a result only repeats its p-value (Hoenig and Heisey, 2001).
pub(super) fn reach(
    name: &str,
    a_ns: f64,
    error_ns: f64,
    wanted_ns: Option<f64>,
    level: f64,
    step_ns: f64,
) -> Option<Reach> {
    // What is not larger than a step of the source is not shown, however long it takes.
    let wanted_ns = wanted_ns.unwrap_or(a_ns * WANTED_PART).max(step_ns);
    let factor = Normal::ppf(1.0 - level / 2.0, 0.0, 1.0) + Normal::ppf(POWER, 0.0, 1.0);
    let visible_ns = (factor * error_ns).max(step_ns);
    (wanted_ns > 0.0 && error_ns > 0.0).then(|| Reach {
        name: name.to_owned(),
        visible_ns: super::tenth(visible_ns),
        wanted_ns: super::tenth(wanted_ns),
        times_longer: super::tenth((visible_ns / wanted_ns).powi(2)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_difference_takes_four_times_as_long() {
        let found = reach("mean", 100_000.0, 1_000.0, None, 0.05, 0.0).unwrap();
        assert!((found.visible_ns - 2_801.6).abs() < 0.2, "{found:?}");
        let half = reach("mean", 100_000.0, 1_000.0, Some(found.visible_ns / 2.0), 0.05, 0.0).unwrap();
        assert!((half.times_longer - 4.0).abs() < 1e-9, "{half:?}");
        assert_eq!(reach("mean", 0.0, 1_000.0, None, 0.05, 0.0), None);
        let coarse = reach("mean", 100_000.0, 1_000.0, None, 0.05, 10_000.0).unwrap();
        assert_eq!((coarse.visible_ns, coarse.wanted_ns), (10_000.0, 10_000.0), "nothing below a step");
    }
}
