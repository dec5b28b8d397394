//! The loop sleeps until moments of the wall clock.

use super::super::observed::Use;
use super::{CLOCK_REALTIME, Detail, Evidence, Found, LINUX, ObservedProgram, Rule, Severity, calls, format};

/// Finds loops that sleep until moments of a clock that can be set.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-realtime-clock",
    title: "The loop sleeps until moments of the wall clock",
    severities: &[Severity::Warning],
    what: "The loop sleeps until a moment of CLOCK_REALTIME, or waits with a time-out on it.",
    why: "That clock is set: by hand, by NTP at start, by a GPS receiver. A step forward wakes the loop at once and for all periods in between, a step back lets it sleep that much longer.",
    see: "strace -f -e trace=clock_nanosleep,futex,timerfd_create -p PID.",
    change: "Use CLOCK_MONOTONIC, or CLOCK_TAI where the moments are those of synchronized machines; for conditions pthread_condattr_setclock(&attr, CLOCK_MONOTONIC).",
    price: "None.",
    checked: LINUX,
    sources: &["man 2 clock_nanosleep", "man 3 pthread_condattr_setclock"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let steps = |what: &Use| match what.detail {
        Detail::Sleep { clock, absolute } => clock == CLOCK_REALTIME && absolute,
        Detail::Futex { realtime, .. } => realtime,
        _ => false,
    };
    let waits = seen.threads.iter().filter_map(|thread| Some((thread, thread.periodic?)));
    let mut evidence: Vec<_> = waits
        .filter(|(_, periodic)| steps(&periodic.wait))
        .map(|(thread, periodic)| {
            Evidence::new(
                thread.label(),
                format!("waits by {} in {} turns", periodic.wait.text(), format::count(periodic.turns)),
            )
        })
        .collect();
    evidence.extend(calls(seen, |_, call| steps(&call.what)));
    Found::warning("The periodic loop sleeps by the wall clock, which can be set").by(evidence)
}
