//! Threads of helpers have inherited a real-time policy.

use super::{Evidence, Found, LINUX, ObservedProgram, Rule, Severity};

/// Finds threads without a periodic loop that have a real-time policy only because they inherited it.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-helper-threads",
    title: "Threads of helpers have inherited a real-time policy",
    severities: &[Severity::Warning],
    what: "A thread has its real-time policy only because it was made by one that had it, and it has no periodic loop. Libraries make such threads: loggers, name look-ups, graphics, interpreters.",
    why: "It competes with the periodic threads at their own priority, for as long as it likes.",
    see: "ps -eLo pid,tid,cls,rtprio,comm shows more real-time threads than the program has loops.",
    change: "Make helpers before the real-time policy is set, or with pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED), or set SCHED_RESET_ON_FORK in the policy of the thread that makes them.",
    price: "None.",
    checked: LINUX,
    sources: &["man 3 pthread_attr_setinheritsched", "man 7 sched (SCHED_RESET_ON_FORK)"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = seen
        .threads
        .iter()
        .chain(&seen.others)
        .filter(|thread| thread.real_time && thread.periodic.is_none())
        .filter_map(|thread| {
            let from = thread.inherited_from.as_ref()?;
            Some(Evidence::new(thread.label(), format!("made by {from}, whose policy it inherited; no periodic loop")))
        })
        .collect();
    Found::warning("Helper threads run at real-time priority").by(evidence)
}
