//! No periodic loop was recognised in any thread.

use super::{Checked, Evidence, Found, Rule, Seen, Severity};

/// Says that no thread repeats a pattern of calls, so that nothing could be judged by its turns.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-no-loop",
    title: "No periodic loop was recognised in any thread",
    severities: &[Severity::Note],
    what: "No followed thread returned often enough from one and the same wait, so that nothing tells its start-up from its loop.",
    why: "What is called inside a loop was not judged: the audit is silent on it, which is no praise.",
    see: "The record's threads: waits_by is absent.",
    change: "Let the program run longer, or name the thread with --thread.",
    price: "Time.",
    checked: Checked::Independent("the limits of this audit"),
    sources: &["docs/app.md"],
    find,
};

fn find(seen: &Seen) -> Option<Found> {
    if seen.threads.iter().any(|thread| thread.periodic.is_some()) {
        return None;
    }
    let evidence = seen.threads.iter().map(|thread| Evidence::new(thread.label(), "no loop recognised")).collect();
    Found::note("No periodic loop was recognised, so nothing inside one was judged").by(evidence)
}
