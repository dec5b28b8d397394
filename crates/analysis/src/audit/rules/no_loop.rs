//! No periodic loop was recognized in any thread.

use super::{Checked, Evidence, Found, ObservedProgram, Rule, Severity};

/// Reports that no thread repeats a pattern of calls, so that the rules about loops judged nothing.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-no-loop",
    title: "No periodic loop was recognized in any thread",
    severities: &[Severity::Note],
    what: "No followed thread returned often enough from the same wait, so its start-up cannot be distinguished from its loop.",
    why: "Calls inside a loop were not judged. That the audit reports nothing about them does not mean that they are harmless.",
    see: "The record's threads: waits_by is absent.",
    change: "Let the program run longer, or name the thread with --thread.",
    price: "Time.",
    checked: Checked::Independent("the limits of this audit"),
    sources: &["docs/app.md"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    if seen.threads.iter().any(|thread| thread.periodic.is_some()) {
        return None;
    }
    let evidence = seen.threads.iter().map(|thread| Evidence::new(thread.label(), "no loop recognized")).collect();
    Found::note("No periodic loop was recognized, so nothing inside one was judged").by(evidence)
}
