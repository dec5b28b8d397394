//! What the audit could not tell, since the program had ended before the kernel was asked.

use units::format;

use super::ObservedProgram;

/// What could not be looked for, each with whom it concerns and why: without it, no finding would read as no fault.
#[must_use]
pub fn not_looked_for(seen: &ObservedProgram) -> Vec<String> {
    let stacks = seen.threads.iter().filter(|thread| thread.real_time && thread.unplaced_faults > 0).map(|thread| {
        format!(
            "growth of the stack ({}: it had ended before its memory could be read, which says where {} page faults were)",
            thread.label(),
            format::count(thread.unplaced_faults)
        )
    });
    let has_real_time = |pid| seen.threads.iter().any(|thread| thread.real_time && thread.pid == pid);
    let locks =
        seen.processes.iter().filter(|process| process.locked_bytes.is_none() && has_real_time(process.pid)).map(
            |process| {
                format!(
                    "whether memory is locked (process {} ({}): it had ended before its status could be read)",
                    process.name, process.pid
                )
            },
        );
    stacks.chain(locks).collect()
}
