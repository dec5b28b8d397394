//! The loop opens, closes, reads or synchronizes files.

use trace::Work;

use super::{Found, LINUX, ObservedProgram, Rule, Severity, Target, calls};

/// Finds loops that open, close, read or synchronize files.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-files-in-loop",
    title: "The loop opens, closes, reads or synchronizes files",
    severities: &[Severity::Warning],
    what: "Inside the loop files were opened or closed, read, or forced to a disk.",
    why: "Paths have to be looked up and pages read where they are not in memory; a file system's locks are shared with everybody who uses it.",
    see: "strace -f -e trace=file,desc -p PID.",
    change: "Open files before the loop; leave reading and fsync to another thread.",
    price: "A second thread.",
    checked: LINUX,
    sources: &["Documentation/filesystems/locking.rst"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = calls(seen, |_, call| match call.what.call.work() {
        Work::File | Work::Sync => true,
        Work::Input => matches!(call.target, Target::File(_)),
        _ => false,
    });
    Found::warning("The periodic loop works on files").by(evidence)
}
