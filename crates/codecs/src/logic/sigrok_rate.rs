//! Sample rates as sigrok writes them.

use super::PS;

/// So many samples a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleRate {
    /// At least 1.
    hz: i64,
    /// The time from sample to sample (ps), where that is whole.
    period_ps: Option<i64>,
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
        Some(Self { hz, period_ps: (PS % hz == 0).then_some(PS / hz) })
    }

    /// When a sample was taken (ps, to the nearest), counted from 0 on: a period that is not whole is not rounded, which would add up.
    #[inline]
    pub(super) fn moment_ps(self, sample: i64) -> Option<i64> {
        if let Some(period_ps) = self.period_ps {
            return sample.checked_mul(period_ps);
        }
        let hz = i128::from(self.hz);
        i64::try_from((i128::from(sample) * i128::from(PS) + hz / 2) / hz).ok()
    }

    /// The time from sample to sample (ps), to the nearest.
    pub(super) fn period_ps(self) -> i64 {
        self.moment_ps(1).unwrap_or(PS).max(1)
    }
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
            assert_eq!(SampleRate::of_text(text).map(|rate| rate.hz), hz, "{text}");
        }
        let thirds = SampleRate::of_text("24 MHz").unwrap();
        assert_eq!(
            (thirds.period_ps(), thirds.moment_ps(24_000_000)),
            (41_667, Some(PS)),
            "what is rounded does not add up"
        );
        assert_eq!(thirds.moment_ps(i64::MAX), None);
    }
}
