//! How long a run is to last, as people write it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

/// The word for a run without an end of its own.
const UNLIMITED: &str = "unlimited";

/// How long a run lasts that can also go on without an end: a span of time as text, or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum RunLength {
    /// So long; above zero.
    For(Ns),
    /// Until Ctrl-C, or until what is followed has ended.
    Unlimited,
}

impl RunLength {
    /// The length; `None` where there is none.
    #[must_use]
    pub const fn limit(self) -> Option<Ns> {
        match self {
            Self::For(length) => Some(length),
            Self::Unlimited => None,
        }
    }
}

impl fmt::Display for RunLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::For(length) => write!(f, "{length}"),
            Self::Unlimited => f.write_str(UNLIMITED),
        }
    }
}

impl From<RunLength> for String {
    fn from(length: RunLength) -> Self {
        length.to_string()
    }
}

impl TryFrom<String> for RunLength {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for RunLength {
    type Err = String;

    /// Reads a span of time above zero, or the word for none. Zero is refused: it reads as "measure nothing" as well as
    /// "measure without an end", and a script that computes it would wait forever.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == UNLIMITED {
            return Ok(Self::Unlimited);
        }
        match text.parse::<Ns>() {
            Ok(length) if length > Ns::ZERO => Ok(Self::For(length)),
            Ok(_) => Err(format!(
                "a run of {text} measures nothing: write for example 60s, or {UNLIMITED} to measure until Ctrl-C"
            )),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_above_zero_or_unlimited_in_words() {
        assert_eq!("90s".parse(), Ok(RunLength::For(Ns::from_s(90))));
        assert_eq!("unlimited".parse(), Ok(RunLength::Unlimited));
        for text in ["0", "0s", "0ns", "-5s"] {
            let error = text.parse::<RunLength>().unwrap_err();
            assert!(error.contains("60s") && error.contains("unlimited"), "{text}: {error}");
        }
        assert!("60".parse::<RunLength>().unwrap_err().contains("no unit"));
        for length in [RunLength::For(Ns::from_ms(1_500)), RunLength::Unlimited] {
            assert_eq!(length.to_string().parse(), Ok(length));
        }
    }
}
