//! The view of edges that were answered.

use schemars::JsonSchema;
use serde::Serialize;

use crate::exact::Exact;

/// Edges that were answered, and what a witness saw of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnswerView {
    /// What was counted, and what the witness saw, as sentences with their full stops.
    pub sentences: Vec<String>,
    /// The witness's worst seconds, the worst first; empty without a witness.
    pub worst_seconds: Vec<WitnessSecondView>,
    /// How many frames it has sent, or groups of frames where there were many.
    pub seconds: Exact,
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
    /// The longest in words: a lower bound where answers were given up.
    pub longest: String,
    /// Answers that were given up.
    pub overruns: Exact,
}
