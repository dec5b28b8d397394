//! The page of any record: no panic, and nothing that a record says can leave its place in the page.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use punctual_fuzz::edited;
use record::Record;
use report::{Generated, Page, ReportInput, Results, View, render_html};

/// A small record with something in every list.
const BASE: &str = include_str!("../seeds/report_view/record.json");

/// Elements that a page without a run has.
static OF_EMPTY_PAGE: LazyLock<usize> = LazyLock::new(|| scripts(&render_html(&input(Vec::new(), String::new()))));

fuzz_target!(|data: &[u8]| {
    if data.first() == Some(&b'{') {
        if let Ok(text) = std::str::from_utf8(data) {
            rendered(text);
        }
    } else if let Ok(text) = edited(BASE, &mut Unstructured::new(data)) {
        rendered(&text);
    }
});

fn rendered(text: &str) {
    let Ok(mut record) = Record::from_json(text) else { return };
    let deadline_ns = record.manifest().requested.deadline_ns.unwrap_or(100_000);
    let verdict = analysis::verdict(&record, deadline_ns);
    if record.verdict.is_none() {
        record.verdict = Some(verdict);
    }
    let _ = analysis::outcome(&record);
    let part = summary::Part::Measured(&record);
    let assessment = summary::assess(&summary::AssessmentInput {
        deadline_ns,
        idle: part,
        held: part,
        loaded: part,
        noise: part,
        ..summary::AssessmentInput::default()
    });
    let mut input = input(vec![record.clone(), record], text.chars().take(64).collect());
    // Both ways to a headline.
    if text.len() % 2 == 0 {
        let results = input.page.results().cloned().unwrap_or_default();
        input.page = Page::from_results(Some(assessment), results);
    }
    serde_json::to_string(&View::new(&input)).expect("a view has a JSON form");
    assert_eq!(scripts(&render_html(&input)), *OF_EMPTY_PAGE);
}

fn input(runs: Vec<Record>, title: String) -> ReportInput {
    let results = Results { runs, ..Results::default() };
    ReportInput { title, page: Page::from_results(None, results), generated: Generated::default() }
}

/// How often a script, a comment or a style begins or ends, in any letter case.
fn scripts(page: &str) -> usize {
    let bytes = page.as_bytes();
    page.match_indices('<')
        .filter(|(at, _)| {
            [b"<script".as_slice(), b"</script", b"<style", b"</style", b"<!--"]
                .iter()
                .any(|word| bytes.get(*at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word)))
        })
        .count()
}
