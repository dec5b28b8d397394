//! The few places where an integer becomes a float or back.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_saturates() {
        assert_eq!(round_u64(2.5), 3);
        assert_eq!(round_u64(-7.0), 0);
        assert_eq!(round_u64(f64::NAN), 0);
        assert_eq!(round_u64(f64::INFINITY), u64::MAX);
    }
}
