//! The loop makes threads or processes.

use trace::Work;

use super::{Found, LINUX, ObservedProgram, Rule, Severity, calls};

/// Finds loops that start threads or processes.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-threads-in-loop",
    title: "The loop makes threads or processes",
    severities: &[Severity::Problem],
    what: "Inside the loop clone, fork or execve were called.",
    why: "Each copies descriptions of memory and files under locks, allocates a stack, and makes the pages of a forked process shared, so that the next write to each faults.",
    see: "strace -f -e trace=process -p PID.",
    change: "Make threads before the loop and wake them; leave starting programs to a process of its own.",
    price: "A thread that waits.",
    checked: LINUX,
    sources: &["man 2 clone"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = calls(seen, |_, call| call.what.call.work() == Work::Create);
    Found::problem("The periodic loop makes threads or processes").by(evidence)
}
