//! The line of an assessment that names what makes wake-ups late, as far as it was measured.

use record::Record;
use units::format;

use super::part::Judged;
use super::{latency, span};
use crate::{Answer, cause};

/// How the line begins if the deadline does not hold.
const LATE: &str = "What makes it late";
/// How the line begins otherwise: nothing is late, and the line explains the worst wake-ups.
const WORST: &str = "What made the worst ones late";

/// Whether a line of an assessment is the one that names what makes wake-ups late. A page shows a table of the causes instead.
#[must_use]
pub fn is_line_of_causes(line: &str) -> bool {
    [LATE, WORST].iter().any(|head| line.starts_with(head))
}

/// The line that names what makes wake-ups late. Invalid runs are ignored.
pub(super) fn line(answer: Answer, runs: &[Judged<'_>], noise: Option<&Record>) -> String {
    let valid: Vec<&Judged<'_>> = runs.iter().filter(|run| !run.record.validity.is_invalid()).collect();
    let clauses = clauses(&valid, noise.filter(|noise| !noise.validity.is_invalid()));
    let head = match answer {
        Answer::DoesNotHold => LATE,
        Answer::Holds | Answer::CannotBeTold => WORST,
    };
    let was_missed =
        |run: &&Judged<'_>| run.record.explanation().is_some_and(|found| found.outliers > 0 && found.causes.is_empty());
    let was_looked_for = |run: &&Judged<'_>| run.record.explanation().is_some_and(|found| !found.sources.is_empty());
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

/// One clause for each thing that took time away: first from the counters, then from the late samples of each run. Rhythms of
/// the late samples are a separate clause after the causes of their run.
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

/// The longest gap of a thread that never sleeps, if it ran at the measured threads' priority or above. A thread of ordinary
/// priority waits for its share of the CPU, which does not affect real-time threads.
fn gap(noise: &Record, runs: &[&Judged<'_>]) -> Option<String> {
    let priority = runs.iter().map(|run| run.record.manifest().requested.priority).max()?;
    let granted = &noise.manifest().effective;
    let is_comparable = !granted.is_empty()
        && granted.iter().all(|each| matches!(each.policy.as_str(), "fifo" | "rr") && each.priority >= priority);
    let (gap_ns, place) = noise.worst_of_all().filter(|_| is_comparable)?;
    Some(format!(
        "a thread of this priority that never sleeps was kept waiting for up to {}{}",
        latency(gap_ns.unsigned_abs()),
        place.clause()
    ))
}
