//! Impairment of one direction of a link: delay, jitter, loss, duplication and reordering.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::Ns;

use super::flow::{Flow, FlowError};

/// Largest delay and largest jitter of a link: longer than any protocol in the lab waits.
pub const MAX_DELAY: Ns = Ns::from_s(60);

/// Impairment of one direction of a link; the default is none.
///
/// In a file: `delay = "2ms"`, `jitter = "100us"`, `drop = 0.01`, `duplicate = 0.001`, `reorder = 0.001`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Form")]
pub struct Impairment {
    /// Delay of every frame (0 to 60s; default 0).
    #[serde(with = "units::duration_text")]
    pub delay: Ns,
    /// Largest additional delay of a frame, uniformly distributed (0 to 60s; default 0). Jitter alone keeps the order:
    /// a frame that would overtake the previous one arrives together with it.
    #[serde(with = "units::duration_text")]
    pub jitter: Ns,
    /// Share of the frames that are lost (0 to 1; default 0).
    pub drop: f64,
    /// Share of the remaining frames that arrive twice, the copy directly behind the original (0 to 1; default 0).
    pub duplicate: f64,
    /// Share of the remaining frames that are held until a later frame has overtaken them (0 to below 1; default 0).
    pub reorder: f64,
    /// The flow to which all of this applies; frames of other flows pass at once (default: all frames).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Flow>,
}

/// [`Impairment`] before its values are checked.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Form {
    #[serde(with = "units::duration_text")]
    delay: Ns,
    #[serde(with = "units::duration_text")]
    jitter: Ns,
    drop: f64,
    duplicate: f64,
    reorder: f64,
    only: Option<Flow>,
}

impl Default for Form {
    fn default() -> Self {
        let Impairment { delay, jitter, drop, duplicate, reorder, only } = Impairment::default();
        Self { delay, jitter, drop, duplicate, reorder, only }
    }
}

impl TryFrom<Form> for Impairment {
    type Error = ImpairmentError;

    fn try_from(form: Form) -> Result<Self, Self::Error> {
        let Form { delay, jitter, drop, duplicate, reorder, only } = form;
        let impairment = Self { delay, jitter, drop, duplicate, reorder, only };
        impairment.check()?;
        Ok(impairment)
    }
}

/// Why an impairment is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ImpairmentError {
    /// A time is negative or too long.
    #[error("{name} is {value}: it must be between 0s and 60s")]
    Time {
        /// `delay` or `jitter`.
        name: &'static str,
        /// The given value.
        value: Ns,
    },
    /// A share is not between 0 and 1.
    #[error("{name} is {value}: it must be a share between 0 and 1, for example 0.01 for 1 % of the frames")]
    Part {
        /// `drop`, `duplicate` or `reorder`.
        name: &'static str,
        /// The given value.
        value: f64,
    },
    /// The text is not a list of impairments.
    #[error(
        "'{text}' is not an impairment{why}: write for example delay=5ms,drop=0.01, or none; known are delay, jitter, drop, duplicate, reorder and only"
    )]
    Text {
        /// The given value.
        text: String,
        /// The reason, after a comma.
        why: String,
    },
    /// `reorder` is 1, so no frame could overtake another.
    #[error("reorder is 1: it must be below 1, since only frames that are not held can overtake")]
    NothingOvertakes,
}

impl Impairment {
    /// Checks that every value is within its bounds, as reading from a file already does.
    ///
    /// # Errors
    /// The first value out of bounds.
    pub fn check(&self) -> Result<(), ImpairmentError> {
        for (name, value) in [("delay", self.delay), ("jitter", self.jitter)] {
            if value < Ns::ZERO || value > MAX_DELAY {
                return Err(ImpairmentError::Time { name, value });
            }
        }
        for (name, value) in [("drop", self.drop), ("duplicate", self.duplicate), ("reorder", self.reorder)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(ImpairmentError::Part { name, value });
            }
        }
        if self.reorder >= 1.0 { Err(ImpairmentError::NothingOvertakes) } else { Ok(()) }
    }
}

impl FromStr for Impairment {
    type Err = ImpairmentError;

