use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;
const INTERVAL_NS: i64 = 100 * MS;

/// Pulses with these numbers, each late by `late_ns` of its number.
fn log(numbers: impl IntoIterator<Item = i64>, late_ns: impl Fn(i64) -> i64) -> Log {
    let pulse = |number: i64| Pulse {
        at_ns: 1_000_000 * MS + number * INTERVAL_NS + late_ns(number),
        label: u8::try_from(number.rem_euclid(i64::from(LABELS))).unwrap(),
    };
    Log { pulses: numbers.into_iter().map(pulse).collect(), other_writes: 0 }
}

#[test]
fn a_shift_is_found_with_its_sign_even_if_recordings_overlap_only_partly() {
    let a = log(0..50, |_| 0);
    let b = log(10..60, |number| 5 * MS + number % 3);
    let found = compare(&a, &b, DEFAULT_WINDOW_NS);
    assert_eq!(found.pairs.len(), 40);
    let expected = Shift { median_ns: 5 * MS + 1, min_ns: 5 * MS, max_ns: 5 * MS + 2 };
    assert_eq!(found.shift(), Some(expected));
    assert_eq!((found.a.unmatched, found.b.unmatched, found.a.ambiguous), (0, 0, 0));
    let swapped = compare(&b, &a, DEFAULT_WINDOW_NS).shift().unwrap();
    assert_eq!((swapped.min_ns, swapped.max_ns), (-5 * MS - 2, -5 * MS));
}

#[test]
fn a_shift_by_whole_intervals_is_not_mistaken_for_none() {
    // A shift is unique up to half of the period of labels, 6.4 s.
    let found = compare(&log(0..80, |_| 0), &log(0..80, |_| 3 * INTERVAL_NS), DEFAULT_WINDOW_NS);
    assert_eq!(found.shift().unwrap().median_ns, 3 * INTERVAL_NS);
    assert_eq!(found.pairs.len(), 80);
    // Beyond the window nothing is paired.
    let found = compare(&log(0..80, |_| 0), &log(0..80, |_| 6 * INTERVAL_NS), DEFAULT_WINDOW_NS);
    assert_eq!((found.pairs.len(), found.shift()), (0, None));
    assert!(found.a.unmatched > 0 && found.b.unmatched > 0);
}

#[test]
fn a_pulse_that_one_node_lost_is_unmatched() {
    let a = log((0..30).filter(|number| *number != 7), |_| 0);
    let b = log((0..30).filter(|number| number % 10 != 8), |_| 0);
    let found = compare(&a, &b, DEFAULT_WINDOW_NS);
    assert_eq!((found.pairs.len(), found.a.unmatched, found.b.unmatched), (26, 3, 1));
}

#[test]
fn pulses_that_could_be_mistaken_for_each_other_are_ambiguous() {
    let mut a = log(0..20, |_| 0);
    // Node a's clock was set back: it has written label 5 a second time.
    a.pulses.push(Pulse { at_ns: a.pulses[5].at_ns + 2 * DEFAULT_WINDOW_NS, label: 5 });
    let found = compare(&a, &log(0..20, |_| 0), DEFAULT_WINDOW_NS);
    assert_eq!((found.a.ambiguous, found.b.unmatched, found.pairs.len()), (2, 1, 19));
    // In a recording longer than the period of labels, equal labels are far enough apart.
    let long = compare(&log(0..300, |_| 0), &log(0..300, |_| MS), DEFAULT_WINDOW_NS);
    assert_eq!((long.pairs.len(), long.a.ambiguous), (300, 0));
}

#[test]
fn a_rate_is_found_among_late_and_lost_pulses() {
    // Node b is slow by 80 ppm. Most pulses of both are late by up to 30 ms, also for longer times, and node a lost some.
    let late = |number: i64| number * number % 31 * MS + number % 3 * 5_000;
    let a = log((0..120).filter(|number| number % 13 != 5), late);
    let b = log(0..120, |number| late(number + 2) + number * INTERVAL_NS / 1_000_000 * 80);
    let found = compare(&a, &b, DEFAULT_WINDOW_NS);
    let drift_ppm = found.drift_ppm().unwrap();
    assert!((drift_ppm - 80.0).abs() < 3.0, "{drift_ppm}");
    let period_ns = found.b.period_ns.unwrap();
    assert!((period_ns - 100_008_000.0).abs() < 200.0, "{period_ns}");
    assert!((found.a.period_ns.unwrap() - 100_000_000.0).abs() < 200.0);
}

