//! The program's memory is not locked.

use super::{Evidence, Found, LINUX, ObservedProgram, Rule, Severity, format};

/// Resident memory that no process can lock: what the kernel itself maps into it (bytes, generous).
const NOT_LOCKABLE: u64 = 256 << 10;

/// Finds programs with real-time threads whose memory is not locked.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-memory-not-locked",
    title: "The program's memory is not locked",
    severities: &[Severity::Problem, Severity::Warning],
    what: "mlockall or mlock keep pages in memory. Without them the kernel may take any page away, code included, and fetches each page of new memory only when it is first touched.",
    why: "A touch of a page that is not there is a page fault: some microseconds where memory is free, milliseconds where a disk has to be read or memory to be freed first.",
    see: "grep -E 'VmLck|VmRSS' /proc/PID/status.",
    change: "Call mlockall(MCL_CURRENT | MCL_FUTURE) before the loop, and touch stacks and buffers once after it; the user needs CAP_IPC_LOCK or a limit of memlock.",
    price: "Everything that is mapped stays in memory: large programs and stacks of many threads cost it.",
    checked: LINUX,
    sources: &["man 2 mlock", "https://wiki.linuxfoundation.org/realtime/documentation/howto/applications/memory"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    if !seen.threads.iter().any(|thread| thread.real_time) {
        return None;
    }
    let mut worst = Severity::Warning;
    let mut evidence = Vec::new();
    for process in &seen.processes {
        let (Some(locked), Some(resident)) = (process.locked_bytes, process.resident_bytes) else { continue };
        if !seen.threads.iter().any(|thread| thread.real_time && thread.pid == process.pid) {
            continue;
        }
        // The kernel's own mappings in each process count as resident and cannot be locked.
        if locked.saturating_add(NOT_LOCKABLE) >= resident {
            continue;
        }
        if locked == 0 {
            worst = Severity::Problem;
        }
        evidence.push(Evidence::new(
            format!("process {} ({})", process.name, process.pid),
            format!("VmLck {}, VmRSS {}", format::bytes(locked), format::bytes(resident)),
        ));
    }
    let title = if worst == Severity::Problem { "Memory is not locked" } else { "Only a part of the memory is locked" };
    Found::new(worst, title).by(evidence)
}
