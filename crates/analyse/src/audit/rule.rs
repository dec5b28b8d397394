//! A rule of the audit: identity, explanation and the look at a program.

use std::fmt;

use record::{AuditEvidence, AuditFinding, AuditSeverity};
use serde::Serialize;

use super::seen::Seen;

/// A rule with its long explanation; the form of `check`'s.
#[derive(Serialize)]
pub struct Rule {
    /// Kebab-case, never reused for something else, `app-` before it.
    pub id: &'static str,
    /// What is found, in one line, for any program.
    pub title: &'static str,
    /// The severities that the finding can have, most severe first.
    pub severities: &'static [AuditSeverity],
    /// What it is.
    pub what: &'static str,
    /// Why it costs latency.
    pub why: &'static str,
    /// How to see it by hand.
    pub see: &'static str,
    /// How to change it.
    pub change: &'static str,
    /// What the change costs.
    pub price: &'static str,
    /// Documents behind it.
    pub sources: &'static [&'static str],
    /// Looks at a program; a rule is silent on what was not seen.
    #[serde(skip)]
    pub(super) find: fn(&Seen) -> Option<Found>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Rule {
    pub(super) fn apply(&self, seen: &Seen) -> Option<AuditFinding> {
        let found = (self.find)(seen)?;
        Some(AuditFinding {
            id: self.id.to_owned(),
            severity: found.severity,
            title: found.title,
            evidence: found.evidence,
            why: self.why.to_owned(),
            remedy: vec![self.change.to_owned()],
        })
    }

    /// The parts of the long explanation with their headings.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &'static str); 5] {
        [
            ("What it is", self.what),
            ("Why it matters", self.why),
            ("How to see it", self.see),
            ("How to change it", self.change),
            ("Price", self.price),
        ]
    }
}

/// How much a finding matters, in words.
#[must_use]
pub const fn severity_word(severity: AuditSeverity) -> &'static str {
    match severity {
        AuditSeverity::Problem => "problem",
        AuditSeverity::Warning => "warning",
        AuditSeverity::Note => "note",
    }
}

/// What a rule saw.
#[derive(Debug)]
pub(super) struct Found {
    severity: AuditSeverity,
    title: String,
    evidence: Vec<AuditEvidence>,
}

/// How many readings a finding lists.
const SHOWN: usize = 8;

impl Found {
    pub(super) fn new(severity: AuditSeverity, title: impl Into<String>) -> Self {
        Self { severity, title: title.into(), evidence: Vec::new() }
    }

    /// With the evidence, where there is any; else nothing was found.
    pub(super) fn by(mut self, evidence: Vec<AuditEvidence>) -> Option<Self> {
        let rest = evidence.len().saturating_sub(SHOWN);
        self.evidence.extend(evidence.into_iter().take(SHOWN));
        if rest > 0 {
            self.evidence.push(read("and more", format!("{rest} others alike")));
        }
        (!self.evidence.is_empty()).then_some(self)
    }
}

/// One reading.
pub(super) fn read(source: impl Into<String>, value: impl Into<String>) -> AuditEvidence {
    AuditEvidence { source: source.into(), value: value.into() }
}
