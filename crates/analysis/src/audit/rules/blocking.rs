//! The loop sleeps in system calls beside the one that it waits in.

use super::{Found, LINUX, ObservedProgram, Rule, Severity, calls, is_plain_lock};

/// Finds loops that sleep in a system call other than the one that they wait for their next turn in.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-blocking-in-loop",
    title: "The loop sleeps in system calls beside the one that it waits in",
    severities: &[Severity::Problem],
    what: "Inside the loop, between one activation and the next, the thread was put to sleep in another system call.",
    why: "While it sleeps it does nothing of what its period is for, and how long depends on a disk, a peer or another thread. The time is missing before its next activation.",
    see: "strace -f -T -p PID shows how long each call took; perf sched timehist shows the sleeps.",
    change: "Move the call into another thread of lower priority and hand the data over through a ring without locks, or make it non-blocking (O_NONBLOCK, MSG_DONTWAIT).",
    price: "A second thread, and data that arrive a turn later.",
    checked: LINUX,
    sources: &[
        "man 2 fcntl (O_NONBLOCK)",
        "https://wiki.linuxfoundation.org/realtime/documentation/howto/applications/application_base",
    ],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = calls(seen, |_, call| call.slept_times > 0 && !is_plain_lock(call));
    Found::problem("The periodic loop sleeps in other system calls than the one it waits in").by(evidence)
}
