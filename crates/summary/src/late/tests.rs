//! The counts of late samples, and that all texts of an assessment state the same ones.

use analysis::cause::remedy;
use proptest::prelude::*;
use record::{Histogram, LoadManifest, Measurement};
use units::Timestamp;

use super::*;
use crate::{Answer, Assessment, AssessmentInput, Part, assess, late_causes};
use samples::record_of;

const DEADLINE_NS: u64 = 100_000;
/// Causes of simulated samples; the last is "examined, and nothing found".
const CAUSES: [(CauseClass, &str, Certainty); 6] = [
    (CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown),
    (CauseClass::Thread, "hog (fifo 99)", Certainty::Shown),
    (CauseClass::Steal, "", Certainty::Likely),
    (CauseClass::Softirq, "NET_RX", Certainty::Likely),
    (CauseClass::IdleExit, "C6", Certainty::Likely),
    (CauseClass::Unknown, "", Certainty::Unknown),
];

/// One simulated late sample: its latency (ns), and the number of its cause; `None` if it was not explained.
type Late = (u64, Option<usize>);

/// A run of 10 s with these late samples among short ones.
fn run(late: &[Late], load: &str) -> Record {
    let latencies: Vec<u64> = late.iter().map(|(ns, _)| *ns).collect();
    let mut record = record_of(Measurement::Wakeup, &latencies);
    record.series[0].histogram.record_n(5_000, 10_000);
    record.manifest_mut().requested.duration_ns = Some(10_000_000_000);
    record.manifest_mut().requested.interval_ns = Some(1_000_000);
    record.manifest_mut().ended.monotonic = Timestamp::from_ns(10_000_000_000);
    record.manifest_mut().load = LoadManifest { name: load.to_owned(), ..LoadManifest::default() };
    let mut causes: Vec<CauseTotal> = Vec::new();
    let mut samples: Vec<ExplainedSample> = Vec::new();
    for (number, (class, name, certainty)) in CAUSES.into_iter().enumerate() {
        let mut latencies = Histogram::new();
        for (ns, _) in late.iter().filter(|(_, cause)| *cause == Some(number)) {
            latencies.record_n(*ns, 1);
            samples.push(ExplainedSample {
                cpu: 2,
                latency_ns: i64::try_from(*ns).unwrap(),
                class,
                name: name.to_owned(),
                certainty,
                ..ExplainedSample::default()
            });
        }
        if latencies.is_empty() {
            continue;
        }
        causes.push(CauseTotal {
            class,
            name: name.to_owned(),
            certainty,
            samples: latencies.count(),
            worst_ns: i64::try_from(latencies.max_ns().unwrap()).unwrap(),
            took_ns: 1,
            beyond_deadline: None,
            owner: Owner::Other,
            latencies,
            remedy: remedy(class, name, Owner::Other, &analysis::cause::Surroundings::default()).words,
            finding: None,
        });
    }
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.latency_ns));
    let explained = samples.len() as u64;
    samples.truncate(64);
    record.late_samples.explanation = Some(Explanation {
        sources: vec!["trace points".to_owned()],
        outliers: late.len() as u64,
        explained,
        causes,
        samples,
        ..Explanation::default()
    });
    record
}

fn input<'a>(idle: &'a Record, held: &'a Record, loaded: &'a Record) -> AssessmentInput<'a> {
    AssessmentInput {
        deadline_ns: DEADLINE_NS,
        idle: Part::Measured(idle),
        held: Part::Measured(held),
        loaded: Part::Measured(loaded),
        ..AssessmentInput::default()
    }
}

/// The percentage that follows `what` in a text: "not explained 73 %", "73 % not explained".
fn percent_in(text: &str, what: &str) -> Option<String> {
    let is_of_percent = |c: char| c.is_ascii_digit() || " %<>".contains(c);
    let at = text.find(what)?;
    let after: String = text[at + what.len()..].chars().take_while(|c| is_of_percent(*c)).collect();
    let before: String = text[..at].chars().rev().take_while(|c| is_of_percent(*c)).collect();
    let before: String = before.chars().rev().collect();
    let found = [after, before].into_iter().find(|found| found.contains('%'))?;
    Some(found.trim().to_owned())
}

