//! The headline of a page: its verdict in words.
//!
//! Nothing invalid may read as a pass. If a page has an invalid run, or one that exceeded the deadline, a conclusion of
//! "holds" is shown as "cannot be told".

mod delays;
mod offsets;

use std::collections::BTreeSet;

use record::{Figure, Record, Verdict, VerdictState};
use summary::Answer;
use units::format;

use crate::conditions::{are_delays, are_offsets};
use crate::totals::{Totals, judged_samples};
use crate::view::{CalibrationOutcomeView, CalibrationView, HeadlineState, HeadlineView};
use crate::{Exact, Page, campaign, comparison, late, overview};

pub(crate) fn headline(page: &Page) -> HeadlineView {
    match page {
        Page::Calibration(calibration) => calibration_headline(calibration),
        Page::Comparison(input) => comparison::headline(&input.comparison),
        Page::Campaign(input) => campaign::headline(&input.result),
        Page::Runs(_) | Page::Assessment(..) | Page::Program(_) => {
            let mut headline = results_headline(page);
            if headline.word.is_empty() {
                (headline.word, headline.sentence) = split(word(headline.state), &headline.sentence);
            }
            headline
        }
    }
}

/// Maximum length of the part of a sentence that becomes the large line (characters).
const LONGEST_WORD: usize = 60;

/// Splits a headline into its large line and the sentence below it. A sentence such as "Holds 100 us on CPU 2-3: the worst
/// was …" begins with the verdict already. The part before its colon then becomes the large line, so that the page does not
/// repeat the verdict.
fn split(word: &str, sentence: &str) -> (String, String) {
    match sentence.split_once(": ") {
        Some((first, rest)) if first.starts_with(word) && first.chars().count() <= LONGEST_WORD => {
            (first.to_owned(), capitalized(rest))
        }
        _ => (word.to_owned(), sentence.to_owned()),
    }
}

/// The verdict in words.
const fn word(state: HeadlineState) -> &'static str {
    match state {
        HeadlineState::Holds => "Holds",
        HeadlineState::Broken => "Does not hold",
        HeadlineState::CannotTell => "Cannot be told",
        HeadlineState::NoDeadline => "Measured",
        HeadlineState::Empty => "Nothing measured",
    }
}

/// The headline of a page with results: that of the assessment, or else one from the runs.
fn results_headline(page: &Page) -> HeadlineView {
    if let Some(assessment) = page.assessment() {
        let state = match assessment.answer {
            Answer::Holds => HeadlineState::Holds,
            Answer::DoesNotHold => HeadlineState::Broken,
            Answer::CannotBeTold => HeadlineState::CannotTell,
        };
        if state == HeadlineState::Holds {
            let deadline_ns = Some(Exact::from(assessment.deadline_ns));
            if let Some(invalid) = wakeups(page).find(|run| run.validity.is_invalid()) {
                return HeadlineView { deadline_ns, ..invalid_run_headline(invalid) };
            }
            // Every wake-up run counts, including those with idle states disabled: a sample above the deadline contradicts
            // "holds".
            let beyond = |run: &Record| {
                analyse::verdict(run, assessment.deadline_ns).deciding.map_or(0, |deciding| deciding.beyond)
            };
            if let Some((run, beyond)) = wakeups(page).map(|run| (run, beyond(run))).find(|(_, beyond)| *beyond > 0) {
                let sentence = format!(
                    "{} of {} samples of the run \"{}\" exceed the deadline, although the assessment concluded that it holds.",
                    format::count(beyond),
                    format::count(judged_samples(run)),
                    label(run)
                );
                return HeadlineView { deadline_ns, ..plain(HeadlineState::CannotTell, sentence) };
            }
            // An assessment by an earlier version may have concluded "holds" from very few samples.
            if let Some((run, shortfall)) = wakeups(page).find_map(|run| Some((run, run.shortfall()?))) {
                let sentence = format!("Too little was measured in the run \"{}\": {shortfall}.", label(run));
                return HeadlineView { deadline_ns, ..plain(HeadlineState::CannotTell, sentence) };
            }
        }
        let state = match assessment.overall() {
            Answer::Holds => HeadlineState::Holds,
            Answer::DoesNotHold => HeadlineState::Broken,
            Answer::CannotBeTold => HeadlineState::CannotTell,
        };
        return HeadlineView {
            deadline_ns: Some(assessment.deadline_ns.into()),
            lines: assessment.lines_below().cloned().collect(),
            word: assessment.word_of_claim().unwrap_or_default().to_owned(),
            ..plain(state, assessment.conclusion())
        };
    }
    if page.runs().is_empty() {
        return plain(
            HeadlineState::Empty,
            "This report contains no run. Measure this machine with: punctual assess --deadline 100us".to_owned(),
        );
    }
    from_runs(page)
}

