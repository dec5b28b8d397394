//! What is said of shifts that are made by hand.

use pulse::numbering::{NumberedPulse, NumberingCounts};
use pulse::shift::{CaptureError, NodeMeans, split};
use pulse::witness::{EdgesClaimed, NotSplit, SplitShift, WitnessError, Witnessed};
use samples::pulses;

use super::*;

const NS: i64 = 1_000;

fn numbered(late_ps: impl Fn(u64) -> i64) -> Vec<NumberedPulse> {
    let pulse = |number: u64| NumberedPulse {
        number,
        start_ps: i64::try_from(number).unwrap() * 1_000_000 * NS + late_ps(number),
    };
    (0..2_000).map(pulse).collect()
}

fn line() -> LineSeen {
    LineSeen {
        pulses: 2_000,
        bounces: 4,
        glitches: 1,
        cut: 0,
        odd: 2,
        numbered: Some(1_990),
        counts: Some(NumberingCounts {
            missing: 3,
            between: 5,
            unclear: 4,
            unclear_orders: 2,
            ..NumberingCounts::default()
        }),
        faults: Vec::new(),
        claimed: Some(EdgesClaimed { covered: 1_000, without_edge: 0, not_carried_out: 0 }),
    }
}

/// A node that is 40 us late but for one order, with a rest of so much.
fn seen(rest_ns: i64) -> RunSeen {
    let late = |number| if number == 1_234 { -90_000 * NS } else { 40_000 * NS };
    let capture = CaptureError { resolution_ps: Some(10 * NS), rate_ppb: Some(0) };
    let shift = Shift::between(&numbered(|_| 0), &numbered(late), capture).unwrap();
    let part = |ps, error_ps| Part { ps, error_ps };
    let means = |ps, error_ps| NodeMeans { clock_ahead: part(ps, error_ps), ..NodeMeans::default() };
    let [likely, bounds] = [0, 2_000 * NS]
        .map(|error_ps| split(part(40_000 * NS, 0), &means((40_000 - rest_ns) * NS, error_ps), &NodeMeans::default()));
    let witnessed = Witnessed { pairing: Pairing::Numbers, lines: None, shift, capture_rate_ppb: Some(7) };
    let parts = Some(Ok(SplitShift { likely, bounds }));
    RunSeen { lines: vec![line(), line()], pairs: vec![PairSeen { witnessed: Ok(witnessed), parts }] }
}

fn said(seen: &RunSeen, limit_ns: Option<i64>, change: impl FnOnce(&mut Record)) -> ShiftSummary {
    let mut record = pulses(|run| run.mark = Some(1_000));
    change(&mut record);
    let run = record.pulses().unwrap();
    let lines: Vec<NamedLine<'_>> =
        run.nodes.iter().zip(["D0", "D1"]).map(|(node, name)| NamedLine { node, channel: name.to_owned() }).collect();
    summary(&record, run, &lines, seen, limit_ns)
}

#[test]
fn the_figures_of_a_pair_have_their_signs_and_the_worst_its_number() {
    let said = said(&seen(0), None, |_| ());
    assert_eq!(said.about, "pulse of 250 us every 1 ms, with a mark every 1\u{202f}000 orders: b on D0, c on D1");
    let pair = &said.pairs[0];
    assert_eq!((&*pair.first, &*pair.second), ("b", "c"));
    let figures = pair.figures.as_ref().unwrap();
    assert_eq!((figures.orders, figures.min_ps, figures.max_ps), (2_000, -90_000 * NS, 40_000 * NS));
    assert_eq!((figures.worst_ps, figures.worst_order), (-90_000 * NS, 1_234));
    assert_eq!(units::round_i64(figures.mean_ps), 39_935 * NS);
    let near = |ns: i64| (ns - 40_000).abs() < 40;
    assert!(figures.p50_ns.is_some_and(near), "{figures:?}");
    assert!(figures.within_p99_ns.is_some_and(|ns| near(i64::try_from(ns).unwrap())), "{figures:?}");
    assert_eq!((figures.error_ps, figures.capture_rate_ppb), (Some(10 * NS), Some(7)));
    let line = &said.lines[0];
    assert_eq!((line.missing, line.extra, line.odd, line.bounces), (Some(3), Some(7), 2, 4));
    assert_eq!((line.acted, line.covered, line.without_edge), (1_000, Some(1_000), Some(0)));
    assert_eq!(said.verdict, WitnessVerdict::Holds);
    assert_eq!(
        said.sentence,
        "c acted within 90.1 us of b at every order that both lines show; the witness contradicts no node."
    );
}

