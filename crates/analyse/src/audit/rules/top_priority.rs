//! A thread has real-time priority 99.

use super::{Evidence, Found, Rule, Seen, Severity};

/// See its fields.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-top-priority",
    title: "A thread has real-time priority 99",
    severities: &[Severity::Warning],
    what: "The thread runs at 99, the priority of the kernel's own most urgent threads (migration, watchdogs).",
    why: "The kernel's threads that stop and move others cannot run before it: with a fault in the loop the machine hangs, and its own helpers wait.",
    see: "ps -eLo pid,tid,cls,rtprio,comm.",
    change: "Use 98 or less; above the interrupts' threads (50) is enough for most.",
    price: "None.",
    sources: &[
        "man 7 sched",
        "https://wiki.linuxfoundation.org/realtime/documentation/howto/applications/application_base",
    ],
    find,
};

fn find(seen: &Seen) -> Option<Found> {
    let top = seen.threads.iter().chain(&seen.others).filter(|thread| thread.priority == 99);
    let evidence = top.map(|thread| Evidence::new(thread.label(), format!("{} 99", thread.policy))).collect();
    Found::warning("A thread has real-time priority 99").by(evidence)
}
