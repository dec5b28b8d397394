//! The forms in which findings and their explanations are published.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, check};
use crate::catalogue::Explanation;
use crate::{ProbeIssue, Profile};

/// The name of the findings' form.
pub const SCHEMA: &str = "punctual/findings";

/// The version of that form.
pub const SCHEMA_VERSION: u32 = 1;

/// The name of the catalogue's form.
pub const CATALOGUE_SCHEMA: &str = "punctual/catalogue";

/// The audit of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Name of the schema: always `punctual/findings`.
    pub schema: String,
    /// The version of this form.
    pub version: u32,
    /// The identity of the configuration that was audited: SHA-256 in hexadecimal.
    pub profile_sha256: String,
    /// What was found, most severe first.
    pub findings: Vec<Finding>,
    /// What could not be read, and was therefore not judged.
    pub issues: Vec<ProbeIssue>,
}

impl Findings {
    /// Audits a profile; `issues` are the gaps that its reader met.
    #[must_use]
    pub fn from_profile(profile: &Profile, issues: Vec<ProbeIssue>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: SCHEMA_VERSION,
            profile_sha256: profile.hash(),
            findings: check(profile),
            issues,
        }
    }
}

/// Explanations of findings.
#[derive(Debug, Serialize)]
pub struct Explanations {
    /// Name of the schema: always `punctual/catalogue`.
    pub schema: &'static str,
    /// The version of this form.
    pub version: u32,
    /// One explanation for each finding that was asked for.
    pub findings: Vec<Explanation>,
}

impl Explanations {
    /// A document of these explanations, in this order.
    #[must_use]
    pub fn new(findings: Vec<Explanation>) -> Self {
        Self { schema: CATALOGUE_SCHEMA, version: SCHEMA_VERSION, findings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_survive_writing_and_reading() {
        let mut profile = Profile::default();
        profile.kernel.preemption = crate::Preemption::Voluntary;
        let audit = Findings::from_profile(&profile, Vec::new());
        assert_eq!(audit.findings[0].id, "kernel-not-realtime");
        let text = serde_json::to_string(&audit).unwrap();
        assert!(text.contains("\"severity\":\"problem\""), "{text}");
        assert_eq!(serde_json::from_str::<Findings>(&text).unwrap(), audit);
    }
}