    /// Parses text such as `delay=5ms,drop=0.01`; parts that are not named are off, and `none` turns all off.
    fn from_str(text: &str) -> Result<Self, ImpairmentError> {
        let mut impairment = Self::default();
        if text == "none" {
            return Ok(impairment);
        }
        for part in text.split(',') {
            let wrong = |why: String| ImpairmentError::Text { text: text.to_owned(), why: format!(", {why}") };
            let (name, value) = part.split_once('=').ok_or_else(|| wrong(format!("'{part}' has no value")))?;
            let time = || value.parse::<Ns>().map_err(|error| wrong(error.to_string()));
            let share = || value.parse::<f64>().map_err(|_| wrong(format!("'{value}' is not a number")));
            match name {
                "delay" => impairment.delay = time()?,
                "jitter" => impairment.jitter = time()?,
                "drop" => impairment.drop = share()?,
                "duplicate" => impairment.duplicate = share()?,
                "reorder" => impairment.reorder = share()?,
                "only" => impairment.only = Some(value.parse().map_err(|error: FlowError| wrong(error.to_string()))?),
                _ => return Err(wrong(format!("'{name}' is unknown"))),
            }
        }
        impairment.check()?;
        Ok(impairment)
    }
}

impl fmt::Display for Impairment {
    /// The form that [`FromStr`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = [("delay", self.delay), ("jitter", self.jitter)];
        let times =
            times.into_iter().filter(|(_, time)| *time != Ns::ZERO).map(|(name, time)| format!("{name}={time}"));
        let shares = [("drop", self.drop), ("duplicate", self.duplicate), ("reorder", self.reorder)];
        let shares =
            shares.into_iter().filter(|(_, share)| *share > 0.0).map(|(name, share)| format!("{name}={share}"));
        let only = self.only.map(|flow| format!("only={flow}"));
        let parts: Vec<String> = times.chain(shares).chain(only).collect();
        f.pad(&if parts.is_empty() { "none".to_owned() } else { parts.join(",") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_can_be_read_back() {
        let text = "delay = \"2ms\"\njitter = \"0us\"\ndrop = 0.01\nduplicate = 0\nonly = \"udp/319\"\n";
        let read: Impairment = toml::from_str(text).unwrap();
        let only = Some(Flow::Udp(319));
        assert_eq!(read, Impairment { delay: Ns::from_ms(2), drop: 0.01, only, ..Impairment::default() });
        let written = toml::to_string(&read).unwrap();
        assert!(written.contains("delay = \"2ms\""), "{written}");
        assert_eq!(toml::from_str::<Impairment>(&written).unwrap(), read);
        assert_eq!(toml::from_str::<Impairment>("").unwrap(), Impairment::default());
    }

    #[test]
    fn a_printed_impairment_can_be_parsed() {
        for text in [
            "none",
            "delay=5ms",
            "delay=5ms,jitter=100us,drop=0.01,duplicate=0.001,reorder=0.5",
            "delay=30ms,only=ptp/sync",
        ] {
            assert_eq!(text.parse::<Impairment>().unwrap().to_string(), text);
        }
        let check = |text: &str, part: &str| {
            let error = text.parse::<Impairment>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check("", "'' has no value");
        check("delay=5", "no unit");
        check("delay=5ms,loss=1", "'loss' is unknown");
        check("drop=x", "'x' is not a number");
        check("drop=1.5", "drop is 1.5");
        check("delay=1ms,only=udp", "'udp' is no flow: write udp/PORT");
        check("delay=-1us", "between 0s and 60s");
    }

    #[test]
    fn errors_name_the_place_and_the_bound() {
        let check = |text: &str, parts: &[&str]| {
            let error = toml::from_str::<Impairment>(text).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{error}");
            }
        };
        check("delay = \"2\"", &["line 1", "no unit"]);
        check("jitter = 5", &["line 1", "expected a string"]);
        check("delay-ns = 5", &["line 1", "delay-ns", "expected one of `delay`, `jitter`"]);
        check("delay = \"-1us\"", &["delay is -1us", "between 0s and 60s"]);
        check("jitter = \"61s\"", &["jitter is 61s", "between 0s and 60s"]);
        check("drop = 1.5", &["drop is 1.5", "between 0 and 1"]);
        check("duplicate = nan", &["duplicate is NaN", "between 0 and 1"]);
        check("reorder = 1", &["reorder is 1", "below 1"]);
        check("only = \"ptp/x\"", &["line 1", "'ptp/x' is no flow"]);
    }
}
