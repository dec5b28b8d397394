//! The loop sleeps for a time instead of until a moment.

use super::super::observed::Use;
use super::{Detail, Evidence, Found, LINUX, ObservedProgram, Rule, Severity, calls, format};

/// Finds loops that sleep for a length of time, so that each turn starts later by what the one before took.
pub(in crate::audit) static RULE: Rule = Rule {
    id: "app-relative-sleep",
    title: "The loop sleeps for a time instead of until a moment",
    severities: &[Severity::Warning],
    what: "The loop's sleep is relative: nanosleep, usleep, sleep_for, or clock_nanosleep without TIMER_ABSTIME.",
    why: "Each turn lasts the sleep and the work and every latency: the period is longer than intended and drifts, and a late wake-up delays all that follow.",
    see: "strace -f -e trace=nanosleep,clock_nanosleep -p PID.",
    change: "Keep the next moment, add the period to it each turn, and sleep with clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL).",
    price: "None; a turn that took too long has to be decided about: skipped, or caught up.",
    checked: LINUX,
    sources: &["man 2 clock_nanosleep"],
    find,
};

fn find(seen: &ObservedProgram) -> Option<Found> {
    let is_relative = |what: &Use| matches!(what.detail, Detail::Sleep { absolute: false, .. });
    let waits = seen.threads.iter().filter_map(|thread| Some((thread, thread.periodic?)));
    let mut evidence: Vec<_> = waits
        .filter(|(_, periodic)| is_relative(&periodic.wait))
        .map(|(thread, periodic)| {
            Evidence::new(
                thread.label(),
                format!("waits by {} in {} turns", periodic.wait.text(), format::count(periodic.turns)),
            )
        })
        .collect();
    evidence.extend(calls(seen, |_, call| is_relative(&call.what)));
    Found::warning("The periodic loop sleeps for a time instead of until a moment").by(evidence)
}
