//! A number that stands twice on a page is the same number: the sentence, the lines below it, the tiles, the table of causes and
//! the tables of series are compared with each other, on pages of runs, of an assessment and of a program.

use analysis::compare::CompareOptions;
use analysis::verdict;
use record::{
    AppRun, CauseClass, CauseTotal, Certainty, Counters, Detail, Explanation, Histogram, Manifest, Measurement, Owner,
    Place, ReasonCode, Record, Series, Validity,
};
use report::{ComparisonInput, Generated, Page, PageView, ReportInput, Results, ResultsView, View, render_html};
use summary::{AssessmentInput, Part, assess};
use units::{Timestamp, format};

const DEADLINE_NS: u64 = 100_000;
const SECONDS: u64 = 60;

/// A run of two CPUs, with the given late samples on the second one.
fn run(label: &str, load: &str, late_ns: &[u64], missed_periods: u64) -> Record {
    let mut record = Record::empty(label.to_owned(), Measurement::Wakeup, Manifest::default());
    record.label = label.to_owned();
    let manifest = record.manifest_mut();
    manifest.ended.monotonic = Timestamp::from_ns(i64::try_from(SECONDS * 1_000_000_000).unwrap_or(0));
    manifest.load.name = load.to_owned();
    manifest.requested.cpus = (0..2).collect();
    record.series = (0..2_u32)
        .map(|cpu| {
            let late_ns = if cpu == 1 { late_ns } else { &[] };
            let mut histogram = Histogram::new();
            histogram.record_n(5_000 + u64::from(cpu), 30_000);
            late_ns.iter().for_each(|ns| histogram.record_n(*ns, 1));
            let missed_periods = if cpu == 1 { missed_periods } else { 0 };
            Series {
                name: "scheduled_to_woke".to_owned(),
                place: Place::thread(cpu, Some(cpu)),
                counters: Counters { samples: histogram.count(), missed_periods, ..Counters::default() },
                histogram,
                ..Series::default()
            }
        })
        .collect();
    record.verdict = Some(verdict(&record, DEADLINE_NS));
    record
}

/// Adds an explanation of all late samples but one.
fn explained(mut record: Record, latencies_ns: &[u64]) -> Record {
    let mut latencies = Histogram::new();
    latencies_ns.iter().for_each(|ns| latencies.record_n(*ns, 1));
    record.late_samples.explanation = Some(Explanation {
        sources: vec!["tracepoints".to_owned()],
        outliers: latencies.count() + 1,
        explained: latencies.count(),
        not_recorded: 1,
        causes: vec![CauseTotal {
            class: CauseClass::Thread,
            name: "hog (fifo 99)".to_owned(),
            certainty: Certainty::Shown,
            samples: latencies.count(),
            worst_ns: latencies.max_ns().and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0),
            took_ns: 1,
            beyond_deadline: None,
            owner: Owner::Other,
            latencies,
            remedy: "move it".to_owned(),
            finding: None,
        }],
        ..Explanation::default()
    });
    record
}

fn runs() -> Vec<Record> {
    let late = [150_000, 180_000, 2_991_000];
    let loaded = explained(run("under load", "hard", &late, 7), &late[1..]);
    vec![run("idle", "none", &[140_000], 2), loaded]
}

/// What a page must say wherever it says it.
struct Expected {
    samples: u64,
    beyond: u64,
    missed_periods: u64,
    runs: u64,
}

