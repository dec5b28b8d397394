//! The loop prints or logs.

use super::{Found, LINUX, ObservedProgram, Rule, Severity, calls, is_logging};

/// Finds loops that write to a terminal, a log or a file of text.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-logging-in-loop",
    title: "The loop prints or logs",
    severities: &[Severity::Problem],
    what: "Inside the loop data were written to a standard stream, a terminal, a file or the system's log.",
    why: "A terminal, a pipe whose reader is slow, a full buffer or a file system's journal make the writer wait, seldom and then for long: the worst case of the loop becomes theirs.",
    see: "strace -f -e trace=write,writev,sendto -p PID.",
    change: "Write into a ring in memory that another thread of ordinary policy prints; log only what changed, and outside the loop.",
    price: "Messages come later, and are lost with a crash unless the ring is in shared memory.",
    checked: LINUX,
    sources: &["https://wiki.linuxfoundation.org/realtime/documentation/howto/applications/application_base"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = calls(seen, |_, call| is_logging(call));
    Found::problem("The periodic loop prints or logs").by(evidence)
}
