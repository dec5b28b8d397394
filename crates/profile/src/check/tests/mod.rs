//! The audit against a well-configured machine, and against that machine with one thing wrong at a time.

mod base;
mod catalogue;
mod isolation;
mod kernel;
mod machine;
mod time;
mod traffic;

use super::{Finding, Severity, check as audit};
use crate::Profile;

pub(super) use base::{cpus, good, ordinary};

/// The well-configured machine after `spoil` must have this finding, with this severity.
pub(super) fn check(id: &str, severity: Severity, spoil: impl FnOnce(&mut Profile)) -> Finding {
    let mut profile = good();
    spoil(&mut profile);
    let found = audit(&profile).into_iter().find(|finding| finding.id == id);
    let Some(finding) = found else { panic!("{id} was not found") };
    assert_eq!(finding.severity, severity, "{finding:?}");
    assert!(
        super::rule(id).is_some_and(|rule| rule.severities.contains(&severity)),
        "{id} does not announce {severity}"
    );
    assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty() && !finding.why.is_empty(), "{finding:?}");
    assert!(
        finding.evidence.iter().all(|evidence| !evidence.source.is_empty() && !evidence.value.is_empty()),
        "{finding:?}"
    );
    finding
}

/// The well-configured machine after `change` must not have this finding.
pub(super) fn check_silent(id: &str, change: impl FnOnce(&mut Profile)) {
    assert!(super::rule(id).is_some(), "{id} is no rule");
    let mut profile = good();
    change(&mut profile);
    let found = audit(&profile).into_iter().find(|finding| finding.id == id);
    assert_eq!(found, None);
}
