//! The campaign file.

use knobs::Intent;
use record::{LoadRequest, PartnerRequest, Request, RunRequest};
use serde::{Deserialize, Serialize};
use units::Ns;

use crate::bounds;
use crate::choice::{self, Choice, ChoiceError};

/// Which combinations of levels are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// The baseline (the first level of every factor), and each other level of one factor with the first level of the
    /// others.
    #[default]
    OneAtATime,
    /// Every combination of levels.
    Factorial,
}

/// The order in which conditions are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Forward and backward in turn, A B B A: a steady drift affects all conditions equally.
    #[default]
    Interleaved,
    /// Each repetition in a random order of its own, drawn from the seed: a periodic disturbance meets no condition
    /// systematically.
    Blocks,
}

/// One level of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Level {
    /// The name of the level, unique within its factor.
    pub name: String,
    /// The settings of this level; absent if the machine is left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// What differs in the requests of runs at this level: fields of the request and the load, for example
    /// `load = { name = "paper" }` or `request = { priority = 80 }`.
    #[serde(default, skip_serializing_if = "Asked::is_empty")]
    pub asked: Asked,
}

/// Fields that replace those of a run's request and load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Asked {
    /// Fields of the request.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub request: serde_json::Map<String, serde_json::Value>,
    /// Fields of the load.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub load: serde_json::Map<String, serde_json::Value>,
}

impl Asked {
    /// Whether no field is replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.is_empty() && self.load.is_empty()
    }
}

/// A factor: something that the campaign varies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Factor {
    /// The name of the factor, unique within the campaign.
    pub name: String,
    /// Its levels. The others are compared with the first.
    pub level: Vec<Level>,
}

/// A measurement that is made in each visit to a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "MeasurementText", into = "MeasurementText")]
pub struct Measurement {
    /// The name of the measurement, unique within the campaign.
    pub name: String,
    /// The title of its figure; default: its name.
    pub title: Option<String>,
    /// What is measured.
    pub run: RunRequest,
    /// Duration of one run, if `run` does not state it.
    pub duration: Option<Duration>,
}

/// A measurement in the form of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct MeasurementText {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration: Option<Duration>,
    #[serde(default)]
    request: Option<Request>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    load: Option<LoadRequest>,
    #[serde(default, with = "record::partners", skip_serializing_if = "Vec::is_empty")]
    partner: Vec<PartnerRequest>,
}

impl TryFrom<MeasurementText> for Measurement {
    type Error = String;

    fn try_from(text: MeasurementText) -> Result<Self, String> {
        let MeasurementText { name, title, duration, request, load, partner } = text;
        let Some(request) = request else {
            return Err(format!("measurement {name} does not say what to measure: it needs a request"));
        };
        let run = RunRequest { request, load, partner };
        run.check().map_err(|error| format!("measurement {name}: {error}"))?;
        Ok(Self { name, title, run, duration })
    }
}

impl From<Measurement> for MeasurementText {
    fn from(measurement: Measurement) -> Self {
        let Measurement { name, title, run, duration } = measurement;
        Self { name, title, duration, request: Some(run.request), load: run.load, partner: run.partner }
    }
}

impl Measurement {
    /// The kind of measurement.
    #[must_use]
    pub fn kind(&self) -> &'static record::Kind {
        self.run.kind()
    }

    /// Whether conditions are compared by this measurement. What a call costs (`clock`, `gpio`) is only shown side by side.
    #[must_use]
    pub fn is_compared(&self) -> bool {
        self.kind().compared.is_some()
    }

    /// Whether it states a deadline for the compared latency, so that the rate beyond it decides instead of the worst
    /// case. The deadline of a program does not count: it covers more than the time until the program gets the CPU.
    #[must_use]
    pub fn states_deadline(&self) -> bool {
        self.run.request.deadline().is_some() && self.kind().states_deadline_of_compared()
    }

    /// How long one run takes, from its duration or from its number of samples; `None` if neither is given.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        self.duration.map(|duration| duration.0).or_else(|| self.run.takes())
    }

    /// The run at the given levels of the factors.
    ///
    /// # Errors
    /// If a level replaces a field that this kind of measurement does not have.
    pub fn at<'a>(&self, levels: impl IntoIterator<Item = &'a Level>) -> Result<RunRequest, String> {
        let mut run = self.run.clone();
        for level in levels {
            let mut over = serde_json::Map::new();
            let parts = [("request", &level.asked.request), ("load", &level.asked.load)];
            for (part, fields) in parts.into_iter().filter(|(_, fields)| !fields.is_empty()) {
                over.insert(part.to_owned(), fields.clone().into());
            }
            let changed = run.with(&over.into());
            run = changed.map_err(|error| format!("measurement {}, level {}: {error}", self.name, level.name))?;
        }
        match self.duration {
            Some(Duration(duration)) => {
                run.lasting(duration).map_err(|error| format!("measurement {}: {error}", self.name))
            }
            None => Ok(run),
        }
    }
}

