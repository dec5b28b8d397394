//! Sample L-moments (Hosking, Journal of the Royal Statistical Society B 52, 1990), of values with weights.
//!
//! A resample of blocks has the same values with other weights, so values are sorted once and each resample is one pass.

/// The first three sample L-moments; the third is divided by the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LMoments {
    /// Number of values; each counts by its weight.
    pub(super) count: f64,
    /// The mean, the first L-moment.
    pub(super) mean: f64,
    /// The L-scale, the second L-moment.
    pub(super) scale: f64,
    /// L-skewness (-1 to 1), the third L-moment divided by the second.
    pub(super) skewness: f64,
}

/// The L-moments of ascending values with weights, by unbiased probability-weighted moments; `None` for fewer than three
/// values.
pub(super) fn l_moments(values: impl IntoIterator<Item = (f64, f64)>) -> Option<LMoments> {
    let (mut below, mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0, 0.0);
    for (value, weight) in values {
        if weight <= 0.0 {
            continue;
        }
        // Sums of the ranks `below` to `below + weight - 1` and of their squares.
        let places = weight * below + weight * (weight - 1.0) / 2.0;
        let squares = weight * below * below
            + below * weight * (weight - 1.0)
            + (weight - 1.0) * weight * (2.0 * weight - 1.0) / 6.0;
        b0 += weight * value;
        b1 += places * value;
        b2 += (squares - places) * value;
        below += weight;
    }
    let count: f64 = below;
    if count < 3.0 {
        return None;
    }
    b0 /= count;
    b1 /= count * (count - 1.0);
    b2 /= count * (count - 1.0) * (count - 2.0);
    let scale = 2.0 * b1 - b0;
    let skewness = if scale > 0.0 { (6.0 * b2 - 6.0 * b1 + b0) / scale } else { 0.0 };
    Some(LMoments { count, mean: b0, scale, skewness })
}

/// The gamma function for arguments above 0 (Lanczos's approximation with Godfrey's coefficients; to 1e-13).
pub(super) fn gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return std::f64::consts::PI / ((std::f64::consts::PI * x).sin() * gamma(1.0 - x));
    }
    let x = x - 1.0;
    let (mut sum, mut place) = (0.999_999_999_999_809_9, 0.0);
    for coefficient in COEFFICIENTS {
        place += 1.0;
        sum += coefficient / (x + place);
    }
    let t = x + 7.5;
    (2.0 * std::f64::consts::PI).sqrt() * t.powf(x + 0.5) * (-t).exp() * sum
}
