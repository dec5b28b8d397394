//! The tables of nodes that act together, of shifts and runs whose truth is known.

use pulse::edges::ActiveLevel;
use pulse::sweep::{Answer, Claim, Conclusion, CycleConclusion, Failure, NeededLead, NodeCount, PhaseDifference};
use pulse::witness::{CaptureReading, LineOfNode, witness_run};
use record::{Measurement, Series};
use samples::pulses;
use serde_json::Value;

use super::*;
use crate::document::held::against;
use crate::shift::{NamedLine, ShiftDocument};
use crate::sweep::{SweepRun, SweepStep};

const INTERVAL_PS: i64 = 1_000_000_000;

/// A line without marks, which switches at each of 1,000 orders so much after its place (ps).
fn channel(late_ps: impl Fn(i64) -> i64) -> codecs::logic::LogicChannel {
    let edges = (0..1_000_i64).flat_map(|number| {
        let start_ps = (number + 5) * INTERVAL_PS + late_ps(number);
        [start_ps, start_ps + 250_000_000]
    });
    let span = codecs::logic::LogicSpan {
        from_ps: 0,
        until_ps: 1_010 * INTERVAL_PS,
        begins_high: false,
        edges_ps: edges.collect(),
    };
    codecs::logic::LogicChannel { name: "D0".to_owned(), spans: vec![span] }
}

/// What a witness says of the nodes b and c of a run: c is so much later at each order (ps).
pub(super) fn shift(record: &Record, late_ps: impl Fn(i64) -> i64) -> ShiftSummary {
    let run = record.pulses().unwrap();
    let channels = [channel(|_| 0), channel(late_ps)];
    let lines: Vec<LineOfNode<'_>> = run
        .nodes
        .iter()
        .zip(&channels)
        .map(|(node, channel)| LineOfNode { node, channel, active: ActiveLevel::High })
        .collect();
    let named: Vec<NamedLine<'_>> = run.nodes.iter().map(|node| NamedLine { node, channel: "D".to_owned() }).collect();
    let seen =
        witness_run(record, run, &lines, CaptureReading { resolution_ps: Some(1_000), ..CaptureReading::default() });
    crate::shift::summary(record, run, &named, &seen, None)
}

fn named(name: &str, shift: ShiftSummary) -> NamedShift {
    NamedShift { name: name.to_owned(), shift }
}

/// 3 us early at every other order, 1 us late at the others, and 9 us early at one.
fn planted(number: i64) -> i64 {
    match number {
        500 => -9_000_000,
        even if even % 2 == 0 => -3_000_000,
        _ => 1_000_000,
    }
}

#[test]
fn a_planted_shift_stands_in_the_table_without_its_sign_and_before_what_is_published() {
    let record = pulses(|run| (run.trials.kept, run.trials.missed) = (993, 7));
    let rows = shift_rows(&[named("by night", shift(&record, planted))]);
    let [ours, theirs @ ..] = &*rows else { panic!("no row") };
    assert_eq!((&*ours.source, ours.published, ours.invalid), ("by night", false, false));
    assert_eq!(ours.of, "shift of c against b, by the witness");
    assert_eq!((&*ours.interval, &*ours.lead, ours.path.as_deref()), ("1\u{202f}000", "800", Some("UDP over IPv4")));
    // The sizes: 499 of 3 us, 500 of 1 us, one of 9 us: 2.0 us in the mean; from order 0 to 999.
    let figures = [&ours.duration, &ours.min, &ours.max, &ours.mean, &ours.missed].map(Option::as_deref);
    assert_eq!(figures, [Some("999 ms"), Some("1.0"), Some("9.0"), Some("2.0"), Some("7 of 1\u{202f}000")]);
    let published: Vec<[Option<&str>; 6]> = theirs
        .iter()
        .map(|row| {
            assert!(row.published && row.source == "OSIE" && row.of == "shift between two boards, by a logic analyzer");
            let [duration, path, min, max, mean, _] =
                [&row.duration, &row.path, &row.min, &row.max, &row.mean, &row.missed].map(Option::as_deref);
            [duration, path, min, max, mean, Some(&*row.lead)]
        })
        .collect();
    assert_eq!(
        published,
        [
            [Some("14 h"), Some("socket"), Some("0"), Some("265"), Some("10.6"), Some("400")],
            [Some("15 h"), Some("XDP"), Some("0"), Some("101"), Some("9.4"), Some("350")],
            [Some("1 h"), Some("XDP"), Some("0"), Some("84.0"), Some("8.4"), Some("250")],
        ]
    );
    assert_eq!(theirs.iter().map(|row| row.missed.as_deref()).collect::<Vec<_>>(), [None, Some("0"), None]);
}

