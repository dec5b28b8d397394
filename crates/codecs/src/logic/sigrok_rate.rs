//! Sample rates as sigrok writes them.

use super::PS;

/// So many samples a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleRate {
    /// The time from sample to sample is so many picoseconds …
    numerator: i64,
    /// … by this, which is at least 1, and has no factor in common with it.
    denominator: i64,
}

impl SampleRate {
    /// `20 MHz`, `1.5 kHz`: a whole number of hertz, as libsigrok writes it.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(' ')?;
        let digits = match unit {
            "Hz" => 0,
            "kHz" => 3,
            "MHz" => 6,
            "GHz" => 9,
            _ => return None,
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let part = part.trim_end_matches('0');
        let is_number =
            !whole.is_empty() && [whole, part].iter().all(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_number || part.len() > digits {
            return None;
        }
        let hz: i64 = format!("{whole}{part:0<digits$}").parse().ok()?;
        // No analyzer takes a sample each picosecond.
        (1..=PS).contains(&hz).then(|| {
            let common = greatest_common_divisor(PS, hz);
            Self { numerator: PS / common, denominator: hz / common }
        })
    }

    /// When a sample was taken (ps, to the nearest), counted from 0 on: a period that is not whole is not rounded, which would add up.
    #[inline]
    pub(super) fn moment_ps(self, sample: i64) -> Option<i64> {
        let half = self.denominator / 2;
        match sample.checked_mul(self.numerator).and_then(|product| product.checked_add(half)) {
            Some(product) => Some(product / self.denominator),
            None => {
                let product = i128::from(sample) * i128::from(self.numerator) + i128::from(half);
                i64::try_from(product / i128::from(self.denominator)).ok()
            }
        }
    }

    /// The time from sample to sample (ps), rounded up: it bounds an error.
    pub(super) const fn period_ps(self) -> i64 {
        self.numerator / self.denominator + if self.numerator % self.denominator > 0 { 1 } else { 0 }
    }

    /// How many units of so many picoseconds a sample takes, rounded down, and whether it takes just as many.
    pub(super) const fn units_of(self, unit_ps: i64) -> (i64, bool) {
        let of_unit = self.denominator.saturating_mul(unit_ps);
        (self.numerator / of_unit, self.numerator % of_unit == 0)
    }
}

const fn greatest_common_divisor(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_sigrok_writes_them() {
        for (text, hz) in [
            ("1 Hz", Some(1)),
            ("1.5 kHz", Some(1_500)),
            ("24 MHz", Some(24_000_000)),
            ("2 GHz", Some(2_000_000_000)),
            ("1.000001 MHz", Some(1_000_001)),
            ("1.500000 kHz", Some(1_500)),
            ("1.5 Hz", None),
            ("1.0000001 MHz", None),
            (". kHz", None),
            ("0 Hz", None),
            ("fast", None),
            ("5", None),
            ("-1 MHz", None),
            ("1e9 GHz", None),
        ] {
            assert_eq!(SampleRate::of_text(text).map(|rate| PS / rate.numerator * rate.denominator), hz, "{text}");
        }
        let thirds = SampleRate::of_text("24 MHz").unwrap();
        assert_eq!(
            (thirds.period_ps(), thirds.moment_ps(24_000_000)),
            (41_667, Some(PS)),
            "what is rounded does not add up"
        );
        assert_eq!(thirds.moment_ps(i64::MAX), None);
        assert_eq!(SampleRate::of_text("3 MHz").unwrap().period_ps(), 333_334, "a bound is not rounded down");
        let prime = SampleRate::of_text("999.999937 MHz").unwrap();
        assert_eq!(prime.moment_ps(999_999_937 * 86_400), Some(86_400 * PS), "beyond what 64 bits hold in between");
    }
}
