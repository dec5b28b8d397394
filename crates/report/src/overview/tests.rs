use record::{Measurement, ReasonCode, Validity};

use super::*;
use crate::{Exact, Generated, PageView, ReportInput, View};
use samples::{offsets, run_of};

const DEADLINE_NS: u64 = 100_000;

/// A run with a body of 20,000 samples of 5 us and one that is worst.
fn run(id: &str, label: &str, worst_ns: u64) -> Record {
    let samples = [[5_000; 20_000].as_slice(), &[worst_ns]].concat();
    let mut run = Record { label: label.to_owned(), ..run_of(id, &samples, Validity::default()) };
    run.verdict = Some(analysis::verdict(&run, DEADLINE_NS));
    run
}

fn on(mut run: Record, node: &str, kernel: &str, load: &str) -> Record {
    let manifest = run.manifest_mut();
    node.clone_into(&mut manifest.node.hostname);
    kernel.clone_into(&mut manifest.node.kernel_release);
    load.clone_into(&mut manifest.load.name);
    run
}

fn spoilt(mut run: Record, code: ReasonCode) -> Record {
    run.validity.add(code, "CPU 1");
    run.verdict = Some(analysis::verdict(&run, DEADLINE_NS));
    run
}

fn of(runs: Vec<Record>) -> OverviewView {
    view(&Page::from_results(None, Results { runs, ..Results::default() })).unwrap()
}

fn names(overview: &OverviewView) -> Vec<&str> {
    overview.groups.iter().map(|group| group.name.as_str()).collect()
}

#[test]
fn a_page_of_few_runs_of_a_kind_has_no_overview() {
    let runs = |count: usize| (0..count).map(|at| run(&at.to_string(), "a", 10_000)).collect::<Vec<_>>();
    let has = |runs| view(&Page::from_results(None, Results { runs, ..Results::default() })).is_some();
    assert!(!has(Vec::new()));
    assert!(!has(runs(4)));
    assert!(has(runs(5)));
    // An assessment has several kinds of measurement, of each a few.
    let mut mixed = runs(6);
    mixed.iter_mut().take(3).for_each(|run| run.measurement = Measurement::Noise);
    assert!(!has(mixed));
}

#[test]
fn runs_are_grouped_by_the_label_under_which_they_were_measured_and_not_by_the_name_that_tells_them_apart() {
    let runs: Vec<Record> =
        (0..6).map(|at| run(&at.to_string(), if at % 2 == 0 { "a" } else { "b" }, 10_000)).collect();
    let overview = of(runs.clone());
    assert_eq!((names(&overview), overview.grouped_by.as_str()), (vec!["a", "b"], "label"));
    assert_eq!(overview.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["1", "1", "2", "2", "3", "3"]);
    // The command line names runs after their files as well.
    let labels = runs.iter().map(|run| run.label.clone()).collect();
    let named = |run: Record| Record { label: format!("{} (day/{}.json)", run.label, run.id), ..run };
    let runs = runs.into_iter().map(named).collect();
    let overview = view(&Page::from_results(None, Results { runs, labels, ..Results::default() })).unwrap();
    assert_eq!(names(&overview), ["a", "b"]);
    assert_eq!(overview.rows[0].name, "day/0.json");
}

#[test]
fn runs_without_a_label_are_grouped_by_what_differs() {
    let bare =
        |at: usize, node: &str, kernel: &str, load: &str| on(run(&at.to_string(), "", 10_000), node, kernel, load);
    let overview = of((0..6).map(|at| bare(at, if at < 3 { "a" } else { "b" }, "6.12", "paper")).collect());
    assert_eq!((names(&overview), overview.grouped_by.as_str()), (vec!["a", "b"], "node"));
    let overview = of((0..6).map(|at| bare(at, "a", ["6.1", "6.12"][at % 2], ["none", "paper"][at / 3])).collect());
    assert_eq!(overview.grouped_by, "kernel and load");
    assert_eq!(names(&overview), ["6.1, load none", "6.12, load none", "6.12, load paper", "6.1, load paper"]);
    let overview = of((0..6).map(|at| bare(at, "a", "6.12", "paper")).collect());
    assert_eq!((names(&overview), overview.grouped_by.as_str()), (vec!["wakeup"], "kind"));
    // What is not known of an import is no part of its name.
    let unknown = |at: usize| if at < 2 { bare(at, "", "", "") } else { bare(at, "a", "6.12", "") };
    let overview = of((0..6).map(unknown).collect());
    assert_eq!((names(&overview), overview.grouped_by.as_str()), (vec!["wakeup", "a, 6.12"], "node and kernel"));
    // Beside runs with a label they are no part of its group.
    let mut runs: Vec<Record> = (0..4).map(|at| bare(at, "a", "6.12", "paper")).collect();
    runs.push(on(run("x", "tuned", 9_000), "a", "6.12", "paper"));
    let overview = of(runs);
    assert_eq!((names(&overview), overview.grouped_by.as_str()), (vec!["no label", "tuned"], "label"));
}