/// What a run measures, as one line of text.
#[must_use]
pub fn in_words(run: &RunRequest) -> String {
    let asked = changed(&run.request);
    let asked = if asked.is_empty() { asked } else { format!(": {asked}") };
    let load = run.load.as_ref().map_or_else(String::new, |load| {
        let name = load.name.as_deref().or(load.command.as_deref()).unwrap_or_default();
        let without =
            if load.without.is_empty() { String::new() } else { format!(" without {}", load.without.join(", ")) };
        let turns = if load.rotate { ", its parts in turns" } else { "" };
        format!("; under load {name}{without}{turns}")
    });
    let partner: Vec<&str> = run.partner.iter().map(|partner| &*partner.to).collect();
    let partner = if partner.is_empty() { String::new() } else { format!("; with {}", partner.join(", ")) };
    format!("{}{asked}{load}{partner}", run.kind().name)
}

/// The fields of a request that differ from their defaults, as one line of text.
fn changed(request: &Request) -> String {
    let kind = serde_json::json!({ "kind": request.measurement().name() });
    let defaults = serde_json::from_value::<Request>(kind).and_then(serde_json::to_value).unwrap_or_default();
    let fields = serde_json::to_value(request).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let changed = fields.filter(|(name, value)| defaults.get(*name) != Some(*value) && *name != "kind");
    changed.map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
}

/// A value without JSON's quotes, brackets and braces.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        serde_json::Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// A duration in a file, for fields that may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Duration(#[serde(with = "units::duration_text")] pub Ns);

/// The confirmation of a one-at-a-time campaign: the winners together are measured again against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Confirm {
    /// How often each of the two conditions is measured.
    #[serde(deserialize_with = "choice::number")]
    pub repetitions: u32,
}

/// Rules that end a campaign before its last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stop {
    /// No repetition begins that would end after this much running time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
    /// After this many invalid runs in a row (repeated attempts count too), the campaign ends: the machine cannot be
    /// measured like this.
    #[serde(default = "five")]
    pub invalid_in_a_row: u32,
}

impl Default for Stop {
    fn default() -> Self {
        Self { after: None, invalid_in_a_row: five() }
    }
}

/// A campaign as its file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Campaign {
    /// The name of the campaign.
    pub name: String,
    /// The question that it answers, in one line.
    pub about: String,
    /// Which combinations of levels are measured.
    #[serde(default)]
    pub design: Design,
    /// The order in which conditions are measured.
    #[serde(default)]
    pub order: Order,
    /// Seed of every random order.
    #[serde(default, deserialize_with = "choice::number")]
    pub seed: u32,
    /// How often each condition is measured (at least 1).
    #[serde(deserialize_with = "choice::number")]
    pub repetitions: u32,
    /// Pause after settings were changed, before the first measurement; default 2 s.
    #[serde(default = "two_seconds", with = "units::duration_text")]
    pub warm_up: Ns,
    /// The probability of showing any difference if there is none, over all comparisons together (above 0, at most 0.5;
    /// default 0.01).
    #[serde(default = "one_percent")]
    pub false_alarms: f64,
    /// The smallest change of the body that counts, as `punctual compare --margin`; default: as there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Duration>,
    /// Settings that are the same in every condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Intent>,
    /// If present, the winners are measured again together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Confirm>,
    /// Whether levels that the machine does not support, or has already, are left out before the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fit_to_machine: bool,
    /// The levels that were left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Rules that end the campaign early.
    #[serde(default)]
    pub stop: Stop,
    /// The factors: what is varied.
    pub factor: Vec<Factor>,
    /// The measurements that are made in each visit.
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

