//! The line that says what makes wake-ups late, as far as it was measured.

use record::Record;
use units::format;

use super::part::Judged;
use super::{latency, span};
use crate::{Answer, cause};

/// What makes wake-ups late. Invalid runs say nothing of it.
pub(super) fn line(answer: Answer, runs: &[Judged<'_>], noise: Option<&Record>) -> String {
    let valid: Vec<&Judged<'_>> = runs.iter().filter(|run| !run.record.validity.is_invalid()).collect();
    let clauses = clauses(&valid, noise.filter(|noise| !noise.validity.is_invalid()));
    // Where the deadline holds nothing is wrong: it is said what the worst were made of.
    let head = match answer {
        Answer::DoesNotHold => "What makes it late",
        Answer::Holds | Answer::CannotBeTold => "What made the worst ones late",
    };
    let was_missed =
        |run: &&Judged<'_>| run.record.explanation().is_some_and(|of| of.outliers > 0 && of.causes.is_empty());
    let was_looked_for = |run: &&Judged<'_>| run.record.explanation().is_some_and(|of| !of.sources.is_empty());
    if !clauses.is_empty() {
        format!("{head}: {}.", clauses.join("; "))
    } else if valid.is_empty() {
        format!("{head}: unknown, since no run of wake-ups is valid.")
    } else if valid.iter().any(was_missed) {
        format!("{head}: unknown, since none of the late wake-ups was recorded in time.")
    } else if valid.iter().any(was_looked_for) {
        format!("{head}: nothing was seen that took time away.")
    } else {
        format!("{head}: unknown, since causes were not looked for.")
    }
}

/// One clause each for what took time away: first what counters say, then what each run says of its own late samples. Whatever
/// else can be said of these, such as the period at which they come, is a clause of its own behind the causes of its run.
fn clauses(runs: &[&Judged<'_>], noise: Option<&Record>) -> Vec<String> {
    let mut clauses = Vec::new();
    let counters = || runs.iter().flat_map(|run| &run.record.series).map(|series| &series.counters);
    let steal_ns = units::total(counters().filter_map(|counters| counters.steal_ns));
    if steal_ns > 0 {
        clauses.push(format!("the hypervisor took {} away from the measured CPUs", span(steal_ns)));
    }
    let smi = units::total(counters().filter_map(|counters| counters.smi));
    if smi > 0 {
        let times = if smi == 1 { "once".to_owned() } else { format!("{} times", format::count(smi)) };
        clauses.push(format!("firmware interrupted {times} (SMI)"));
    }
    for run in runs {
        clauses.extend(run.record.explanation().and_then(|known| cause::clause(known, &run.when)));
        clauses.extend(crate::rhythm::clause(run.record, &run.when));
    }
    clauses.extend(noise.and_then(|noise| gap(noise, runs)));
    clauses
}

/// The longest gap of a thread that never sleeps, where it ran as the measured threads do: one of an ordinary priority waits for
/// its share of the CPU, which says nothing of them.
fn gap(noise: &Record, runs: &[&Judged<'_>]) -> Option<String> {
    let priority = runs.iter().map(|run| run.record.manifest().requested.priority).max()?;
    let granted = &noise.manifest().effective;
    let is_alike = !granted.is_empty()
        && granted.iter().all(|of| matches!(of.policy.as_str(), "fifo" | "rr") && of.priority >= priority);
    let (gap_ns, place) = noise.worst_of_all().filter(|_| is_alike)?;
    Some(format!(
        "a thread of this priority that never sleeps was kept waiting for up to {}{}",
        latency(gap_ns.unsigned_abs()),
        place.clause()
    ))
}
