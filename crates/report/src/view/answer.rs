//! The view of edges that were answered.

use schemars::JsonSchema;
use serde::Serialize;

use crate::exact::Exact;

/// Edges that were answered, and what a witness saw of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnswerView {
    /// What was counted, and what the witness saw, as sentences with their full stops.
    pub sentences: Vec<String>,
    /// Which of the witness's seconds are shown, as the words before their table; empty without any.
    pub shown: String,
    /// The witness's worst seconds, the worst first; empty without a witness.
    pub worst_seconds: Vec<WitnessSecondView>,
}

/// What a witness said of a second.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WitnessSecondView {
    /// When, from the start of the run, in words.
    pub at: String,
    /// How many answers it tells of, without those that were given up.
    pub samples: Exact,
    /// The shortest (ns).
    pub min_ns: Option<Exact>,
    /// The mean (ns).
    pub mean_ns: Option<Exact>,
    /// The longest in words: a lower bound where there are overruns.
    pub longest: String,
    /// Answers that were given up, and periods that answers took longer than one.
    pub overruns: Exact,
}
