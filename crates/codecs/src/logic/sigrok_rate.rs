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
    /// `20 MHz`, `1.5 kHz`.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(' ')?;
        let scale = match unit {
            "Hz" => 1.0,
            "kHz" => 1e3,
            "MHz" => 1e6,
            "GHz" => 1e9,
            _ => return None,
        };
        let rate = number.parse::<f64>().ok()? * scale;
        // No analyzer takes a sample each picosecond.
        let hz = (0.5..=1e12).contains(&rate).then(|| units::round_i64(rate))?;
        let common = greatest_common_divisor(PS, hz);
        Some(Self { numerator: PS / common, denominator: hz / common })
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

    /// The time from sample to sample (ps), to the nearest.
    pub(super) fn period_ps(self) -> i64 {
        self.moment_ps(1).unwrap_or(PS).max(1)
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
        let prime = SampleRate::of_text("999.999937 MHz").unwrap();
        assert_eq!(prime.moment_ps(999_999_937 * 86_400), Some(86_400 * PS), "beyond what 64 bits hold in between");
    }
}
