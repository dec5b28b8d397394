//! `--fail-on worse[:SIZE]`.

use std::str::FromStr;

use analyse::compare::{Comparison, ComparisonState};
use units::{Ns, approx_f64};

/// What makes a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// Any row that is shown to be worse.
    Worse,
    /// A row that is shown to be worse, by at least this (ns).
    WorseBy(u64),
    /// A row that is shown to be worse, by at least this part of A in per cent.
    WorseByPercent(f64),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = match text.split_once(':') {
            None if text == "worse" => return Ok(Self::Worse),
            Some(("worse", size)) => size,
            _ => return Err(format!("'{text}' is none of: worse, worse:5us, worse:10%")),
        };
        if let Some(percent) = size.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| format!("'{size}' is no percentage: write 10%"))?;
            return if percent > 0.0 && percent.is_finite() {
                Ok(Self::WorseByPercent(percent))
            } else {
                Err(format!("{size} is not above 0"))
            };
        }
        let size: Ns = size.parse().map_err(|error: units::DurationError| error.to_string())?;
        if size > Ns::ZERO { Ok(Self::WorseBy(size.unsigned())) } else { Err(format!("{size} is not above 0")) }
    }
}

impl Limit {
    /// Whether a row that is shown to be worse is so by enough.
    pub(super) fn is_broken(self, comparison: &Comparison) -> bool {
        if comparison.verdict.state != ComparisonState::Worse {
            return false;
        }
        let enough = |difference_ns: f64, percent: Option<f64>| match self {
            Self::Worse => true,
            Self::WorseBy(size_ns) => difference_ns >= approx_f64(size_ns),
            Self::WorseByPercent(size) => percent.is_some_and(|percent| percent >= size),
        };
        comparison.verdict.worse.iter().any(|name| match comparison.quantities.iter().find(|row| row.name == *name) {
            Some(row) => enough(row.difference_ns, row.difference_percent),
            None => enough(comparison.worst.median_difference_ns, comparison.worst.median_difference_percent),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!("worse".parse(), Ok(Limit::Worse));
        assert_eq!("worse:5us".parse(), Ok(Limit::WorseBy(5_000)));
        assert_eq!("worse:2.5%".parse(), Ok(Limit::WorseByPercent(2.5)));
        for bad in ["better", "worse:", "worse:5", "worse:-5us", "worse:0%", "worse:x%", "worse:nan%"] {
            assert!(bad.parse::<Limit>().is_err(), "{bad}");
        }
    }
}