/// Why a text is not a campaign that can be run.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The text is not TOML, or has an unknown field or value.
    #[error("not a campaign: {0}")]
    Form(#[from] toml::de::Error),
    /// A value cannot be filled in.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// A field is out of bounds.
    #[error("the campaign cannot be run: {0}")]
    Bounds(String),
}

impl Campaign {
    /// Reads a TOML text and fills in the values of `choice`.
    ///
    /// # Errors
    /// If the text is not a campaign (with the line), or something is out of bounds.
    pub fn from_toml(text: &str, choice: &Choice) -> Result<Self, CampaignError> {
        let campaign: Self = match choice::resolve(text, choice)? {
            // Parsed from the text itself, so that errors have line numbers.
            None => toml::from_str(text)?,
            Some(table) => table.try_into()?,
        };
        match bounds::out_of_bounds(&campaign) {
            Some(what) => Err(CampaignError::Bounds(what)),
            None => Ok(campaign),
        }
    }

    /// Leaves levels out, given as (factor, level, reason). Factors with a single level left are removed too.
    ///
    /// # Errors
    /// If nothing is left to vary.
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

    /// The campaign as TOML, which reads back to an equal value.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // All fields have types that TOML supports.
        toml::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "name = \"c\"\nabout = \"a\"\nrepetitions = 1\n[[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"a\"\n";

    fn read(rest: &str) -> Result<Campaign, String> {
        Campaign::from_toml(&format!("{HEAD}{rest}"), &Choice::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn levels_replace_fields_of_the_request() {
        let campaign = read(
            "[[factor.level]]\nname = \"b\"\nasked = { request = { priority = 80 }, load = { name = \"paper\" } }\n\
             [[measurement]]\nname = \"m\"\nduration = \"5s\"\n\
             request = { kind = \"wakeup\", interval = \"1ms\", placement = { pinned = \"2-3\" } }\n",
        )
        .unwrap();
        assert_eq!(Campaign::from_toml(&campaign.to_toml(), &Choice::default()).unwrap(), campaign);
        let [first, second] = campaign.factor[0].level.as_slice() else { panic!("{campaign:?}") };
        let words = |level: &Level| in_words(&campaign.measurement[0].at([level]).unwrap());
        assert_eq!(words(first), "wakeup: end after 5s, interval 1ms, placement pinned 2-3");
        let changed = "wakeup: end after 5s, interval 1ms, placement pinned 2-3, priority 80; under load paper";
        assert_eq!(words(second), changed);
        assert_eq!(campaign.measurement[0].takes(), Some(Ns::from_s(5)));
        assert!(campaign.measurement[0].is_compared() && !campaign.measurement[0].states_deadline());
    }

    #[test]
    fn fields_that_do_not_fit_a_request_are_refused_when_the_file_is_read() {
        let level = |asked: &str| format!("[[factor.level]]\nname = \"b\"\n{asked}\n[[measurement]]\nname = \"m\"\n");
        let request = "request = { kind = \"noise\" }\n";
        for (text, part) in [
            (level("") + "request = { kind = \"noise\", interval = \"1ms\" }", "unknown field `interval`"),
            (level("") + "request = { kind = \"pulses\" }", "unknown variant `pulses`"),
            (
                level("asked = { request = { priority = 80, interval = \"1ms\" } }") + request,
                "level b: unknown field `interval`",
            ),
            (level("asked = { load = { rotate = true } }") + request, "neither a name nor a command"),
            (level("") + "measure = [\"wakeup\"]", "unknown field `measure`"),
            (level("intent = { power = \"steady\" }"), "does not say what to measure"),
            (
                level("intent = { power = \"steady\" }") + "duration = \"5s\"\nrequest = { kind = \"clock\" }",
                "has no duration",
            ),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
