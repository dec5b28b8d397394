//! The conclusion of `assess` on a terminal.

use std::fmt::Write as _;

use record::{Figure, Record, ValidityState};
use summary::{Answer, Assessment, is_line_of_causes};
use units::format;

use super::folder::Written;
use crate::view::load;
use crate::view::result::latency_cell;
use terminal::output::paint;
use terminal::table::Table;
use terminal::wrap;

/// A table of the runs, what to change, what it rests on, where everything is, and the verdict last, where the eye rests.
///
/// Unless `verbose`, what the table and the advice have said already is left out: the lines of the parts that took place, and what
/// was seen of each caveat that makes no run invalid.
pub(crate) fn conclusion(
    assessment: &Assessment,
    runs: &[Record],
    written: &Written,
    color: bool,
    verbose: bool,
) -> String {
    let mut table = Table::new(&["wake-ups", "samples", "min", "mean", "p99.9", "max", "missed", ""]);
    for run in runs.iter().filter(|run| run.measurement.kind().figure == Figure::Wakeups) {
        for series in &run.series {
            let place = series.place.to_string();
            table.row(vec![
                format!("{}, {place}", run.label),
                format::count(series.counters.samples),
                latency_cell(series.histogram.min_ns()),
                latency_cell(series.histogram.mean_ns().map(units::round_u64)),
                latency_cell(series.histogram.stated_quantile_ns(0.999)),
                latency_cell(series.histogram.max_ns()),
                format::count(series.counters.missed_periods),
                run.validity.state().word().to_owned(),
            ]);
        }
    }
    let width = wrap::width();
    let mut text = format!("\n{}", table.render());
    runs.iter().for_each(|run| text.push_str(&load::description(run)));
    if !assessment.changes.is_empty() {
        let _ = writeln!(text, "\n{}:", assessment.changes_heading());
        for (number, change) in (1..).zip(&assessment.changes) {
            let explain = change.finding.as_ref().map_or_else(String::new, |id| format!("  [punctual explain {id}]"));
            // Painted after it was wrapped: escape codes have no width.
            let title = wrap::lines(&change.title, width.saturating_sub(5));
            for (at, line) in title.iter().enumerate() {
                let lead = if at == 0 { format!("  {number}. ") } else { "     ".to_owned() };
                let _ =
                    write!(text, "{lead}{}{}", paint(color, "1", line), if at + 1 < title.len() { "\n" } else { "" });
            }
            let used = 5 + title.last().map_or(0, |line| line.chars().count());
            let below = if used + explain.chars().count() > width { "\n   " } else { "" };
            let _ = writeln!(text, "{below}{explain}");
            text.push_str(&wrap::paragraph(&change.why, "     ", width));
            for how in change.how.iter().take(2) {
                for (number, line) in wrap::lines(how, width.saturating_sub(7)).iter().enumerate() {
                    let lead = if number == 0 { "     > " } else { "       " };
                    let _ = writeln!(text, "{lead}{line}");
                }
            }
        }
    }
    let (mark, sgr) = match assessment.overall() {
        Answer::Holds => ("HOLDS", "1;32"),
        Answer::DoesNotHold => ("DOES NOT HOLD", "1;31"),
        Answer::CannotBeTold => ("CANNOT BE TOLD", "1;33"),
    };
    let mark = assessment.word_of_claim().map_or_else(|| mark.to_owned(), str::to_uppercase);
    text.push('\n');
    for line in assessment.lines_below() {
        let Some(line) = shown(line, verbose) else { continue };
        text.push_str(&wrap::paragraph(&line, "", width));
        if line.starts_with("Trust:") {
            let (all, mut left_out) = (caveats(runs), 0_u64);
            for (state, caveat) in all {
                if verbose || state == Some(ValidityState::Invalid) {
                    text.push_str(&wrap::paragraph(&caveat, "  ", width));
                } else {
                    left_out += 1;
                }
            }
            if left_out > 0 {
                let what = if left_out == 1 { "caveat" } else { "caveats" };
                let line = format!("What was seen of {} {what}: -v, or the report.", format::count(left_out));
                text.push_str(&wrap::paragraph(&line, "  ", width));
            }
        }
    }
    let _ = writeln!(text, "\nReport:  {}", written.report.display());
    let _ = writeln!(text, "Records: {}", written.folder.display());
    let _ = writeln!(text, "\n{}", paint(color, sgr, &mark));
    text.push_str(&wrap::paragraph(&assessment.conclusion(), "", width));
    text
}

/// What is printed of a line of the conclusion: all of it if `verbose`. Otherwise of what makes it late the causes alone, and of
/// the parts those that did not take place or are invalid.
fn shown(line: &str, verbose: bool) -> Option<String> {
    if verbose || line.starts_with("Trust:") || line.starts_with("Claim:") {
        return Some(line.to_owned());
    }
    if is_line_of_causes(line) {
        return Some(line.split_once("; ").map_or_else(|| line.to_owned(), |(causes, _)| format!("{causes}.")));
    }
    (line.contains(": not measured, because") || line.ends_with("; the run is invalid.")).then(|| line.to_owned())
}

