//! A campaign as its file says it.

use knobs::Intent;
use record::{LoadRequest, Request, RunRequest};
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
    /// What is asked otherwise of runs at this level: fields of their requests and loads, for example
    /// `load = { name = "paper" }` or `request = { priority = 80 }`.
    #[serde(default, skip_serializing_if = "Asked::is_empty")]
    pub asked: Asked,
    /// Further words after `punctual measure` for runs at this level, as 0.1.0 had them, for measurements that are words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measure: Vec<String>,
}

impl Level {
    /// Whether runs at it are asked for as at every other.
    #[must_use]
    pub fn asks_the_same(&self) -> bool {
        self.measure.is_empty() && self.asked.is_empty()
    }
}

/// What is asked otherwise of a run: fields that are written over those of its request and load.
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
    /// Whether nothing is asked otherwise.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.is_empty() && self.load.is_empty()
    }
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
#[serde(try_from = "MeasurementText", into = "MeasurementText")]
pub struct Measurement {
    /// Its name.
    pub name: String,
    /// What its picture is called; its name where absent.
    pub title: Option<String>,
    /// What is measured.
    pub what: What,
    /// How long one run takes, where it does not say so itself.
    pub duration: Option<Duration>,
}

/// What a run of a campaign is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A request with its load.
    Run(Box<RunRequest>),
    /// The words after `punctual measure`, as files of 0.1.0 have them: `["wakeup", "--cpus", "2-3"]`.
    Words(Vec<String>),
}

/// A measurement as a file has it: a request with a load, or words.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct MeasurementText {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration: Option<Duration>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    measure: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<Request>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    load: Option<LoadRequest>,
}

impl TryFrom<MeasurementText> for Measurement {
    type Error = String;

    fn try_from(text: MeasurementText) -> Result<Self, String> {
        let MeasurementText { name, title, duration, measure, request, load } = text;
        let what = match (measure.is_empty(), request) {
            (true, None) => return Err(format!("measurement {name} does not say what to measure: it needs a request")),
            (false, Some(_)) => return Err(format!("measurement {name} has a request and words: it is one of them")),
            (false, None) if load.is_some() => {
                return Err(format!("measurement {name}: a load stands beside a request, not beside words"));
            }
            (false, None) => What::Words(measure),
            (true, Some(request)) => {
                let run = RunRequest { request, load };
                run.check().map_err(|error| format!("measurement {name}: {error}"))?;
                What::Run(Box::new(run))
            }
        };
        Ok(Self { name, title, what, duration })
    }
}

impl From<Measurement> for MeasurementText {
    fn from(measurement: Measurement) -> Self {
        let Measurement { name, title, what, duration } = measurement;
        let (measure, request, load) = match what {
            What::Words(words) => (words, None, None),
            What::Run(run) => (Vec::new(), Some(run.request), run.load),
        };
        Self { name, title, duration, measure, request, load }
    }
}

impl Measurement {
    /// Its kind; `None` where its first word names none.
    #[must_use]
    pub fn kind(&self) -> Option<&'static record::Kind> {
        match &self.what {
            What::Run(run) => Some(run.kind()),
            What::Words(words) => record::Measurement::by_name(words.first()?).map(record::Measurement::kind),
        }
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
        let is_stated = match &self.what {
            What::Run(run) => run.request.deadline().is_some(),
            What::Words(words) => words.iter().any(|word| word == "--deadline" || word.starts_with("--deadline=")),
        };
        is_stated && self.kind().is_some_and(record::Kind::states_deadline_of_compared)
    }

    /// How long its samples take, where neither it nor its words say otherwise than by their number.
    #[must_use]
    pub fn takes(&self) -> Option<Ns> {
        self.duration.map(|duration| duration.0).or_else(|| match &self.what {
            What::Run(run) => run.takes(),
            What::Words(words) => takes_by_words(words, self.kind()?),
        })
    }

    /// The run that is measured at some levels of the factors.
    ///
    /// # Errors
    /// Where a level asks what this kind of measurement does not have.
    pub fn at<'a>(&self, levels: impl IntoIterator<Item = &'a Level>) -> Result<What, String> {
        let duration = self.duration.map(|duration| duration.0);
        match &self.what {
            What::Words(words) => {
                let mut words = words.clone();
                for level in levels {
                    if !level.asked.is_empty() {
                        return Err(format!(
                            "level {} changes a request, and measurement {} is words",
                            level.name, self.name
                        ));
                    }
                    words.extend(level.measure.iter().cloned());
                }
                words.extend(duration.into_iter().flat_map(|duration| ["--duration".to_owned(), duration.to_string()]));
                Ok(What::Words(words))
            }
            What::Run(run) => {
                let mut run = RunRequest::clone(run);
                for level in levels {
                    if !level.measure.is_empty() {
                        return Err(format!(
                            "level {} adds words, and measurement {} is a request",
                            level.name, self.name
                        ));
                    }
                    let mut over = serde_json::Map::new();
                    let parts = [("request", &level.asked.request), ("load", &level.asked.load)];
                    for (part, fields) in parts.into_iter().filter(|(_, fields)| !fields.is_empty()) {
                        over.insert(part.to_owned(), fields.clone().into());
                    }
                    let changed = run.with(&over.into());
                    run =
                        changed.map_err(|error| format!("measurement {}, level {}: {error}", self.name, level.name))?;
                }
                match duration {
                    Some(duration) => {
                        run.lasting(duration).map_err(|error| format!("measurement {}: {error}", self.name))
                    }
                    None => Ok(run),
                }
                .map(|run| What::Run(Box::new(run)))
            }
        }
    }
}

