//! What a measuring command knows of the machine: its profile and the findings about it.

use analyse::Change;
use host::Root;
use profile::Profile;
use profile::check::{Findings, Severity};

/// The machine as it was when it was read.
pub(crate) struct Node {
    /// Everything that was read.
    pub(crate) profile: Profile,
    /// What was found in it, the gravest first.
    pub(crate) audit: Findings,
    /// Identity of the profile.
    pub(crate) sha256: String,
}

impl Node {
    /// Reads this machine; what cannot be read is in the profile as unknown.
    pub(crate) fn read() -> Self {
        let (profile, issues) = host::read_profile(&Root::live());
        Self { audit: Findings::of(&profile, issues), sha256: profile.hash(), profile }
    }

    /// What the findings would change, the gravest first; a note asks for nothing.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.audit
            .findings
            .iter()
            .filter(|finding| finding.severity != Severity::Note && !finding.remedy.is_empty())
            .map(|finding| Change {
                title: finding.title.clone(),
                why: finding.why.clone(),
                how: finding.remedy.clone(),
                finding: Some(finding.id.clone()),
            })
            .collect()
    }
}
