//! The line of an assessment that says how far the numbers can be trusted, and what they rest on.

use record::{ReasonCode, ValidityState};
use units::format;

use super::part::Judged;
use super::{lowered, span};

/// CPU time of other programs and interrupts (in CPUs) from which on a run without a load is not called idle without a remark.
const STATED_FROM_CPUS: f64 = 0.1;

/// The line about trust: the worst validity with its reasons, how long was measured, how many wake-ups, and which load.
/// An invalid run supports no conclusion. If any run is valid, the line covers only the valid ones and names the invalid ones.
pub(super) fn line(runs: &[Judged<'_>]) -> String {
    let (invalid, valid): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.record.validity.is_invalid());
    let (basis, left_out) = if valid.is_empty() { (&invalid, None) } else { (&valid, Some(&invalid)) };
    let state = basis.iter().map(|run| run.record.validity.state()).max().unwrap_or(ValidityState::Invalid);
    let caveat = reasons(basis, state);
    let caveat = if caveat.is_empty() { caveat } else { format!(" ({caveat})") };
    let each: Vec<String> = basis.iter().map(|run| measured(run)).collect();
    let each = if each.is_empty() { "nothing that was measured".to_owned() } else { each.join(", ") };
    let left_out: String = left_out
        .into_iter()
        .flatten()
        .map(|run| {
            let why = reasons(&[*run], ValidityState::Invalid);
            format!(" The run {} is invalid ({why}) and is not among it.", run.when)
        })
        .collect();
    let busy = not_idle(basis);
    format!(
        "Trust: {}{caveat}. It rests on {each}.{busy}{left_out} It says nothing of rarer delays, of days, or of another load.",
        state.word()
    )
}

/// The reasons for a validity state in words, each once.
fn reasons(runs: &[&Judged<'_>], state: ValidityState) -> String {
    let mut codes: Vec<ReasonCode> = Vec::new();
    for reason in runs.iter().flat_map(|run| run.record.validity.reasons()) {
        if reason.code.info().state == state && !codes.contains(&reason.code) {
            codes.push(reason.code);
        }
    }
    let words: Vec<String> =
        codes.iter().map(|code| lowered(code.info().meaning.trim().trim_end_matches('.'))).collect();
    words.join("; ")
}

/// What others did in runs that had no load and so are called idle; empty where it was little, or is unknown.
fn not_idle(runs: &[&Judged<'_>]) -> String {
    let stated = |run: &&&Judged<'_>| {
        let manifest = run.record.manifest();
        let others = manifest.others_cpu_used.filter(|_| manifest.load.title().is_none());
        others.is_some_and(|others| others >= STATED_FROM_CPUS)
    };
    let each: Vec<String> = runs
        .iter()
        .filter(stated)
        .map(|run| {
            let manifest = run.record.manifest();
            let others = manifest.others_cpu_used.unwrap_or_default();
            format!("{others:.2} of {} CPUs in the run {}", manifest.node.online_cpus.len(), run.when)
        })
        .collect();
    if each.is_empty() {
        return String::new();
    }
    format!(" The machine was not idle: other programs and interrupts used {}.", each.join(", "))
}

/// What one run measured: "30 s under load 'paper' (148 770 wake-ups, 0.74 CPUs used by the load)".
fn measured(run: &Judged<'_>) -> String {
    let achieved = run.record.manifest().load.achieved.as_ref();
    let load = achieved.map_or_else(String::new, |load| format!(", {:.2} CPUs used by the load", load.cpu_used));
    format!(
        "{} {} ({} wake-ups{load})",
        run.record.covers().unwrap_or_else(|| span(run.record.measured_ns())),
        run.when,
        format::count(run.samples)
    )
}
