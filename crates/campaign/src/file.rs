//! A campaign as its file says it.

use knobs::Intent;
use serde::{Deserialize, Serialize};
use units::Ns;

use crate::bounds;
use crate::choice::{self, Choice, ChoiceError};

/// Which combinations of levels are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// The first level of every factor, and each other level of one factor with the first of all others.
    #[default]
    OneAtATime,
    /// Every combination.
    Factorial,
}

/// In which order conditions are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// There and back again, A B B A: what drifts evenly is the same for all conditions.
    #[default]
    Interleaved,
    /// Each repetition in an order of its own, drawn by the seed: what comes and goes meets none by design.
    Blocks,
}

/// One level of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// What is set for it; absent where all stays as the machine is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// Further words after `punctual measure` for runs at this level, for example `["--load", "paper"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measure: Vec<String>,
}

/// What is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, the first the one that others are compared with.
    pub level: Vec<Level>,
}

/// What is measured of each condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Measurement {
    /// Its name.
    pub name: String,
    /// What its picture is called; its name where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The words after `punctual measure`, for example `["wakeup", "--cpus", "2-3"]`.
    pub measure: Vec<String>,
    /// How long one run takes, where its words do not say so: `--duration` is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

impl Measurement {
    /// Its kind; `None` where its first word names none.
    #[must_use]
    pub fn kind(&self) -> Option<&'static record::Kind> {
        record::Measurement::by_name(self.measure.first()?).map(record::Measurement::kind)
    }

    /// Whether conditions are held against each other by it; the cost of reading clocks is shown side by side.
    #[must_use]
    pub fn is_compared(&self) -> bool {
        self.kind().is_some_and(|kind| kind.compared.is_some())
    }

    /// Whether it states a deadline, so that the rate beyond it decides in the place of the worst case: one of
    /// what is compared alone, since that of a program binds more than its way to the CPU.
    #[must_use]
    pub fn states_deadline(&self) -> bool {
        let is_of_compared = self.kind().is_some_and(record::Kind::states_deadline_of_compared);
        is_of_compared && self.measure.iter().any(|word| word == "--deadline" || word.starts_with("--deadline="))
    }

    /// How long its samples take, where neither it nor its words say otherwise than by their number.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        if let Some(duration) = self.duration {
            return Some(duration.0);
        }
        let of = |option: &str| {
            let mut words = self.measure.iter();
            words
                .find_map(|word| match word.strip_prefix(option) {
                    Some("") => Some(None),
                    Some(rest) => rest.strip_prefix('=').map(|value| Some(value.to_owned())),
                    None => None,
                })?
                .or_else(|| words.next().cloned())
        };
        let samples: i64 = of("--samples")?.parse().ok()?;
        // What 'punctual measure' takes where nothing is said.
        let interval = match of("--interval") {
            Some(text) => text.parse().ok()?,
            None => record::DEFAULT_INTERVAL,
        };
        let is_by_schedule = self.kind().is_some_and(|kind| kind.sampling != record::Sampling::Repetitions);
        let each = if is_by_schedule { interval } else { Ns::from_us(1) };
        each.0.checked_mul(samples).map(Ns)
    }
}

/// A span of time in a file, where it may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(#[serde(with = "units::duration_text")] pub Ns);

/// The winners of a campaign that varies one factor at a time, together, against the first levels: measured anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Confirm {
    /// How often each of the two is measured.
    #[serde(deserialize_with = "choice::number")]
    pub repetitions: u32,
}

/// When a campaign ends before its last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stop {
    /// No repetition begins that would not be over by then, counted in time of running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
    /// So many runs in a row that are invalid, repeated ones too, say that the machine cannot be measured like this.
    #[serde(default = "five")]
    pub invalid_in_a_row: u32,
}

impl Default for Stop {
    fn default() -> Self {
        Self { after: None, invalid_in_a_row: five() }
    }
}

