//! The audit of a program: how it is written, as far as that can be seen from outside while it runs.
//!
//! A rule is one [`Rule`] value in a file of its own, registered by one line of [`CATALOGUE`], whose order also ranks
//! findings of equal severity. A rule judges what was seen, never what was not: a lock that nobody waited for, or memory
//! that the C library had in stock, leaves no trace.

mod document;
mod rule;
mod rules;
mod seen;
#[cfg(test)]
mod tests;

use record::AuditFinding;

pub use self::document::markdown;
pub use self::rule::{Rule, severity_word};
pub use self::seen::{
    CLOCK_REALTIME, CallSeen, Detail, FaultsSeen, LoopSeen, ProcessSeen, Seen, Target, ThreadSeen, Use,
};

/// Every rule; among findings of equal severity the earlier one is the more pressing.
pub static CATALOGUE: &[&Rule] = &[
    &rules::no_real_time::RULE,
    &rules::memory_not_locked::RULE,
    &rules::allocation::RULE,
    &rules::blocking::RULE,
    &rules::logging::RULE,
    &rules::files::RULE,
    &rules::creation::RULE,
    &rules::lock_inheritance::RULE,
    &rules::page_faults::RULE,
    &rules::stack_growth::RULE,
    &rules::relative_sleep::RULE,
    &rules::realtime_clock::RULE,
    &rules::top_priority::RULE,
    &rules::helper_threads::RULE,
    &rules::no_loop::RULE,
    &rules::unknown_calls::RULE,
];

/// Audits a program: most severe first, and the same program always gives the same list.
#[must_use]
pub fn audit(seen: &Seen) -> Vec<AuditFinding> {
    let mut findings: Vec<AuditFinding> = CATALOGUE.iter().filter_map(|rule| rule.apply(seen)).collect();
    // The sort is stable, so the catalogue's order ranks within a severity.
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// The rule behind a finding.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    CATALOGUE.iter().copied().find(|rule| rule.id == id)
}
