//! What a measuring command knows of the machine: its profile and the findings about it.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use host::Root;
use profile::check::{Findings, Severity};
use profile::{ProbeIssue, Profile};
use summary::Change;
use units::Ns;

/// The longest time that interrupts are watched for.
const WATCH_MAX: Ns = Ns::from_s(86_400);

/// This machine, or the captured tree that `--root` names.
pub(crate) fn root(tree: Option<&Path>) -> anyhow::Result<Root> {
    Ok(match tree {
        Some(path) => Root::tree(path)?,
        None => Root::live(),
    })
}

/// The time that `--watch` asks for, found sensible before anything is read.
pub(crate) fn watch_window(window: Ns) -> anyhow::Result<Duration> {
    if window <= Ns::ZERO || window > WATCH_MAX {
        bail!("--watch {window} is not a window of more than 0 and at most 24 h; write for example --watch 1s");
    }
    Ok(window.to_std())
}

/// Counts the interrupts that arrive in a time, in place of those since boot.
pub(crate) fn watch_interrupts(root: &Root, window: Duration, profile: &mut Profile, issues: &mut Vec<ProbeIssue>) {
    let (window, window_issues) = host::read_irq_window(root, window);
    window.apply(&mut profile.irqs);
    issues.extend(window_issues);
    issues.sort();
    issues.dedup();
}

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
        Self { audit: Findings::from_profile(&profile, issues), sha256: profile.hash(), profile }
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
                ..Change::default()
            })
            .collect()
    }
}
