//! A real-time thread waited for a lock without priority inheritance.

use super::{Found, LINUX, ObservedProgram, Rule, Severity, calls, is_plain_lock};

/// Finds real-time threads that waited in a futex call without priority inheritance.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-lock-without-inheritance",
    title: "A real-time thread waited for a lock without priority inheritance",
    severities: &[Severity::Problem],
    what: "The thread waited (FUTEX_WAIT) for a lock that another thread held. Such a lock does not lend its waiter's priority to its holder; one made with PTHREAD_PRIO_INHERIT waits by FUTEX_LOCK_PI and does. Locks that nobody had to wait for leave no trace, so that their absence here proves nothing.",
    why: "The holder keeps its own low priority: any thread between both runs first, for as long as it likes (priority inversion).",
    see: "strace -f -e trace=futex -p PID: FUTEX_WAIT with the value 2 is a plain lock, FUTEX_LOCK_PI one with inheritance.",
    change: "pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) for every lock that a real-time thread takes; in languages whose locks cannot do that (Rust's std, Go), hand data over without locks (a ring, an atomic, try_lock).",
    price: "Locks with inheritance cost more where they are contended, and cannot be used with every condition variable.",
    checked: LINUX,
    sources: &["man 3 pthread_mutexattr_setprotocol", "Documentation/locking/pi-futex.rst", "man 2 futex"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let evidence = calls(seen, |thread, call| thread.real_time && is_plain_lock(call));
    Found::problem("A real-time thread waits for locks without priority inheritance").by(evidence)
}
