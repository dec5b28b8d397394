//! Pages of shifts and sweeps whose truth is known.

use pulse::numbering::NumberedPulse;
use pulse::shift::{CaptureError, NodeMeans, Part, Shift, split};
use pulse::sweep::{Answer, Outcome, Step, Sweep, SweepPlan};
use pulse::witness::{LineSeen, PairSeen, Pairing, RunSeen, SplitShift, WitnessError, Witnessed};
use record::PulseTrials;
use samples::pulses;
use serde_json::{Value, json};
use summary::shift::{NamedLine, ShiftSummary};
use summary::sweep::{SweepDocument, SweepRun, SweepStep};
use units::round_i64;

use super::*;
use crate::page::{Generated, Page, ReportInput, Results};
use crate::view::View;

const NS: i64 = 1_000;
const BEGIN_PS: i64 = 7_000_000 * NS;

/// 40 us later at each of 2,000 orders, a millisecond apart, but for one that is 90 us earlier.
fn planted() -> Shift {
    let line = |late_ps: fn(u64) -> i64| -> Vec<NumberedPulse> {
        let pulse = |number: u64| NumberedPulse {
            number,
            start_ps: BEGIN_PS + i64::try_from(number).unwrap() * 1_000_000 * NS + late_ps(number),
        };
        (0..2_000).map(pulse).collect()
    };
    let late = |number| if number == 1_234 { -90_000 * NS } else { 40_000 * NS };
    let capture = CaptureError { resolution_ps: Some(10 * NS), rate_ppb: Some(0) };
    Shift::between(&line(|_| 0), &line(late), capture).unwrap()
}

/// The planted shift, of which the clocks explain all but `rest_ns`, within 2 us.
fn pair(rest_ns: i64) -> PairSeen {
    let part = |ps, error_ps| Part { ps, error_ps };
    let means = |error_ps| NodeMeans { clock_ahead: part((40_000 - rest_ns) * NS, error_ps), ..NodeMeans::default() };
    let [likely, bounds] =
        [0, 2_000 * NS].map(|error_ps| split(part(40_000 * NS, 0), &means(error_ps), &NodeMeans::default()));
    let witnessed =
        Witnessed { pairing: Pairing::Numbers, lines: None, shift: planted(), capture_rate_ppb: Some(1_300) };
    PairSeen { witnessed: Ok(witnessed), parts: Some(Ok(SplitShift { likely, bounds })) }
}

fn shift_of(record: &Record, pair: PairSeen, limit_ns: Option<i64>) -> ShiftSummary {
    let line = LineSeen {
        pulses: 2_000,
        bounces: 0,
        glitches: 0,
        cut: 0,
        odd: 0,
        numbered: Some(2_000),
        counts: None,
        faults: Vec::new(),
        claimed: None,
    };
    let run = record.pulses().unwrap();
    let lines: Vec<NamedLine<'_>> = run.nodes.iter().map(|node| NamedLine { node, channel: "D".to_owned() }).collect();
    let seen = RunSeen { lines: vec![line.clone(), line], pairs: vec![pair] };
    summary::shift::summary(record, run, &lines, &seen, limit_ns)
}

fn named(name: &str, rest_ns: i64, limit_ns: Option<i64>) -> NamedShift {
    NamedShift { name: name.to_owned(), shift: shift_of(&pulses(|_| ()), pair(rest_ns), limit_ns) }
}

fn page(shifts: Vec<NamedShift>, sweeps: Vec<NamedSweep>, runs: Vec<Record>) -> ReportInput {
    let results = Results { runs, ..Results::default() };
    ReportInput {
        title: "t".to_owned(),
        page: Page::together(TogetherInput { shifts, sweeps, results }),
        generated: Generated::default(),
    }
}

fn value(input: &ReportInput) -> Value {
    serde_json::to_value(View::new(input)).unwrap()
}

