//! A thread has real-time priority 99.

use super::{Evidence, Found, LINUX, ObservedProgram, Rule, Severity};

/// Finds threads of real-time priority 99, above which no thread of their policies can be placed.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-top-priority",
    title: "A thread has real-time priority 99",
    severities: &[Severity::Note],
    what: "The thread runs at 99, the highest priority of SCHED_FIFO and SCHED_RR. The kernel's migration threads, which ps shows as FIFO 99 too, are of a scheduling class above it and do not wait for it.",
    why: "No thread of these policies can be placed above it: neither one that would stop it when its loop hangs, nor the interrupt thread of a device that it waits for.",
    see: "ps -eLo pid,tid,cls,rtprio,comm.",
    change: "Use the lowest priority that is above what it must not wait for, and leave room above it; to run before the interrupts' threads, which have 50, anything above that is enough.",
    price: "None.",
    checked: LINUX,
    sources: &[
        "man 7 sched",
        "Linux kernel/sched/core.c, sched_set_stop_task()",
        "Linux include/asm-generic/vmlinux.lds.h, SCHED_DATA (the order of the classes)",
    ],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let top = seen.threads.iter().chain(&seen.others).filter(|thread| thread.priority == 99);
    let evidence = top.map(|thread| Evidence::new(thread.label(), format!("{} 99", thread.policy))).collect();
    Found::note("A thread has real-time priority 99").by(evidence)
}
