//! The 32-bit floating-point numbers of chronyd's command protocol.

/// Bits of the coefficient, its sign included.
const COEFFICIENT_BITS: u32 = 25;
/// Largest exponent on the wire; a number that does not fit is sent as the largest one.
const EXPONENT_MAX: i32 = 63;
/// Largest coefficient of a positive number.
const COEFFICIENT_MAX: u32 = (1 << (COEFFICIENT_BITS - 1)) - 1;
const NS_PER_S: u128 = 1_000_000_000;

/// A number as chronyd sends it: a signed exponent of 7 bits above a signed coefficient of 25 bits, without a hidden bit.
///
/// Its value is `coefficient * 2^(exponent - 25)`. Every such number is exactly a finite `f64`. chronyd rounds what it
/// sends, in part toward zero, so its own value can be larger in magnitude by almost one unit of the coefficient, which
/// is at most 1.2e-7 of the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WireFloat {
    bits: u32,
}

impl WireFloat {
    /// The number that these bits stand for. Every combination of bits is a number.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self { bits }
    }

    /// The bits as they stand in a message.
    #[must_use]
    pub const fn to_bits(self) -> u32 {
        self.bits
    }

    /// The exact value, in the unit of the field.
    #[must_use]
    pub fn value(self) -> f64 {
        let (coefficient, exponent) = self.parts();
        // A normal f64 for all exponents here, -89 to 38, so the product is exact.
        let biased = u64::try_from(1023 + exponent).unwrap_or(0);
        f64::from(coefficient) * f64::from_bits(biased << 52)
    }

    /// Coefficient, and the exponent that it is multiplied by two to.
    fn parts(self) -> (i32, i32) {
        let sign_extend = |value: u32, bits: u32| {
            let shift = 32 - bits;
            i32::from_be_bytes((value << shift).to_be_bytes()) >> shift
        };
        let coefficient = sign_extend(self.bits, COEFFICIENT_BITS);
        let exponent = sign_extend(self.bits >> COEFFICIENT_BITS, 32 - COEFFICIENT_BITS);
        (coefficient, exponent - 25)
    }

    /// Whether this is what chronyd sends for every magnitude that is too large for the format.
    fn is_saturated(self) -> bool {
        let (coefficient, exponent) = self.parts();
        exponent + 25 == EXPONENT_MAX && coefficient.unsigned_abs() >= COEFFICIENT_MAX
    }
}

/// A duration or an offset in seconds, as chronyd sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seconds(WireFloat);