#[test]
fn an_unknown_order_or_an_invalid_witness_is_no_result() {
    let unknown = pulses(|run| (run.trials.kept, run.trials.unknown) = (999, 1));
    assert_eq!(shift_rows(&[named("a", shift(&unknown, planted))])[0].missed, None);
    // 50 us, which nothing that the nodes say explains.
    let contradicted = shift(&pulses(|_| ()), |_| 50_000_000);
    let rows = shift_rows(&[named("a", contradicted.clone())]);
    assert!(rows[0].invalid && shift_columns(&[named("a", contradicted)])[0].invalid, "{rows:?}");
}

#[test]
fn a_pair_of_which_nothing_can_be_said_has_a_row_without_figures_and_no_column() {
    let far = shift(&pulses(|_| ()), |_| 400_000_000);
    let row = &shift_rows(&[named("a", far.clone())])[0];
    assert!(
        row.invalid && [&row.duration, &row.min, &row.max, &row.mean].iter().all(|value| value.is_none()),
        "{row:?}"
    );
    assert!(shift_columns(&[named("a", far)]).is_empty());
}

#[test]
fn a_column_of_shifts_has_its_farthest_its_signed_mean_and_its_deviation() {
    assert!(shift_columns(&[]).is_empty(), "published values alone are no figure");
    let columns = shift_columns(&[named("RT-SMS", shift(&pulses(|_| ()), planted))]);
    let ours = &columns[0];
    assert_eq!((&*ours.name, &*ours.about, ours.published), ("RT-SMS", "c against b", false));
    assert_eq!((ours.min_ns, ours.max_ns), (None, Some(9_000.0)));
    let mean_ns = (499.0 * -3_000.0 + 500.0 * 1_000.0 - 9_000.0) / 1_000.0;
    assert!((ours.mean_ns.unwrap() - mean_ns).abs() < 1e-6, "{ours:?}");
    let squares: f64 = 499.0 * (-3_000.0_f64 - mean_ns).powi(2)
        + 500.0 * (1_000.0_f64 - mean_ns).powi(2)
        + (-9_000.0_f64 - mean_ns).powi(2);
    assert!((ours.sd_ns.unwrap() - (squares / 1_000.0).sqrt()).abs() < 1e-6, "{ours:?}");
    let published: Vec<_> = columns[1..].iter().map(|one| (&*one.name, one.mean_ns, one.sd_ns, one.max_ns)).collect();
    assert_eq!(
        published,
        [
            ("paper, Test 4", None, Some(1_000.0), None),
            ("paper, RT-SMS", None, Some(3_200.0), Some(60_000.0)),
            ("paper, CPUSET-SMS", None, Some(4_000.0), Some(56_000.0)),
        ]
    );
    assert!(columns[1..].iter().all(|one| one.published && one.samples.is_none()));
}

#[test]
fn the_cost_of_a_line_stands_beside_the_paper_s() {
    assert!(cost_columns(&[pulses(|_| ())]).is_empty());
    let mut record = samples::record_of(Measurement::Gpio, &[2_000, 4_000]);
    record.label = "line".to_owned();
    for series in &mut record.series {
        "up and down".clone_into(&mut series.variant);
        "acted_to_returned".clone_into(&mut series.name);
    }
    let columns = cost_columns(&[record]);
    let of = |one: &ScenarioColumn| (one.name.clone(), one.min_ns, one.mean_ns, one.sd_ns, one.max_ns);
    let ours = ("line: up and down".to_owned(), Some(2_000.0), Some(3_000.0), Some(1_000.0), Some(4_000.0));
    let paper = ("paper, Test 4".to_owned(), Some(22_000.0), Some(24_000.0), None, Some(50_000.0));
    assert_eq!(columns.iter().map(of).collect::<Vec<_>>(), [ours, paper]);
}

