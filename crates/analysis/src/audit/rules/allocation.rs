//! The loop obtains memory from the kernel or gives it back.

use trace::Work;

use super::{Found, LINUX, ObservedProgram, Rule, Severity, calls};

/// Finds loops that map, unmap or resize memory, as an allocator does when it runs dry.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-memory-in-loop",
    title: "The loop obtains memory from the kernel or gives it back",
    severities: &[Severity::Problem],
    what: "brk, mmap, munmap, mremap, madvise or mprotect were called inside the periodic loop; mostly by malloc and free, whose stock ran out or was full.",
    why: "The kernel takes the lock of the whole process's memory, may have to free memory first, and new pages fault when they are touched; other CPUs are interrupted where mappings go away. Each can take tens of microseconds, or milliseconds under load.",
    see: "strace -f -e trace=memory -p PID; perf trace -e 'mmap,munmap,brk,madvise' -p PID.",
    change: "Allocate before the loop and reuse it there; or keep freed memory: mallopt(M_TRIM_THRESHOLD, -1), mallopt(M_MMAP_MAX, 0), after filling the stock once.",
    price: "Memory is held that is only sometimes needed.",
    checked: LINUX,
    sources: &["man 3 mallopt", "Documentation/mm/process_addrs.rst"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = calls(seen, |_, call| call.what.call.work() == Work::Memory);
    Found::problem("Memory is obtained or given back inside the periodic loop").by(evidence)
}
