//! The headline of a page: its verdict in words.
//!
//! Nothing invalid may read as a pass. If a page has an invalid run, or one that exceeded the deadline, a conclusion of
//! "holds" is shown as "cannot be told".

mod delays;
mod offsets;
mod orders;

use std::collections::BTreeSet;

use record::{Record, Verdict, VerdictState};
use schemars::JsonSchema;
use serde::Serialize;
use units::format;

use crate::Answer;
use crate::late_table::worst_words;
use crate::measured::{Measured, are_delays, are_many, are_offsets, capitalized, label};
use crate::totals::{Totals, judged_samples};

/// The verdict of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeadlineState {
    /// The deadline held.
    Holds,
    /// The deadline was exceeded.
    Broken,
    /// The runs are inconclusive.
    CannotTell,
    /// No deadline was stated: there are numbers, but no verdict.
    NoDeadline,
    /// The page has no run.
    Empty,
}

/// The verdict on some runs in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// The verdict.
    pub state: HeadlineState,
    /// The large line: "Holds", "Holds 100 us on CPU 2-3".
    pub word: String,
    /// One sentence with the number that decides the verdict.
    pub sentence: String,
    /// Further lines below the sentence.
    pub lines: Vec<String>,
    /// The deadline (ns); `None` if there is none, or if the runs have different ones.
    pub deadline_ns: Option<u64>,
}

/// The verdict on some runs: that of their assessment if there is one.
#[must_use]
pub fn headline(page: &Measured<'_>) -> Headline {
    let mut headline = results_headline(page);
    if headline.word.is_empty() {
        (headline.word, headline.sentence) = split(word(headline.state), &headline.sentence);
    }
    headline
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
fn results_headline(page: &Measured<'_>) -> Headline {
    if let Some(assessment) = page.assessment {
        let state = match assessment.answer {
            Answer::Holds => HeadlineState::Holds,
            Answer::DoesNotHold => HeadlineState::Broken,
            Answer::CannotBeTold => HeadlineState::CannotTell,
        };
        if state == HeadlineState::Holds {
            let deadline_ns = Some(assessment.deadline_ns);
            if let Some(invalid) = page.wakeups().find(|run| run.validity.is_invalid()) {
                return Headline { deadline_ns, ..invalid_run_headline(invalid) };
            }
            // Every wake-up run counts, including those with idle states disabled: a sample above the deadline contradicts
            // "holds".
            let beyond = |run: &Record| {
                analysis::verdict(run, assessment.deadline_ns).deciding.map_or(0, |deciding| deciding.beyond)
            };
            if let Some((run, beyond)) = page.wakeups().map(|run| (run, beyond(run))).find(|(_, beyond)| *beyond > 0) {
                let sentence = format!(
                    "{} of {} samples of the run \"{}\" exceed the deadline, although the assessment concluded that it holds.",
                    format::count(beyond),
                    format::count(judged_samples(run)),
                    label(run)
                );
                return Headline { deadline_ns, ..plain(HeadlineState::CannotTell, sentence) };
            }
            // An assessment by an earlier version may have concluded "holds" from very few samples.
            if let Some((run, shortfall)) = page.wakeups().find_map(|run| Some((run, run.shortfall()?))) {
                let sentence = format!("Too little was measured in the run \"{}\": {shortfall}.", label(run));
                return Headline { deadline_ns, ..plain(HeadlineState::CannotTell, sentence) };
            }
        }
        let state = match assessment.overall() {
            Answer::Holds => HeadlineState::Holds,
            Answer::DoesNotHold => HeadlineState::Broken,
            Answer::CannotBeTold => HeadlineState::CannotTell,
        };
        return Headline {
            deadline_ns: Some(assessment.deadline_ns),
            lines: assessment.lines_below().cloned().collect(),
            word: assessment.word_of_claim().unwrap_or_default().to_owned(),
            ..plain(state, assessment.conclusion())
        };
    }
    if page.runs.is_empty() {
        return plain(
            HeadlineState::Empty,
            "This report contains no run. Measure this machine with: punctual assess --deadline 100us".to_owned(),
        );
    }
    from_runs(page)
}

fn plain(state: HeadlineState, sentence: String) -> Headline {
    Headline { state, word: String::new(), sentence, lines: Vec::new(), deadline_ns: None }
}

fn invalid_run_headline(run: &Record) -> Headline {
    let because = crate::run::validity(run).invalid_because.unwrap_or_default();
    plain(HeadlineState::CannotTell, format!("The run \"{}\" is invalid: {because}.", label(run)))
}

/// The runs that decide the headline of a page without an assessment: wake-up runs, and runs with a stated deadline. If
/// there are neither, all runs.
fn decisive<'a>(page: &Measured<'a>) -> Vec<&'a Record> {
    let is_decisive = |run: &&Record| run.measurement.kind().figure.is_of_latencies() || run.verdict.is_some();
    let decisive: Vec<&'a Record> = page.runs.iter().filter(is_decisive).collect();
    if decisive.is_empty() { page.runs.iter().collect() } else { decisive }
}