/// A sweep that explored by the record "explored" and confirmed 320 us at 1 ms by "confirmed".
fn swept() -> NamedSweep {
    let needed = NeededLead { p50_ns: 60_000, p99_ns: 60_000, p999_ns: 60_000, worst_ns: 310_000 };
    let claim = Claim {
        cycle_ns: 1_000_000,
        lead_ns: 320_000,
        orders: 1_000,
        time_ns: 1_000_000_000,
        alpha_spent: 0.005,
        miss_rate_below: 0.005,
        burst_interval_ns: 1,
        longest_burst: None,
        assumed_burst_misses: 1,
        miss_rate_below_in_bursts: 0.01,
        needed,
        nodes: vec![NodeCount::default(); 2],
        load: "none".to_owned(),
    };
    let cycle = CycleConclusion {
        cycle_ns: 1_000_000,
        answer: Answer::Holds(claim),
        explored: Vec::new(),
        phase_difference: None,
        attempts: Vec::new(),
    };
    let conclusion = Conclusion {
        cycles: vec![cycle],
        max_miss: 0.01,
        alpha: 0.01,
        alpha_spent: 0.005,
        spent_ns: 2_000_000_000,
        nodes: 2,
        load: "none".to_owned(),
    };
    let run = |number, step, lead_ns, record: &str| SweepRun {
        number,
        step,
        cycle_ns: 1_000_000,
        lead_ns,
        record: record.to_owned(),
        file: None,
    };
    let runs = vec![
        run(1, SweepStep::Explore, 10_000_000, "explored"),
        run(2, SweepStep::Confirm, 300_000, "failed"),
        run(3, SweepStep::Confirm, 320_000, "confirmed"),
    ];
    NamedSweep { name: "sweep".to_owned(), document: SweepDocument::new("It holds.".to_owned(), conclusion, runs) }
}

#[test]
fn what_nodes_say_of_themselves_is_named_and_of_a_sweep_only_what_confirmed_its_claim() {
    let run = |id: &str, label: &str| Record { id: id.to_owned(), label: label.to_owned(), ..pulses(|_| ()) };
    let runs = [run("explored", "x"), run("failed", "y"), run("confirmed", "z"), run("other", "by hand")];
    let rows = own_rows(&runs, &[swept()]);
    let named: Vec<(&str, &str)> = rows.iter().map(|row| (&*row.source, &*row.of)).collect();
    let of_each = [
        "b: ordered time to the act",
        "b: the lead that the order needed",
        "c: ordered time to the act",
        "c: the lead that the order needed",
    ];
    let expected: Vec<(&str, &str)> =
        ["sweep, confirmed", "by hand"].iter().flat_map(|source| of_each.map(|of| (*source, of))).collect();
    assert_eq!(named, expected);
    // 999 of 40 ns and one of 23 us; 999 of 60 us and one of 310 us.
    let figures = |row: &PulseRow| [&row.min, &row.max, &row.mean].map(|value| value.clone().unwrap());
    assert_eq!(figures(&rows[0]), ["0.040", "23.0", "0.063"]);
    assert_eq!(figures(&rows[1]), ["60.0", "310", "60.3"]);
    assert_eq!((rows[0].duration.as_deref(), rows[0].missed.as_deref()), (Some("1 s"), Some("0 of 1\u{202f}000")));
    let mut invalid = run("other", "by hand");
    invalid.validity.add(record::ReasonCode::ClockStepped, "it was set");
    assert!(own_rows(&[invalid], &[]).iter().all(|row| row.invalid));
}

#[test]
fn the_row_of_a_node_has_the_misses_of_that_node_alone() {
    let missed = |record: Record| -> Vec<Option<String>> {
        own_rows(&[record], &[]).into_iter().map(|row| row.missed).collect()
    };
    // c lost 442 of its orders, one of them skipped by the server, and b none.
    let one_lost = pulses(|run| {
        (run.nodes[1].orders.acted, run.nodes[1].orders.lost, run.nodes[1].orders.skipped) = (558, 441, 1);
        (run.trials.kept, run.trials.missed) = (558, 442);
    });
    let (none, some) = (Some("0 of 1\u{202f}000".to_owned()), Some("442 of 1\u{202f}000".to_owned()));
    assert_eq!(missed(one_lost), [none.clone(), none.clone(), some.clone(), some]);
    // What c did not tell of makes its number unknown, and that of b stays.
    let one_silent = pulses(|run| {
        (run.nodes[1].orders.acted, run.nodes[1].orders.unknown) = (900, 100);
        (run.trials.kept, run.trials.unknown) = (900, 100);
    });
    assert_eq!(missed(one_silent), [none.clone(), none, None, None]);
}

