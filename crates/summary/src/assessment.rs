//! The conclusion of `assess` from several runs and the findings: five lines of text, and what to change first.

use record::Certainty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use analysis::tail::ClaimAnswer;

/// The answer to "will this machine act on time?". Its words here are those of version 1 of `assessment.json`; from version 2
/// on the document has those of [`record::VerdictState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// No wake-up exceeded the deadline in any part, and every requested part measured enough to conclude that.
    Holds,
    /// At least one wake-up exceeded the deadline in a part that is not invalid.
    DoesNotHold,
    /// The runs do not decide it; the sentence gives the reason.
    CannotBeTold,
}

/// The conclusion of an assessment. [`crate::AssessmentDocument`] is its published form.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Assessment {
    /// The latency that no wake-up may exceed (ns).
    pub deadline_ns: u64,
    /// The conclusion in one word.
    pub answer: Answer,
    /// The conclusion in one sentence with the number that decides it.
    pub sentence: String,
    /// Lines under the sentence: each part, what makes wake-ups late, how far the numbers can be trusted.
    pub lines: Vec<String>,
    /// What to change, the most promising first.
    pub changes: Vec<Change>,
    /// The answer to a claim about future latency, from the run under load; absent if no claim was made.
    #[serde(default)]
    pub claim: Option<ClaimAnswer>,
}

impl Assessment {
    /// The heading of the list of changes. If the deadline holds nothing has to change, and the changes only add margin.
    #[must_use]
    pub const fn changes_heading(&self) -> &'static str {
        match self.answer {
            Answer::Holds => "What would add margin",
            Answer::DoesNotHold | Answer::CannotBeTold => "What to change first",
        }
    }
}

/// One recommended change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The change in a few words.
    pub title: String,
    /// Why the change matters on this machine.
    pub why: String,
    /// The commands or settings that make the change.
    pub how: Vec<String>,
    /// The identifier of the finding behind the change, for `punctual explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// The estimated share of all samples beyond the deadline that the change would remove (0 to 1). If the deadline holds, the
    /// share of the samples beyond half of it. Absent if no measurement supports an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removes_share_of_beyond: Option<f64>,
    /// The worst latency found with this cause (ns).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_ns: Option<u64>,
    /// The certainty that this cause makes samples late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sureness: Option<Certainty>,
    /// The number of samples that the recommendation rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis_samples: Option<u64>,
}