#[test]
fn a_planted_shift_comes_back_in_the_data_of_the_page() {
    let input = page(vec![named("night", 0, Some(100_000))], Vec::new(), Vec::new());
    let page = value(&input)["page"].clone();
    assert_eq!(page["kind"], "together");
    let shift = &page["together"]["shifts"][0];
    assert_eq!(
        (&shift["name"], &shift["verdict"], &shift["limit_ns"]),
        (&json!("night"), &json!("holds"), &json!(100_000))
    );
    let pair = &shift["pairs"][0];
    assert_eq!((&pair["first"], &pair["second"]), (&json!("b"), &json!("c")));
    let figures = &pair["figures"];
    let of = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("{name}: {figures}"));
    assert_eq!(["min_ns", "max_ns", "worst_ns"].map(|name| round_i64(of(name))), [-90_000, 40_000, -90_000]);
    assert_eq!((of("mean_ns"), of("worst_order"), of("error_ns")), (39_935.0, 1_234.0, 10.0));
    // 1,999 of 40 us and one of -90 us.
    assert!((of("sd_ns") - 130_000.0 * (1_999.0_f64).sqrt() / 2_000.0).abs() < 1e-3, "{figures}");
    // Times are counted from the first order, wherever the capture's zero is.
    assert_eq!((of("worst_at_ns"), of("span_ns"), of("orders")), (1_234e6, 1_999e6, 2_000.0));
    assert!(figures["exactness"].as_str().unwrap().contains("within 10 ns; the capture's clock is 1.3 ppm faster"));
    let track = &pair["over_time"];
    let column = |name: &str| -> Vec<f64> {
        track[name].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    assert_eq!((track["length_ns"].as_f64(), column("from_ns")[0]), (Some(2e6), 0.0));
    let farthest = column("min_ns").iter().position(|ns| *ns < 0.0).unwrap();
    assert_eq!((column("min_ns")[farthest], column("from_ns")[farthest]), (-90_000.0, 1_234e6));
    assert_eq!(round_i64(column("orders").iter().sum()), 2_000);
    assert_eq!((&pair["from_zero"]["count"], &pair["below_zero"]["count"]), (&json!(1_999), &json!(1)));
    assert_eq!((&pair["from_zero"]["max_ns"], &pair["below_zero"]["max_ns"]), (&json!(40_000), &json!(90_000)));
    let rows = page["together"]["shift_rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["max"], &rows[0]["min"]), (4, &json!("90.0"), &json!("40.0")));
    assert_eq!(page["together"]["apart"][0]["max_ns"], 90_000.0);
    let html = crate::render_html(&input);
    for words in
        ["Shift by a witness: night", "-90.0 us", "1\u{202f}234", "OSIE (published)", "10.6", "CPUSET-SMS", "56.0 us"]
    {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn the_parts_of_the_page_add_up_and_have_their_bounds() {
    let page = value(&page(vec![named("a", 1_500, None)], Vec::new(), Vec::new()))["page"].clone();
    let parts = page["together"]["shifts"][0]["pairs"][0]["parts"].as_array().unwrap().clone();
    let of = |place: usize| {
        ["likely_ns", "lower_ns", "upper_ns"].map(|name| round_i64(parts[place][name].as_f64().unwrap()))
    };
    assert_eq!((&parts[0]["words"], &parts[3]["words"]), (&json!("clocks"), &json!("rest")));
    assert_eq!(of(0), [38_500, 36_500, 40_500]);
    assert_eq!(of(3), [1_500, -500, 3_500]);
    let sum: i64 = (0..4).map(|place| of(place)[0]).sum();
    assert_eq!(sum, 40_000);
}

#[test]
fn a_contradiction_stands_on_top_whatever_else_holds() {
    let shifts = || vec![named("good", 0, Some(100_000)), named("bad", 2_001, Some(100_000))];
    let headline = headline(&TogetherInput { shifts: shifts(), ..TogetherInput::default() });
    assert_eq!((headline.state, &*headline.word), (HeadlineState::CannotTell, "Invalid"));
    assert!(headline.sentence.starts_with("bad: c was 39.9 us later than b in the mean"), "{}", headline.sentence);
    assert!(headline.sentence.contains("leaves 2.0 us without a reason"), "{}", headline.sentence);
    assert_eq!(headline.lines.len(), 1);
    assert!(
        headline.lines[0].starts_with("Holds 100 us against b. good: c acted within 90.1 us"),
        "{:?}",
        headline.lines
    );
    let input = page(shifts(), Vec::new(), Vec::new());
    let view = value(&input)["page"]["together"].clone();
    assert_eq!(view["shifts"][1]["verdict"], "invalid");
    assert_eq!((&view["shift_rows"][0]["invalid"], &view["shift_rows"][1]["invalid"]), (&json!(false), &json!(true)));
    let html = crate::render_html(&input);
    let [top, sections] =
        ["class=\"sentence\">bad: c was 39.9 us later", "Shift by a witness: bad (invalid: not a result)"]
            .map(|words| html.find(words).unwrap_or_else(|| panic!("{words}")));
    assert!(top < sections);
}

#[test]
fn what_a_witness_contradicts_never_reads_as_held() {
    let mut run = pulses(|_| ());
    run.verdict = Some(analysis::verdict(&run, 100_000));
    let of = |rest_ns| {
        let results = Results { runs: vec![run.clone()], ..Results::default() };
        headline(&TogetherInput { shifts: vec![named("a", rest_ns, None)], results, ..TogetherInput::default() })
    };
    let good = of(0);
    // The page is about the shift, for which no limit was stated.
    assert_eq!((good.state, &*good.word), (HeadlineState::NoDeadline, "Within 90.1 us of b; no limit stated"));
    assert!(good.lines[0].starts_with("Holds 100 us. The run itself: "), "{:?}", good.lines);
    let bad = of(2_001);
    assert_eq!((bad.state, bad.lines.len()), (HeadlineState::CannotTell, 1));
    let words = "The nodes' own word, which the witness does not bear out. Holds 100 us: ";
    assert!(bad.lines[0].starts_with(words), "{:?}", bad.lines);
}

#[test]
fn the_worst_of_all_that_is_said_is_the_answer() {
    let of = |rest_ns, limit_ns| {
        let shifts = vec![named("a", rest_ns, limit_ns)];
        let view = headline(&TogetherInput { shifts, ..TogetherInput::default() });
        (view.state, view.word)
    };
    assert_eq!(of(0, Some(90_010)), (HeadlineState::Holds, "Holds 90.0 us against b".to_owned()));
    assert_eq!(of(0, Some(90_000)), (HeadlineState::CannotTell, "Cannot tell 90.0 us against b".to_owned()));
    assert_eq!(of(0, Some(89_989)), (HeadlineState::Broken, "Does not hold 90.0 us against b".to_owned()));
    assert_eq!(of(0, None), (HeadlineState::NoDeadline, "Within 90.1 us of b; no limit stated".to_owned()));
    // A run that broke its own limit breaks the page, though the nodes were near each other.
    let mut late = pulses(|run| run.nodes[1].orders.beyond = 3);
    late.verdict = Some(analysis::verdict(&late, 10_000));
    let input = TogetherInput {
        shifts: vec![named("a", 0, Some(100_000))],
        results: Results { runs: vec![late], ..Results::default() },
        ..TogetherInput::default()
    };
    let view = headline(&input);
    assert_eq!(view.state, HeadlineState::Broken, "{view:?}");
    assert!(view.sentence.starts_with("The run itself: "), "{}", view.sentence);
    assert_eq!(headline(&TogetherInput::default()).state, HeadlineState::Empty);
}

#[test]
fn of_a_pair_of_which_nothing_can_be_said_the_page_has_the_reason_and_no_number() {
    let none = WitnessError::Disjoint { first_from: 0, first_to: 9, second_from: 20, second_to: 29 };
    let shift = shift_of(&pulses(|_| ()), PairSeen { witnessed: Err(none), parts: None }, None);
    let input = page(vec![NamedShift { name: "a".to_owned(), shift }], Vec::new(), Vec::new());
    let view = value(&input);
    let pair = &view["page"]["together"]["shifts"][0]["pairs"][0];
    assert!(pair["figures"].is_null() && pair["over_time"]["from_ns"].as_array().unwrap().is_empty(), "{pair}");
    assert_eq!(view["page"]["together"]["apart"], json!([]));
    assert_eq!(view["headline"]["sentence"].as_str().unwrap().matches("no order in common").count(), 1);
}

/// How the first attempt of a sweep ends.
#[derive(Clone, Copy, PartialEq)]
enum First {
    Holds,
    /// A stall of 30 orders.
    Loses,
    /// Half of the orders of the explorations are lost: there is no attempt.
    LosesAtOnce,
    /// One order needs more than its lead.
    IsLate,
}

/// A sweep over 1 ms whose orders need up to 310 us.
fn swept(first: First) -> (NamedSweep, Vec<Record>) {
    let plan = SweepPlan {
        cycles_ns: vec![1_000_000],
        max_miss: 0.01,
        confidence: 0.99,
        margin_ns: 10_000,
        max_lead_ns: 800_000,
        explore_ns: 20_000_000_000,
        budget_ns: 60_000_000_000,
        nodes: 2,
        load: "none".to_owned(),
    };
    let mut sweep = Sweep::new(plan).unwrap();
    let (mut runs, mut records): (Vec<SweepRun>, Vec<Record>) = (Vec::new(), Vec::new());
    while let Some(run) = sweep.next().run().copied() {
        let confirms = matches!(sweep.next(), Step::Confirm { .. });
        let is_first = confirms && runs.iter().all(|run| run.step == SweepStep::Explore);
        let lost = match first {
            First::Loses if is_first => 30,
            First::LosesAtOnce => run.orders / 2,
            _ => 0,
        };
        let late = u64::from(is_first && first == First::IsLate);
        let missed = lost + late;
        let mut record = pulses(|of| {
            (of.interval_ns, of.lead_ns) = (run.cycle_ns, run.lead_ns);
            of.trials =
                PulseTrials { scheduled: run.orders, kept: run.orders - missed, missed, too_late: late, ..of.trials };
            if missed > 0 {
                (of.trials.bursts, of.trials.longest_burst) = (1, missed);
                of.trials.longest_burst_ns = (missed - 1) * run.cycle_ns;
            }
            for node in &mut of.nodes {
                node.orders.scheduled = run.orders;
                (node.orders.acted, node.orders.lost, node.orders.too_late) = (run.orders - missed, lost, late);
            }
        });
        record.id = format!("run {}", run.number);
        sweep.take(&Outcome::of_record(&record, run.number).unwrap()).unwrap();
        let step = if confirms { SweepStep::Confirm } else { SweepStep::Explore };
        let (number, cycle_ns, lead_ns) = (run.number, run.cycle_ns, run.lead_ns);
        runs.push(SweepRun { number, step, cycle_ns, lead_ns, record: record.id.clone(), file: None });
        records.push(record);
    }
    let Step::Done(conclusion) = sweep.next() else { panic!("it has not ended") };
    let sentence = summary::sweep::sentence(conclusion, |_| None);
    let document = SweepDocument::new(sentence, (**conclusion).clone(), runs);
    (NamedSweep { name: "s".to_owned(), document }, records)
}

#[test]
fn a_sweep_shows_what_its_runs_needed_and_which_of_them_confirmed_the_lead() {
    let (sweep, mut records) = swept(First::Holds);
    // On a page runs stand in the order of their time, whatever the sweep's numbers are.
    records.reverse();
    let input = page(Vec::new(), vec![sweep], records);
    let (view, html) = (value(&input), crate::render_html(&input));
    assert_eq!(
        (&view["headline"]["state"], &view["headline"]["word"]),
        (&json!("holds"), &json!("Confirmed: 320 us ahead at a cycle of 1 ms"))
    );
    let cycle = &view["page"]["together"]["sweeps"][0]["cycles"][0];
    assert_eq!(
        (&cycle["word"], &cycle["cycle_ns"], &cycle["lead_ns"]),
        (&json!("confirmed"), &json!(1_000_000), &json!(320_000))
    );
    let leads = cycle["leads"].as_array().unwrap();
    let words: Vec<&str> = leads.iter().map(|row| row["words"].as_str().unwrap()).collect();
    assert_eq!(words, ["explored, largest lead", "explored, no earlier order waits", "confirmed"]);
    let last = &leads[2];
    assert_eq!((&last["confirmed"], &last["lead_ns"], &last["missed"]), (&json!(true), &json!(320_000), &json!(0)));
    assert_eq!(
        (&last["worst_ns"], &leads[0]["worst_ns"], &leads[0]["lead_ns"]),
        (&json!(310_000), &json!(310_000), &json!(800_000))
    );
    assert!(last["p50_ns"].as_u64().unwrap() <= 60_100, "{last}");
    let runs = cycle["runs"].as_array().unwrap();
    let all = view["page"]["results"]["runs"].as_array().unwrap();
    for run in runs {
        let shown = &all[usize::try_from(run["run"].as_u64().unwrap()).unwrap()];
        assert_eq!(shown["id"], format!("run {}", run["number"]));
    }
    assert_eq!((runs.len(), &runs[2]["step"]), (3, &json!("confirm")));
    for words in ["<td>confirmed</td><td class=\"number\">320 us</td>", "<td class=\"number\">310 us</td></tr>"] {
        assert!(html.contains(words), "{words}");
    }
    let own = view["page"]["together"]["own_rows"].as_array().unwrap();
    assert!(own.len() == 4 && own.iter().all(|row| row["source"] == "s, confirmed"), "{own:?}");
}

#[test]
fn a_lead_that_failed_and_the_longer_one_that_held_are_told_apart() {
    let (sweep, records) = swept(First::IsLate);
    let view = value(&page(Vec::new(), vec![sweep], records));
    let leads = view["page"]["together"]["sweeps"][0]["cycles"][0]["leads"].as_array().unwrap().clone();
    let of = |place: usize| (leads[place]["words"].as_str().unwrap(), leads[place]["missed"].as_u64().unwrap());
    assert_eq!((leads.len(), of(2), of(3)), (4, ("attempt that failed", 1), ("confirmed", 0)));
    assert_eq!((&leads[2]["confirmed"], &leads[2]["p50_ns"]), (&json!(false), &Value::Null));
    assert_eq!((&leads[2]["lead_ns"], &leads[2]["worst_ns"]), (&json!(320_000), &json!(320_001)));
    assert!(leads[3]["lead_ns"].as_u64() > Some(320_000), "{leads:?}");
}

#[test]
fn a_sweep_that_confirms_nothing_claims_nothing() {
    let (sweep, records) = swept(First::Loses);
    let view = value(&page(Vec::new(), vec![sweep], records));
    assert_eq!(
        (&view["headline"]["state"], &view["headline"]["word"]),
        (&json!("cannot-tell"), &json!("No lead was confirmed, and one may suffice"))
    );
    let cycle = &view["page"]["together"]["sweeps"][0]["cycles"][0];
    assert_eq!((&cycle["word"], &cycle["lead_ns"]), (&json!("loses orders"), &Value::Null));
    let leads = cycle["leads"].as_array().unwrap();
    assert!(leads.iter().all(|row| row["confirmed"] == false), "{leads:?}");
    assert_eq!((&leads[2]["words"], &leads[2]["missed"]), (&json!("attempt that failed"), &json!(30)));
    assert_eq!(view["page"]["together"]["own_rows"], json!([]));
    let published = view["page"]["together"]["shift_rows"].as_array().unwrap();
    assert!(published.len() == 3 && published.iter().all(|row| row["published"] == true));
}

#[test]
fn a_sweep_is_broken_only_where_it_shows_that_no_lead_suffices_and_one_that_was_ended_is_no_answer() {
    let headline = |sweep, records| {
        let view = value(&page(Vec::new(), vec![sweep], records));
        [&view["headline"]["state"], &view["headline"]["word"]].map(|text| text.as_str().unwrap().to_owned())
    };
    let (sweep, records) = swept(First::LosesAtOnce);
    assert_eq!(headline(sweep, records), ["broken", "No lead suffices"]);
    let (mut sweep, records) = swept(First::Holds);
    assert_eq!(headline(sweep.clone(), records.clone())[0], "holds");
    let mut ended = sweep.document.conclusion.cycles[0].clone();
    ended.answer = Answer::Stopped { why: "a node was lost".to_owned(), lead_ns: None };
    sweep.document.conclusion.cycles.push(ended);
    let said = "Ended early. Confirmed until then: 320 us ahead at a cycle of 1 ms";
    assert_eq!(headline(sweep, records), ["cannot-tell", said]);
}

#[test]
fn the_page_of_a_line_s_cost_has_the_paper_s_beside_it() {
    let mut gpio = samples::record_of(record::Measurement::Gpio, &[2_000, 4_000]);
    gpio.label = "line".to_owned();
    gpio.series.iter_mut().for_each(|series| "acted_to_returned".clone_into(&mut series.name));
    let view = value(&page(vec![named("a", 0, None)], Vec::new(), vec![gpio]));
    let costs = view["page"]["together"]["costs"].as_array().unwrap();
    let of = |place: usize| ["min_ns", "mean_ns", "max_ns"].map(|name| costs[place][name].as_f64().unwrap());
    assert_eq!((of(0), of(1)), ([2_000.0, 3_000.0, 4_000.0], [22_000.0, 24_000.0, 50_000.0]));
    assert_eq!((&costs[0]["published"], &costs[1]["published"]), (&json!(false), &json!(true)));
}
