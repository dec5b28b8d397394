//! The loop calls the memory allocator.

use units::format::span;

use super::{Evidence, Found, LINUX, ObservedProgram, Rule, Severity};

/// Finds real-time loops that call malloc, free and their like, whether or not the allocator needs the kernel for it.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-heap-in-loop",
    title: "The loop calls the memory allocator",
    severities: &[Severity::Warning],
    what: "malloc, free or another function of the memory allocator was called inside the periodic loop. Most calls are served from memory that the allocator has, without a system call, so they show in no trace of the kernel.",
    why: "How long such a call takes has no useful bound: it searches and merges free blocks, takes locks without priority inheritance that threads of any priority share, and now and then needs the kernel for more memory. Tests seldom meet its worst case.",
    see: "ltrace -f -e malloc+free -p PID; perf probe -x /lib/x86_64-linux-gnu/libc.so.6 malloc, then perf record -e probe_libc:malloc -g -p PID shows from where.",
    change: "Allocate before the loop and reuse it there: buffers of a fixed size, a pool of the thread's own; in C++ also reserve containers, and keep std::string, std::function and exceptions out of the loop; or take an allocator with bounded times (TLSF) for that thread.",
    price: "The greatest size has to be known, and is held all the time.",
    checked: LINUX,
    sources: &[
        "man 3 malloc",
        "Documentation/trace/uprobetracer.rst",
        "https://wiki.linuxfoundation.org/realtime/documentation/howto/applications/memory",
    ],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = seen
        .threads
        .iter()
        .filter(|thread| thread.real_time && thread.periodic.is_some())
        .filter_map(|thread| {
            let calls: Vec<String> = thread
                .allocations
                .iter()
                .filter(|calls| calls.times > 0)
                .map(|calls| format!("{}: {} in {}", calls.function, super::times(calls.times), span(calls.counted_ns)))
                .collect();
            (!calls.is_empty()).then(|| Evidence::new(thread.label(), calls.join("; ")))
        })
        .collect();
    Found::warning("The periodic loop calls the memory allocator").by(evidence)
}