impl What {
    /// What is measured, as a line for people.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Words(words) => words.join(" "),
            Self::Run(run) => {
                let asked = changed(&run.request);
                let asked = if asked.is_empty() { asked } else { format!(": {asked}") };
                let load = run.load.as_ref().map_or_else(String::new, |load| {
                    let name = load.name.as_deref().or(load.command.as_deref()).unwrap_or_default();
                    let without = if load.without.is_empty() {
                        String::new()
                    } else {
                        format!(" without {}", load.without.join(", "))
                    };
                    let turns = if load.rotate { ", its parts in turns" } else { "" };
                    format!("; under load {name}{without}{turns}")
                });
                format!("{}{asked}{load}", run.kind().name)
            }
        }
    }
}

/// The fields of a request that have another value than the default, as a line for people.
fn changed(request: &Request) -> String {
    let kind = serde_json::json!({ "kind": request.measurement().name() });
    let defaults = serde_json::from_value::<Request>(kind).and_then(serde_json::to_value).unwrap_or_default();
    let fields = serde_json::to_value(request).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let changed = fields.filter(|(name, value)| defaults.get(*name) != Some(*value) && *name != "kind");
    changed.map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
}

/// A value without the marks of JSON.
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

/// How long a command line measures, where it says so by a number of samples.
fn takes_by_words(words: &[String], kind: &record::Kind) -> Option<Ns> {
    let of = |option: &str| {
        let mut words = words.iter();
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
    let each = if kind.sampling == record::Sampling::Repetitions { Ns::from_us(1) } else { interval };
    each.0.checked_mul(samples).map(Ns)
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

    const HEAD: &str =
        "name = \"c\"\nabout = \"a\"\nrepetitions = 1\n[[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"a\"\n";

    fn read(rest: &str) -> Result<Campaign, String> {
        Campaign::from_toml(&format!("{HEAD}{rest}"), &Choice::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_is_its_request_with_what_its_levels_ask_otherwise() {
        let campaign = read(
            "[[factor.level]]\nname = \"b\"\nasked = { request = { priority = 80 }, load = { name = \"paper\" } }\n\
             [[measurement]]\nname = \"m\"\nduration = \"5s\"\n\
             request = { kind = \"wakeup\", interval = \"1ms\", placement = { pinned = \"2-3\" } }\n",
        )
        .unwrap();
        assert_eq!(Campaign::from_toml(&campaign.to_toml(), &Choice::default()).unwrap(), campaign);
        let [first, second] = campaign.factor[0].level.as_slice() else { panic!("{campaign:?}") };
        let words = |level: &Level| campaign.measurement[0].at([level]).unwrap().in_words();
        assert_eq!(words(first), "wakeup: end after 5s, interval 1ms, placement pinned 2-3");
        let changed = "wakeup: end after 5s, interval 1ms, placement pinned 2-3, priority 80; under load paper";
        assert_eq!(words(second), changed);
        assert_eq!(campaign.measurement[0].takes(), Some(Ns::from_s(5)));
        assert!(campaign.measurement[0].is_compared() && !campaign.measurement[0].states_deadline());
    }

    #[test]
    fn what_does_not_fit_a_request_is_refused_when_the_file_is_read() {
        let level = |asked: &str| format!("[[factor.level]]\nname = \"b\"\n{asked}\n[[measurement]]\nname = \"m\"\n");
        let request = "request = { kind = \"noise\" }\n";
        for (text, part) in [
            (level("") + "request = { kind = \"noise\", interval = \"1ms\" }", "unknown field `interval`"),
            (level("") + "request = { kind = \"sync\" }", "unknown variant `sync`"),
            (
                level("asked = { request = { priority = 80, interval = \"1ms\" } }") + request,
                "level b: unknown field `interval`",
            ),
            (
                level("measure = [\"--load\", \"paper\"]") + request,
                "level b adds words, and measurement m is a request",
            ),
            (level("asked = { load = { name = \"x\" } }") + "measure = [\"noise\"]", "measurement m is words"),
            (level("asked = { load = { rotate = true } }") + request, "neither a name nor a command"),
            (level("measure = [\"-q\"]") + request + "measure = [\"noise\"]", "has a request and words"),
            (
                level("measure = [\"-q\"]") + "measure = [\"noise\"]\nload = { name = \"x\" }",
                "beside a request, not beside words",
            ),
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

    #[test]
    fn how_long_a_run_takes_follows_from_its_words() {
        let takes = |words: &[&str]| {
            let measure = words.iter().map(|word| (*word).to_owned()).collect();
            Measurement { name: "m".to_owned(), title: None, what: What::Words(measure), duration: None }.takes()
        };
        assert_eq!(takes(&["wakeup", "--interval", "10ms", "--samples", "100"]), Some(Ns::from_s(1)));
        assert_eq!(takes(&["wakeup", "--samples=5000"]), Some(Ns::from_s(1)));
        assert_eq!(takes(&["clock", "--samples", "1000000"]), Some(Ns::from_s(1)));
        assert_eq!(takes(&["wakeup"]), None);
        assert_eq!(takes(&["wakeup", "--samples"]), None);
    }
}