#[test]
fn a_lead_that_was_never_needed_has_its_sign() {
    let mut early = pulses(|_| ());
    let series: &mut Series = early.series.iter_mut().find(|series| series.name == "scheduled_to_armed").unwrap();
    let mut below = record::Histogram::new();
    below.record_n(2_500, 1_000);
    series.below_zero = Some(below);
    series.histogram = record::Histogram::new();
    let rows = own_rows(&[early], &[]);
    assert_eq!([&rows[1].min, &rows[1].mean].map(Option::as_deref), [Some("-2.5"), Some("-2.5")]);
}

#[test]
fn a_sweep_and_a_shift_are_read_back_as_they_were_written() {
    let document = swept().document;
    let text = serde_json::to_string(&document).unwrap();
    assert_eq!(SweepDocument::from_json(&text).unwrap(), document);
    let document = ShiftDocument::new(shift(&pulses(|_| ()), planted));
    let text = serde_json::to_string(&document).unwrap();
    assert_eq!(ShiftDocument::from_json(&text).unwrap(), document);
}

/// A document as it is written.
fn written(document: &impl Serialize) -> Value {
    serde_json::to_value(document).unwrap()
}

#[test]
fn what_is_written_is_what_the_published_schemas_say() {
    // Those of docs/schema, which tests/documents.rs compares with these.
    let sweeps = schemars::schema_for!(SweepDocument).to_value();
    let shifts = schemars::schema_for!(ShiftDocument).to_value();
    let mut of_all_answers = swept().document;
    of_all_answers.conclusion.cycles.extend(all_failures());
    for document in [swept().document, of_all_answers] {
        assert_eq!(against(&sweeps, &written(&document)), [""; 0]);
    }
    // One that holds, one that is contradicted, one of which nothing can be said.
    for late_ps in [2_000_000, 50_000_000, 400_000_000] {
        let document = ShiftDocument::new(shift(&pulses(|_| ()), |_| late_ps));
        assert_eq!(against(&shifts, &written(&document)), [""; 0]);
    }
    // What holds them against the schema sees what is wrong.
    let whole = written(&swept().document);
    let changed = |change: fn(&mut Value)| {
        let mut value = whole.clone();
        change(&mut value);
        against(&sweeps, &value)
    };
    assert_eq!(changed(|value| value["more"] = 1.into()), ["/more: the schema does not name it"]);
    assert!(!changed(|value| value["conclusion"]["cycles"][0]["answer"]["lead_ns"] = "320".into()).is_empty());
    assert!(!changed(|value| value["runs"][0]["step"] = "tried".into()).is_empty());
    let lacks = changed(|value| drop(value["conclusion"].as_object_mut().unwrap().remove("alpha")));
    assert_eq!(lacks, ["/conclusion: lacks alpha"]);
}

/// A cycle for each way in which one fails.
fn all_failures() -> Vec<CycleConclusion> {
    let failure = Failure {
        is_of_attempt: true,
        lead_ns: 1,
        orders: 10,
        lost: 1,
        late: 0,
        worst_ns: None,
        miss_rate_at_least: 0.1,
        assumed_burst_misses: 1,
        miss_rate_at_least_in_bursts: 0.1,
        is_shown_worse: true,
        longest_burst: None,
        nodes: Vec::new(),
    };
    let answers = [
        Answer::Loses(failure.clone()),
        Answer::TooLate(failure),
        Answer::Unsettled { first_lead_ns: 1, last_lead_ns: 2, worst_ns: 3, raised: 4 },
        Answer::OutOfTime { needed_ns: 1, left_ns: 0, lead_ns: None },
        Answer::Stopped { why: "a node was lost".to_owned(), lead_ns: Some(5) },
    ];
    let cycle = |answer| CycleConclusion {
        cycle_ns: 1_000,
        answer,
        explored: Vec::new(),
        phase_difference: Some(PhaseDifference { p50_ns: -1, p99_ns: 2, worst_ns: 3 }),
        attempts: Vec::new(),
    };
    answers.into_iter().map(cycle).collect()
}
