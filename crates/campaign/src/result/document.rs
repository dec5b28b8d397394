//! The document that `punctual campaign report --json` prints.

use analyse::compare::Comparison;
use record::ValidityState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of this schema.
pub const RESULT_SCHEMA: &str = "punctual/campaign-result";
/// The version that this program writes.
pub const RESULT_VERSION: u32 = 1;

/// What came of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CampaignResult {
    /// `punctual/campaign-result`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The campaign's name.
    pub name: String,
    /// What it asks.
    pub about: String,
    /// Host name; empty before the first run.
    pub node: String,
    /// How far it has come.
    pub state: ResultState,
    /// The answer in a sentence.
    pub headline: String,
    /// What stands under it.
    pub lines: Vec<String>,
    /// What decided every order that was drawn.
    pub seed: u32,
    /// How often each condition is measured.
    pub repetitions: u32,
    /// The probability of showing any difference where there is none, over all comparisons together.
    pub false_alarms: f64,
    /// How many comparisons share it.
    pub comparisons: u64,
    /// The probability that each comparison has of it.
    pub level_each: f64,
    /// With fewer repetitions no difference can be shown, however great; with so many one of worst cases can.
    pub least_repetitions: u32,
    /// With so many repetitions a row of the body that differs alone is sure to be shown; 0 where nobody said.
    #[serde(default)]
    pub least_repetitions_body: u32,
    /// When it began (ns since 1970-01-01 UTC).
    pub began_ns: Option<i64>,
    /// How often the machine was started anew for it.
    pub restarts: u32,
    /// What was measured, the one that others are compared with first.
    pub conditions: Vec<ConditionResult>,
    /// What came out, a figure for each measurement and series.
    pub figures: Vec<Figure>,
    /// Each condition against the first.
    pub answers: Vec<Answer>,
    /// The winners together against the first condition, measured anew; empty where there is none (yet).
    pub confirmation: Vec<Answer>,
    /// The runs that count, in the order in which they were made.
    pub runs: Vec<RunLine>,
    /// What a reader has to know beside the numbers.
    pub notes: Vec<String>,
}

/// How far a campaign has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResultState {
    /// Runs are still to be made.
    Running,
    /// All were made.
    Complete,
    /// Its stop rule ended it.
    StoppedEarly,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionResult {
    /// The levels that make it.
    pub name: String,
    /// Whether it is the one that others are compared with.
    pub is_baseline: bool,
    /// Whether it was made of the winners.
    pub is_winners_together: bool,
    /// Runs that it shall have.
    pub planned: u64,
    /// Runs that were made.
    pub measured: u64,
    /// Runs among them that are not used.
    pub unusable: u64,
    /// Runs among them whose numbers hold with a reservation.
    pub degraded: u64,
    /// What was changed for it: knob, from what, to what.
    pub changed: Vec<String>,
    /// What could not be changed, and why.
    pub refused: Vec<String>,
}

/// One measurement and series, all conditions side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What it is called.
    pub title: String,
    /// The measurement.
    pub measurement: String,
    /// The latency by its two points, as in the glossary.
    pub series: String,
    /// What tells this series from others of its name; empty where nothing has to.
    pub variant: String,
    /// One for each condition that has a run, in their order.
    pub bars: Vec<Bar>,
}

/// All samples of one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bar {
    /// The condition.
    pub condition: String,
    /// Runs.
    pub runs: u64,
    /// Samples.
    pub samples: u64,
    /// Exact smallest (ns).
    pub min_ns: i64,
    /// Mean (ns).
    pub mean_ns: f64,
    /// Population standard deviation (ns); absent where the values of some samples are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_ns: Option<f64>,
    /// Exact largest (ns).
    pub max_ns: i64,
    /// The largest of each run, in their order (ns).
    pub maxima_ns: Vec<i64>,
}

/// What is known of one condition against the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The condition.
    pub condition: String,
    /// Its place among the conditions.
    pub place: u64,
    /// What was measured.
    pub measurement: String,
    /// The answer in a word.
    pub state: AnswerState,
    /// The answer with its numbers.
    pub sentence: String,
    /// Whether other settings were changed for it than for the first condition; absent where that is not known, or its
    /// levels ask for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_set_apart: Option<bool>,
    /// The comparison behind it: A is the first condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// An answer in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerState {
    /// Its worst case is better (or the rate beyond a stated deadline lower), and its body is not worse by more than the
    /// margin.
    Helps,
    /// Its worst case is worse, and its body is not better by more than the margin.
    Harms,
    /// Worst case and body are opposed, the body by more than the margin: which counts more is for people to say.
    #[serde(alias = "mixed")]
    Trade,
    /// Its body is better by more than the margin; of the worst case nothing is shown.
    HelpsBody,
    /// Its body is worse by more than the margin; of the worst case nothing is shown.
    HarmsBody,
    /// Its body differs, and is not shown to do so by more than the margin; of the worst case nothing is shown.
    NotBeyondMargin,
    /// Nothing was shown, which is not the same as equal.
    NoDifferenceShown,
    /// There are too few runs to compare, or none.
    NotMeasured,
}

impl AnswerState {
    /// The word for people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Helps => "HELPS",
            Self::Harms => "HARMS",
            Self::Trade => "TRADE",
            Self::HelpsBody => "HELPS THE BODY",
            Self::HarmsBody => "HARMS THE BODY",
            Self::NotBeyondMargin => "not beyond the margin",
            Self::NoDifferenceShown => "no difference shown",
            Self::NotMeasured => "cannot be told",
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunLine {
    /// The visit that it belongs to, from 1.
    pub number: u64,
    /// The condition.
    pub condition: String,
    /// Whether it confirms winners.
    pub is_confirmation: bool,
    /// What was measured.
    pub measurement: String,
    /// The record, in the campaign's folder.
    pub file: String,
    /// How far it can be trusted.
    pub validity: ValidityState,
    /// Why it is not used although it means what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// How many attempts it took.
    pub attempts: u64,
}

impl CampaignResult {
    /// Whether the winners together, measured anew, help in a measurement and harm in none; absent where that is not known.
    #[must_use]
    pub fn is_confirmed(&self) -> Option<bool> {
        use AnswerState::{Harms, HarmsBody, Helps, HelpsBody, NotMeasured, Trade};
        let any = |state| self.confirmation.iter().any(|answer| answer.state == state);
        let is_known = self.confirmation.iter().any(|answer| answer.state != NotMeasured);
        // Where a winner helped the worst case, it is the worst case that has to help again.
        let levels: Vec<&str> = self.confirmation.iter().flat_map(|together| together.condition.split(',')).collect();
        let is_winner = |answer: &&Answer| levels.contains(&answer.condition.as_str());
        let of_worst_case = self.answers.iter().filter(is_winner).any(|answer| answer.state == Helps);
        let helps = any(Helps) || (!of_worst_case && any(HelpsBody) && !any(HarmsBody));
        is_known.then(|| helps && !any(Harms) && !any(Trade))
    }

    /// The JSON text, indented for people.
    ///
    /// # Panics
    /// Never: every field has a JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("every field has a JSON form") + "\n"
    }

    /// The published JSON Schema.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}