fn calibration_headline(calibration: &CalibrationView) -> HeadlineView {
    let count = |outcome| calibration.rows.iter().filter(|row| row.outcome == outcome).count();
    let (within, exceptions) = (count(CalibrationOutcomeView::Within), count(CalibrationOutcomeView::Exception));
    let injected = calibration.rows.len();
    let found = injected - count(CalibrationOutcomeView::NotFound);
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
            format::count(injected as u64),
            format::count(within as u64)
        ),
        lines: vec![
            format!(
                "Above a bound, but by no more than a colliding tick explains: {exceptions}, each listed. Wrong or not \
                 found: {}. {held} of {} checks of counts, clocks, baseline and controls hold.",
                injected - within - exceptions,
                calibration.checks.len()
            ),
            format!("Machine: {}.", calibration.machine),
        ],
        deadline_ns: None,
    }
}

fn wakeups(page: &Page) -> impl Iterator<Item = &Record> {
    page.runs().iter().filter(|run| run.measurement.kind().figure == Figure::Wakeups)
}

fn plain(state: HeadlineState, sentence: String) -> HeadlineView {
    HeadlineView { state, word: String::new(), sentence, lines: Vec::new(), deadline_ns: None }
}

fn invalid_run_headline(run: &Record) -> HeadlineView {
    let reason = run.validity.reasons().first().map_or_else(
        || "it is marked invalid".to_owned(),
        |reason| {
            let meaning = reason.code.info().meaning.trim().trim_end_matches('.');
            let mut letters = meaning.chars();
            let first = letters.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
            format!("{first}{}{}", letters.as_str(), detail(&reason.detail))
        },
    );
    plain(HeadlineState::CannotTell, format!("The run \"{}\" is invalid: {reason}.", label(run)))
}

fn label(run: &Record) -> &str {
    if run.label.is_empty() { run.measurement.name() } else { &run.label }
}

