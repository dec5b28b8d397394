//! What a sweep came to, as the document that `pulse sweep` prints and keeps, and a report reads.

use pulse::sweep::{Claim, Conclusion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{DocumentError, parsed};

/// The schema of the document.
pub const SWEEP_SCHEMA: &str = "punctual/sweep";
/// Its version.
pub const SWEEP_VERSION: u32 = 1;

/// What a sweep for the smallest lead came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepDocument {
    /// Name of the schema: `punctual/sweep`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// What it came to, as a sentence.
    pub sentence: String,
    /// Each cycle with the lead that holds, or why there is none.
    pub conclusion: Conclusion,
    /// The runs that it rests on, in the order in which they were carried out. Runs that showed nothing are not among them.
    #[serde(default)]
    pub runs: Vec<SweepRun>,
}

/// A run of orders that a sweep rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRun {
    /// Which run of the sweep it is, from 1 on.
    pub number: u32,
    /// What it was for.
    pub step: SweepStep,
    /// From one order to the next (ns).
    pub cycle_ns: u64,
    /// How long before its moment each order was sent (ns).
    pub lead_ns: u64,
    /// Unique identifier of its record.
    pub record: String,
    /// The file that its record was kept in, beside the document; `None` if it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// What a run of a sweep was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SweepStep {
    /// To find the lead that orders need.
    Explore,
    /// To confirm a lead by fresh orders.
    Confirm,
}

impl SweepStep {
    /// The word that its files bear.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Confirm => "confirm",
        }
    }
}

impl SweepDocument {
    /// The document of this version.
    #[must_use]
    pub fn new(sentence: String, conclusion: Conclusion, runs: Vec<SweepRun>) -> Self {
        Self { schema: SWEEP_SCHEMA.to_owned(), version: SWEEP_VERSION, sentence, conclusion, runs }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// If it is no JSON, or of another schema or version.
    pub fn from_json(text: &str) -> Result<Self, DocumentError> {
        parsed(text, SWEEP_SCHEMA, SWEEP_VERSION)
    }

    /// The run that confirmed a claim; `None` if the document does not name its runs.
    #[must_use]
    pub fn confirming(&self, claim: &Claim) -> Option<&SweepRun> {
        let is_it = |run: &&SweepRun| {
            run.step == SweepStep::Confirm && (run.cycle_ns, run.lead_ns) == (claim.cycle_ns, claim.lead_ns)
        };
        self.runs.iter().rfind(is_it)
    }
}