#[test]
fn a_rest_beyond_all_errors_is_a_contradiction_and_outranks_the_limit() {
    let within = said(&seen(2_000), None, |_| ());
    assert_eq!((within.verdict, within.contradictions.len()), (WitnessVerdict::Holds, 0));
    let rest = within.pairs[0].parts.last().unwrap();
    let words: Vec<(&str, &str)> = within.pairs[0].parts.iter().map(|part| (&*part.name, &*part.words)).collect();
    let latencies = [("ordered_to_acted", "ordered time to the act"), ("output", "what switching the output takes")];
    assert_eq!(words, [&[("clock", "clocks")][..], &latencies, &[("rest", "rest")]].concat());
    assert_eq!((&*rest.name, rest.likely_ps, rest.lower_ps, rest.upper_ps), ("rest", 2_000 * NS, 0, 4_000 * NS));
    let clock = within.pairs[0].parts.first().unwrap();
    assert_eq!((clock.likely_ps, clock.lower_ps, clock.upper_ps), (38_000 * NS, 36_000 * NS, 40_000 * NS));
    let beyond = said(&seen(2_001), Some(1), |_| ());
    assert_eq!((beyond.verdict, beyond.beyond.len()), (WitnessVerdict::Invalid, 1));
    assert_eq!(
        beyond.contradictions,
        [
            "c was 39.9 us later than b in the mean, of which what both nodes say leaves 2.0 us without a reason, with all errors of 2.0 us"
        ]
    );
    assert!(beyond.sentence.starts_with("Invalid: c was 39.9 us later than b"), "{}", beyond.sentence);
}

#[test]
fn the_worst_shift_is_held_against_the_limit_to_either_side() {
    // The worst is 90 us earlier, right to within 10 ns.
    let at = said(&seen(0), Some(90_010), |_| ());
    assert_eq!(at.verdict, WitnessVerdict::Holds);
    assert!(at.sentence.contains(", within the limit of 90.0 us"), "{}", at.sentence);
    for open_ns in [90_009, 89_990] {
        let open = said(&seen(0), Some(open_ns), |_| ());
        assert_eq!(open.verdict, WitnessVerdict::CannotTell, "{open_ns}");
        assert_eq!(
            open.sentence,
            "Whether the limit of 90.0 us holds cannot be told: c was 90.0 us earlier than b at order 1\u{202f}234, right to within 10 ns."
        );
    }
    let beyond = said(&seen(0), Some(89_989), |_| ());
    assert_eq!(beyond.verdict, WitnessVerdict::Broken);
    assert_eq!(beyond.sentence, "Beyond the limit of 90.0 us: c was 90.0 us earlier than b at order 1\u{202f}234.");
}

#[test]
fn no_limit_is_held_against_a_shift_whose_error_is_not_known() {
    let mut unknown = seen(0);
    if let Ok(witnessed) = &mut unknown.pairs[0].witnessed {
        witnessed.shift.error_ps = None;
    }
    for limit_ns in [1, 1_000_000_000] {
        let said = said(&unknown, Some(limit_ns), |_| ());
        assert_eq!(said.verdict, WitnessVerdict::CannotTell);
        assert!(said.sentence.contains("does not say (--resolution)"), "{}", said.sentence);
    }
    let said = said(&unknown, None, |_| ());
    assert!(
        said.sentence.starts_with("c was up to 90.0 us from b by a capture that does not say"),
        "{}",
        said.sentence
    );
}

#[test]
fn edges_that_are_missing_are_said_with_their_numbers() {
    let mut without = seen(0);
    without.lines[1].claimed = Some(EdgesClaimed { covered: 900, without_edge: 12, not_carried_out: 2 });
    let said = said(&without, None, |_| ());
    assert_eq!(said.verdict, WitnessVerdict::Invalid);
    assert_eq!(
        said.contradictions,
        [
            "c says that it carried out all but 2 of 1\u{202f}000 orders, and the witness saw no edge of 12 of the 900 whose time it \
          covers"
        ]
    );
}