fn check(page: Page, expected: &Expected) -> (View, String) {
    let input = ReportInput { title: "t".to_owned(), page, generated: Generated::default() };
    let view = View::new(&input);
    let number = |value: report::Exact| serde_json::to_value(value).ok().and_then(|value| value.as_u64()).unwrap_or(0);
    let totals = results(&view).totals.clone().expect("a run is valid");
    assert_eq!(number(totals.samples), expected.samples);
    assert_eq!(totals.beyond.map(number), Some(expected.beyond));
    assert_eq!(totals.missed_periods.map(number), Some(expected.missed_periods));
    assert_eq!(number(totals.observed_ns), expected.runs * SECONDS * 1_000_000_000);

    // The headline: the numbers that decide.
    let sentence = &view.headline.sentence;
    assert!(sentence.contains(&format::count(expected.samples)), "{sentence}");
    assert!(sentence.contains(&format!("{} ", format::count(expected.beyond))), "{sentence}");

    // The tables of series and the plots, which draw their bins.
    let valid = || results(&view).runs.iter().filter(|run| run.state != report::StateView::Invalid);
    let series = || valid().flat_map(|run| &run.series);
    assert_eq!(series().map(|one| number(one.figures.samples)).sum::<u64>(), expected.samples);
    let drawn = series().flat_map(|one| &one.histogram.bins.count).map(|count| number(*count)).sum::<u64>();
    assert_eq!(drawn, expected.samples);
    let missed: u64 = series().map(|one| number(one.counters["missed_periods"])).sum();
    assert_eq!(missed, expected.missed_periods);
    let beyond: u64 = valid().filter_map(|run| run.verdict.as_ref()?.beyond.map(number)).sum();
    assert_eq!(beyond, expected.beyond);

    // The table of causes covers exactly the samples of the sentence.
    if let Some(causes) = &results(&view).late_causes {
        assert_eq!(number(causes.total), expected.beyond);
        assert_eq!(causes.rows.iter().map(|row| number(row.samples)).sum::<u64>(), expected.beyond);
    }

    // The page without scripts.
    let html = render_html(&input);
    let sums = format!(
        "{} {} in {}, {} beyond the deadline, {} periods missed",
        format::count(expected.samples),
        totals.what,
        format::span(expected.runs * SECONDS * 1_000_000_000),
        format::count(expected.beyond),
        format::count(expected.missed_periods)
    );
    assert!(html.contains(&sums), "{sums}");
    (view, html)
}

fn results(view: &View) -> &ResultsView {
    match &view.page {
        PageView::Runs { results } | PageView::Assessment { results, .. } | PageView::Program { results } => results,
        other => panic!("{other:?}"),
    }
}

fn of(runs: Vec<Record>) -> Results {
    Results { runs, ..Results::default() }
}

const BOTH: Expected = Expected { samples: 120_004, beyond: 4, missed_periods: 9, runs: 2 };

#[test]
fn an_assessment_says_the_same_numbers_everywhere() {
    let runs = runs();
    let input = AssessmentInput {
        deadline_ns: DEADLINE_NS,
        idle: Part::Measured(&runs[0]),
        loaded: Part::Measured(&runs[1]),
        ..AssessmentInput::default()
    };
    let assessment = assess(&input);
    let (view, _) = check(Page::from_results(Some(assessment), of(runs)), &BOTH);
    // The lines of the parts add up to the sentence, and the table of causes stands in the place of the line about them.
    let lines = view.headline.lines.join("\n");
    for part in [
        format::count(60_001_u64),
        format::count(60_003_u64),
        "2 periods missed".to_owned(),
        "7 periods missed".to_owned(),
    ] {
        assert!(lines.contains(&part), "{part}: {lines}");
    }
    assert!(!lines.contains("What makes it late"), "{lines}");
    assert!(results(&view).late_causes.is_some());
}

#[test]
fn runs_say_the_same_numbers_everywhere() {
    let (view, html) = check(Page::from_results(None, of(runs())), &BOTH);
    assert!(view.headline.word.starts_with("Does not hold 100 us"), "{}", view.headline.word);
    let title = html.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
    assert_eq!(title, "Does not hold 100 us \u{b7} t");
}

#[test]
fn an_invalid_run_is_in_no_sum() {
    let mut spoilt = run("spoilt", "hard", &[9_000_000], 40);
    let mut all = runs();
    spoilt.validity.add(ReasonCode::RtThrottled, "CPU 1");
    all.push(spoilt);
    let (_, html) = check(Page::from_results(None, of(all)), &BOTH);
    assert!(html.contains("9 periods missed, without 1 invalid run."));
}

