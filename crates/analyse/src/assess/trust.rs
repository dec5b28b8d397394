//! The line that says how far the numbers can be trusted, and what they rest on.

use record::{ReasonCode, ValidityState};
use units::format;

use super::part::Judged;
use super::{lowered, span};

/// How far the numbers can be trusted: the worst validity with its reasons, how long was measured, how many, and which load.
pub(super) fn line(runs: &[Judged<'_>]) -> String {
    let state = runs.iter().map(|run| run.record.validity.state()).max().unwrap_or(ValidityState::Invalid);
    let mut reasons: Vec<ReasonCode> = Vec::new();
    for reason in runs.iter().flat_map(|run| run.record.validity.reasons()) {
        if reason.code.info().state == state && !reasons.contains(&reason.code) {
            reasons.push(reason.code);
        }
    }
    let why: Vec<String> =
        reasons.iter().map(|code| lowered(code.info().meaning.trim().trim_end_matches('.'))).collect();
    let caveat = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
    let each: Vec<String> = runs.iter().map(basis).collect();
    let basis = if each.is_empty() { "nothing that was measured".to_owned() } else { each.join(", ") };
    format!(
        "Trust: {}{caveat}. It rests on {basis}. It says nothing of rarer delays, of days, or of another load.",
        state.word()
    )
}

/// What one run measured: "30 s under load 'paper' (148 770 wake-ups, 0.74 CPUs used by the load)".
fn basis(run: &Judged<'_>) -> String {
    let achieved = run.record.manifest.load.achieved.as_ref();
    let load = achieved.map_or_else(String::new, |load| format!(", {:.2} CPUs used by the load", load.cpu_used));
    format!("{} {} ({} wake-ups{load})", span(run.record.measured_ns()), run.when, format::count(run.samples))
}