fn from_runs(page: &Measured<'_>) -> Headline {
    let runs = decisive(page);
    // Judge again: a record by an earlier version may have concluded "holds" from very few samples.
    let judge = |run: &Record| Some(analysis::verdict(run, run.verdict.as_ref()?.deadline_ns));
    let judged: Vec<(&Record, Verdict)> = runs.iter().filter_map(|run| Some((*run, judge(run)?))).collect();
    let worst_of = |state: VerdictState| {
        judged.iter().filter(|(run, verdict)| verdict.state == state && !run.validity.is_invalid()).max_by_key(
            |(run, verdict)| {
                // An order that is missed is the worse the more there are, and however late the others were.
                let missed = run.pulses().map(|pulses| pulses.trials.missed);
                (missed, verdict.deciding.as_ref().map(|deciding| deciding.worst_ns.unsigned_abs()))
            },
        )
    };
    let deadlines_ns: BTreeSet<u64> = judged.iter().map(|(_, verdict)| verdict.deadline_ns).collect();
    // Of many runs a table has the verdict of each.
    let deadlines_differ = deadlines_ns.len() > 1 && !are_many(page.runs);
    let lines = lines(&judged, runs.len(), deadlines_differ);
    let of_run = |state: HeadlineState, (run, verdict): &(&Record, Verdict)| Headline {
        deadline_ns: Some(verdict.deadline_ns),
        lines: lines.clone(),
        ..plain(state, sentence(page, run, verdict, &judged))
    };
    if let Some(broken) = worst_of(VerdictState::Broken) {
        return of_run(HeadlineState::Broken, broken);
    }
    if let Some(run) = runs.iter().find(|run| run.validity.is_invalid()) {
        let deadline_ns = deadlines_ns.first().filter(|_| deadlines_ns.len() == 1).copied();
        return Headline { deadline_ns, lines, ..invalid_run_headline(run) };
    }
    if let Some(unclear) = worst_of(VerdictState::CannotTell) {
        return of_run(HeadlineState::CannotTell, unclear);
    }
    if deadlines_ns.len() > 1 {
        let sentence = "Each run stayed within its own deadline.".to_owned();
        return Headline { lines, ..plain(HeadlineState::Holds, sentence) };
    }
    if let Some(holding) = worst_of(VerdictState::Holds) {
        return of_run(HeadlineState::Holds, holding);
    }
    without_deadline(page, &runs)
}