/// Holds every text of an assessment against the counts.
fn check(assessment: &Assessment, causes: &LateCauses) -> Result<(), TestCaseError> {
    let rows = causes.rows(CAUSES.len());
    prop_assert_eq!(rows.iter().map(|row| row.count.samples).sum::<u64>(), causes.total);
    prop_assert_eq!(rows.iter().map(|row| row.count.percent).sum::<u64>(), if causes.total > 0 { 100 } else { 0 });
    for row in &rows {
        let in_runs: u64 = row.count.runs.iter().map(|run| run.samples).sum();
        prop_assert_eq!(in_runs, row.count.samples, "the sums of the parts");
    }
    // The advice: the shares of the table, in their order.
    let ranked: Vec<_> = assessment.changes.iter().filter(|change| change.removes_share_of_beyond.is_some()).collect();
    for pair in ranked.windows(2) {
        prop_assert!(pair[0].removes_share_of_beyond >= pair[1].removes_share_of_beyond);
    }
    let sum: f64 = ranked.iter().filter_map(|change| change.removes_share_of_beyond).sum();
    prop_assert!(sum < 1.0 + 1e-9, "{} of all would be gone", sum);
    for change in &ranked {
        let Some(row) = rows.iter().find(|row| row.cause.is_some() && change.title.ends_with(&row.what)) else {
            prop_assert_eq!(change.finding.as_deref(), Some("deep-idle-states"));
            continue;
        };
        prop_assert!(change.why.contains(&format!(", {}, of up to", row.percent)), "{}: {}", row.percent, change.why);
        prop_assert_eq!(change.basis_samples, Some(row.count.samples));
        prop_assert_eq!(change.removes_share_of_beyond, Some(row.share));
    }
    // The line of causes and the headline.
    let line = assessment.lines.iter().find(|line| crate::is_line_of_causes(line)).unwrap();
    for row in causes.rows(3) {
        if let Some(percent) = percent_in(line, &row.what) {
            prop_assert_eq!(percent, row.percent, "{} in {}", row.what, line);
        }
    }
    let sentence = &assessment.sentence;
    if assessment.answer == Answer::DoesNotHold {
        let beyond = format!("; {} of ", units::format::count(causes.total));
        prop_assert!(sentence.contains(&beyond), "{} in {}", beyond, sentence);
        for (count, what) in [(&causes.unknown, "of unknown cause"), (&causes.not_explained, "not explained")] {
            let expected = (count.samples > 0).then(|| causes.percent(count));
            prop_assert_eq!(percent_in(sentence, what), expected, "{} in {}", what, sentence);
        }
    }
    prop_assert!(sentence.contains(&causes.worst.as_ref().unwrap().words()), "{}", sentence);
    Ok(())
}

fn late_samples() -> impl Strategy<Value = Vec<Late>> {
    let latency = prop_oneof![50_000_u64..110_000, 99_900_u64..100_100, 100_000_u64..3_000_000];
    // Some runs explain most of their late samples, others few of them.
    (0.0..1.0_f64).prop_flat_map(move |explained| {
        let cause = (prop::bool::weighted(explained), 0..CAUSES.len()).prop_map(|(is, cause)| is.then_some(cause));
        prop::collection::vec((latency.clone(), cause), 0..120)
    })
}

proptest! {
    #[test]
    fn advice_table_and_headline_state_the_same_counts(
        idle in late_samples(), held in late_samples(), loaded in late_samples(), invalid in 0_usize..6
    ) {
        let mut runs = [run(&idle, ""), run(&held, ""), run(&loaded, "paper")];
        if let Some(run) = runs.get_mut(invalid) {
            run.validity.add(record::ReasonCode::RtThrottled, "CPU 2");
        }
        let [idle, held, loaded] = &runs;
        let assessment = assess(&input(idle, held, loaded));
        let parts = [(idle, "idle"), (held, "with idle states disabled"), (loaded, "under load 'paper'")];
        let valid: Vec<(&Record, &str)> = parts.into_iter().filter(|(run, _)| !run.validity.is_invalid()).collect();
        let (causes, _) = late_causes(assessment.answer, DEADLINE_NS, &valid);
        check(&assessment, &causes)?;
    }
}

#[test]
fn a_cause_of_all_explained_samples_is_no_cause_of_those_that_were_not_explained() {
    // 12 of 100 are shown to be one thread's; 15 of the idle run's 16 are likely another's, and 73 were not explained.
    let hog: Vec<Late> = vec![(150_000, Some(1)); 12];
    let host: Vec<Late> = vec![(200_000, Some(2)); 15];
    let mut loaded = hog;
    loaded.extend(vec![(250_000, None); 72]);
    loaded.push((900_000, None));
    let (idle, held, loaded) = (run(&host, ""), run(&[], ""), run(&loaded, "paper"));
    let assessment = assess(&input(&idle, &held, &loaded));
    let titles: Vec<&str> = assessment.changes.iter().map(|change| change.title.as_str()).collect();
    assert!(titles[0].ends_with("hypervisor") && titles[1].ends_with("hog (fifo 99)"), "{titles:?}");
    let sentence = assessment.sentence.replace('\u{202f}', " ");
    assert_eq!(
        sentence,
        "Does not hold 100 us on CPU 2: worst wake-up 900 us on CPU 2 under load 'paper', cause unknown: nothing was recorded \
         of it; 100 of 30 100 beyond it (73 % not explained)."
    );
    let line = assessment.lines.iter().find(|line| crate::is_line_of_causes(line)).unwrap();
    assert!(
        line.starts_with(
            "What makes it late: of 100 wake-ups beyond 100 us: hypervisor 15 % (likely), thread: hog (fifo 99) 12 % \
             (shown), not explained 73 %"
        ),
        "{line}"
    );
}

#[test]
fn records_without_histograms_of_causes_count_their_kept_samples_and_never_too_many() {
    let mut record = run(&[(150_000, Some(0)), (160_000, Some(0)), (90_000, Some(0)), (300_000, Some(5))], "");
    record.late_samples.explanation.as_mut().unwrap().causes.iter_mut().for_each(|cause| {
        cause.latencies = Histogram::new();
    });
    let causes = LateCauses::over(&[LateRun { record: &record, when: "idle", limit_ns: Some(DEADLINE_NS) }]);
    assert_eq!((causes.known[0].count.samples, causes.unknown.samples, causes.total), (2, 1, 3));
    // Two causes in the limit's bin of the histogram, of which the run counts one sample.
    let near = run(&[(100_010, Some(0)), (100_011, Some(1))], "");
    let causes = LateCauses::over(&[LateRun { record: &near, when: "idle", limit_ns: Some(DEADLINE_NS) }]);
    assert_eq!(causes.total, samples_above(&near, DEADLINE_NS));
}
