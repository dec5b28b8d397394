//! What a rule saw.

use std::fmt;

use record::{Evidence, Severity};

/// How many readings of one kind a finding lists.
const SHOWN: usize = 8;

/// What a rule saw on this machine or of this program.
#[derive(Debug)]
pub struct Found {
    pub(super) severity: Severity,
    pub(super) title: String,
    pub(super) evidence: Vec<Evidence>,
    pub(super) remedy: Vec<String>,
}

impl Found {
    /// A problem, by what was found in one line.
    #[must_use]
    pub fn problem(title: impl Into<String>) -> Self {
        Self::new(Severity::Problem, title)
    }

    /// A warning, by what was found in one line.
    #[must_use]
    pub fn warning(title: impl Into<String>) -> Self {
        Self::new(Severity::Warning, title)
    }

    /// A note, by what was found in one line.
    #[must_use]
    pub fn note(title: impl Into<String>) -> Self {
        Self::new(Severity::Note, title)
    }

    /// What was found in one line, and how much it matters.
    #[must_use]
    pub fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self { severity, title: title.into(), evidence: Vec::new(), remedy: Vec::new() }
    }

    /// Adds what was read.
    #[must_use]
    pub fn read(mut self, source: impl Into<String>, value: impl fmt::Display) -> Self {
        self.evidence.push(Evidence::new(source, value.to_string()));
        self
    }

    /// Adds what was read, where it is known.
    #[must_use]
    pub fn read_known(self, source: impl Into<String>, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.read(source, value),
            None => self,
        }
    }

    /// Adds the first of many readings and says how many more there are: a list of hundreds helps nobody.
    #[must_use]
    pub fn read_many(mut self, readings: Vec<impl Into<Evidence>>) -> Self {
        let rest = readings.len().saturating_sub(SHOWN);
        self.evidence.extend(readings.into_iter().take(SHOWN).map(Into::into));
        if rest > 0 { self.read("and more", format!("{rest} others alike")) } else { self }
    }

    /// Found by these readings, where there are any; without one nothing was found.
    #[must_use]
    pub fn by(self, readings: Vec<Evidence>) -> Option<Self> {
        (!readings.is_empty()).then(|| self.read_many(readings))
    }

    /// Adds a step or alternative of the way out; without any, the rule's general advice is given.
    #[must_use]
    pub fn remedy(mut self, step: impl Into<String>) -> Self {
        self.remedy.push(step.into());
        self
    }
}
