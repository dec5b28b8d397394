//! The document that `punctual campaign report --json` prints.

use analysis::compare::Comparison;
use record::ValidityState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema name of a campaign's result.
pub const RESULT_SCHEMA: &str = "punctual/campaign-result";
/// The version that this program writes.
pub const RESULT_VERSION: u32 = 1;

/// The result of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CampaignResult {
    /// Name of the schema: always `punctual/campaign-result`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The campaign's name.
    pub name: String,
    /// The question that it answers, in one line.
    pub about: String,
    /// Host name of the machine; empty before the first run.
    pub node: String,
    /// Whether the campaign is complete.
    pub state: ResultState,
    /// The answer in one sentence.
    pub headline: String,
    /// The lines below the headline, in order.
    pub lines: Vec<String>,
    /// Seed of every random order.
    pub seed: u32,
    /// How often each condition is measured.
    pub repetitions: u32,
    /// The probability of showing any difference if there is none, over all comparisons together.
    pub false_alarms: f64,
    /// Number of comparisons that share this probability.
    pub comparisons: u64,
    /// The share of it that each comparison has.
    pub level_each: f64,
    /// Least number of repetitions with which a difference of worst cases can be shown. With fewer, none can be shown.
    pub least_repetitions: u32,
    /// Least number of repetitions with which a mean or quantile that is the only one to differ is always shown; 0 if
    /// unknown.
    #[serde(default)]
    pub least_repetitions_body: u32,
    /// Wall-clock time of the first start (ns since 1970-01-01 UTC).
    pub began_ns: Option<i64>,
    /// Number of reboots for this campaign.
    pub restarts: u32,
    /// The conditions, the baseline first.
    pub conditions: Vec<ConditionResult>,
    /// The measured values, a figure for each measurement and series.
    pub figures: Vec<Figure>,
    /// Each condition compared with the baseline.
    pub answers: Vec<Answer>,
    /// The winners together compared with the baseline, from new runs; empty if there is no confirmation (yet).
    pub confirmation: Vec<Answer>,
    /// The runs that count, in the order in which they were made.
    pub runs: Vec<RunLine>,
    /// Notes that a reader needs to judge the numbers.
    pub notes: Vec<String>,
}

/// The progress of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResultState {
    /// Runs are still to be made.
    Running,
    /// All runs were made.
    Complete,
    /// A stop rule ended it.
    StoppedEarly,
}

/// A condition and its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionResult {
    /// The levels that differ from the baseline, or the name of the baseline.
    pub name: String,
    /// Whether it is the baseline, with which the others are compared.
    pub is_baseline: bool,
    /// Whether it combines the winners.
    pub is_winners_together: bool,
    /// Number of planned runs.
    pub planned: u64,
    /// Number of runs that were made.
    pub measured: u64,
    /// Number of runs among them that are not used.
    pub unusable: u64,
    /// Number of degraded runs among them.
    pub degraded: u64,
    /// What was changed for it: the setting, its old value and its new one.
    pub changed: Vec<String>,
    /// What could not be changed, and why.
    pub refused: Vec<String>,
}

/// One series of one measurement, with all conditions side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The title of the figure.
    pub title: String,
    /// The name of the measurement.
    pub measurement: String,
    /// The latency by its two points, such as `scheduled_to_woke`.
    pub series: String,
    /// Distinguishes this series from others of the same name; empty if there are no others.
    pub variant: String,
    /// One bar for each condition that has a run, in the order of the conditions.
    pub bars: Vec<Bar>,
}

/// All samples of one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bar {
    /// The name of the condition.
    pub condition: String,
    /// Number of runs.
    pub runs: u64,
    /// Number of samples.
    pub samples: u64,
    /// Exact minimum (ns).
    pub min_ns: i64,
    /// Mean of all samples (ns).
    pub mean_ns: f64,
    /// Population standard deviation (ns); absent if the values of some samples are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_ns: Option<f64>,
    /// Exact maximum (ns).
    pub max_ns: i64,
    /// The maximum of each run, in the order of the runs (ns).
    pub maxima_ns: Vec<i64>,
}

/// The answer for one condition and one measurement, compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The name of the condition.
    pub condition: String,
    /// Index of the condition.
    pub place: u64,
    /// The name of the measurement.
    pub measurement: String,
    /// The answer as a state.
    pub state: AnswerState,
    /// The answer as a sentence with its numbers.
    pub sentence: String,
    /// Whether the settings changed for it differ from those changed for the baseline; absent if that is unknown, or if
    /// its levels ask for no settings of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_set_apart: Option<bool>,
    /// The comparison behind the answer: A is the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// The state of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerState {
    /// The worst case (or the rate beyond a stated deadline) is better, and the body is not worse by more than the
    /// margin.
    Helps,
    /// The worst case (or the rate) is worse, and the body is not better by more than the margin.
    Harms,
    /// Worst case and body change in opposite directions, the body by more than the margin: the user decides which
    /// counts more.
    #[serde(alias = "mixed")]
    Trade,
    /// The body is better by more than the margin; no difference of worst cases is shown.
    HelpsBody,
    /// The body is worse by more than the margin; no difference of worst cases is shown.
    HarmsBody,
    /// The body differs, but is not shown to exceed the margin; no difference of worst cases is shown.
    NotBeyondMargin,
    /// No difference is shown, which is not the same as equal.
    NoDifferenceShown,
    /// There are no runs, or too few to compare.
    NotMeasured,
}

impl AnswerState {
    /// The word that users read.
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

/// One run of the campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunLine {
    /// Number of the visit that it belongs to, from 1.
    pub number: u64,
    /// The name of the condition.
    pub condition: String,
    /// Whether it belongs to the confirmation.
    pub is_confirmation: bool,
    /// The name of the measurement.
    pub measurement: String,
    /// Path of the record, relative to the campaign's folder.
    pub file: String,
    /// Validity of the run.
    pub validity: ValidityState,
    /// Why it is not used although its record may be valid: settings changed while it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// Number of attempts that it took.
    pub attempts: u64,
}

impl CampaignResult {
    /// Whether the winners, measured again together, help in a measurement and harm in none; `None` if that is unknown.
    #[must_use]
    pub fn is_confirmed(&self) -> Option<bool> {
        use AnswerState::{Harms, HarmsBody, Helps, HelpsBody, NotMeasured, Trade};
        let any = |state| self.confirmation.iter().any(|answer| answer.state == state);
        let is_known = self.confirmation.iter().any(|answer| answer.state != NotMeasured);
        // If a winner helped the worst case, the confirmation has to help the worst case too.
        let levels: Vec<&str> = self.confirmation.iter().flat_map(|together| together.condition.split(',')).collect();
        let is_winner = |answer: &&Answer| levels.contains(&answer.condition.as_str());
        let of_worst_case = self.answers.iter().filter(is_winner).any(|answer| answer.state == Helps);
        let helps = any(Helps) || (!of_worst_case && any(HelpsBody) && !any(HarmsBody));
        is_known.then(|| helps && !any(Harms) && !any(Trade))
    }

    /// The JSON text, indented.
    ///
    /// # Panics
    /// Never: every field has a JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("every field has a JSON form") + "\n"
    }
}

schemars::only_where_made! {
    impl CampaignResult {
        /// The published JSON Schema.
        #[must_use]
        pub fn json_schema() -> serde_json::Value {
            schemars::schema_for!(Self).to_value()
        }
    }
}
