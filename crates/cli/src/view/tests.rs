//! Terminal, plain page and the data of the viewer state one summary.

use record::{Measurement, NoiseTotals, Place, ReasonCode, Record, SeriesDetail, SpoiledInterval, Validity};
use report::{Generated, Page, PageView, ReportInput, Results, View, render_html};
use summary::Summary;
use units::format::{count, latency};

use super::result;

/// A text without anything that wraps or groups its words.
fn packed(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn page_of(record: &Record) -> ReportInput {
    let results = Results { runs: vec![record.clone()], ..Results::default() };
    ReportInput { title: "t".to_owned(), page: Page::from_results(None, results), generated: Generated::default() }
}

/// The page for readers without scripts alone, without the data and the viewer.
fn plain_of(record: &Record) -> String {
    let page = render_html(&page_of(record));
    let plain = page.split_once("<main").unwrap().1.split_once("</main>").unwrap().0;
    packed(&plain.replace("&#39;", "'").replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<"))
}

fn view_of(record: &Record) -> serde_json::Value {
    let PageView::Runs { results } = View::new(&page_of(record)).page else { panic!("a page of runs") };
    serde_json::to_value(&results.runs[0]).unwrap()
}

/// Records that the renderers once showed differently.
fn records() -> Vec<Record> {
    let mut invalid = Validity::default();
    invalid.add(ReasonCode::RtThrottled, "CPU 1, 3 times");
    // A clock was set back: two samples are below zero.
    let mut back = samples::run_of("back", &[5_000, 2_991_000], invalid);
    back.series[0].below_zero =
        samples::run_of("", &[120, 77_000], Validity::default()).series.pop().map(|one| one.histogram);
    back.series[0].counters.missed_periods = 14;
    back.series[0].spoiled.add(SpoiledInterval {
        start_offset_ns: 0,
        length_ns: 1_000_000_000,
        samples: 5,
        missed_periods: 7_654_321,
        worst_ns: Some(9_123_000),
        worst_at: None,
        reasons: Vec::new(),
    });
    back.verdict = Some(analysis::verdict(&back, 100_000));
    let mut gaps = samples::record_of(Measurement::Noise, &[900, 14_000]);
    gaps.series[0].detail =
        SeriesDetail::Gaps(NoiseTotals { observed_ns: 1_000_000_000, stolen_ns: 14_900_000, ..NoiseTotals::default() });
    let mut shared = samples::run_of("shared", &[5_000], Validity::default());
    let other = record::Series { place: Place::thread(1, Some(1)), ..shared.series[0].clone() };
    shared.series.push(other);
    vec![
        back,
        gaps,
        shared,
        samples::offsets(&[-11_753, -81, 105, 887], Some((-37_347, 15_223)), Validity::default()),
        samples::packets(&[-2_000, 4_000, 9_000], 3_000, 1, Validity::default()),
    ]
}

#[test]
fn terminal_plain_page_and_viewer_state_one_summary() {
    for record in records() {
        let said = Summary::of_record(&record);
        let (terminal, plain, view) = (packed(&result::table(&record, false)), plain_of(&record), view_of(&record));
        let both = |text: &str| {
            let text = packed(text);
            assert!(terminal.contains(&text), "{}: the terminal lacks {text}: {terminal}", said.measurement);
            assert!(plain.contains(&text), "{}: the plain page lacks {text}: {plain}", said.measurement);
        };
        for (series, shown) in said.series.iter().zip(view["series"].as_array().unwrap()) {
            let range = [series.figures.lowest_ns, series.figures.highest_ns];
            // A figure of gaps has no minimum: that is the threshold.
            let is_shown = |place: usize| place == 1 || series.gaps.is_none();
            (0..2).filter(|place| is_shown(*place)).filter_map(|place| range[place]).for_each(|ns| both(&latency(ns)));
            both(&count(series.figures.samples));
            assert!(plain.contains(&packed(&series.title)), "{}: {plain}", series.title);
            if let Some(stolen) = series.gaps.as_ref().and_then(|gaps| gaps.stolen.as_ref()) {
                both(stolen);
                assert_eq!(shown["stolen"], stolen.as_str());
            }
            assert_eq!(shown["lane"], series.lane.as_str());
            assert_eq!(shown["missed_periods"].as_u64(), series.missed_periods);
            if record.sync().is_none() {
                assert_eq!(shown["figures"]["lowest_ns"].as_i64(), series.figures.lowest_ns);
            }
        }
        for reason in &said.validity.reasons {
            both(&reason.meaning);
            both(&reason.detail);
        }
        for row in &said.spoiled.rows {
            both(row.worst.as_deref().unwrap());
            both(&count(row.missed_periods));
        }
        for flow in said.packets.iter().flat_map(|packets| &packets.flows) {
            both(&flow.counts);
            both(&flow.way);
        }
        for source in said.sync.iter().flat_map(|sync| &sync.sources) {
            both(&source.bound);
        }
        if let Some(verdict) = &said.verdict {
            assert!(terminal.contains(&packed(&verdict.sentence())), "{terminal}");
            assert_eq!(view["verdict"]["reason"], verdict.sentence().as_str());
        }
    }
}

#[test]
fn threads_of_one_cpu_are_told_apart_by_all() {
    let record = records().remove(2);
    let terminal = packed(&result::table(&record, false));
    assert!(terminal.contains("CPU1,thread0") && terminal.contains("CPU1,thread1"), "{terminal}");
    assert!(plain_of(&record).contains("scheduled_to_woke,CPU1,thread1"));
    assert_eq!(view_of(&record)["series"][1]["lane"], "CPU 1, thread 1");
}
