//! What makes wake-ups late, as one table over several runs.

use record::{Certainty, Explanation, Record};
use units::format;

use crate::late::{LateCauses, LateRow, LateRun, WorstCause};
use crate::measured::{Measured, label};
use crate::{Answer, late_causes, totals};

/// The number of known causes in the table; the section about causes has all.
const NAMED_CAUSES: usize = 6;
/// The number of examined runs that are named if others were not examined.
const NAMED_RUNS: usize = 3;

/// What makes wake-ups late: one row for each cause, over several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct LateTable {
    /// The heading of the table; it depends on whether samples are beyond a deadline.
    pub heading: String,
    /// What is counted, in words: "wake-ups beyond 100 us".
    pub of: String,
    /// The number of samples that the rows add up to.
    pub total: u64,
    /// The causes with the most samples, and what is not known.
    pub rows: Vec<LateTableRow>,
    /// What the table does not cover, and what counters say besides, as sentences.
    pub notes: Vec<String>,
}

/// A row of a [`LateTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct LateTableRow {
    /// The cause in words, `unknown`, or `not explained`.
    pub cause: String,
    /// Certainty of the cause; `None` for samples that were not examined.
    pub certainty: Option<Certainty>,
    /// Number of samples.
    pub samples: u64,
    /// Share of the total (0 to 1).
    pub share: f64,
    /// The share in words: "19 %".
    pub percent: String,
    /// The worst latency of these samples (ns); `None` if it is unknown.
    pub worst_ns: Option<i64>,
    /// What to change; `None` if nothing is known.
    pub remedy: Option<String>,
    /// Name of a finding of `check` that has more about it.
    pub finding: Option<String>,
}

/// The causes of the late samples of some runs; `None` if the deadline holds (by the headline or by the assessment), or if no
/// valid run was examined.
#[must_use]
pub fn late_table(page: &Measured<'_>, holds: bool) -> Option<LateTable> {
    if holds || page.assessment.is_some_and(|it| it.answer == Answer::Holds) {
        return None;
    }
    let runs = valid_wakeups(page);
    let examined: Vec<(&Record, &Explanation)> =
        runs.iter().filter_map(|run| Some((*run, run.explanation().filter(|it| !it.sources.is_empty())?))).collect();
    if examined.is_empty() {
        return None;
    }
    let Counted { causes, of, is_late } = count(page, &runs);
    if causes.total == 0 {
        return None;
    }
    let heading = if is_late { "What makes it late" } else { "What made the worst ones late" };
    let is_of_examined = units::total(examined.iter().map(|(_, found)| found.explained)) == causes.total;
    let mut all_notes = coverage(&runs, &examined, !is_late && is_of_examined);
    all_notes.extend(notes(&runs));
    Some(LateTable {
        heading: heading.to_owned(),
        of,
        total: causes.total,
        rows: causes.rows(NAMED_CAUSES).iter().map(row).collect(),
        notes: all_notes,
    })
}

/// The runs whose late wake-ups are counted.
fn valid_wakeups<'a>(page: &Measured<'a>) -> Vec<&'a Record> {
    page.wakeups().filter(|run| !run.validity.is_invalid()).collect()
}

/// The late wake-ups of a page by their causes.
struct Counted {
    causes: LateCauses,
    /// What is counted, in words.
    of: String,
    /// Whether these are beyond a deadline.
    is_late: bool,
}

fn count(page: &Measured<'_>, runs: &[&Record]) -> Counted {
    if let Some(assessment) = page.assessment {
        let runs: Vec<(&Record, &str)> = runs.iter().map(|run| (*run, label(run))).collect();
        let (causes, of) = late_causes(assessment.answer, assessment.deadline_ns, &runs);
        return Counted { causes, of, is_late: assessment.answer == Answer::DoesNotHold };
    }
    // Without a limit the shares are of the samples whose cause was looked for: of the others nothing can be said.
    let is_late = totals::of_wakeups(page).and_then(|totals| totals.beyond).is_some_and(|beyond| beyond > 0);
    let limits = || runs.iter().map(|run| (*run, page.deadline_ns(run).filter(|_| is_late)));
    let counted: Vec<LateRun<'_>> = limits()
        .filter(|(_, limit_ns)| limit_ns.is_some() == is_late)
        .map(|(record, limit_ns)| LateRun { record, when: label(record), limit_ns })
        .collect();
    let mut limits_ns: Vec<u64> = limits().filter_map(|(_, limit_ns)| limit_ns).collect();
    limits_ns.sort_unstable();
    limits_ns.dedup();
    let what = totals::of_wakeups(page).map_or("samples", |totals| totals.what);
    let of = match &limits_ns[..] {
        [] => format!("{what} that were examined"),
        [one] => format!("{what} beyond {}", format::span(*one)),
        _ => format!("{what} beyond the deadline of their run"),
    };
    Counted { causes: LateCauses::over(&counted), of, is_late }
}