/// A campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Campaign {
    /// Its name.
    pub name: String,
    /// What it asks, in one line.
    pub about: String,
    /// Which combinations are measured.
    #[serde(default)]
    pub design: Design,
    /// In which order.
    #[serde(default)]
    pub order: Order,
    /// Decides every order that is drawn.
    #[serde(default, deserialize_with = "choice::number")]
    pub seed: u32,
    /// How often each condition is measured.
    #[serde(deserialize_with = "choice::number")]
    pub repetitions: u32,
    /// How long the machine is left alone after its settings were changed.
    #[serde(default = "two_seconds", with = "units::duration_text")]
    pub warm_up: Ns,
    /// The probability of showing any difference where there is none, over all comparisons together (above 0, at most 0.5).
    #[serde(default = "one_percent")]
    pub false_alarms: f64,
    /// The change of the body that counts, as of `punctual compare --margin`; its default where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Duration>,
    /// What is set in every condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Intent>,
    /// The winners together, measured anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// Whether levels that a machine cannot have, or has already, are left out before it begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fit_to_machine: bool,
    /// What was left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// When it ends early.
    #[serde(default)]
    pub stop: Stop,
    /// What is varied.
    pub factor: Vec<Factor>,
    /// What is measured.
    pub measurement: Vec<Measurement>,
}

const fn two_seconds() -> Ns {
    Ns::from_s(2)
}

const fn one_percent() -> f64 {
    0.01
}

const fn five() -> u32 {
    5
}

/// Why a text is no campaign.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Not TOML, or something in it is not known.
    #[error("not a campaign: {0}")]
    Form(#[from] toml::de::Error),
    /// Its values, or those given for them.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// It cannot be run.
    #[error("not a campaign that can be run: {0}")]
    Bounds(String),
}

impl Campaign {
    /// Reads a TOML text, with other values than its own where some are chosen.
    ///
    /// # Errors
    /// With the line, or what is out of bounds.
    pub fn from_toml(text: &str, choice: &Choice) -> Result<Self, CampaignError> {
        let campaign: Self = match choice::resolve(text, choice)? {
            // As it stands: errors have their lines.
            None => toml::from_str(text)?,
            Some(table) => table.try_into()?,
        };
        match bounds::out_of_bounds(&campaign) {
            Some(what) => Err(CampaignError::Bounds(what)),
            None => Ok(campaign),
        }
    }

    /// Leaves levels out, by factor and level, with why; factors that then vary nothing go too.
    ///
    /// # Errors
    /// Where nothing is left to vary.
    pub fn without(mut self, levels: &[(String, String, String)]) -> Result<Self, CampaignError> {
        for (factor, level, why) in levels {
            if let Some(factor) = self.factor.iter_mut().find(|one| one.name == *factor) {
                factor.level.retain(|one| one.name != *level);
            }
            self.left_out.push(format!("{factor}={level}: {why}"));
        }
        self.factor.retain(|factor| factor.level.len() > 1);
        match bounds::out_of_bounds(&self) {
            Some(_) if self.factor.is_empty() => {
                let why = self.left_out.join("; ");
                Err(CampaignError::Bounds(format!("nothing is left to vary on this machine: {why}")))
            }
            Some(what) => Err(CampaignError::Bounds(what)),
            None => Ok(self),
        }
    }

    /// As TOML, which reads back the same.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // All its fields are of TOML's own kinds.
        toml::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_run_takes_follows_from_its_words() {
        let takes = |words: &[&str]| {
            let measure = words.iter().map(|word| (*word).to_owned()).collect();
            Measurement { name: "m".to_owned(), title: None, measure, duration: None }.takes()
        };
        assert_eq!(takes(&["wakeup", "--interval", "10ms", "--samples", "100"]), Some(Ns::from_s(1)));
        assert_eq!(takes(&["wakeup", "--samples=5000"]), Some(Ns::from_s(1)));
        assert_eq!(takes(&["clock", "--samples", "1000000"]), Some(Ns::from_s(1)));
        assert_eq!(takes(&["wakeup"]), None);
        assert_eq!(takes(&["wakeup", "--samples"]), None);
    }
}
