//! From the bytes of a capture to the shift.

use std::fmt::Write as _;

use codecs::logic::{LogicError, read};

use super::*;
use crate::edges::{ActiveLevel, PulseForm};
use crate::marks::is_long;

const US: i64 = 1_000_000;
const INTERVAL_PS: i64 = 10_000 * US;
const WIDTH_PS: i64 = 1_000 * US;

fn ordered(every: u64) -> OrderedPulses {
    OrderedPulses { form: PulseForm::new(ActiveLevel::High, WIDTH_PS), interval_ps: INTERVAL_PS, every, orders: None }
}

/// A text export of two lines, of so many orders from a number on: the second one is later by `shift_us`, the first one bounces.
fn capture(from: u64, count: u64, every: u64, shift_us: i64) -> String {
    let mut edges: Vec<(i64, usize, bool)> = Vec::new();
    for number in from..from + count {
        let at_us = 20_000 + i64::try_from(number - from).unwrap() * 10_001;
        let width_us = if is_long(number, every) { 2_000 } else { 1_000 };
        let second_us = at_us + shift_us + i64::try_from(number % 3).unwrap();
        edges.extend([(at_us, 0, true), (at_us + 3, 0, false), (at_us + 5, 0, true), (at_us + width_us, 0, false)]);
        edges.extend([(second_us, 1, true), (second_us + width_us, 1, false)]);
    }
    edges.sort_unstable();
    let end_us = edges.last().unwrap().0 + 5_000;
    let (mut levels, mut text) = ([false; 2], String::from("Time [s],node a,node b\n0,0,0\n"));
    for (at_us, line, level) in edges {
        levels[line] = level;
        let [a, b] = levels.map(u8::from);
        writeln!(text, "{}.{:06},{a},{b}", at_us / 1_000_000, at_us % 1_000_000).unwrap();
    }
    writeln!(text, "{}.{:06},0,0", end_us / 1_000_000, end_us % 1_000_000).unwrap();
    text
}

fn lines(text: &str) -> [LinePulses; 2] {
    let capture = read(text.as_bytes(), "").unwrap();
    [0, 1].map(|at| LinePulses::of_channel(&capture.channels[at], &ordered(49).form))
}

#[test]
fn two_marked_lines_show_their_shift_order_by_order() {
    let [first, second] = lines(&capture(1_000, 500, 49, 40));
    assert_eq!((first.bounces, first.pulses.len(), first.odd), (1_000, 500, 0));
    let found = witness([&first, &second], &ordered(49), None, Some(1_000)).unwrap();
    assert_eq!((found.pairing, found.shift.count), (Pairing::Numbers, 500));
    assert_eq!((found.shift.min_ps, found.shift.max_ps, found.shift.farthest.number), (40 * US, 42 * US, 1_001));
    assert_eq!(found.capture_rate_ppb, Some(100_000), "100 parts per million");
    // The capture's nanosecond, and 100 parts per million of 42 us.
    assert_eq!(found.shift.error_ps, Some(1_000 + 4_200));
    // The other way around it is the same with the other sign.
    let swapped = witness([&second, &first], &ordered(49), None, None).unwrap();
    assert_eq!((swapped.shift.min_ps, swapped.shift.max_ps), (-42 * US, -40 * US));
    assert_eq!(swapped.shift.earlier.count(), 500);
}

#[test]
fn a_shift_of_more_than_an_interval_is_seen_by_numbers_alone() {
    let [first, second] = lines(&capture(1_000, 500, 49, 13_000));
    let found = witness([&first, &second], &ordered(49), Some(4_000 * US), None).unwrap();
    assert_eq!((found.pairing, found.shift.min_ps), (Pairing::Numbers, 13_000 * US));
    // Time alone would take it for the next order's.
    let unmarked = witness([&first, &second], &ordered(0), Some(4_000 * US), None).unwrap();
    assert_eq!((unmarked.pairing, unmarked.shift.min_ps / US), (Pairing::Time(NumberingError::Unmarked), 2_999));
}

#[test]
fn too_few_marks_leave_time_if_it_is_unambiguous() {
    let [first, second] = lines(&capture(1_010, 30, 1_000, 40));
    let found = witness([&first, &second], &ordered(1_000), Some(4_000 * US), None).unwrap();
    assert!(matches!(found.pairing, Pairing::Time(NumberingError::Undecided { pulses: 30, .. })));
    assert_eq!((found.lines, found.shift.count, found.shift.max_ps), (None, 30, 42 * US));
    let said = |apart_ps| witness([&first, &second], &ordered(1_000), apart_ps, None).unwrap_err().to_string();
    assert!(said(None).starts_with("the first line: 30 pulses, but their marks do not say"), "{}", said(None));
    assert!(
        said(Some(6_000 * US)).contains("by time alone pulses cannot be paired either"),
        "{}",
        said(Some(6_000 * US))
    );
}

