//! What a reader has to know beside the numbers of a comparison.

use std::collections::BTreeSet;

use record::{Kind, ReasonCode, Record, ValidityState};

use super::judge::{Cut, Outcome};
use super::{ContextDifference, Group, GroupSummary, Unit, context, least_runs_for_worst_case};

/// What a reader has to know beside the numbers.
pub(super) fn notes(
    cut: &Cut,
    runs: &[&Group<'_>; 2],
    groups: &[&GroupSummary; 2],
    judged: &Outcome,
    context: &[ContextDifference],
    level: f64,
) -> Vec<String> {
    let mut notes = Vec::new();
    let units = judged.units;
    let grave = |is_between: bool| -> Vec<&str> {
        let fields = context.iter().filter(|one| (one.a != one.b) == is_between).map(|one| one.field.as_str());
        fields.filter(|field| context::is_grave(field)).collect()
    };
    let (between, within) = (grave(true), grave(false));
    let is_unknown = |field: &&str| {
        let values = context.iter().find(|one| one.field == **field);
        values.is_some_and(|one| [&one.a, &one.b].iter().any(|side| side.iter().all(String::is_empty)))
    };
    let imported = runs.iter().flat_map(|group| &group.runs).any(|run| run.manifest().is_imported());
    let (unknown, between): (Vec<&str>, Vec<&str>) = between.iter().partition(|field| imported && is_unknown(field));
    if !between.is_empty() {
        notes.push(format!("A and B differ in {}: whatever is shown can come of that.", between.join(", ")));
    }
    if !unknown.is_empty() {
        notes.push(format!(
            "One side does not state {}: whether A and B differ in that is unknown.",
            unknown.join(", ")
        ));
    }
    if !within.is_empty() {
        let fields = within.join(", ");
        notes.push(format!(
            "The runs of each side differ among themselves in {fields}, with the same values on both sides."
        ));
    }
    notes.extend(match cut.unit {
        // That one run of each shows nothing is the verdict's own sentence.
        Unit::Block if judged.smallest_p > level => None,
        Unit::Block => Some(format!(
            "One run on each side, cut into {} and {} pieces: this speaks of these two runs. How much repetitions of one \
             setting differ was not measured; take at least {} of each for a verdict about the settings.",
            units[0],
            units[1],
            least_runs_for_worst_case(level)
        )),
        Unit::Run => Some(
            "Samples are not independent, so whole runs and whole intervals of them were drawn again and exchanged."
                .to_owned(),
        ),
    });
    for ((group, summary), letter) in runs.iter().zip(groups).zip(["A", "B"]) {
        notes.extend(degraded(letter, group, summary));
    }
    let all_runs = || runs.iter().flat_map(|group| &group.runs);
    if judged.rates.is_none() && all_runs().any(|run| run.manifest().requested.deadline_ns.is_some()) {
        let kinds = || all_runs().map(|run| run.measurement.kind());
        let why = match kinds().find(|kind| !kind.states_deadline_of_compared()) {
            Some(Kind { judged, compared: Some(compared), .. }) => {
                let words = |name: &str| name.replace('_', " ");
                let judged: Vec<String> = judged.iter().copied().map(words).collect();
                format!("The deadline binds {}, and what is compared is {}", judged.join(" and "), words(compared))
            }
            _ => "The runs do not all state the same deadline".to_owned(),
        };
        notes.push(format!("{why}, so that worst cases decide: --deadline states one."));
    }
    if judged.rates.as_ref().is_some_and(|rates| rates.missed_beyond != [0, 0]) {
        notes.push(
            "Beyond the deadline are late wake-ups, and those schedules they skipped where a thread waking there would have \
             been late by more than the deadline."
                .to_owned(),
        );
    }
    if groups.iter().any(|group| group.missed_periods.is_some_and(|missed| missed > 0)) {
        notes.push(
            "Late wake-ups swallowed periods: each counts as one sample here, so that mean and quantiles say less of long \
             stalls than of short ones."
                .to_owned(),
        );
    }
    notes
}

/// How many runs of a group are degraded, and every distinct reason: first those of the run with the worst sample, the rarest
/// of them first, then the ones that most runs have.
fn degraded(letter: &str, group: &Group<'_>, summary: &GroupSummary) -> Option<String> {
    let is_degraded = |run: &&&Record| run.validity.state() == ValidityState::Degraded;
    let degraded: Vec<&Record> = group.runs.iter().filter(is_degraded).copied().collect();
    let worst = summary.runs.iter().zip(&group.runs).max_by_key(|(run, _)| run.max_ns).map(|(_, record)| *record)?;
    let of = |run: &Record, code: ReasonCode| run.validity.reasons().iter().find(|one| one.code == code).map(reason);
    let all = group.runs.len();
    let codes = degraded.iter().flat_map(|run| run.validity.reasons()).map(|reason| reason.code);
    let codes: BTreeSet<ReasonCode> = codes.collect();
    let mut reasons: Vec<(bool, usize, String)> = codes
        .into_iter()
        .filter_map(|code| {
            let of_worst = of(worst, code).filter(|_| degraded.iter().any(|run| std::ptr::eq(*run, worst)));
            let runs = degraded.iter().filter(|run| of(run, code).is_some()).count();
            let (is_of_worst, first) = (of_worst.is_some(), degraded.iter().find_map(|run| of(run, code)));
            let text = of_worst.or(first)?;
            // What all have in the same way tells nothing of one of them: its meaning is enough.
            let is_of_all = all > 1 && runs == all && degraded.iter().all(|run| of(run, code).as_ref() == Some(&text));
            Some((is_of_worst, runs, if is_of_all { meaning(code).to_owned() } else { text }))
        })
        .collect();
    // What is rare among the other runs tells more of the worst sample than what all have.
    let runs_apart = |runs: usize, is_of_worst: bool| if is_of_worst { runs } else { usize::MAX - runs };
    reasons.sort_by_key(|(is_of_worst, runs, _)| (!is_of_worst, runs_apart(*runs, *is_of_worst)));
    let words: Vec<String> = reasons
        .into_iter()
        .map(|(is_of_worst, runs, text)| match (runs, is_of_worst) {
            _ if all == 1 => text,
            _ if runs == all => format!("in all: {text}"),
            (1, true) => format!("in the run with the worst sample: {text}"),
            (_, true) => format!("in {runs}, one of them that with the worst sample: {text}"),
            (_, false) => format!("in {runs}: {text}"),
        })
        .collect();
    let count = degraded.len();
    (count > 0).then(|| format!("{letter}: {count} of {} runs degraded ({}).", group.runs.len(), words.join("; ")))
}

/// A reason with its detail, as a part of a sentence.
pub(super) fn reason(reason: &record::Reason) -> String {
    let meaning = meaning(reason.code);
    if reason.detail.is_empty() { meaning.to_owned() } else { format!("{meaning}: {}", reason.detail) }
}

fn meaning(code: ReasonCode) -> &'static str {
    code.info().meaning.trim().trim_end_matches('.')
}
