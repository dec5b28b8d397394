//! A finding: something about a machine or a program that stands in the way of acting on time.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The machine or program cannot be expected to act on time, or a setting that was asked for is not in force.
    Problem,
    /// Latency suffers under conditions that are likely.
    Warning,
    /// Worth knowing: a choice with a price, or a condition that is rare.
    Note,
}

impl Severity {
    /// In words.
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

/// What was read or seen, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The file, parameter or question to a driver; of a program the thread, process or file.
    pub source: String,
    /// What it said, or what was seen there.
    pub value: String,
}

impl Evidence {
    /// One reading.
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

/// Something about a machine or a program that stands in the way of acting on time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The finding's name, for `punctual explain`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, in one line.
    pub title: String,
    /// What was read or seen, and where.
    pub evidence: Vec<Evidence>,
    /// Why it matters.
    pub why: String,
    /// How to change it, one step or alternative per entry.
    pub remedy: Vec<String>,
}
