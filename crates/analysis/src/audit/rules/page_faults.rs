//! The loop touches pages that are not there.

use super::{Found, LINUX, ObservedProgram, Rule, Severity, faults};

/// Finds loops that take page faults.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-page-faults-in-loop",
    title: "The loop touches pages that are not there",
    severities: &[Severity::Warning],
    what: "Inside the loop the thread touched pages of memory that the kernel had to provide first.",
    why: "Each costs about a microsecond where a free page is at hand, far more where memory has to be freed or a file to be read. Before 6.4 each takes a lock of the whole process's memory; since then most take one of the mapping alone.",
    see: "perf stat -e page-faults -t TID; the fields min_flt and maj_flt of /proc/PID/task/TID/stat.",
    change: "Lock memory (mlockall with MCL_CURRENT | MCL_FUTURE) and write once to every page of buffers before the loop.",
    price: "The memory is used from the start.",
    checked: LINUX,
    sources: &["man 2 mlock", "https://wiki.linuxfoundation.org/realtime/documentation/howto/applications/memory"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let hit = seen.threads.iter().filter(|thread| thread.real_time && thread.faults.times > 0);
    let evidence = hit.map(|thread| faults(thread, thread.faults)).collect();
    Found::warning("Page faults inside the periodic loop").by(evidence)
}
