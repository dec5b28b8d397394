//! The first sentence of a page.
//!
//! Nothing invalid may read as a pass: whatever an assessment says, "holds" beside an invalid run becomes
//! "cannot be told".

use analyse::Answer;
use record::{Measurement, Record, VerdictState};
use units::format;

use crate::view::{CalibrationOutcomeView, CalibrationView, HeadlineState, HeadlineView};
use crate::{Exact, ReportInput, campaign, comparison};

pub(crate) fn headline(input: &ReportInput) -> HeadlineView {
    if let Some(calibration) = &input.calibration {
        return of_calibration(calibration);
    }
    if let Some(input) = &input.comparison {
        return comparison::headline(&input.comparison);
    }
    if let Some(input) = &input.campaign {
        return campaign::headline(&input.result);
    }
    let mut headline = stated(input);
    (headline.word, headline.sentence) = split(word(headline.state), &headline.sentence);
    headline
}

/// The longest beginning of a sentence that is set large.
const LONGEST_WORD: usize = 60;

/// "Holds 100 us on CPU 2-3: the worst was …" already begins with the verdict: what stands before the colon becomes
/// the large line, so that the page does not say it twice.
fn split(word: &str, sentence: &str) -> (String, String) {
    match sentence.split_once(": ") {
        Some((first, rest)) if first.starts_with(word) && first.chars().count() <= LONGEST_WORD => {
            let mut letters = rest.chars();
            let rest = letters.next().map_or_else(String::new, |letter| letter.to_uppercase().chain(letters).collect());
            (first.to_owned(), rest)
        }
        _ => (word.to_owned(), sentence.to_owned()),
    }
}

/// The words that stand for a state.
const fn word(state: HeadlineState) -> &'static str {
    match state {
        HeadlineState::Holds => "Holds",
        HeadlineState::Broken => "Does not hold",
        HeadlineState::CannotTell => "Cannot be told",
        HeadlineState::NoDeadline => "Measured",
        HeadlineState::Empty => "Nothing measured",
    }
}

fn stated(input: &ReportInput) -> HeadlineView {
    if let Some(assessment) = &input.assessment {
        let state = match assessment.answer {
            Answer::Holds => HeadlineState::Holds,
            Answer::DoesNotHold => HeadlineState::Broken,
            Answer::CannotBeTold => HeadlineState::CannotTell,
        };
        if state == HeadlineState::Holds {
            if let Some(doubt) = wakeups(input).find(|run| run.validity.is_invalid()) {
                return HeadlineView { deadline_ns: Some(assessment.deadline_ns.into()), ..doubted(doubt) };
            }
        }
        return HeadlineView {
            deadline_ns: Some(assessment.deadline_ns.into()),
            lines: assessment.lines.clone(),
            ..plain(state, assessment.sentence.clone())
        };
    }
    if input.runs.is_empty() {
        return plain(
            HeadlineState::Empty,
            "This report holds no run. Measure this machine with: punctual assess --deadline 100us".to_owned(),
        );
    }
    from_runs(input)
}

fn of_calibration(calibration: &CalibrationView) -> HeadlineView {
    let count = |outcome| calibration.rows.iter().filter(|row| row.outcome == outcome).count();
    let (within, exceptions) = (count(CalibrationOutcomeView::Within), count(CalibrationOutcomeView::Exception));
    let of = calibration.rows.len();
    let found = of - count(CalibrationOutcomeView::NotFound);
    let held = calibration.checks.iter().filter(|check| check.holds).count();
    let (state, word) = if calibration.passes {
        (HeadlineState::Holds, "Calibrated")
    } else {
        (HeadlineState::Broken, "Not calibrated")
    };
    HeadlineView {
        state,
        word: word.to_owned(),
        sentence: format!(
            "{} found {} of {} known delays, {} of them within their bounds.",
            calibration.tool,
            format::count(found as u64),
            format::count(of as u64),
            format::count(within as u64)
        ),
        lines: vec![
            format!(
                "Above a bound by what a colliding tick explains: {exceptions}, each listed. Wrong: {}. {held} of {} \
                 checks of counts, clocks, baseline and controls hold.",
                of - within - exceptions,
                calibration.checks.len()
            ),
            format!("Machine: {}.", calibration.machine),
        ],
        deadline_ns: None,
    }
}

fn wakeups(input: &ReportInput) -> impl Iterator<Item = &Record> {
    input.runs.iter().filter(|run| matches!(run.measurement, Measurement::Wakeup | Measurement::App))
}

fn plain(state: HeadlineState, sentence: String) -> HeadlineView {
    HeadlineView { state, word: String::new(), sentence, lines: Vec::new(), deadline_ns: None }
}

fn doubted(run: &Record) -> HeadlineView {
    let reason = run.validity.reasons().first().map_or_else(
        || "it is marked invalid".to_owned(),
        |reason| {
            let meaning = reason.code.info().meaning.trim().trim_end_matches('.');
            let mut letters = meaning.chars();
            let first = letters.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
            format!("{first}{}{}", letters.as_str(), detail(&reason.detail))
        },
    );
    let label = if run.label.is_empty() { run.measurement.name() } else { run.label.as_str() };
    plain(HeadlineState::CannotTell, format!("The run \"{label}\" is invalid: {reason}."))
}

