//! A finding: something about a machine or a program that can prevent it from acting on time.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The machine or program cannot be expected to act on time, or a requested setting is not in force.
    Problem,
    /// Latency suffers under likely conditions.
    Warning,
    /// Worth knowing: a trade-off, or a problem under rare conditions.
    Note,
}

impl Severity {
    /// The severity as one word, as reports print it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A piece of evidence: what was read or observed, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The source: a file, a parameter or a driver query; for a program its thread, process or file.
    pub source: String,
    /// What the source contained, or what was observed there.
    pub value: String,
}

impl Evidence {
    /// Evidence that `source` contained `value`.
    #[must_use]
    pub fn new(source: impl Into<String>, value: impl Into<String>) -> Self {
        Self { source: source.into(), value: value.into() }
    }
}

impl From<(String, String)> for Evidence {
    fn from((source, value): (String, String)) -> Self {
        Self { source, value }
    }
}

/// Something about a machine or a program that can prevent it from acting on time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Name of the finding, as given to `punctual explain`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, in one line.
    pub title: String,
    /// What was read or observed, and where.
    pub evidence: Vec<Evidence>,
    /// Why the finding matters.
    pub why: String,
    /// How to change it, one step or alternative per entry.
    pub remedy: Vec<String>,
}