#[test]
fn the_line_is_below_all_points_and_close_to_most() {
    // Two points define the line; a third point above it changes nothing, one below it does.
    assert_eq!(slope_below(&[(0, 10), (10, 30)]), Some(2.0));
    assert_eq!(slope_below(&[(0, 10), (5, 99), (10, 30)]), Some(2.0));
    assert_eq!(slope_below(&[(0, 10), (5, 10), (10, 30)]), Some(0.0));
    // Most points are at the end, so the line follows those.
    assert_eq!(slope_below(&[(0, 10), (5, 10), (8, 22), (9, 26), (10, 30)]), Some(4.0));
    assert_eq!(slope_below(&[(3, 1), (3, 0)]), None);
    assert_eq!(slope_below(&[(0, 0), (128, i64::MAX)]).map(|slope| slope > 7e16), Some(true));
}

#[test]
fn an_alternating_delay_is_found_despite_drift() {
    // The clocks drift apart by 20 ms/s, every second pulse of node b is 5 ms late, and it lost most pulses at the end.
    let drift_and_delay = |number: i64| number * 2 * MS + if number % 2 == 1 { 5 * MS } else { 0 };
    let b = log((0..90).filter(|number| *number < 60 || number % 6 == 0), drift_and_delay);
    let a = log(0..90, |_| 0);
    // From an even to an odd pulse the difference is 5 ms plus the drift of one interval, from an odd to an even one 5 ms
    // minus that drift.
    let found = compare(&a, &b, DEFAULT_WINDOW_NS).alternation_ns().unwrap();
    assert!((found - 5 * MS).abs() <= 2 * MS, "{found}");
    assert_eq!(compare(&b, &a, DEFAULT_WINDOW_NS).alternation_ns().map(i64::signum), Some(-1));
    assert_eq!(compare(&b, &b, DEFAULT_WINDOW_NS).alternation_ns(), Some(0));
    assert_eq!(
        compare(&log((0..9).filter(|number| number % 2 == 0), |_| 0), &b, DEFAULT_WINDOW_NS).alternation_ns(),
        None
    );
}

#[test]
fn few_pulses_have_no_rate_and_none_have_no_shift() {
    let none = compare(&Log::default(), &log(0..1, |_| 0), DEFAULT_WINDOW_NS);
    assert_eq!((none.shift(), none.drift_ppm(), none.b.period_ns, none.b.unmatched), (None, None, None, 0));
    let one = compare(&log(0..1, |_| 0), &log(0..1, |_| -7), DEFAULT_WINDOW_NS);
    assert_eq!(one.shift().unwrap().median_ns, -7);
    assert_eq!(one.drift_ppm(), None);
}

proptest! {
    /// Each pulse counts at most once, and swapping the nodes inverts the signs.
    #[test]
    fn each_pulse_counts_at_most_once(
        a in proptest::collection::vec((0_i64..3_000, 0_u8..4), 0..40),
        b in proptest::collection::vec((0_i64..3_000, 0_u8..4), 0..40),
        window_ms in 0_i64..200,
    ) {
        let log = |pulses: Vec<(i64, u8)>| Log {
            pulses: pulses.into_iter().map(|(at_ms, label)| Pulse { at_ns: at_ms * MS, label }).collect(),
            other_writes: 0,
        };
        let (a, b) = (log(a), log(b));
        let found = compare(&a, &b, window_ms * MS);
        for node in [found.a, found.b] {
            prop_assert!(found.pairs.len() + node.unmatched + node.ambiguous <= node.pulses);
        }
        prop_assert!(found.pairs.iter().all(|pair| pair.shift_ns.abs() <= window_ms * MS));
        let swapped = compare(&b, &a, window_ms * MS);
        prop_assert_eq!(swapped.a, found.b);
        let mut shifts: Vec<i64> = found.pairs.iter().map(|pair| pair.shift_ns).collect();
        let mut back: Vec<i64> = swapped.pairs.iter().map(|pair| -pair.shift_ns).collect();
        shifts.sort_unstable();
        back.sort_unstable();
        prop_assert_eq!(shifts, back);
    }
}