#[test]
fn a_capture_that_is_short_is_not_called_one_of_the_wrong_channel() {
    let [first, second] = lines(&capture(1_010, 20, 1_000, 40));
    let found = witness([&first, &second], &ordered(1_000), Some(4_000 * US), None).unwrap();
    assert!(matches!(found.pairing, Pairing::Time(NumberingError::Undecided { pulses: 20, .. })));
    assert_eq!((found.shift.count, found.shift.max_ps), (20, 42 * US));
    let said = witness([&first, &second], &ordered(1_000), None, None).unwrap_err().to_string();
    assert!(said.contains("capture for longer") && !said.contains("right channel"), "{said}");
}

#[test]
fn what_is_wrong_with_a_line_is_not_paired_over() {
    let [first, second] = lines(&capture(1_000, 500, 49, 40));
    let said = |one: &LinePulses, other: &LinePulses, ordered: &OrderedPulses| {
        witness([one, other], ordered, Some(4_000 * US), None).unwrap_err().to_string()
    };
    // A line that nobody drives; one with the other level; another interval; orders that the other one does not show.
    let still = lines("Time [s],a,b\n0,0,0\n1,0,0\n");
    assert!(
        said(&first, &still[1], &ordered(49))
            .starts_with("the second line: the line shows no pulse: is it the right channel")
    );
    let seconds = OrderedPulses { interval_ps: 7_000 * US, ..ordered(49) };
    assert!(said(&first, &second, &seconds).contains("nowhere 24 in a row"), "{}", said(&first, &second, &seconds));
    let [_, later] = lines(&capture(5_000, 500, 49, 40));
    let disjoint = said(&first, &later, &ordered(49));
    assert!(disjoint.ends_with("the first one shows 1000 to 1499, the second one 5000 to 5499"), "{disjoint}");
    // With a partner that may have no numbers, too, whichever of them is first: 40 orders have no two marks.
    let few = OrderedPulses { every: 1_000, ..ordered(49) };
    let [short, _] = lines(&capture(1_010, 40, 1_000, 40));
    let mut other = lines(&capture(1_010, 40, 1_000, 40))[1].clone();
    other.pulses.iter_mut().zip(0..).for_each(|(pulse, number): (_, i64)| pulse.start_ps += number * number * 40 * US);
    for (pair, line) in [([&short, &other], "second"), ([&other, &short], "first")] {
        let error = witness(pair, &few, Some(4_000 * US), None).map(|found| found.pairing).unwrap_err();
        let is_it =
            matches!(error, WitnessError::Numbering { line: of, why: NumberingError::NoGrid { .. } } if of == line);
        assert!(is_it, "{error}");
    }
    // Two runs in one capture, of the second line.
    let mut twice = second.clone();
    let end = second.pulses.last().unwrap().start_ps;
    twice
        .pulses
        .extend(second.pulses.iter().map(|pulse| crate::edges::Pulse { start_ps: pulse.start_ps + end, ..*pulse }));
    let error = witness([&first, &twice], &ordered(49), Some(4_000 * US), None).map(|found| found.pairing).unwrap_err();
    let is_contradiction =
        matches!(error, WitnessError::Numbering { line: "second", why: NumberingError::Contradiction(_) });
    assert!(is_contradiction, "{error}");
}

#[test]
fn the_wrong_level_is_no_reason_for_a_wrong_number() {
    // At rest the line is taken to be active: each pulse is nearly an interval wide.
    let capture = read(capture(1_000, 500, 49, 40).as_bytes(), "").unwrap();
    let low = PulseForm { active: ActiveLevel::Low, ..ordered(49).form };
    let lines = [0, 1].map(|at| LinePulses::of_channel(&capture.channels[at], &low));
    let ordered = OrderedPulses { form: low, ..ordered(49) };
    let error = witness([&lines[0], &lines[1]], &ordered, None, None).unwrap_err().to_string();
    assert!(error.contains("(here 0 have the latter, and 499 neither)"), "{error}");
    assert_eq!(lines[0].odd, 499);
    // Nor for a shift by time alone, though one of the lines shows the right level, and the ends of the other one's pulses are near.
    let right = lines_of_both_levels();
    let error = witness([&right[0], &right[1]], &ordered, Some(2_000 * US), None).unwrap_err();
    assert!(matches!(error, WitnessError::Widths { line: "second", odd: 499, pulses: 499, .. }), "{error}");
}

/// The first line as it is, the second one at the wrong level.
fn lines_of_both_levels() -> [LinePulses; 2] {
    let capture = read(capture(1_000, 500, 49, 40).as_bytes(), "").unwrap();
    let low = PulseForm { active: ActiveLevel::Low, ..ordered(49).form };
    [
        LinePulses::of_channel(&capture.channels[0], &ordered(49).form),
        LinePulses::of_channel(&capture.channels[1], &low),
    ]
}

#[test]
fn a_capture_that_was_cut_is_refused_by_its_form() {
    let text = capture(1_000, 100, 49, 40);
    let cut = &text[..text.len() - 2];
    assert!(
        matches!(read(cut.as_bytes(), ""), Err(LogicError::Line { line: 603, .. })),
        "{:?}",
        read(cut.as_bytes(), "")
    );
    assert_eq!(read(b"", ""), Err(LogicError::Empty));
}