#[test]
fn samples_of_different_kinds_are_never_in_one_group() {
    let mut runs: Vec<Record> = (0..7).map(|at| run(&at.to_string(), "a", 10_000)).collect();
    runs[6].measurement = Measurement::Noise;
    let overview = of(runs);
    assert_eq!(names(&overview), ["a, wakeup", "a, noise"]);
    assert_eq!((overview.groups[0].what.as_str(), overview.groups[0].tally.runs), ("wake-ups", 6));
    assert_eq!(overview.rows[6].name, "7");
}

#[test]
fn the_worst_stand_first_and_what_is_invalid_last_and_without_its_numbers() {
    let mut runs: Vec<Record> = (0..5_u64).map(|at| run(&at.to_string(), "a", 10_000 + at * 1_000)).collect();
    runs.push(run("far", "b", 24_310_999));
    // It looks best, and one looks worst: neither is a result.
    runs.push(spoilt(run("good", "c", 6_000), ReasonCode::RtThrottled));
    runs.push(spoilt(run("bad", "a", 99_000_000), ReasonCode::SchedulingNotGranted));
    let overview = of(runs);
    assert_eq!(names(&overview), ["b", "a", "c"]);
    let keys: Vec<&str> = overview.rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["far", "4", "3", "2", "1", "0", "bad", "good"]);
    let far = &overview.rows[0];
    assert_eq!(far.worst.as_ref().unwrap().latency_ns, Exact::from(24_310_999_u64), "to the nanosecond");
    assert_eq!((far.verdict, far.verdict_words.as_str()), (HeadlineState::Broken, "1 beyond 100 us"));
    assert_eq!(overview.rows[1].verdict_words, "holds 100 us");
    for row in overview.rows.iter().filter(|row| row.state == StateView::Invalid) {
        assert_eq!((&row.worst, &row.basis, row.missed_periods), (&None, &None, None), "{}", row.key);
        assert!(row.histogram.is_none(), "{}", row.key);
        assert_eq!((row.verdict, row.verdict_words.as_str()), (HeadlineState::CannotTell, "cannot be told"));
    }
    assert_eq!(overview.rows[7].validity, "invalid: rt throttled");
    let both = spoilt(spoilt(run("1", "a", 1), ReasonCode::VirtualMachine), ReasonCode::RtThrottled);
    assert_eq!(validity(&both), "invalid: rt throttled, +1", "the worst reason is named");
    let [b, a, c] = &overview.groups[..] else { panic!() };
    assert_eq!(b.worst.as_ref().unwrap().run, "far");
    assert_eq!(a.worst.as_ref().unwrap().latency_ns, Exact::from(14_000_u64), "of its valid runs");
    assert_eq!((a.samples, a.histogram.as_ref().unwrap().count), (100_005_u64.into(), 100_005_u64.into()));
    assert_eq!((c.samples, c.worst.clone(), c.histogram.is_none()), (0_u64.into(), None, true));
    assert_eq!(a.tally_words, "6 runs: 5 hold; 1 invalid");
    assert_eq!(c.tally_words, "1 run: 1 invalid");
    let all = TallyView { runs: 8, broken: 1, cannot_tell: 2, holds: 5, not_judged: 0, degraded: 0, invalid: 2 };
    assert_eq!(overview.tally, all);
}

