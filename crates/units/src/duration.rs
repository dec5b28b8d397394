//! A signed span of time in nanoseconds, and how people write it.

use std::fmt;
use std::ops::Neg;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A span of time in nanoseconds, signed: about ±292 years.
///
/// Arithmetic is checked, since a saturated measurement would be a wrong one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Ns(pub i64);

impl Ns {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A duration of whole microseconds.
    #[must_use]
    pub const fn from_us(us: i64) -> Self {
        Self(us * 1_000)
    }

    /// A duration of whole milliseconds.
    #[must_use]
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A duration of whole seconds.
    #[must_use]
    pub const fn from_s(s: i64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// The count of nanoseconds, or 0 where the span is negative.
    #[must_use]
    pub fn unsigned(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// The sum, or `None` on overflow.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference, or `None` on overflow.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// As a standard duration; negative becomes zero.
    #[must_use]
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.unsigned())
    }
}

impl Neg for Ns {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl fmt::Display for Ns {
    /// The exact value in the largest unit that divides it, in the form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, size) in UNITS_EXACT {
            if self.0 % size == 0 && self.0 != 0 {
                return write!(f, "{}{unit}", self.0 / size);
            }
        }
        write!(f, "{}ns", self.0)
    }
}

const UNITS_EXACT: [(&str, i64); 5] =
    [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Nothing was written.
    #[error("a duration is missing: write for example 100us, 5ms, 60s, 10m, 1h30m")]
    Empty,
    /// A number without a unit could mean anything.
    #[error("'{0}' has no unit: write {0}us, {0}ms or {0}s (ns, us, ms, s, m, h, d are known)")]
    NoUnit(String),
    /// The unit is not known.
    #[error("'{unit}' in '{text}' is not a unit of time: ns, us, ms, s, m, h and d are")]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// The part that was taken for a unit.
        unit: String,
    },
    /// The number cannot be read.
    #[error("'{0}' is not a duration: write for example 100us, 1.5ms, 60s, 10m, 1h30m")]
    NotANumber(String),
    /// More than the 292 years that 63 bits of nanoseconds hold, or finer than a nanosecond.
    #[error("'{0}' is out of range: a duration lies between 1ns and 292 years")]
    OutOfRange(String),
}

impl FromStr for Ns {
    type Err = DurationError;

    /// Reads `100us`, `1.5ms`, `60s`, `1h30m`; exact in integers, negative with a leading `-`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let (negative, mut rest) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, trimmed),
        };
        if rest.is_empty() {
            return Err(DurationError::Empty);
        }
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let number_len = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, after) = rest.split_at(number_len);
            let unit_len = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
            let (unit, next) = after.split_at(unit_len);
            if number.is_empty() {
                return Err(DurationError::NotANumber(text.to_owned()));
            }
            let size: i64 = match unit.trim() {
                "" if number == "0" && total == 0 => 1,
                "" => return Err(DurationError::NoUnit(text.to_owned())),
                "ns" => 1,
                "us" | "µs" | "μs" => 1_000,
                "ms" => 1_000_000,
                "s" | "sec" => 1_000_000_000,
                "m" | "min" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "d" => 86_400_000_000_000,
                other => {
                    return Err(DurationError::UnknownUnit { text: text.to_owned(), unit: other.to_owned() });
                }
            };
            let part = scaled(number, size).map_err(|kind| match kind {
                Scale::NotANumber => DurationError::NotANumber(text.to_owned()),
                Scale::OutOfRange => DurationError::OutOfRange(text.to_owned()),
            })?;
            total = total.checked_add(part).ok_or_else(|| DurationError::OutOfRange(text.to_owned()))?;
            rest = next.trim_start();
        }
        // The lowest value has no positive twin, hence the sign before the conversion.
        i64::try_from(if negative { -total } else { total })
            .map(Self)
            .map_err(|_| DurationError::OutOfRange(text.to_owned()))
    }
}

enum Scale {
    NotANumber,
    OutOfRange,
}

/// `number` (decimal digits with at most one point) times `size`, exact.
fn scaled(number: &str, size: i64) -> Result<i128, Scale> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(Scale::NotANumber);
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Scale::OutOfRange)? };
    let fraction = fraction.trim_end_matches('0');
    let (fraction_value, fraction_size): (i128, i128) = if fraction.is_empty() {
        (0, 1)
    } else if fraction.len() > 18 {
        return Err(Scale::OutOfRange);
    } else {
        let digits = u32::try_from(fraction.len()).map_err(|_| Scale::OutOfRange)?;
        (fraction.parse().map_err(|_| Scale::NotANumber)?, 10_i128.pow(digits))
    };
    let size = i128::from(size);
    let fraction_scaled = fraction_value * size;
    if fraction_scaled % fraction_size != 0 {
        return Err(Scale::OutOfRange);
    }
    whole
        .checked_mul(size)
        .and_then(|value| value.checked_add(fraction_scaled / fraction_size))
        .ok_or(Scale::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected_ns: i64) {
        assert_eq!(text.parse::<Ns>(), Ok(Ns(expected_ns)), "{text}");
    }

    #[test]
    fn reads_what_people_write() {
        check("100us", 100_000);
        check("1.5ms", 1_500_000);
        check("0.5us", 500);
        check("1h30m", 5_400_000_000_000);
        check("5 h 33 min", 19_980_000_000_000);
        check("0", 0);
        check("-3us", -3_000);
        check("7µs", 7_000);
    }

    #[test]
    fn refuses_with_the_remedy() {
        assert_eq!("100".parse::<Ns>(), Err(DurationError::NoUnit("100".into())));
        assert!(matches!("1x".parse::<Ns>(), Err(DurationError::UnknownUnit { .. })));
        assert!(matches!("".parse::<Ns>(), Err(DurationError::Empty)));
        assert!(matches!("us".parse::<Ns>(), Err(DurationError::NotANumber(_))));
        assert!(matches!("1.2.3us".parse::<Ns>(), Err(DurationError::NotANumber(_))));
        assert!(matches!("0.5ns".parse::<Ns>(), Err(DurationError::OutOfRange(_))));
        assert!(matches!("99999999999h".parse::<Ns>(), Err(DurationError::OutOfRange(_))));
    }

    #[test]
    fn display_reads_back() {
        for ns in [0, 1, 999, 1_000, 1_500, 200_000, 60_000_000_000, 5_400_000_000_000, -1_000, i64::MIN, i64::MAX] {
            assert_eq!(Ns(ns).to_string().parse::<Ns>(), Ok(Ns(ns)));
        }
    }
}