/// What is known of the cause of a run's worst sample, to follow its latency; empty if none of the runs looked for causes.
pub(crate) fn worst_words(page: &Measured<'_>, worst: &Record) -> String {
    if valid_wakeups(page).iter().all(|run| run.explanation().is_none()) {
        return String::new();
    }
    WorstCause::of(worst).map_or_else(String::new, |worst| format!(", {}", worst.words()))
}

fn row(row: &LateRow<'_>) -> LateTableRow {
    LateTableRow {
        cause: row.what.clone(),
        certainty: row.certainty,
        samples: row.count.samples,
        share: row.share,
        percent: row.percent.clone(),
        worst_ns: row.count.worst_ns,
        remedy: row.cause.map(|cause| cause.remedy.clone()).filter(|remedy| !remedy.is_empty()),
        finding: row.cause.and_then(|cause| cause.finding.clone()),
    }
}

/// What the table does not cover: runs that were not examined, and where no row says so, samples that were not.
fn coverage(runs: &[&Record], examined: &[(&Record, &Explanation)], without_limit: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let skipped = units::total(examined.iter().map(|(_, found)| found.outliers.saturating_sub(found.explained)));
    if without_limit && skipped > 0 {
        notes.push(format!("{} more as late as these were not examined.", format::count(skipped)));
    }
    if examined.len() < runs.len() {
        let names: Vec<&str> = examined.iter().map(|(run, _)| label(run)).take(NAMED_RUNS).collect();
        let more = match examined.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let of = format!("{} of {} runs", examined.len(), runs.len());
        notes.push(format!("Only {}{more} looked for causes ({of}): --explain does.", names.join(", ")));
        let is_examined = |run: &&&Record| examined.iter().any(|(one, _)| std::ptr::eq(*one, **run));
        let worst = runs.iter().filter_map(|run| Some((run, run.worst_of_all()?.0)));
        let worst = worst.max_by_key(|(_, worst_ns)| *worst_ns);
        if let Some((run, worst_ns)) = worst.filter(|(run, _)| !is_examined(run)) {
            let late = format::latency(worst_ns);
            notes.push(format!("The worst of all, {late} in {}, is not among them.", label(run)));
        }
    }
    notes
}

