//! A claim, such as "100us for 1 day at 99%", and whether a run shows it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Ns, format};

use super::span::{parse_span, span_words};

/// That nothing exceeds a limit for a time to come, with a probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The limit (ns, above 0).
    pub limit_ns: u64,
    /// The time to come (ns, above 0).
    pub horizon_ns: u64,
    /// The probability that nothing exceeds the limit in that time (0.5 to 0.999999).
    pub confidence: f64,
}

/// Why a text is not a claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// Its three parts are not there.
    #[error("'{0}' is no claim: write a limit, a time and a probability, as in \"100us for 1 day at 99%\"")]
    Form(String),
    /// The limit is no duration above zero.
    #[error("the limit of the claim: {0}")]
    Limit(String),
    /// The time is none.
    #[error("the time of the claim: {0}")]
    Horizon(String),
    /// The probability is none, or one that no run can show.
    #[error("the probability of the claim, '{0}', must be per cent between 50 and 99.9999, as in 99%")]
    Confidence(String),
}

impl FromStr for Claim {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ClaimError::Form(text.to_owned());
        let (limit, rest) = text.split_once(" for ").ok_or_else(form)?;
        let (horizon, confidence) = rest.split_once(" at ").ok_or_else(form)?;
        let limit: Ns = limit.parse().map_err(|error: units::DurationError| ClaimError::Limit(error.to_string()))?;
        if limit <= Ns::ZERO {
            return Err(ClaimError::Limit(format!("{limit} is not above zero")));
        }
        let horizon_ns = parse_span(horizon).map_err(ClaimError::Horizon)?;
        let wrong = || ClaimError::Confidence(confidence.trim().to_owned());
        let percent = confidence.trim().strip_suffix('%').ok_or_else(wrong)?;
        let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
        if !(50.0..=99.9999).contains(&percent) {
            return Err(wrong());
        }
        Ok(Self { limit_ns: limit.unsigned(), horizon_ns, confidence: percent / 100.0 })
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = format::span(self.limit_ns);
        write!(f, "{limit} for {} at {} %", span_words(self.horizon_ns), percent(self.confidence))
    }
}

/// A probability in percent, with as many digits as distinguish it from 100.
pub(super) fn percent(chance: f64) -> String {
    let value = chance * 100.0;
    let from_end = value.min(100.0 - value);
    let digits = if from_end >= 9.95 {
        0
    } else if from_end >= 0.95 {
        1
    } else if from_end >= 0.095 {
        2
    } else {
        4
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// What a run says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimState {
    /// The upper end of the interval for the chance that the time to come exceeds the limit is within what the claim allows.
    /// A false claim is ever said to be shown with a chance of at most 1 %.
    Shown,
    /// The lower end of that interval is above what the claim allows: what exceeded the limit came too often. A true claim is
    /// ever said to be broken with a chance of at most 1 %.
    Broken,
    /// Neither, and a longer run of the same kind would probably show it.
    NeedsMore,
    /// Neither, and a longer run of the same kind would probably not show it.
    NotShown,
    /// The run cannot decide; the sentence gives the reason. Version 1 of the documents wrote `cannot-be-told`.
    #[serde(rename = "cannot-tell", alias = "cannot-be-told")]
    CannotBeTold,
}

/// What decides a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// What exceeded the limit: how often it came.
    Observed,
    /// How seldom the limit was exceeded, if the time to come is like the time that was measured, and nothing else.
    ModelFree,
    /// The fits of the tail.
    Fit,
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimAnswer {
    /// The claim that was made.
    pub claim: Claim,
    /// In a word.
    pub state: ClaimState,
    /// What decided; absent where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// What was counted beyond the limit, and what that says; absent where the run keeps no intervals or is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<Exceeded>,
    /// The chance that the time to come exceeds the limit, at the most, without any model (0 to 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_free_chance: Option<f64>,
    /// The same by the fits, with the confidence that it takes to be shown; absent where they are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit_chance: Option<f64>,
    /// How much longer a run would probably decide it (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_ns: Option<u64>,
    /// In a sentence, with what decides.
    pub sentence: String,
}

/// What exceeded the limit of a claim, and how likely the time to come exceeds it by that count alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exceeded {
    /// Intervals with a sample beyond the limit.
    pub intervals: u64,
    /// Bursts of such intervals.
    pub bursts: u64,
    /// The lower end of the interval for the chance that the time to come exceeds the limit (0 to 1).
    pub chance_low: f64,
    /// That chance as it was counted.
    pub chance: f64,
    /// The upper end of the interval.
    pub chance_high: f64,
}

impl ClaimState {
    /// The word that people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Broken => "broken",
            Self::NeedsMore => "not shown yet",
            Self::NotShown => "not shown",
            Self::CannotBeTold => "cannot be told",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_and_said() {
        let claim: Claim = "100us for 1 day at 99%".parse().unwrap();
        assert_eq!((claim.limit_ns, claim.horizon_ns), (100_000, 86_400_000_000_000));
        assert!((claim.confidence - 0.99).abs() < 1e-12);
        assert_eq!(claim.to_string(), "100 us for 1 day at 99 %");
        assert_eq!(
            "1.5ms for 12 hours at 99.9 %".parse::<Claim>().unwrap().to_string(),
            "1.5 ms for 12 hours at 99.9 %"
        );
    }

    #[test]
    fn what_is_no_claim_is_told_with_the_remedy() {
        let error = |text: &str| text.parse::<Claim>().unwrap_err().to_string();
        assert!(error("100us").contains("100us for 1 day at 99%"), "{}", error("100us"));
        assert!(error("100 for 1 day at 99%").contains("has no unit"), "{}", error("100 for 1 day at 99%"));
        assert!(error("0us for 1 day at 99%").contains("not above zero"));
        assert!(error("1us for 1 fortnight at 99%").starts_with("the time of the claim"));
        for confidence in ["99", "100%", "0.99%", "nan%", "x%"] {
            assert!(error(&format!("1us for 1h at {confidence}")).contains("between 50 and 99.9999"), "{confidence}");
        }
    }

    #[test]
    fn probabilities_keep_the_digits_that_tell_them_from_certainty() {
        assert_eq!([0.5, 0.9, 0.99, 0.999, 0.99999].map(percent), ["50", "90", "99", "99.9", "99.999"]);
    }
}
