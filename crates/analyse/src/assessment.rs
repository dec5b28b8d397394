//! What `assess` concludes from several runs and the findings: five lines of plain words, and what to change first.

use record::Certainty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tail::ClaimAnswer;

/// The name of the schema of `assessment.json`.
pub const ASSESSMENT_SCHEMA: &str = "punctual/assessment";
/// The version that this program writes.
pub const ASSESSMENT_VERSION: u32 = 1;

/// The answer to "will this machine act on time?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// No wake-up exceeded the deadline in any part, and every part that was asked measured enough to say so.
    Holds,
    /// At least one did, in a part that is not invalid.
    DoesNotHold,
    /// The runs cannot tell, always with the reason.
    CannotBeTold,
}

/// The whole conclusion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assessment {
    /// The limit (ns).
    pub deadline_ns: u64,
    /// The conclusion in one word.
    pub answer: Answer,
    /// The conclusion in one sentence with the number that decides it.
    pub sentence: String,
    /// Lines under the sentence: each part, what makes wake-ups late, how far the numbers can be trusted.
    pub lines: Vec<String>,
    /// What to change, the most promising first.
    pub changes: Vec<Change>,
    /// The answer to a claim about the time to come, from the run under load, where one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimAnswer>,
}

/// The file `assessment.json`: the conclusion with the name and version of its schema.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AssessmentDocument {
    /// `punctual/assessment`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// What is concluded; its fields stand beside the name of the schema.
    #[serde(flatten)]
    pub assessment: Assessment,
}

impl Assessment {
    /// What stands over the changes: where the deadline holds nothing has to change, and they add margin.
    #[must_use]
    pub const fn changes_heading(&self) -> &'static str {
        match self.answer {
            Answer::Holds => "What would add margin",
            Answer::DoesNotHold | Answer::CannotBeTold => "What to change first",
        }
    }

    /// The conclusion as it is written to a file.
    #[must_use]
    pub fn document(&self) -> AssessmentDocument {
        AssessmentDocument {
            schema: ASSESSMENT_SCHEMA.to_owned(),
            version: ASSESSMENT_VERSION,
            assessment: self.clone(),
        }
    }
}

/// One thing to change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What, in a few words.
    pub title: String,
    /// Why it matters here.
    pub why: String,
    /// Commands or settings.
    pub how: Vec<String>,
    /// The finding behind it, for `punctual explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// About what share of all samples beyond the deadline it would remove (0 to 1); where the deadline holds, of those beyond half
    /// of it. Absent where nothing that was measured says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removes_share_of_beyond: Option<f64>,
    /// The worst latency that it is found to cause (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_ns: Option<u64>,
    /// How sure it is that this makes samples late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sureness: Option<Certainty>,
    /// Samples that this rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis_samples: Option<u64>,
}