fn detail(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

fn from_runs(input: &ReportInput) -> HeadlineView {
    // Judged anew: a record of an earlier version may say that a limit holds from hardly a sample.
    let judge = |run: &Record| Some(analyse::verdict(run, run.verdict.as_ref()?.deadline_ns));
    let judged: Vec<_> = wakeups(input).filter_map(|run| Some((run, judge(run)?))).collect();
    let worst_of = |state: VerdictState| {
        judged
            .iter()
            .filter(|(run, verdict)| verdict.state == state && !run.validity.is_invalid())
            .max_by_key(|(_, verdict)| verdict.deciding.map(|deciding| deciding.worst_ns))
    };
    let deadline_ns = judged.first().map(|(_, verdict)| Exact::from(verdict.deadline_ns));
    if let Some((_, verdict)) = worst_of(VerdictState::Broken) {
        return HeadlineView { deadline_ns, ..plain(HeadlineState::Broken, verdict.reason.clone()) };
    }
    if let Some(run) = wakeups(input).find(|run| run.validity.is_invalid()) {
        return HeadlineView { deadline_ns, ..doubted(run) };
    }
    if let Some((_, verdict)) = worst_of(VerdictState::CannotTell) {
        return HeadlineView { deadline_ns, ..plain(HeadlineState::CannotTell, verdict.reason.clone()) };
    }
    if let Some((_, verdict)) = worst_of(VerdictState::Holds) {
        return HeadlineView { deadline_ns, ..plain(HeadlineState::Holds, verdict.reason.clone()) };
    }
    let samples = units::total(input.runs.iter().map(Record::samples));
    let worst = wakeups(input).filter_map(Record::worst_of_all).max();
    let sentence = match worst {
        Some((worst_ns, cpu)) => format!(
            "The worst of {} samples was {}{}. No deadline was stated, hence no verdict: give one with --deadline.",
            format::count(samples),
            format::latency(i64::try_from(worst_ns).unwrap_or(i64::MAX)),
            cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}")),
        ),
        None => {
            format!("{} samples of other measurements than wake-ups; they have no deadline.", format::count(samples))
        }
    };
    plain(HeadlineState::NoDeadline, sentence)
}

#[cfg(test)]
mod tests {
    use analyse::Assessment;
    use record::{ReasonCode, Validity};

    use super::*;
    use crate::Generated;
    use crate::sample::run;

    fn input(runs: Vec<Record>, answer: Option<Answer>) -> ReportInput {
        ReportInput {
            calibration: None,
            comparison: None,
            campaign: None,
            title: "t".to_owned(),
            assessment: answer.map(|answer| Assessment {
                deadline_ns: 100_000,
                answer,
                sentence: "Holds 100 us".to_owned(),
                lines: Vec::new(),
                changes: Vec::new(),
                claim: None,
            }),
            runs,
            profile: None,
            findings: Vec::new(),
            generated: Generated::default(),
        }
    }

    #[test]
    fn an_invalid_run_never_reads_as_a_pass() {
        let mut validity = Validity::default();
        validity.add(ReasonCode::RtThrottled, "CPU 2");
        let told = headline(&input(vec![run(validity)], Some(Answer::Holds)));
        assert_eq!(told.state, HeadlineState::CannotTell);
        assert!(told.sentence.contains("invalid"), "{}", told.sentence);
    }

    #[test]
    fn the_verdict_is_not_said_twice() {
        let (word, sentence) = split("Holds", "Holds 100 us on CPU 2-3: the worst was 41.8 us");
        assert_eq!((word.as_str(), sentence.as_str()), ("Holds 100 us on CPU 2-3", "The worst was 41.8 us"));
        let (word, sentence) = split("Holds", "All is well: yes");
        assert_eq!((word.as_str(), sentence.as_str()), ("Holds", "All is well: yes"));
    }

    #[test]
    fn nothing_measured_says_what_to_do() {
        let told = headline(&input(Vec::new(), None));
        assert_eq!(told.state, HeadlineState::Empty);
        assert!(told.sentence.contains("punctual assess"));
    }

    #[test]
    fn without_a_deadline_there_is_no_verdict() {
        assert_eq!(headline(&input(vec![run(Validity::default())], None)).state, HeadlineState::NoDeadline);
    }

    #[test]
    fn a_calibration_that_fails_is_never_called_calibrated() {
        let row = |outcome| crate::CalibrationRowView {
            boot: "idle-0".to_owned(),
            condition: "idle".to_owned(),
            measurement: "wakeup".to_owned(),
            kind: "irqs-off".to_owned(),
            asked_length_ns: 20_000_i64.into(),
            truth_ns: 10_000_i64.into(),
            baseline_ns: 8_000_i64.into(),
            reading_ns: None,
            difference_ns: None,
            least_ns: (-1_000_i64).into(),
            most_ns: 5_000_i64.into(),
            exception_ns: 20_000_i64.into(),
            missed: None,
            outcome,
        };
        let calibration = |passes, outcome| CalibrationView {
            tool: "punctual 0.1.0".to_owned(),
            machine: "Linux".to_owned(),
            passes,
            rows: vec![row(CalibrationOutcomeView::Within), row(outcome)],
            checks: Vec::new(),
        };
        let of = |view| headline(&ReportInput { calibration: Some(view), ..input(Vec::new(), None) });
        let bad = of(calibration(false, CalibrationOutcomeView::NotFound));
        assert_eq!((bad.state, bad.word.as_str()), (HeadlineState::Broken, "Not calibrated"));
        assert!(bad.sentence.contains("found 1 of 2 known delays"), "{}", bad.sentence);
        let good = of(calibration(true, CalibrationOutcomeView::Exception));
        assert_eq!((good.state, good.word.as_str()), (HeadlineState::Holds, "Calibrated"));
        assert!(good.lines[0].contains("explains: 1, each"), "{}", good.lines[0]);
    }
}