/// The sentence for the run that decides. It covers all runs that were judged by the same deadline, as the numbers below it do; of nodes
/// that act together it is of one run, which it names.
fn sentence(page: &Measured<'_>, run: &Record, verdict: &Verdict, judged: &[(&Record, Verdict)]) -> String {
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
    if let Some(pulses) = run.pulses() {
        return orders::sentence(run, pulses, verdict, &alike);
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
        "worst of {} {} {}{}{}{of_several}{}",
        format::count(totals.samples),
        totals.what,
        worst_run.at_least(),
        format::latency(worst_ns),
        place.clause(),
        worst_words(page, worst_run)
    );
    match totals.beyond.unwrap_or(0) {
        // What breaks it is none of the samples.
        0 if verdict.state == VerdictState::Broken => format!("Does not hold {limit}{of_several}: {}.", verdict.reason),
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
    if runs.iter().all(|run| run.verdict_covers().is_none()) {
        return String::new();
    }
    let of = |ns: fn(&Record) -> u64| units::total(runs.iter().map(|run| ns(run)));
    let (stands, measured) = (of(Record::standing_ns), of(Record::measured_ns));
    format!(", in the {} of {} that stand", format::span(stands), format::span(measured))
}

/// The headline of runs without a deadline: the worst sample is the answer.
fn without_deadline(page: &Measured<'_>, runs: &[&Record]) -> Headline {
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
            format::count(units::total(page.runs.iter().map(Record::samples)))
        );
        return plain(HeadlineState::NoDeadline, sentence);
    };
    let within = match totals.observed_ns {
        0 => String::new(),
        observed_ns => format!(" in {}", format::span(observed_ns)),
    };
    let of_several = if totals.runs > 1 { format!(" ({})", label(run)) } else { String::new() };
    Headline {
        word: format!("Worst {}{}; no limit stated", run.at_least(), format::latency(worst_ns)),
        ..plain(
            HeadlineState::NoDeadline,
            format!(
                "The worst of {} {}{within} was {}{}{}{of_several}. No deadline was stated, so there is no verdict: state one \
                 with --deadline.",
                format::count(totals.samples),
                totals.what,
                run.at_least(),
                format::latency(worst_ns),
                place.clause(),
            ),
        )
    }
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
    use samples::{run, run_of};

    use super::*;
    use crate::Assessment;

    fn headline(runs: &[Record], answer: Option<Answer>) -> Headline {
        let assessment = answer.map(|answer| Assessment {
            deadline_ns: 100_000,
            answer,
            sentence: "Holds 100 us".to_owned(),
            lines: Vec::new(),
            changes: Vec::new(),
            claim: None,
        });
        super::headline(&Measured { assessment: assessment.as_ref(), runs })
    }

    #[test]
    fn the_longest_answer_of_a_witness_that_gave_some_up_is_called_a_lower_bound() {
        let of = |overran: bool, deadline_ns: Option<u64>| {
            let mut record = samples::answers(&[20_000, 22_000], |_| ());
            if overran {
                record.validity.add(ReasonCode::WitnessOverran, "1 answer");
            }
            record.verdict = deadline_ns.map(|deadline_ns| analysis::verdict(&record, deadline_ns));
            let Headline { word, sentence, .. } = headline(&[record], None);
            format!("{word}. {sentence}")
        };
        for deadline_ns in [None, Some(10_000)] {
            let said = of(true, deadline_ns);
            assert!(said.contains("at least 30.0 us"), "{said}");
            let said = of(false, deadline_ns);
            assert!(said.contains("30.0 us") && !said.contains("at least"), "{said}");
        }
    }

    #[test]
    fn what_only_a_lost_witness_saw_is_never_said_to_hold() {
        let mut record = samples::answers(&[20_000; 300], |run| {
            let witness = run.witness.as_mut().unwrap();
            (witness.overruns, witness.lost) = (1, Some("it closed the connection".to_owned()));
        });
        record.series.iter_mut().for_each(|series| series.judged = series.name == "event_to_answered");
        record.verdict = Some(analysis::verdict(&record, 900_000));
        let said = headline(&[record], None);
        assert_eq!(said.state, HeadlineState::Broken);
        assert_eq!(said.word, "Does not hold 900 us");
        assert!(said.sentence.starts_with("Worst of 300 answers 20.0 us"), "{}", said.sentence);
        assert!(said.sentence.contains("1 overrun of 1 ms or more"), "{}", said.sentence);
    }

    #[test]
    fn an_invalid_run_never_reads_as_a_pass() {
        let mut validity = Validity::default();
        validity.add(ReasonCode::RtThrottled, "CPU 2");
        let headline = headline(&[run(validity)], Some(Answer::Holds));
        assert_eq!(headline.state, HeadlineState::CannotTell);
        assert!(headline.sentence.contains("invalid"), "{}", headline.sentence);
    }

    #[test]
    fn an_assessment_of_very_few_samples_never_reads_as_a_pass() {
        let mut short = run(Validity::default());
        short.manifest_mut().requested.duration_ns = Some(60_000_000_000);
        let headline = headline(&[short], Some(Answer::Holds));
        assert_eq!((headline.state, headline.deadline_ns), (HeadlineState::CannotTell, Some(100_000)));
        assert!(headline.sentence.contains("Too little was measured"), "{}", headline.sentence);
    }

    #[test]
    fn a_page_with_a_run_above_the_deadline_never_reads_as_a_pass() {
        let headline_of =
            |latencies_ns: &[u64]| headline(&[run_of("late", latencies_ns, Validity::default())], Some(Answer::Holds));
        assert_eq!(headline_of(&[100_000; 2_000]).state, HeadlineState::Holds);
        let late = headline_of(&[[5_000; 2_000].as_slice(), &[100_001]].concat());
        assert_eq!((late.state, late.deadline_ns), (HeadlineState::CannotTell, Some(100_000)));
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
        let headline = headline(&[], None);
        assert_eq!(headline.state, HeadlineState::Empty);
        assert!(headline.sentence.contains("punctual assess"));
    }

    #[test]
    fn without_a_deadline_the_worst_sample_is_the_answer() {
        let empty = headline(&[run(Validity::default())], None);
        assert_eq!((empty.state, empty.word.as_str()), (HeadlineState::NoDeadline, "Measured"));
        let runs =
            ["a", "b"].map(|id| run_of(id, &[5_000, if id == "a" { 7_000 } else { 2_991_000 }], Validity::default()));
        let worst = headline(&runs, None);
        assert_eq!(worst.word, "Worst 2\u{202f}991 us; no limit stated");
        assert!(
            worst.sentence.starts_with("The worst of 4 wake-ups was 2\u{202f}991 us on CPU 1"),
            "{}",
            worst.sentence
        );
    }

    #[test]
    fn the_sentence_counts_all_runs_with_the_same_deadline() {
        let broken = headline(&[judged("calm", 5_000, 50_000), judged("late", 60_000, 50_000)], None);
        assert_eq!(broken.word, "Does not hold 50.0 us");
        let expected = "Worst of 4\u{202f}000 wake-ups 60.0 us on CPU 1 (late); 2\u{202f}000 beyond 50.0 us.";
        assert_eq!(broken.sentence, expected);
    }

    /// A run of 2,000 samples of `worst_ns`, with the verdict on a deadline.
    fn judged(label: &str, worst_ns: u64, deadline_ns: u64) -> Record {
        let mut record = run_of(label, &[worst_ns; 2_000], Validity::default());
        record.label = label.to_owned();
        record.verdict = Some(analysis::verdict(&record, deadline_ns));
        record
    }

    #[test]
    fn runs_of_different_deadlines_are_not_judged_by_one_of_them() {
        let tight = judged("tight", 40_000, 50_000);
        let both = headline(&[tight.clone(), judged("slack", 9_000_000, 10_000_000)], None);
        assert_eq!((both.state, both.deadline_ns), (HeadlineState::Holds, None));
        assert_eq!(both.lines.len(), 2, "{:?}", both.lines);
        assert!(both.lines[0].starts_with("tight: ") && both.lines[0].ends_with("within 50.0 us."), "{:?}", both.lines);
        // The deadline of the page is that of the run that broke it, whichever run comes first.
        let broken = headline(&[tight.clone(), judged("slack", 12_000_000, 10_000_000)], None);
        assert_eq!((broken.state, broken.deadline_ns), (HeadlineState::Broken, Some(10_000_000)));
        assert!(broken.sentence.contains("beyond 10 ms"), "{}", broken.sentence);
        // If all runs have the same deadline, the sentence needs no further lines.
        let same = headline(&[tight.clone(), judged("other", 30_000, 50_000)], None);
        assert_eq!((same.deadline_ns, same.lines.len()), (Some(50_000), 0));
        // A run without a deadline does not count as holding.
        let free = run_of("free", &[9_000_000], Validity::default());
        let with_free = headline(&[tight, free], None);
        assert_eq!(with_free.lines, ["One run was measured without a deadline and is not judged."]);
    }

    #[test]
    fn noise_runs_count_if_they_have_a_deadline_or_are_the_only_runs() {
        let mut gaps = judged("gaps", 200_000, 100_000);
        gaps.measurement = Measurement::Noise;
        assert_eq!(headline(&[gaps.clone()], None).state, HeadlineState::Broken);
        let calm = judged("calm", 5_000, 50_000);
        assert_eq!(headline(&[calm, gaps.clone()], None).state, HeadlineState::Broken);
        gaps.verdict = None;
        gaps.validity.add(ReasonCode::RtThrottled, "CPU 2");
        assert_eq!(headline(&[gaps], None).state, HeadlineState::CannotTell);
    }
}
