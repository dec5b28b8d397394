//! What could not be read, and what therefore stays unknown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why something could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IssueReason {
    /// It is not there: not built in, not mounted, or not captured.
    Missing,
    /// The reader lacks the right; root or a capability would help.
    Denied,
    /// It is longer than the reader accepts.
    TooLarge,
    /// It is there and could not be understood, or reading failed.
    Unreadable,
}

impl IssueReason {
    /// The reason as text for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Denied => "permission denied",
            Self::TooLarge => "too large",
            Self::Unreadable => "not readable",
        }
    }
}

/// One gap in a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ProbeIssue {
    /// The file or call, as named on the node.
    pub source: String,
    /// Why it could not be read.
    pub reason: IssueReason,
    /// What stays unknown because of it, and how to make it known.
    pub effect: String,
}