#[test]
fn no_more_groups_are_told_apart_than_readers_can_and_a_slot_stays_while_runs_are_added() {
    let one = |at: u64| run(&at.to_string(), &format!("label {at}"), 20_000 + at * 1_000);
    let overview = of((0..12).map(one).collect());
    let slots = |overview: &OverviewView| -> BTreeMap<String, Option<u32>> {
        overview.groups.iter().map(|group| (group.name.clone(), group.slot)).collect()
    };
    let before = slots(&overview);
    assert_eq!(overview.groups[0].name, "label 11");
    let given: Vec<u32> = overview.groups.iter().filter_map(|group| group.slot).collect();
    assert_eq!(given, [7, 6, 5, 4, 3, 2, 1, 0], "of the worst eight, by when they began");
    assert!(overview.groups[8..].iter().all(|group| group.slot.is_none()));
    // A run that makes its group the worst changes the order and no color.
    let mut runs: Vec<Record> = (0..12).map(one).collect();
    runs.push(run("new", "label 5", 9_000_000));
    let after = of(runs);
    assert_eq!(after.groups[0].name, "label 5");
    assert_eq!(slots(&after), before);
}

#[test]
fn each_run_is_drawn_by_itself_where_they_are_few() {
    let runs = |count: usize| (0..count).map(|at| run(&at.to_string(), "a", 10_000)).collect::<Vec<_>>();
    assert!(of(runs(MOST_DRAWN_SINGLY)).rows.iter().all(|row| row.histogram.is_some()));
    assert!(of(runs(MOST_DRAWN_SINGLY + 1)).rows.iter().all(|row| row.histogram.is_none()));
}

#[test]
fn a_conclusion_is_based_on_a_quantile_with_enough_samples_or_on_the_bound_of_clocks() {
    let basis = |run: &Record| basis(run).map(|basis| (basis.name, basis.value_ns));
    let samples = [[5_000; 199_980].as_slice(), &[40_000; 20]].concat();
    let long = run_of("long", &samples, Validity::default());
    assert_eq!(basis(&long).unwrap().0, "p99.99");
    assert_eq!(basis(&run("short", "", 9_000)).unwrap().0, "p99.9", "too few for ten above p99.99");
    let clocks = offsets(&[-11_753, 105, 887], Some((-37_347, 15_223)), Validity::default());
    assert_eq!(basis(&clocks), Some(("bound".to_owned(), 37_347_u64.into())));
    assert_eq!(worst(&clocks), Some((-11_753, "eth0 domain 0".to_owned())));
    assert_eq!(basis(&samples::run(Validity::default())), None);
}

#[test]
fn runs_of_the_same_identifier_have_keys_of_their_own() {
    let overview = of((0..5).map(|_| run("same", "a", 9_000)).collect());
    let keys: Vec<&str> = overview.rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["same", "same~2", "same~3", "same~4", "same~5"]);
}

#[test]
fn the_plain_page_says_the_numbers_of_the_view_under_its_contents() {
    let mut runs: Vec<Record> = (0..13_u64).map(|at| run(&at.to_string(), "a <b>", 10_000 + at * 1_000)).collect();
    runs[12] = spoilt(run("12", "a <b>", 77_777_000), ReasonCode::RtThrottled);
    let page = Page::from_results(None, Results { runs, ..Results::default() });
    let input = ReportInput { title: "t".to_owned(), page, generated: Generated::default() };
    let html = crate::render_html(&input);
    let plain = html.split_once("<main").unwrap().1.split_once("</main>").unwrap().0;
    let PageView::Runs { results } = View::new(&input).page else { panic!() };
    let overview = results.overview.unwrap();
    let (overall, details) = plain.split_once("<h2>Each run</h2>").unwrap();
    for row in overview.rows.iter().filter_map(|row| row.worst.as_ref()) {
        assert!(overall.contains(&format!(">{}</td>", row.latency_ns.latency())), "{row:?}");
    }
    assert!(!overall.contains("77"), "no number of an invalid run: {overall}");
    assert!(overall.contains("no result</td>") && overall.contains("invalid: rt throttled"), "{overall}");
    assert!(overall.contains("a &lt;b&gt;</b> 13 runs: 12 hold; 1 invalid"), "{overall}");
    for link in
        ["href=\"#section-1\">Groups", "href=\"#section-2\">Runs", "href=\"#section-3\">Each run", "href=\"#run-12\""]
    {
        assert!(overall.contains(link), "{link}");
    }
    assert!(details.contains("<summary id=\"run-12\">a &lt;b&gt; (12)</summary>"));
    assert!(!details.contains("<h2>"), "headings of a run stand below that of all");
}
