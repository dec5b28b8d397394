//! The few places where an integer becomes a float or back, and sums that a file may drive beyond bounds.

/// The nearest `f64`: exact up to 2^53 (104 days in nanoseconds), then rounded to 53 bits.
///
/// For statistics and drawing; a number that is stored or compared stays an integer.
#[must_use]
pub fn approx_f64(value: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the purpose of this function; the loss is documented")]
    let approximate = value as f64;
    approximate
}

/// As [`approx_f64`], for signed values.
#[must_use]
pub fn approx_f64_i64(value: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the purpose of this function; the loss is documented")]
    let approximate = value as f64;
    approximate
}

/// The nearest integer; negative and not-a-number become 0, too large becomes `u64::MAX`.
#[must_use]
pub fn round_u64(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is what is documented"
    )]
    let rounded = value.round() as u64;
    rounded
}

/// The nearest integer; the lowest or highest one where the number is beyond it, and 0 for what is no number.
#[allow(clippy::cast_possible_truncation, reason = "the conversion saturates, which is what the caller is promised")]
#[must_use]
pub fn round_i64(value: f64) -> i64 {
    value.round() as i64
}

/// The number; the lowest or highest one of 64 bits where it is beyond them.
#[must_use]
pub fn clamp_i64(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// The sum, `u64::MAX` where it would exceed that.
///
/// For numbers out of a file, which can be anything; a sum of ours never comes near.
#[must_use]
pub fn total(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_saturates() {
        assert_eq!(total([1, 2, 3]), 6);
        assert_eq!(total([u64::MAX, 1, 7]), u64::MAX);
    }

    #[test]
    fn rounding_saturates() {
        assert_eq!(round_u64(2.5), 3);
        assert_eq!(round_u64(-7.0), 0);
        assert_eq!(round_u64(f64::NAN), 0);
        assert_eq!(round_u64(f64::INFINITY), u64::MAX);
    }
}
