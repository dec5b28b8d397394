//! The loop's stack reaches pages that it had not used before.

use super::{Found, LINUX, ObservedProgram, Rule, Severity, faults};

/// Finds loops whose page faults are on the stack: its pages were not touched before the loop began.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-stack-growth-in-loop",
    title: "The loop's stack reaches pages that it had not used before",
    severities: &[Severity::Warning],
    what: "Inside the loop the thread's stack grew into pages that were not there.",
    why: "Each new page is a page fault in the middle of a call, and it happens on the rare deep path: just where time is short already.",
    see: "Page faults (perf record -e page-faults -d -t TID) whose addresses lie in the thread's stack in /proc/PID/maps.",
    change: "Touch the stack as deep as it will ever get, once before the loop (a function with a large local array that it writes to), with memory locked.",
    price: "The stack is resident.",
    checked: LINUX,
    sources: &["https://wiki.linuxfoundation.org/realtime/documentation/howto/applications/memory"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let hit = seen.threads.iter().filter(|thread| thread.real_time && thread.stack_faults.times > 0);
    let evidence = hit.map(|thread| faults(thread, thread.stack_faults)).collect();
    Found::warning("The stack grows inside the periodic loop").by(evidence)
}
