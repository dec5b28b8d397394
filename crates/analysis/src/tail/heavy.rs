//! Whether a tail falls so slowly that no bound of it can be relied on.

use units::{approx_f64, round_u64};

use super::judge::MOST_LONGER;
use super::refusal::{Refusal, RefusalCode, more_words};
use super::resample::Fits;
use crate::float;

/// The shape that the tail may have at the most, with 95 % confidence; from 0.5 on a distribution has no variance, and the
/// worst case of ten times as long is three times as bad.
const MOST_SHAPE: f64 = 0.45;
/// A shape from here on comes so near to the most that is answered that more hours would not bring it below.
const MOST_SHAPE_TO_WAIT: f64 = 0.3;
/// The middle 90 % of the resamples' shapes lie between these shares of them.
const SHAPE_BOUNDS: (f64, f64) = (0.05, 0.95);

/// The refusal of a heavy tail, with the shape that decides; `None` if both fits' shapes are below the limit.
pub(super) fn heavy(center: &Fits, resamples: &[Fits], measured_ns: u64) -> Option<Refusal> {
    let upper = shape_bounds(resamples, |fits| fits.gpd.shape).1;
    let shape = center.gpd.shape;
    if upper < MOST_SHAPE && center.gev.shape < MOST_SHAPE {
        return None;
    }
    let spread = upper - shape;
    let times = (spread / (MOST_SHAPE - shape)).powi(2);
    let more_ns = (shape < MOST_SHAPE_TO_WAIT && center.gev.shape < MOST_SHAPE && times <= MOST_LONGER)
        .then(|| round_u64(approx_f64(measured_ns) * (times - 1.0)));
    let other = if center.is_above_body { "the peaks above the higher threshold" } else { "the interval maxima" };
    let of_peaks = format!("the shape of the peaks is {shape:.2}, and up to {upper:.2} with 95 % confidence");
    let of_other = format!("the shape of {other} is {:.2}", center.gev.shape);
    // What is below the limit is no reason, and named only where it shows that the two fits differ.
    let decides = match (upper >= MOST_SHAPE, center.gev.shape >= MOST_SHAPE) {
        (true, true) => format!("{of_peaks}; {of_other}"),
        (true, false) => of_peaks,
        (false, _) => format!("{of_other}, though that of the peaks is {shape:.2}"),
    };
    let never = if upper >= MOST_SHAPE {
        "More hours would bring worse cases, not an answer: find what makes the worst of them."
    } else {
        "Whether more hours would bring an answer is unknown, since the two fits differ: find what makes the worst of them."
    };
    Some(Refusal {
        code: RefusalCode::HeavyTail,
        reason: format!(
            "The tail falls so slowly that no bound can be relied on: {decides}, and only shapes below {MOST_SHAPE} are \
             answered."
        ),
        remedy: more_words(more_ns, never),
        more_ns,
    })
}

/// The middle 90 % of a shape over all resamples.
pub(super) fn shape_bounds(resamples: &[Fits], shape: impl Fn(&Fits) -> f64) -> (f64, f64) {
    let mut shapes: Vec<f64> = resamples.iter().map(shape).collect();
    shapes.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = usize::try_from(round_u64(share * float(shapes.len().saturating_sub(1)))).unwrap_or(0);
        shapes.get(place).copied().unwrap_or(0.0)
    };
    (at(SHAPE_BOUNDS.0), at(SHAPE_BOUNDS.1))
}

#[cfg(test)]
mod tests {
    use super::super::falling::Falling;
    use super::*;

    fn fits(gev_shape: f64, gpd_shape: f64) -> Fits {
        let falling = |shape| Falling { location: 20_000.0, scale: 1_000.0, shape, rate: 1.0 };
        Fits { gev: falling(gev_shape), gpd: falling(gpd_shape), is_above_body: false, extremal_index: 1.0 }
    }

    #[test]
    fn a_heavy_tail_is_refused_with_the_figure_that_decides() {
        let refuse = |gev, gpd, upper| heavy(&fits(gev, gpd), &vec![fits(gev, upper); 60], 3_600_000_000_000);
        assert_eq!(refuse(0.44, -0.10, 0.36), None);
        let maxima = refuse(0.46, -0.10, 0.36).unwrap();
        assert!(maxima.reason.contains("the shape of the interval maxima is 0.46, though"), "{}", maxima.reason);
        assert!(!maxima.reason.contains("0.36") && maxima.remedy.contains("unknown"), "{}", maxima.words());
        let peaks = refuse(0.30, 0.35, 0.60).unwrap();
        assert!(peaks.reason.contains("the shape of the peaks is 0.35, and up to 0.60"), "{}", peaks.reason);
        assert!(!peaks.reason.contains("maxima"), "{}", peaks.reason);
        let both = refuse(0.50, 0.52, 0.60).unwrap();
        assert!(both.reason.contains("up to 0.60") && both.reason.contains("maxima is 0.50"), "{}", both.reason);
    }
}