/// A reason that runs are not simply valid, as it was seen.
struct Caveat<'a> {
    state: ValidityState,
    text: String,
    /// The runs that it was seen in.
    labels: Vec<&'a str>,
    remedy: &'static str,
}

/// What was seen of each reason that a run is not simply valid, gravest first, and what this machine gives no means to see: each
/// once, with the state that it makes a run have. The line of trust gives the meanings.
fn caveats(runs: &[Record]) -> Vec<(Option<ValidityState>, String)> {
    let mut seen: Vec<Caveat<'_>> = Vec::new();
    let mut not_observable: Vec<String> = Vec::new();
    for run in runs {
        for reason in run.validity.reasons() {
            let info = reason.code.info();
            // `docs/validity.md` explains it under this name.
            let name = serde_json::to_value(reason.code).unwrap_or_default();
            let text = format!("{}: {}: {}", info.state.word(), name.as_str().unwrap_or_default(), reason.detail);
            match seen.iter_mut().find(|caveat| caveat.text == text) {
                Some(caveat) => caveat.labels.push(&run.label),
                None => {
                    let labels = vec![run.label.as_str()];
                    seen.push(Caveat { state: info.state, text, labels, remedy: info.remedy });
                }
            }
        }
        for not in run.validity.not_observable() {
            let text = format!("not observable here: {}", not.detail);
            if !not_observable.contains(&text) {
                not_observable.push(text);
            }
        }
    }
    seen.sort_by_key(|caveat| std::cmp::Reverse(caveat.state));
    let line = |Caveat { state, text, labels, remedy }: Caveat<'_>| match state {
        ValidityState::Invalid => (Some(state), format!("{text} ({}); remedy: {remedy}", labels.join(", "))),
        ValidityState::Valid | ValidityState::Degraded => (Some(state), format!("{text} ({})", labels.join(", "))),
    };
    seen.into_iter().map(line).chain(not_observable.into_iter().map(|text| (None, text))).collect()
}

#[cfg(test)]
mod tests {
    use record::{ReasonCode, Unobservable, Validity};

    use super::*;

    #[test]
    fn each_caveat_stands_once_below_the_line_of_trust_with_the_runs_that_it_was_seen_in() {
        let quiet = Record::from_json(include_str!("../../../../../fixtures/calibration/idle/quiet.json")).unwrap();
        let run = |label: &str| {
            let mut run = Record { label: label.to_owned(), validity: Validity::default(), ..quiet.clone() };
            run.validity.add(ReasonCode::VirtualMachine, "kvm");
            run.validity.add_not_observable(Unobservable::FirmwareInterruptions, "no counter");
            run
        };
        let mut runs = vec![run("idle"), run("under load")];
        runs[1].validity.add(ReasonCode::LoadNotAchieved, "nothing ran");
        let expected = [
            "invalid: load-not-achieved: nothing ran (under load); remedy: choose a load that this machine can run, and \
             that runs until it is ended",
            "degraded: virtual-machine: kvm (idle, under load)",
            "not observable here: no counter",
        ];
        let found: Vec<String> = caveats(&runs).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, expected);
        let assessment = Assessment {
            deadline_ns: 1,
            answer: Answer::CannotBeTold,
            sentence: "Cannot be told.".to_owned(),
            lines: [
                "Idle: worst 5 us.",
                "Under load: not measured, because it was ended.",
                "What makes it late: of 9 wake-ups: hog 90 % (shown), not explained 10 %; SMI.",
                "Trust: invalid.",
                "Claim: none.",
            ]
            .map(str::to_owned)
            .to_vec(),
            changes: Vec::new(),
            claim: None,
        };
        let written = Written { folder: "f".into(), report: "f/report.html".into() };
        let text = conclusion(&assessment, &runs, &written, false, true);
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(at("Trust: invalid.") < at("  invalid: load-not-achieved") && at("no counter") < at("Claim: none."));
        assert_eq!(text.matches("kvm").count(), 1, "{text}");
        assert!(text.ends_with("\nCANNOT BE TOLD\nCannot be told.\n"), "the verdict is last: {text}");
        // Without details what makes a run invalid still stands there with its remedy, and a missing part with its reason.
        let short = conclusion(&assessment, &runs, &written, false, false);
        for said in [
            "not measured, because",
            "not explained 10 %.\n",
            "invalid: load-not-achieved",
            "remedy: choose",
            "2 caveats: -v",
        ] {
            assert!(short.contains(said), "{said} in {short}");
        }
        assert!(!short.contains("kvm") && !short.contains("Idle: worst") && !short.contains("SMI"), "{short}");
    }
}