/// What the counters of the runs say besides, and where rhythms are shown.
fn notes(runs: &[&Record]) -> Vec<String> {
    let counters = || runs.iter().flat_map(|run| &run.series).map(|series| &series.counters);
    let mut notes = Vec::new();
    let steal_ns = units::total(counters().filter_map(|counters| counters.steal_ns));
    if steal_ns > 0 {
        notes.push(format!("The hypervisor took {} away from the measured CPUs.", format::span(steal_ns)));
    }
    let smi = units::total(counters().filter_map(|counters| counters.smi));
    if smi > 0 {
        let times = if smi == 1 { "once".to_owned() } else { format!("{} times", format::count(smi)) };
        notes.push(format!("Firmware interrupted {times} (SMI)."));
    }
    let has_rhythm = |run: &&Record| run.rhythm().is_some_and(|scan| !scan.rhythms.is_empty());
    if runs.iter().any(has_rhythm) {
        notes.push("Some late samples come back with a fixed period: see Rhythm.".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use record::{CauseClass, CauseTotal, Certainty, Histogram, Owner, Validity};

    use super::*;
    use crate::Assessment;
    use crate::totals::Totals;

    fn cause(class: CauseClass, name: &str, certainty: Certainty, latencies_ns: &[u64]) -> CauseTotal {
        let mut latencies = Histogram::new();
        latencies_ns.iter().for_each(|ns| latencies.record_n(*ns, 1));
        CauseTotal {
            class,
            name: name.to_owned(),
            certainty,
            samples: latencies.count(),
            worst_ns: i64::try_from(latencies.max_ns().unwrap_or(0)).unwrap(),
            took_ns: 1,
            beyond_deadline: None,
            owner: Owner::Other,
            latencies,
            remedy: format!("move {name}"),
            finding: None,
        }
    }

    fn run(id: &str, samples: &[u64], causes: Vec<CauseTotal>) -> Record {
        let mut run = samples::run_of(id, samples, Validity::default());
        run.label = id.to_owned();
        run.verdict = Some(analysis::verdict(&run, 100_000));
        run.late_samples.explanation = Some(Explanation {
            sources: vec!["tracepoints".to_owned()],
            outliers: units::total(causes.iter().map(|cause| cause.samples)),
            explained: units::total(causes.iter().map(|cause| cause.samples)),
            causes,
            ..Explanation::default()
        });
        run
    }

    fn table(answer: Option<Answer>, runs: &[Record], holds: bool) -> Option<LateTable> {
        let assessment = answer.map(|answer| Assessment {
            deadline_ns: 100_000,
            answer,
            sentence: String::new(),
            lines: Vec::new(),
            changes: Vec::new(),
            claim: None,
        });
        late_table(&Measured { assessment: assessment.as_ref(), runs }, holds)
    }

    fn late_runs() -> Vec<Record> {
        let hog = |latencies: &[u64]| cause(CauseClass::Thread, "hog", Certainty::Shown, latencies);
        let maybe = cause(CauseClass::Thread, "hog", Certainty::Likely, &[250_000]);
        let unknown = cause(CauseClass::Unknown, "", Certainty::Unknown, &[120_000]);
        let samples = [[5_000; 2_000].as_slice(), &[150_000, 300_000, 120_000, 130_000]].concat();
        let other = [[5_000; 2_000].as_slice(), &[250_000]].concat();
        vec![run("idle", &samples, vec![hog(&[90_000, 150_000, 300_000]), unknown]), run("loaded", &other, vec![maybe])]
    }

    #[test]
    fn causes_of_all_runs_add_up_to_the_samples_beyond_the_deadline() {
        let runs = late_runs();
        let table = table(Some(Answer::DoesNotHold), &runs, false).unwrap();
        let rows: Vec<(&str, u64, Option<Certainty>)> =
            table.rows.iter().map(|row| (row.cause.as_str(), row.samples, row.certainty)).collect();
        let expected = [
            ("thread: hog", 3, Some(Certainty::Likely)),
            ("unknown", 1, Some(Certainty::Unknown)),
            ("not explained", 1, None),
        ];
        assert_eq!(rows, expected);
        let counted = Totals::over(runs.iter().map(|run| (run, Some(100_000))));
        assert_eq!(Some(table.total), counted.beyond);
        assert_eq!((table.of.as_str(), table.rows[0].worst_ns), ("wake-ups beyond 100 us", Some(300_000)));
        let shares: f64 = table.rows.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    }

    #[test]
    fn without_a_limit_shares_are_of_what_was_examined_and_the_rest_is_said() {
        let mut runs = late_runs();
        runs.iter_mut().for_each(|run| run.verdict = None);
        runs[0].late_samples.explanation.as_mut().unwrap().outliers += 52;
        // The worst of all lies in a run that looked for no causes.
        let samples = [[5_000; 2_000].as_slice(), &[40_000_000]].concat();
        let mut blind = samples::run_of("blind", &samples, Validity::default());
        blind.label = "blind".to_owned();
        runs[1] = blind;
        let table = table(None, &runs, false).unwrap();
        assert_eq!((table.total, table.of.as_str()), (4, "wake-ups that were examined"));
        let rows: Vec<(&str, u64)> = table.rows.iter().map(|row| (row.cause.as_str(), row.samples)).collect();
        assert_eq!(rows, [("thread: hog", 3), ("unknown", 1)]);
        assert_eq!(
            table.notes,
            [
                "52 more as late as these were not examined.",
                "Only idle looked for causes (1 of 2 runs): --explain does.",
                "The worst of all, 40 000 us in blind, is not among them.",
            ]
            .map(|note| note.replace("40 000 us", &format::latency(40_000_000_u64)))
        );
    }

    #[test]
    fn there_is_no_table_if_the_deadline_holds() {
        let near = run("idle", &[5_000; 2_000], vec![cause(CauseClass::Thread, "hog", Certainty::Shown, &[5_000])]);
        let holding = |holds| table(Some(Answer::Holds), std::slice::from_ref(&near), holds);
        assert_eq!(holding(true), None);
        assert_eq!(holding(false), None, "whatever the page makes of it");
        let mut without = near.clone();
        without.verdict = None;
        let table = table(None, &[without], false).unwrap();
        assert_eq!(table.heading, "What made the worst ones late");
    }
}
