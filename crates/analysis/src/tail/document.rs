//! What is said of a tail: the document that `punctual tail --json` prints.

use record::{CauseClass, Certainty, Measurement, ValidityState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claim::ClaimAnswer;
use super::refusal::Refusal;

/// The name of this schema.
pub const TAIL_SCHEMA: &str = "punctual/tail";
/// The version that this program writes.
pub const TAIL_VERSION: u32 = 2;

/// The worst case to be expected in future time spans, or why there is no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Name of the schema: `punctual/tail`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// What was measured.
    pub measurement: Measurement,
    /// The latency by its two points, as in the glossary.
    pub latency: String,
    /// Host name of the machine.
    pub node: String,
    /// The conclusion in a sentence or two.
    pub sentence: String,
    /// What is known without any model, in a sentence.
    pub model_free: String,
    /// The runs, in the order of time.
    pub runs: Vec<TailRun>,
    /// What was seen.
    pub observed: Observed,
    /// Whether the process stayed the same; absent if the runs keep no order in time.
    #[serde(default, skip_serializing_if = "Stationarity::is_unknown")]
    pub stationarity: Stationarity,
    /// All that speaks against one fit to all, the gravest first; none where that answers.
    pub refusals: Vec<Refusal>,
    /// The worst case of each time that was asked for.
    pub expectations: Vec<Expectation>,
    /// The same by causes; absent where the runs were not explained, or not even their worst sample was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_cause: Option<ByCause>,
    /// The answer to a claim, where one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimAnswer>,
    /// The fits; absent where nothing could be fitted. Where there are refusals they stand to be looked at only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<FitSummary>,
    /// Interval maxima in the order of time.
    pub maxima: Maxima,
    /// The worst case by the time to come, for a picture; empty where it is refused.
    pub curve: Curve,
    /// How it was judged.
    pub method: TailMethod,
    /// What a reader has to know beside the numbers.
    pub notes: Vec<String>,
}

/// One run that the answer rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailRun {
    /// Its unique name.
    pub id: String,
    /// A word for people.
    pub label: String,
    /// How far it can be trusted.
    pub validity: ValidityState,
    /// From the first schedule to the end (ns).
    pub duration_ns: u64,
    /// Intervals that it keeps, of all threads together.
    pub intervals: u64,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// Time that intervals cover (ns); absent if the runs keep none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub measured_ns: u64,
    /// Number of intervals.
    pub intervals: u64,
    /// The length of one (ns); absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub interval_ns: u64,
    /// The worst of all (ns); absent if no run has a sample of the latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_ns: Option<u64>,
    /// Number of samples of the latency.
    pub samples: u64,
    /// Number of independent intervals with as much information; absent if the order in time is unknown.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub independent_intervals: f64,
    /// The same of samples: by how intervals are alike, and by how peaks cluster within them.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub independent_samples: f64,
    /// Clusters to a peak (0 to 1): below 1 where bad samples come in bursts.
    pub extremal_index: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_unknown(value: &f64) -> bool {
    *value <= 0.0
}

/// Whether the process stayed the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stationarity {
    /// Whether nothing speaks against it.
    pub stationary: bool,
    /// In a sentence.
    pub sentence: String,
    /// The chance that a process which does not change wanders as far as all maxima do.
    pub p: f64,
    /// The same of when the highest fifth of them come.
    pub highest_p: f64,
    /// How alike neighboring maxima are (0 to 1), by their ranks.
    pub correlation: f64,
    /// Where they change most, in measured time (ns); absent where no change is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_ns: Option<u64>,
    /// A disturbance that comes back: how often within the run; absent where none is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Start of equal parts of the run, in measured time (ns).
    pub part_start_ns: Vec<u64>,
    /// The median maximum of each of them (ns).
    pub part_median_ns: Vec<f64>,
}

impl Stationarity {
    /// Whether nothing is known of it, because the order in time is missing.
    fn is_unknown(&self) -> bool {
        self.part_start_ns.is_empty()
    }
}

/// The worst case of one time to come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// The time (ns).
    pub horizon_ns: u64,
    /// Where its worst case lies; absent where that is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstCase>,
    /// What the answer goes by; absent where it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<WorstBasis>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The chance that it exceeds the worst that was seen, at the most and without any model (0 to 1); absent where the order
    /// in time speaks against that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_free_chance: Option<f64>,
}

/// What a worst case goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorstBasis {
    /// All times of that length within the run, and no model.
    Seen,
    /// The run's intervals, which are longer than the time span: only an upper bound is known.
    Interval,
    /// The fits of the tail.
    Fit,
    /// The fits of each cause, recombined.
    Causes,
}

impl WorstBasis {
    /// A few words for tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Seen => "what was seen",
            Self::Interval => "longer intervals",
            Self::Fit => "fit",
            Self::Causes => "fit of each cause",
        }
    }
}

