//! Predicted worst cases as they are drawn.

use schemars::JsonSchema;
use serde::Serialize;
use summary::tail::{CauseRows, ExpectationRow};

use crate::exact::Exact;

/// The worst cases that one latency of one run predicts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TailView {
    /// Unique identifier of the run.
    pub run: String,
    /// Label of the run, with the latency if its kind has several.
    pub label: String,
    /// What the run predicts, or why it predicts nothing.
    pub sentence: String,
    /// What is known without any model.
    pub model_free: String,
    /// Whether no evidence against stationarity was found: the process may have stayed the same during the run.
    pub stationary: bool,
    /// The result on stationarity, in a sentence.
    pub stationarity: String,
    /// Where the maxima change most, in measured time (ns); null if no change is shown.
    pub change_ns: Option<Exact>,
    /// Reasons why predictions are refused, the most severe first.
    pub refusals: Vec<String>,
    /// The prediction for each requested horizon.
    pub expectations: Vec<ExpectationView>,
    /// The tail by cause; null if the run has no explanation.
    pub by_cause: Option<ByCauseView>,
    /// The answer to a claim; null if none was made.
    pub claim: Option<ClaimView>,
    /// The heading of the prediction intervals in a table.
    pub interval: String,
    /// Coverage of the prediction intervals (0 to 1).
    pub level: f64,
    /// The method, in one line.
    pub how: String,
    /// Further remarks that are needed to read the numbers.
    pub notes: Vec<String>,
    /// Interval maxima in chronological order.
    pub maxima: MaximaView,
    /// The predicted worst case as a function of the horizon; without points if it is refused.
    pub curve: CurveView,
    /// Measured maxima with their return periods.
    pub seen: SeenView,
}

/// The predicted worst case for one horizon: a length of time to come.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExpectationView {
    /// The horizon (ns).
    pub horizon_ns: Exact,
    /// Lower end of the prediction interval (ns); null if the prediction is refused.
    pub low_ns: Option<f64>,
    /// Middle of the prediction interval (ns); null if the prediction is refused.
    pub typical_ns: Option<f64>,
    /// Upper end of the prediction interval (ns); null if the prediction is refused.
    pub high_ns: Option<f64>,
    /// The same in words, or why it is refused.
    pub words: ExpectationRow,
}

/// The causes of the samples above a level, and the worst case that would remain without them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ByCauseView {
    /// What removing a cause would gain, in a sentence, or why that is unknown.
    pub sentence: String,
    /// The causes in words.
    pub table: CauseRows,
}

/// The answer to a claim.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClaimView {
    /// The answer in one word: `shown`, `broken`, …
    pub word: String,
    /// Whether the claim is shown.
    pub shown: bool,
    /// The answer in a sentence.
    pub sentence: String,
    /// The claimed limit (ns).
    pub limit_ns: Exact,
    /// The horizon of the claim (ns).
    pub horizon_ns: Exact,
}

/// Interval maxima in chronological order; columns of equal length, except for the parts.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct MaximaView {
    /// Start of each interval, in measured time (ns).
    pub start_ns: Vec<Exact>,
    /// Maximum of each interval (ns).
    pub max_ns: Vec<Exact>,
    /// Length of an interval (ns).
    pub length_ns: Exact,
    /// Starts of the equal parts into which the run is divided (ns).
    pub part_start_ns: Vec<Exact>,
    /// Median of the interval maxima of each part (ns).
    pub part_median_ns: Vec<f64>,
}

/// The predicted worst case as a function of the horizon; columns of equal length.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CurveView {
    /// Horizons (ns), ascending.
    pub horizon_ns: Vec<Exact>,
    /// Lower end of each prediction interval (ns).
    pub low_ns: Vec<f64>,
    /// Middle of each prediction interval (ns).
    pub typical_ns: Vec<f64>,
    /// Upper end of each prediction interval (ns).
    pub high_ns: Vec<f64>,
}

/// Measured maxima with their return periods; columns of equal length.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SeenView {
    /// Return period: the time in which one maximum as large is expected (ns), ascending.
    pub horizon_ns: Vec<Exact>,
    /// The maximum (ns).
    pub max_ns: Vec<Exact>,
}