#[test]
fn a_program_says_the_same_numbers_everywhere() {
    let mut record = run("controller", "none", &[150_000, 160_000], 3);
    record.measurement = Measurement::App;
    record.detail = Detail::Program(AppRun::default());
    // Every wake-up of its threads has two latencies, and a deadline applies to both.
    let mut running = record.series[0].clone();
    running.name = "runnable_to_running".to_owned();
    running.counters = Counters { samples: running.histogram.count(), ..Counters::default() };
    record.series.push(running);
    for series in &mut record.series {
        if series.name == "scheduled_to_woke" {
            series.name = "scheduled_to_returned".to_owned();
        }
    }
    record.verdict = Some(verdict(&record, DEADLINE_NS));
    record.validity = Validity::default();
    let expected = Expected { samples: 90_002, beyond: 2, missed_periods: 3, runs: 1 };
    let (view, _) = check(Page::from_results(None, of(vec![record])), &expected);
    assert_eq!(results(&view).totals.as_ref().unwrap().what, "latencies of the program");
}

#[test]
fn a_comparison_begins_with_what_is_in_the_files() {
    let (a, b) = ([run("a", "", &[60_000], 0)], [run("b", "", &[90_000], 0)]);
    fn group(runs: &[Record; 1]) -> analysis::compare::Group<'_> {
        analysis::compare::Group { name: runs[0].label.clone(), runs: runs.iter().collect() }
    }
    let document =
        |a: &[Record; 1], b: &[Record; 1]| analysis::compare::compare(&group(a), &group(b), &CompareOptions::default());
    let shown = |a: [Record; 1], b: [Record; 1]| {
        let comparison = document(&a, &b).unwrap();
        let input = ComparisonInput { comparison: comparison.clone(), a: a.to_vec(), b: b.to_vec() };
        let page = Page::Comparison(Box::new(input));
        let view = View::new(&ReportInput { title: "t".to_owned(), page, generated: Generated::default() });
        (comparison, view.headline)
    };
    let (comparison, headline) = shown(a.clone(), b);
    assert!(headline.sentence.starts_with("B - A: p50 +0 ns"), "{}", headline.sentence);
    assert!(headline.sentence.contains("worst +30.0 us (90.0 us against 60.0 us)"), "{}", headline.sentence);
    assert!(headline.sentence.contains(&comparison.standing().unwrap()), "{}", headline.sentence);
    assert_eq!(headline.lines[0], comparison.verdict.reason);
    // Of an invalid run nothing is described.
    let mut broken = [run("broken", "", &[], 0)];
    broken[0].validity.add(ReasonCode::RtThrottled, "CPU 1, 3 times");
    let (comparison, headline) = shown(a, broken);
    assert_eq!(headline.sentence, comparison.verdict.reason);
}

#[test]
fn the_page_without_scripts_has_every_cell_of_a_comparison() {
    let runs = |side: &str, late_ns: u64| -> Vec<Record> {
        (0..5).map(|at| run(&format!("{side} {at}"), "", &[late_ns + at, late_ns + 2 * at], at)).collect()
    };
    let (a, b) = (runs("a", 60_000), runs("b", 90_000));
    let [group_a, group_b] = [("A", &a), ("B", &b)]
        .map(|(name, runs)| analysis::compare::Group { name: name.to_owned(), runs: runs.iter().collect() });
    let options = CompareOptions { deadline_ns: Some(DEADLINE_NS), ..CompareOptions::default() };
    let comparison = analysis::compare::compare(&group_a, &group_b, &options).unwrap();
    let tables = summary::comparison::tables(&comparison);
    let page = Page::Comparison(Box::new(ComparisonInput { comparison, a, b }));
    let html = render_html(&ReportInput { title: "t".to_owned(), page, generated: Generated::default() });
    let plain = html.split("<script type=\"application/json\"").next().unwrap();
    let has =
        |cell: Option<String>| cell.is_none_or(|cell| plain.contains(&format!(">{}</td>", cell.replace('<', "&lt;"))));
    assert!(tables.side_by_side.rows.len() > 3 && tables.side_by_side.rows.iter().any(|row| row.p.is_some()));
    for row in tables.side_by_side.rows {
        let name = row.name.clone();
        let cells = [Some(row.name), row.a, row.b, row.difference, row.percent, row.interval, row.p, row.shown];
        assert!(cells.into_iter().all(has), "{name}");
    }
    for group in tables.groups {
        let cells = [Some(group.runs), Some(group.samples), group.time, group.missed, group.worst];
        assert!(cells.into_iter().all(has), "{}", group.name);
    }
}
