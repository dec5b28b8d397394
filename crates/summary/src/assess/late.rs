//! The line of an assessment that names what makes wake-ups late, as far as it was measured.

use record::{Certainty, Record};
use units::format;

use super::part::Judged;
use super::{latency, span};
use crate::Answer;
use crate::late::{LateCauses, LateRow, LateRun, WorstState};

/// The latency beyond which a sample of an assessment counts as late: the deadline, or half of it if none is beyond the deadline.
pub(super) struct Limit {
    /// The limit (ns).
    pub(super) ns: u64,
    /// The limit in words, to follow "beyond".
    pub(super) words: String,
}

impl Limit {
    fn for_answer(answer: Answer, deadline_ns: u64) -> Self {
        match answer {
            Answer::DoesNotHold => Self { ns: deadline_ns, words: span(deadline_ns) },
            Answer::Holds | Answer::CannotBeTold => {
                Self { ns: deadline_ns / 2, words: format!("half of {}", span(deadline_ns)) }
            }
        }
    }
}

/// The late wake-ups of all valid parts by their causes: the counts of the advice, of the sentences and of the page's table.
pub(super) struct Counted {
    pub(super) limit: Limit,
    /// Wake-ups beyond the limit.
    pub(super) causes: LateCauses,
    /// Wake-ups whose cause was looked for, however late.
    examined: LateCauses,
}

impl Counted {
    pub(super) fn new(answer: Answer, deadline_ns: u64, runs: &[Judged<'_>]) -> Self {
        let valid = runs.iter().filter(|run| !run.record.validity.is_invalid());
        let runs: Vec<(&Record, &str)> = valid.map(|run| (run.record, run.when.as_str())).collect();
        Self::over(answer, deadline_ns, &runs)
    }

    fn over(answer: Answer, deadline_ns: u64, runs: &[(&Record, &str)]) -> Self {
        let limit = Limit::for_answer(answer, deadline_ns);
        let over = |limit_ns| {
            let runs: Vec<LateRun<'_>> = runs.iter().map(|(record, when)| LateRun { record, when, limit_ns }).collect();
            LateCauses::over(&runs)
        };
        Self { causes: over(Some(limit.ns)), examined: over(None), limit }
    }

    /// The counts to show, with what they count in words: those beyond the limit if there are any, else those that were examined.
    fn shown(&self) -> (&LateCauses, String) {
        if self.causes.total > 0 {
            (&self.causes, format!("wake-ups beyond {}", self.limit.words))
        } else {
            (&self.examined, "wake-ups that were examined".to_owned())
        }
    }

    /// The shown counts in a clause: "of 100 wake-ups beyond 100 us: thread: hog (fifo 99) 19 % (shown), not explained 81 %".
    /// `None` if no wake-up was examined.
    fn clause(&self) -> Option<String> {
        let (causes, of) = self.shown();
        if causes.known.is_empty() && causes.unknown.samples == 0 {
            return None;
        }
        let row = |row: &LateRow<'_>| match row.certainty {
            Some(Certainty::Shown | Certainty::Likely) => {
                format!("{} {} ({})", row.what, row.percent, row.certainty.map_or("", Certainty::word))
            }
            _ => format!("{} {}", row.what, row.percent),
        };
        let rows: Vec<String> = causes.rows(NAMED_CAUSES).iter().map(row).collect();
        Some(format!("of {} {of}: {}", format::count(causes.total), rows.join(", ")))
    }

    /// What is known of the cause of the worst wake-up, to follow its latency: ", cause unknown".
    pub(super) fn worst(&self) -> String {
        self.causes.worst.as_ref().map_or_else(String::new, |worst| format!(", {}", worst.words()))
    }

    /// How many of the late wake-ups have no known cause, to follow their count; empty if all causes are known, or none was
    /// looked for.
    pub(super) fn without_cause(&self) -> String {
        let causes = &self.causes;
        let was_looked_for =
            self.examined.total > 0 || causes.worst.as_ref().is_some_and(|one| one.state != WorstState::NotLookedFor);
        if !was_looked_for {
            return String::new();
        }
        let counts = [(&causes.unknown, "of unknown cause"), (&causes.not_explained, "not explained")];
        let each: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| count.samples > 0)
            .map(|(count, what)| format!("{} {what}", causes.percent(count)))
            .collect();
        if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
    }
}

/// The late wake-ups of an assessment's valid runs of wake-ups by their causes, with what is counted in words: the counts that
/// [`super::assess`] draws. Each run comes with its condition.
#[must_use]
pub fn late_causes(answer: Answer, deadline_ns: u64, runs: &[(&Record, &str)]) -> (LateCauses, String) {
    let counted = Counted::over(answer, deadline_ns, runs);
    let (causes, of) = counted.shown();
    (causes.clone(), of)
}

/// The causes that a line names; the table of the page has more.
const NAMED_CAUSES: usize = 3;

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
pub(super) fn line(answer: Answer, runs: &[Judged<'_>], noise: Option<&Record>, counted: &Counted) -> String {
    let valid: Vec<&Judged<'_>> = runs.iter().filter(|run| !run.record.validity.is_invalid()).collect();
    let clauses = clauses(&valid, noise.filter(|noise| !noise.validity.is_invalid()), counted);
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

/// One clause for the causes of the late samples, one for each counter that took time away, and one for each rhythm.
fn clauses(runs: &[&Judged<'_>], noise: Option<&Record>, counted: &Counted) -> Vec<String> {
    let mut clauses: Vec<String> = counted.clause().into_iter().collect();
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
        clauses.extend(analysis::rhythm::clause(run.record, &run.when));
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
