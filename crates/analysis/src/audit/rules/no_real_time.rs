//! No thread has a real-time policy.

use super::{Evidence, Found, LINUX, ObservedProgram, Rule, Severity};

/// Finds programs of which no thread has a real-time policy.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-no-real-time-thread",
    title: "No thread has a real-time policy",
    severities: &[Severity::Problem],
    what: "Every thread of the program is scheduled by SCHED_OTHER or one of its kin, which share the CPU by fairness.",
    why: "Any other ordinary thread may run first, for milliseconds, and timers of ordinary threads are late by up to 50 us on purpose (timer slack). No number measured of such a thread is a bound.",
    see: "chrt -p PID of each thread; ps -eLo pid,tid,cls,rtprio,comm.",
    change: "Give the periodic thread SCHED_FIFO with a priority between 1 and 98: pthread_attr_setschedpolicy with PTHREAD_EXPLICIT_SCHED, sched_setscheduler, or start the program with chrt -f 80 PROGRAM; the user needs CAP_SYS_NICE or a limit of rtprio.",
    price: "A real-time thread that never sleeps keeps others off its CPU.",
    checked: LINUX,
    sources: &["man 7 sched", "Documentation/scheduler/sched-design-CFS.rst"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    if seen.any_real_time || seen.threads.is_empty() {
        return None;
    }
    let evidence =
        seen.threads.iter().map(|thread| Evidence::new(thread.label(), format!("policy {}", thread.policy))).collect();
    Found::problem("No thread of the program has a real-time policy").by(evidence)
}