fn detail(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

/// The runs that decide the headline of a page without an assessment: wake-up runs, and runs with a stated deadline. If
/// there are neither, all runs.
fn decisive(page: &Page) -> Vec<&Record> {
    let is_decisive = |run: &&Record| run.measurement.kind().figure.is_of_latencies() || run.verdict.is_some();
    let decisive: Vec<&Record> = page.runs().iter().filter(is_decisive).collect();
    if decisive.is_empty() { page.runs().iter().collect() } else { decisive }
}

fn from_runs(page: &Page) -> HeadlineView {
    let runs = decisive(page);
    // Judge again: a record by an earlier version may have concluded "holds" from very few samples.
    let judge = |run: &Record| Some(analyse::verdict(run, run.verdict.as_ref()?.deadline_ns));
    let judged: Vec<(&Record, Verdict)> = runs.iter().filter_map(|run| Some((*run, judge(run)?))).collect();
    let worst_of = |state: VerdictState| {
        judged
            .iter()
            .filter(|(run, verdict)| verdict.state == state && !run.validity.is_invalid())
            .max_by_key(|(_, verdict)| verdict.deciding.as_ref().map(|deciding| deciding.worst_ns.unsigned_abs()))
    };
    let deadlines_ns: BTreeSet<u64> = judged.iter().map(|(_, verdict)| verdict.deadline_ns).collect();
    // Of many runs a table has the verdict of each.
    let deadlines_differ = deadlines_ns.len() > 1 && !overview::are_many(page.runs());
    let lines = lines(&judged, runs.len(), deadlines_differ);
    let of_run = |state: HeadlineState, (run, verdict): &(&Record, Verdict)| HeadlineView {
        deadline_ns: Some(verdict.deadline_ns.into()),
        lines: lines.clone(),
        ..plain(state, sentence(page, run, verdict, &judged))
    };
    if let Some(broken) = worst_of(VerdictState::Broken) {
        return of_run(HeadlineState::Broken, broken);
    }
    if let Some(run) = runs.iter().find(|run| run.validity.is_invalid()) {
        let deadline_ns = deadlines_ns.first().filter(|_| deadlines_ns.len() == 1).map(|ns| Exact::from(*ns));
        return HeadlineView { deadline_ns, lines, ..invalid_run_headline(run) };
    }
    if let Some(unclear) = worst_of(VerdictState::CannotTell) {
        return of_run(HeadlineState::CannotTell, unclear);
    }
    if deadlines_ns.len() > 1 {
        let sentence = "Each run stayed within its own deadline.".to_owned();
        return HeadlineView { lines, ..plain(HeadlineState::Holds, sentence) };
    }
    if let Some(holding) = worst_of(VerdictState::Holds) {
        return of_run(HeadlineState::Holds, holding);
    }
    without_deadline(page, &runs)
}

/// The sentence for the run that decides. It covers all runs that were judged by the same deadline, as the numbers below it do.
fn sentence(page: &Page, run: &Record, verdict: &Verdict, judged: &[(&Record, Verdict)]) -> String {
    let limit = format::span(verdict.deadline_ns);
    let is_alike = |(other, others): &&(&Record, Verdict)| {
        others.deadline_ns == verdict.deadline_ns && other.measurement == run.measurement
    };
    let alike: Vec<&Record> = judged.iter().filter(is_alike).map(|(run, _)| *run).collect();
    if are_offsets(&[run]) {
        return offsets::sentence(run, verdict, &alike);
    }
    if are_delays(&[run]) {
        return delays::sentence(run, verdict, &alike);
    }
    let totals = Totals::over(alike.iter().map(|run| (*run, Some(verdict.deadline_ns))));
    let of_several = if alike.len() > 1 { format!(" ({})", label(run)) } else { String::new() };
    let Some((worst_run, worst_ns, place)) = totals.worst.filter(|_| verdict.state != VerdictState::CannotTell) else {
        return match verdict.state {
            VerdictState::Holds => format!("Holds {limit}: {}.", verdict.reason),
            VerdictState::Broken => format!("Does not hold {limit}: {}.", verdict.reason),
            VerdictState::CannotTell => format!("{}{of_several}.", capitalized(&verdict.reason)),
        };
    };
    let of_several = if alike.len() > 1 { format!(" ({})", label(worst_run)) } else { String::new() };
    let worst = format!(
        "worst of {} {} {}{}{of_several}{}",
        format::count(totals.samples),
        totals.what,
        format::latency(worst_ns),
        place.clause(),
        late::worst_words(page, worst_run)
    );
    match totals.beyond.unwrap_or(0) {
        0 => format!("Holds {limit}: {worst}, within {limit}{}.", covered(&alike)),
        beyond => {
            let missed = match totals.missed_periods.unwrap_or(0) {
                0 => String::new(),
                missed => format!(", {} periods missed", format::count(missed)),
            };
            format!("Does not hold {limit}: {worst}; {} beyond {limit}{missed}.", format::count(beyond))
        }
    }
}

/// What a verdict about these runs covers, where intervals of one are spoiled: `, in the 46 s of 48 s that stand`.
fn covered(runs: &[&Record]) -> String {
    if runs.iter().all(|run| run.covers().is_none()) {
        return String::new();
    }
    let of = |ns: fn(&Record) -> u64| units::total(runs.iter().map(|run| ns(run)));
    let (stands, measured) = (of(Record::standing_ns), of(Record::measured_ns));
    format!(", in the {} of {} that stand", format::span(stands), format::span(measured))
}

/// The headline of runs without a deadline: the worst sample is the answer.
fn without_deadline(page: &Page, runs: &[&Record]) -> HeadlineView {
    if are_offsets(runs) {
        return offsets::without_limit(runs);
    }
    if are_delays(runs) {
        return delays::without_limit(runs);
    }
    let totals = Totals::over(runs.iter().map(|run| (*run, None)));
    let Some((run, worst_ns, place)) = totals.worst else {
        let sentence = format!(
            "{} samples, none of them a wake-up. No deadline was stated, so there is no verdict.",
            format::count(units::total(page.runs().iter().map(Record::samples)))
        );
        return plain(HeadlineState::NoDeadline, sentence);
    };
    let within = match totals.observed_ns {
        0 => String::new(),
        observed_ns => format!(" in {}", format::span(observed_ns)),
    };
    let of_several = if totals.runs > 1 { format!(" ({})", label(run)) } else { String::new() };
    HeadlineView {
        word: format!("Worst {}; no limit stated", format::latency(worst_ns)),
        ..plain(
            HeadlineState::NoDeadline,
            format!(
                "The worst of {} {}{within} was {}{}{of_several}. No deadline was stated, so there is no verdict: state one \
                 with --deadline.",
                format::count(totals.samples),
                totals.what,
                format::latency(worst_ns),
                place.clause(),
            ),
        )
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Lines for what a single sentence would hide: the verdict of each run if deadlines differ, and runs without a deadline.
fn lines(judged: &[(&Record, Verdict)], runs: usize, deadlines_differ: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if deadlines_differ {
        lines.extend(judged.iter().map(|(run, verdict)| format!("{}: {}.", label(run), verdict.reason)));
    }
    let others = if judged.is_empty() { 0 } else { runs.saturating_sub(judged.len()) };
    if others == 1 {
        lines.push("One run was measured without a deadline and is not judged.".to_owned());
    } else if others > 1 {
        lines.push(format!("{others} runs were measured without a deadline and are not judged."));
    }
    lines
}

#[cfg(test)]
mod tests {
    use record::{Measurement, ReasonCode, Validity};
    use summary::Assessment;

    use super::*;
    use crate::Results;
    use crate::sample::{run, run_of};

    fn input(runs: Vec<Record>, answer: Option<Answer>) -> Page {
        let assessment = answer.map(|answer| Assessment {
            deadline_ns: 100_000,
            answer,
            sentence: "Holds 100 us".to_owned(),
            lines: Vec::new(),
            changes: Vec::new(),
            claim: None,
        });
        Page::from_results(assessment, Results { runs, ..Results::default() })
    }

    #[test]
    fn an_invalid_run_never_reads_as_a_pass() {
        let mut validity = Validity::default();
        validity.add(ReasonCode::RtThrottled, "CPU 2");
        let headline = headline(&input(vec![run(validity)], Some(Answer::Holds)));
        assert_eq!(headline.state, HeadlineState::CannotTell);
        assert!(headline.sentence.contains("invalid"), "{}", headline.sentence);
    }

    #[test]
    fn an_assessment_of_very_few_samples_never_reads_as_a_pass() {
        let mut short = run(Validity::default());
        short.manifest_mut().requested.duration_ns = Some(60_000_000_000);
        let headline = headline(&input(vec![short], Some(Answer::Holds)));
        assert_eq!((headline.state, headline.deadline_ns), (HeadlineState::CannotTell, Some(Exact::from(100_000_u64))));
        assert!(headline.sentence.contains("Too little was measured"), "{}", headline.sentence);
    }

    #[test]
    fn a_page_with_a_run_above_the_deadline_never_reads_as_a_pass() {
        let headline_of = |latencies_ns: &[u64]| {
            headline(&input(vec![run_of("late", latencies_ns, Validity::default())], Some(Answer::Holds)))
        };
        assert_eq!(headline_of(&[100_000; 2_000]).state, HeadlineState::Holds);
        let late = headline_of(&[[5_000; 2_000].as_slice(), &[100_001]].concat());
        assert_eq!((late.state, late.deadline_ns), (HeadlineState::CannotTell, Some(Exact::from(100_000_u64))));
        assert!(late.sentence.starts_with("1 of 2\u{202f}001 samples of the run \"idle\""), "{}", late.sentence);
    }

    #[test]
    fn the_verdict_is_not_repeated() {
        let (word, sentence) = split("Holds", "Holds 100 us on CPU 2-3: the worst was 41.8 us");
        assert_eq!((word.as_str(), sentence.as_str()), ("Holds 100 us on CPU 2-3", "The worst was 41.8 us"));
        let (word, sentence) = split("Holds", "All is well: yes");
        assert_eq!((word.as_str(), sentence.as_str()), ("Holds", "All is well: yes"));
    }

    #[test]
    fn an_empty_page_says_how_to_measure() {
        let headline = headline(&input(Vec::new(), None));
        assert_eq!(headline.state, HeadlineState::Empty);
        assert!(headline.sentence.contains("punctual assess"));
    }

    #[test]
    fn without_a_deadline_the_worst_sample_is_the_answer() {
        let empty = headline(&input(vec![run(Validity::default())], None));
        assert_eq!((empty.state, empty.word.as_str()), (HeadlineState::NoDeadline, "Measured"));
        let runs =
            ["a", "b"].map(|id| run_of(id, &[5_000, if id == "a" { 7_000 } else { 2_991_000 }], Validity::default()));
        let worst = headline(&input(runs.to_vec(), None));
        assert_eq!(worst.word, "Worst 2\u{202f}991 us; no limit stated");
        assert!(
            worst.sentence.starts_with("The worst of 4 wake-ups was 2\u{202f}991 us on CPU 1"),
            "{}",
            worst.sentence
        );
    }

    #[test]
    fn the_sentence_counts_all_runs_with_the_same_deadline() {
        let broken = headline(&input(vec![judged("calm", 5_000, 50_000), judged("late", 60_000, 50_000)], None));
        assert_eq!(broken.word, "Does not hold 50.0 us");
        let expected = "Worst of 4\u{202f}000 wake-ups 60.0 us on CPU 1 (late); 2\u{202f}000 beyond 50.0 us.";
        assert_eq!(broken.sentence, expected);
    }

    /// A run of 2,000 samples of `worst_ns`, with the verdict on a deadline.
    fn judged(label: &str, worst_ns: u64, deadline_ns: u64) -> Record {
        let mut record = run_of(label, &[worst_ns; 2_000], Validity::default());
        record.label = label.to_owned();
        record.verdict = Some(analyse::verdict(&record, deadline_ns));
        record
    }

    #[test]
    fn runs_of_different_deadlines_are_not_judged_by_one_of_them() {
        let tight = judged("tight", 40_000, 50_000);
        let both = headline(&input(vec![tight.clone(), judged("slack", 9_000_000, 10_000_000)], None));
        assert_eq!((both.state, both.deadline_ns), (HeadlineState::Holds, None));
        assert_eq!(both.lines.len(), 2, "{:?}", both.lines);
        assert!(both.lines[0].starts_with("tight: ") && both.lines[0].ends_with("within 50.0 us."), "{:?}", both.lines);
        // The deadline of the page is that of the run that broke it, whichever run comes first.
        let broken = headline(&input(vec![tight.clone(), judged("slack", 12_000_000, 10_000_000)], None));
        assert_eq!((broken.state, broken.deadline_ns), (HeadlineState::Broken, Some(Exact::from(10_000_000_u64))));
        assert!(broken.sentence.contains("beyond 10 ms"), "{}", broken.sentence);
        // If all runs have the same deadline, the sentence needs no further lines.
        let same = headline(&input(vec![tight.clone(), judged("other", 30_000, 50_000)], None));
        assert_eq!((same.deadline_ns, same.lines.len()), (Some(Exact::from(50_000_u64)), 0));
        // A run without a deadline does not count as holding.
        let free = run_of("free", &[9_000_000], Validity::default());
        let with_free = headline(&input(vec![tight, free], None));
        assert_eq!(with_free.lines, ["One run was measured without a deadline and is not judged."]);
    }

    #[test]
    fn noise_runs_count_if_they_have_a_deadline_or_are_the_only_runs() {
        let mut gaps = judged("gaps", 200_000, 100_000);
        gaps.measurement = Measurement::Noise;
        assert_eq!(headline(&input(vec![gaps.clone()], None)).state, HeadlineState::Broken);
        let calm = judged("calm", 5_000, 50_000);
        assert_eq!(headline(&input(vec![calm, gaps.clone()], None)).state, HeadlineState::Broken);
        gaps.verdict = None;
        gaps.validity.add(ReasonCode::RtThrottled, "CPU 2");
        assert_eq!(headline(&input(vec![gaps], None)).state, HeadlineState::CannotTell);
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
        let headline_of = |view| headline(&Page::Calibration(view));
        let bad = headline_of(calibration(false, CalibrationOutcomeView::NotFound));
        assert_eq!((bad.state, bad.word.as_str()), (HeadlineState::Broken, "Not calibrated"));
        assert!(bad.sentence.contains("found 1 of 2 known delays"), "{}", bad.sentence);
        let good = headline_of(calibration(true, CalibrationOutcomeView::Exception));
        assert_eq!((good.state, good.word.as_str()), (HeadlineState::Holds, "Calibrated"));
        assert!(good.lines[0].contains("explains: 1, each"), "{}", good.lines[0]);
    }
}