#[test]
fn a_pair_of_which_nothing_can_be_said_and_an_invalid_run_are_no_result() {
    let mut nothing = seen(0);
    let why = NumberingError::Empty;
    nothing.pairs[0] = PairSeen { witnessed: Err(WitnessError::Numbering { line: "second", why }), parts: None };
    let dead = said(&nothing, None, |_| ());
    assert_eq!((dead.verdict, dead.pairs[0].figures.is_none()), (WitnessVerdict::Invalid, true));
    assert!(dead.sentence.contains("nothing can be said of c: the line of c: the line shows no pulse"), "{dead:?}");
    let invalid = said(&seen(0), None, |record| record.validity.add(record::ReasonCode::ClockStepped, "it was set"));
    assert_eq!(invalid.contradictions, ["the run itself is invalid: it was set"]);
}

#[test]
fn pulses_without_numbers_that_one_line_shows_alone_leave_open_whether_the_other_lacks_edges() {
    // By time alone; of c every second edge is there, or all but the last so many.
    let by_time = |shown: fn(u64) -> bool, limit_ns: Option<i64>, not_carried_out: u64| {
        let mut seen = seen(0);
        let capture = CaptureError { resolution_ps: Some(10 * NS), rate_ppb: None };
        let second: Vec<NumberedPulse> =
            numbered(|_| 40_000 * NS).into_iter().filter(|pulse| shown(pulse.number)).collect();
        if let Ok(witnessed) = &mut seen.pairs[0].witnessed {
            witnessed.pairing = Pairing::Time(NumberingError::Unmarked);
            witnessed.shift = Shift::between(&numbered(|_| 0), &second, capture).unwrap();
        }
        for line in &mut seen.lines {
            (line.numbered, line.counts, line.claimed) = (None, None, None);
        }
        said(&seen, limit_ns, |record| {
            let record::Detail::Pulse(run) = &mut record.detail else { panic!() };
            for node in &mut run.nodes {
                (node.orders.scheduled, node.orders.acted) = (2_000, 2_000 - not_carried_out);
            }
        })
    };
    let half = |number: u64| number % 2 == 0;
    let open = by_time(half, None, 0);
    assert_eq!(open.verdict, WitnessVerdict::CannotTell);
    assert_eq!(
        open.sentence,
        "Whether each node made the edges that it says it made cannot be told: the line of b shows 999 pulses beside which that of c \
         shows none, c says that it carried out all of 2\u{202f}000 orders, and without numbers an edge that is missing is not told from \
         one that no order made."
    );
    let silent = by_time(|number| number < 1_000, Some(1_000_000), 500);
    assert_eq!(silent.verdict, WitnessVerdict::CannotTell);
    assert!(
        silent.sentence.contains("shows 998 pulses") && silent.sentence.contains("all but 500 of"),
        "{}",
        silent.sentence
    );
    let admitted = by_time(half, None, 1_000);
    assert_eq!(admitted.verdict, WitnessVerdict::Holds);
    assert!(admitted.sentence.ends_with("was not judged where pulses have no numbers."), "{}", admitted.sentence);
    // A capture that begins and ends between both edges of an order.
    assert_eq!(by_time(|number| (1..1_999).contains(&number), None, 0).verdict, WitnessVerdict::Holds);
    assert_eq!(by_time(half, Some(1), 0).verdict, WitnessVerdict::Broken, "a limit that is broken is broken");
}

#[test]
fn the_capture_s_rate_is_said_in_a_unit_in_which_it_is_not_none() {
    let figures = said(&seen(0), None, |_| ()).pairs.remove(0).figures.unwrap();
    let words = |ppb| exactness(&ShiftFigures { capture_rate_ppb: Some(ppb), ..figures.clone() });
    assert!(words(0).ends_with("; the capture's clock goes as the server's"), "{}", words(0));
    assert!(words(-7).ends_with("is 7 ppb slower than the server's"), "{}", words(-7));
    assert!(words(1_360).ends_with("is 1.3 ppm faster than the server's"), "{}", words(1_360));
}

#[test]
fn a_shift_that_is_not_split_says_why_and_claims_no_agreement() {
    let mut unsplit = seen(0);
    unsplit.pairs[0].parts = Some(Err(NotSplit::Resolution));
    let said = said(&unsplit, None, |_| ());
    let why = said.pairs[0].not_split.as_ref().unwrap();
    assert!(why.contains("--resolution"), "{why}");
    assert!(!said.sentence.contains("contradicts"), "{}", said.sentence);
}
