//! A campaign as its file says it.

use knobs::Intent;
use serde::{Deserialize, Serialize};
use units::Ns;

use crate::order::Condition;

/// Most runs of a campaign: at a minute each, two months.
const MOST_RUNS: usize = 100_000;

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
    /// Its name, which the records bear as their label.
    pub name: String,
    /// The words after `punctual measure`, for example `["wakeup", "--cpus", "2-3"]`.
    pub measure: Vec<String>,
    /// How long one run takes.
    #[serde(with = "as_text")]
    pub duration: Ns,
}

/// A campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub seed: u64,
    /// How often each condition is measured.
    pub repetitions: u32,
    /// How long the machine is left alone after its settings were changed.
    #[serde(default = "two_seconds", with = "as_text")]
    pub warm_up: Ns,
    /// What is varied.
    pub factor: Vec<Factor>,
    /// What is measured.
    pub measurement: Vec<Measurement>,
}

const fn two_seconds() -> Ns {
    Ns::from_s(2)
}

/// Why a text is no campaign.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Not TOML, or something in it is not known.
    #[error("not a campaign: {0}")]
    Form(#[from] toml::de::Error),
    /// It cannot be run.
    #[error("not a campaign that can be run: {0}")]
    Bounds(String),
}

impl Campaign {
    /// Reads a TOML text.
    ///
    /// # Errors
    /// With the line, or what is out of bounds.
    pub fn from_toml(text: &str) -> Result<Self, CampaignError> {
        let campaign: Self = toml::from_str(text)?;
        match campaign.out_of_bounds() {
            Some(what) => Err(CampaignError::Bounds(what)),
            None => Ok(campaign),
        }
    }

    fn out_of_bounds(&self) -> Option<String> {
        let names = |of: &str, names: Vec<&str>| {
            let odd = names.iter().find(|name| !is_name(name));
            let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
            odd.map(|name| format!("'{name}' is no name of {of}: letters, digits, '-', '_' and '.', at most 40"))
                .or_else(|| twice.map(|(_, name)| format!("two {of}s are named {name}")))
        };
        if let Some(what) = names("campaign", vec![&self.name]) {
            return Some(what);
        }
        if let Some(what) = names("factor", self.factor.iter().map(|factor| factor.name.as_str()).collect()) {
            return Some(what);
        }
        if let Some(what) = names("measurement", self.measurement.iter().map(|one| one.name.as_str()).collect()) {
            return Some(what);
        }
        if self.factor.is_empty() {
            return Some("it varies nothing: it needs a [[factor]]".to_owned());
        }
        if self.measurement.is_empty() {
            return Some("it measures nothing: it needs a [[measurement]]".to_owned());
        }
        for factor in &self.factor {
            if let Some(what) = names("level", factor.level.iter().map(|level| level.name.as_str()).collect()) {
                return Some(format!("factor {}: {what}", factor.name));
            }
            if factor.level.len() < 2 {
                return Some(format!("factor {} has fewer than two levels", factor.name));
            }
            for (place, level) in factor.level.iter().enumerate() {
                if let Some(same) = factor.level[..place].iter().find(|other| other.intent == level.intent) {
                    return Some(format!(
                        "factor {}: levels {} and {} set the same",
                        factor.name, same.name, level.name
                    ));
                }
            }
        }
        for one in &self.measurement {
            if one.measure.is_empty() {
                return Some(format!("measurement {} does not say what to measure", one.name));
            }
            if one.duration <= Ns::ZERO {
                return Some(format!("measurement {} takes no time", one.name));
            }
            if let Some(word) = one.measure.iter().find(|word| is_the_campaign_s(word)) {
                return Some(format!("measurement {}: {word} is what the campaign itself says", one.name));
            }
        }
        if self.repetitions == 0 {
            return Some("repetitions is 0: nothing would be measured".to_owned());
        }
        let factorial = || self.factor.iter().map(|factor| factor.level.len()).try_fold(1_usize, usize::checked_mul);
        let conditions = match self.design {
            Design::OneAtATime => Some(1 + self.factor.iter().map(|factor| factor.level.len() - 1).sum::<usize>()),
            Design::Factorial => factorial(),
        };
        let runs = conditions
            .and_then(|conditions| conditions.checked_mul(usize::try_from(self.repetitions).ok()?))
            .and_then(|runs| runs.checked_mul(self.measurement.len()));
        if runs.is_none_or(|runs| runs > MOST_RUNS) {
            return Some(format!("it has more than {MOST_RUNS} runs: fewer factors, levels or repetitions"));
        }
        self.conditions().iter().find_map(|condition| self.contradiction(condition))
    }

    /// Two levels of a condition that set the same thing to different values.
    fn contradiction(&self, condition: &Condition) -> Option<String> {
        let mut set: Vec<(String, &str, String)> = Vec::new();
        for (factor, level) in self.factor.iter().zip(&condition.levels) {
            let level = factor.level.get(*level)?;
            let Some(intent) = &level.intent else { continue };
            for (what, value) in settings(intent) {
                match set.iter().find(|(known, ..)| *known == what) {
                    Some((_, other, known)) if *known != value => {
                        return Some(format!(
                            "factors {other} and {} both set {what}: to {known} and to {value}",
                            factor.name
                        ));
                    }
                    _ => set.push((what, &factor.name, value)),
                }
            }
        }
        None
    }
}

/// What an intent sets, each by its name.
fn settings(intent: &Intent) -> Vec<(String, String)> {
    // An intent is a table of TOML's own kinds.
    let Ok(table) = toml::Table::try_from(intent) else { return Vec::new() };
    let mut settings = Vec::new();
    for (name, value) in table {
        match value {
            toml::Value::Table(inner) => {
                settings.extend(inner.into_iter().map(|(key, value)| (format!("{name} {key}"), value.to_string())));
            }
            value => settings.push((name, value.to_string())),
        }
    }
    settings
}

/// Words of `punctual measure` that a campaign says by itself.
fn is_the_campaign_s(word: &str) -> bool {
    let option = word.split('=').next().unwrap_or(word);
    ["--duration", "--output", "-o", "--json", "--label"].contains(&option)
}

/// Names become names of files.
fn is_name(word: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=40).contains(&word.len()) && word.chars().all(known) && !word.starts_with('.')
}

/// Times as people write them: `"90s"`.
mod as_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use units::Ns;

    pub(super) fn serialize<S: Serializer>(time: &Ns, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{}ns", time.0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Ns, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
