//! What a measuring command knows of the machine: its profile and the findings about it.

use analyse::Change;
use host::Root;
use serde::Serialize;

/// The machine as it was when it was read.
pub(crate) struct Node {
    /// Everything that was read.
    pub(crate) profile: profile::Profile,
    /// What was found in it, the gravest first.
    pub(crate) findings: Vec<Finding>,
    /// Identity of the profile.
    pub(crate) sha256: String,
}

/// One finding, as it goes into the folder and the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {}

impl Node {
    /// Reads this machine; what cannot be read is in the profile as unknown.
    pub(crate) fn read() -> Self {
        let (profile, _) = host::read_profile(&Root::live());
        let sha256 = profile.hash();
        Self { findings: Vec::new(), sha256, profile }
    }

    /// What the findings would change, the gravest first.
    pub(crate) fn changes(&self) -> Vec<Change> {
        Vec::new()
    }
}