impl Seconds {
    /// The duration that these bits stand for.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(WireFloat::from_bits(bits))
    }

    /// The number as it stands in the message.
    #[must_use]
    pub const fn wire(self) -> WireFloat {
        self.0
    }

    /// The exact value on the wire, in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0.value()
    }

    /// The value on the wire in nanoseconds, rounded to the nearest one, halves away from zero; `None` beyond the range of
    /// an `i64`, about 292 years.
    #[must_use]
    pub fn nearest_ns(self) -> Option<i64> {
        let (coefficient, exponent) = self.0.parts();
        let scaled = u128::from(coefficient.unsigned_abs()) * NS_PER_S;
        let magnitude = if exponent >= 0 {
            scaled << exponent.unsigned_abs()
        } else {
            let shift = exponent.unsigned_abs();
            (scaled + (1 << (shift - 1))) >> shift
        };
        let signed = i128::try_from(magnitude).ok()?;
        i64::try_from(if coefficient < 0 { -signed } else { signed }).ok()
    }

    /// A number of nanoseconds that the magnitude of chronyd's own value does not exceed, for use in a bound.
    ///
    /// Rounded away from zero, with one unit of the coefficient added for the rounding by which chronyd made this number.
    /// `None` where the number is too large for the format or for a `u64`.
    #[must_use]
    pub fn magnitude_upper_ns(self) -> Option<u64> {
        let (coefficient, exponent) = self.0.parts();
        if self.0.is_saturated() {
            return None;
        }
        // chronyd sends all bits zero for zero alone, and for magnitudes below 1e-100 s.
        if self.0.to_bits() == 0 {
            return Some(0);
        }
        let scaled = (u128::from(coefficient.unsigned_abs()) + 1) * NS_PER_S;
        let magnitude = if exponent >= 0 {
            scaled << exponent.unsigned_abs()
        } else {
            scaled.div_ceil(1 << exponent.unsigned_abs())
        };
        u64::try_from(magnitude).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(coefficient: i32, exponent: i32) -> u32 {
        let low = |value: i32, count: u32| u32::from_be_bytes(value.to_be_bytes()) & ((1 << count) - 1);
        low(exponent, 7) << 25 | low(coefficient, 25)
    }

    /// An encoder of our own, to go the way back: the coefficient is as long as the format allows and rounded to nearest.
    fn encode(value: f64) -> WireFloat {
        let limit = if value < 0.0 { 16_777_216.0 } else { 16_777_215.0 };
        for exponent in -64_i32..=63 {
            let coefficient = (value / (f64::from(exponent - 25)).exp2()).round();
            if coefficient.abs() <= limit {
                return WireFloat::from_bits(bits(format!("{coefficient}").parse().unwrap(), exponent));
            }
        }
        unreachable!("{value} is beyond the format")
    }

    #[test]
    fn numbers_have_the_values_of_their_parts() {
        for (coefficient, exponent, value) in [
            (0, 0, 0.0),
            (1, 25, 1.0),
            (-1, 25, -1.0),
            (1 << 23, 2, 1.0),
            (16_777_215, 63, 16_777_215.0 * 2f64.powi(38)),
            (-16_777_216, 63, -(2f64.powi(62))),
            (1, -64, 2f64.powi(-89)),
            (-16_777_216, -64, -(2f64.powi(-65))),
        ] {
            let decoded = WireFloat::from_bits(bits(coefficient, exponent)).value();
            assert_eq!(decoded.to_bits(), f64::to_bits(value), "{coefficient} {exponent}: {decoded}");
        }
    }

    #[test]
    fn bounds_hold_what_chronyd_cut_off() {
        // One second as chronyd writes it: coefficient 2^23, exponent 2.
        let second = Seconds::from_bits(bits(1 << 23, 2));
        assert_eq!(second.nearest_ns(), Some(1_000_000_000));
        // One unit of the coefficient is 2^-23 s, 119.2 ns.
        assert_eq!(second.magnitude_upper_ns(), Some(1_000_000_120));
        assert_eq!(Seconds::from_bits(bits(-(1 << 23), 2)).magnitude_upper_ns(), Some(1_000_000_120));
        assert_eq!(Seconds::default().magnitude_upper_ns(), Some(0));
        assert_eq!(Seconds::from_bits(bits(0, -64)).magnitude_upper_ns(), Some(1));
        assert_eq!(Seconds::from_bits(bits(16_777_215, 63)).magnitude_upper_ns(), None);
        assert_eq!(Seconds::from_bits(bits(-16_777_216, 63)).magnitude_upper_ns(), None);
        assert_eq!(Seconds::from_bits(bits(16_777_215, 50)).nearest_ns(), None);
    }

    #[test]
    fn halves_of_a_nanosecond_round_away_from_zero() {
        // 2^-9 s is 1953125 ns, and 2^-10 s is 976562.5 ns.
        assert_eq!(Seconds::from_bits(bits(1, 25 - 9)).nearest_ns(), Some(1_953_125));
        assert_eq!(Seconds::from_bits(bits(1, 25 - 10)).nearest_ns(), Some(976_563));
        assert_eq!(Seconds::from_bits(bits(-1, 25 - 10)).nearest_ns(), Some(-976_563));
    }

    proptest! {
        #[test]
        fn every_number_comes_back(bits: u32) {
            let number = WireFloat::from_bits(bits);
            prop_assert!(number.value().is_finite());
            prop_assert_eq!(encode(number.value()).value().to_bits(), (number.value() + 0.0).to_bits());
        }

        #[test]
        fn larger_numbers_are_more_nanoseconds(a: u32, b: u32) {
            let (a, b) = (Seconds::from_bits(a), Seconds::from_bits(b));
            let (less, more) = if a.seconds() <= b.seconds() { (a, b) } else { (b, a) };
            if let (Some(less), Some(more)) = (less.nearest_ns(), more.nearest_ns()) {
                prop_assert!(less <= more);
            }
        }

        #[test]
        fn an_upper_bound_is_above_the_nearest_and_within_the_format_of_it(bits: u32) {
            let number = Seconds::from_bits(bits);
            if let (Some(nearest), Some(upper)) = (number.nearest_ns(), number.magnitude_upper_ns()) {
                prop_assert!(nearest.unsigned_abs() <= upper);
                // One nanosecond for the rounding up, and 2^-52 of the value for the arithmetic here.
                let value_ns = number.seconds().abs() * 1e9;
                prop_assert!(upper.to_string().parse::<f64>().unwrap() >= value_ns * (1.0 - 2.0 * f64::EPSILON));
            }
        }

        /// At worst chronyd drops all that is below the coefficient, so its value is anything up to the next one.
        #[test]
        fn the_bound_is_above_the_value_that_chronyd_had(coefficient in 1_i32..=16_777_215, exponent in -40_i32..=12) {
            let sent = Seconds::from_bits(bits(coefficient, exponent));
            let next = u128::from(coefficient.unsigned_abs()) + 1;
            let largest_ns = (next * 1_000_000_000 - 1) >> (25 - exponent);
            let upper_ns = u128::from(sent.magnitude_upper_ns().unwrap());
            prop_assert!(upper_ns >= largest_ns && upper_ns <= largest_ns + 1, "{upper_ns} {largest_ns}");
        }
    }
}