impl CauseTail {
    /// The cause as in a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        cause_words(self.class, &self.name, self.certainty)
    }
}

/// A cause as in a sentence.
pub(super) fn cause_words(class: CauseClass, name: &str, certainty: Certainty) -> String {
    if class == CauseClass::Unknown || certainty == Certainty::Unknown {
        "no known cause".to_owned()
    } else if name.is_empty() {
        class.words().to_owned()
    } else {
        format!("{}: {name}", class.words())
    }
}

/// Worst cases by their causes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByCause {
    /// Above this nearly every sample has its cause (ns); nothing is stated about samples below.
    pub complete_above_ns: u64,
    /// The causes of what lies above it, the one with the worst sample first.
    pub causes: Vec<CauseTail>,
    /// What would be left without the worst cause, without the worst two, …: likely, never certain.
    pub without: Vec<Without>,
    /// What removing a cause would buy, in a sentence, or why that is unknown.
    pub sentence: String,
}

/// One cause: how often it comes, and how large it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseTail {
    /// Class of the cause.
    pub class: CauseClass,
    /// Its name; empty where there is none.
    pub name: String,
    /// How sure it is; unknown are also the samples that no explanation covers.
    pub certainty: Certainty,
    /// Its samples above the level.
    pub samples: u64,
    /// How often it comes in a day: the lower end of a 90 % interval (of independent ones), what was seen, the upper end.
    pub per_day: [f64; 3],
    /// The worst of them (ns).
    pub worst_ns: u64,
    /// Its size, where it could be fitted by itself: a generalised Pareto distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Fit>,
}

/// What would be left without some causes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Without {
    /// The causes that are taken out, in words.
    pub causes: Vec<String>,
    /// How sure the least sure of them is.
    pub certainty: Certainty,
    /// All samples above this are theirs, and were taken out (ns).
    pub above_ns: u64,
    /// The worst that is left (ns).
    pub worst_left_ns: u64,
    /// The worst case of each time that was asked for.
    pub expectations: Vec<Expectation>,
}

/// Where the worst case lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorstCase {
    /// The lower end of its interval (ns).
    pub low_ns: f64,
    /// Its middle (ns).
    pub typical_ns: f64,
    /// The upper end (ns).
    pub high_ns: f64,
}

/// Both fits, by maxima and by peaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitSummary {
    /// To the maxima of blocks: a generalised extreme-value distribution, by L-moments.
    pub gev: Fit,
    /// To samples over a threshold: a generalised Pareto distribution, by L-moments.
    pub gpd: Fit,
    /// The most likely GEV, beside the one by L-moments; absent where none is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gev_likelihood: Option<Fit>,
    /// The most likely GPD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpd_likelihood: Option<Fit>,
    /// Whether only what lies above a threshold was fitted, because all together are of several kinds. Both fits are then of
    /// peaks, the first one over a higher threshold and given as the distribution of block maxima that lies behind it.
    #[serde(default)]
    pub above_body: bool,
    /// Blocks that were fitted.
    pub blocks: u64,
    /// The length of one (ns).
    pub block_ns: u64,
    /// Samples over the threshold.
    pub peaks: u64,
}

/// One fit. The sign of the shape is SciPy's of `genpareto`; `genextreme` has its negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// Location, or threshold (ns).
    pub location_ns: f64,
    /// Scale of the distribution (ns).
    pub scale_ns: f64,
    /// Shape: above 0 without a bound, below 0 with one.
    pub shape: f64,
    /// The middle 90 % of the shape over all resamples: its lower end; absent of likelihood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape_low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape_high: Option<f64>,
}

/// Interval maxima in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Maxima {
    /// Start of each, in measured time (ns).
    pub start_ns: Vec<u64>,
    /// The maximum of each (ns).
    pub max_ns: Vec<u64>,
    /// The length of one (ns).
    pub length_ns: u64,
}

/// The worst case by the time to come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Times to come (ns), ascending.
    pub horizon_ns: Vec<u64>,
    /// The lower end of each interval (ns).
    pub low_ns: Vec<f64>,
    /// The middle (ns).
    pub typical_ns: Vec<f64>,
    /// The upper end (ns).
    pub high_ns: Vec<f64>,
    /// Maxima that were seen, by how long it takes to see one as large: the time (ns), ascending.
    pub seen_horizon_ns: Vec<u64>,
    /// The maximum (ns).
    pub seen_max_ns: Vec<u64>,
}

/// How it was judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailMethod {
    /// The part of outcomes that an interval holds (0 to 1).
    pub level: f64,
    /// How often the intervals were resampled.
    pub resamples: u32,
    /// Where the random numbers began; the same seed gives the same document.
    pub seed: u64,
    /// Neighboring blocks that were drawn together.
    pub block_neighbors: u64,
}
