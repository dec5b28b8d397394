//! Samples as a thread hands them over, and what becomes of them.

use units::ClockId;

use super::*;

#[test]
fn all_wakeups_above_the_final_threshold_are_kept_however_they_are_handed_over() {
    let clocks = ClockWatch::new(ClockId::Monotonic);
    let mut collector = Collector::new(0, Some(0), 0, 1_000_000_000, None).keeping_late(50);
    // Of 1,000 latencies each comes 20 times, in an order without a pattern; none is long enough to be looked at by itself.
    let latency_ns = |n: i64| 1 + n * 617 % 1_000;
    let pairs: Vec<Pair> =
        (0..20_000).map(|n| Pair { first_ns: n * 1_000_000, second_ns: n * 1_000_000 + latency_ns(n) }).collect();
    for some in pairs.chunks(77) {
        collector.take_each(some, |pair| *pair, &clocks);
    }
    assert!(collector.late.are_rare(), "the run is long enough for both ways of looking");
    let taken = collector.finish(20_000_000_000);
    let above_ns = i64::try_from(taken.late_above_ns).unwrap();
    let kept: Vec<i64> = taken.late.iter().map(|late| late.scheduled_ns).collect();
    let expected: Vec<i64> =
        pairs.iter().filter(|pair| pair.second_ns - pair.first_ns > above_ns).map(|pair| pair.first_ns).collect();
    assert!(above_ns > 900 && !kept.is_empty(), "{above_ns} ns, {} kept", kept.len());
    assert_eq!(kept, expected);
}

/// Samples at these moments, each 5 ns late, of a thread whose intervals are a second long.
fn taken(keeping: Keeping, seconds: impl Iterator<Item = i64>) -> Collected {
    let clocks = ClockWatch::scripted(ClockId::Monotonic, Vec::new());
    let mut collector = Collector::new(0, Some(0), 0, 1_000_000_000, None).keeping(keeping, false);
    let mut last_ns = 0;
    for second in seconds {
        last_ns = second * 1_000_000_000;
        collector.take(Pair { first_ns: last_ns, second_ns: last_ns + 5 }, &clocks);
    }
    collector.finish(last_ns + 1_000_000_000)
}

fn follow_each_other(intervals: &[Interval]) -> bool {
    intervals.windows(2).all(|two| two[0].start_offset_ns + two[0].length_ns == two[1].start_offset_ns)
}

#[test]
fn a_run_without_end_keeps_no_more_intervals_than_it_may() {
    let all = taken(Keeping::All, 0..10_000);
    assert_eq!(all.intervals.len(), 10_000);
    let merged = taken(Keeping::Merged(MOST_KEPT), 0..10_000);
    assert!((2_048..4_096).contains(&merged.intervals.len()), "{}", merged.intervals.len());
    assert!(follow_each_other(&merged.intervals) && merged.intervals[0].start_offset_ns == 0);
    let counted: u64 = merged.intervals.iter().map(Interval::taken).sum();
    assert_eq!((counted, merged.samples, merged.total.count()), (10_000, 10_000, 10_000));
    // All but the last, which the end cut, are equally long: four seconds.
    let (last, before) = merged.intervals.split_last().unwrap();
    assert!(before.iter().all(|one| one.length_ns == 4_000_000_000), "{before:?}");
    assert!(last.length_ns <= 4_000_000_000);
}

fn spoil(from_ns: i64, to_ns: i64, code: record::ReasonCode) -> Spoil {
    Spoil { from_ns, to_ns, noticed_ns: to_ns, reason: record::Reason { code, detail: format!("at {from_ns} ns") } }
}

const SECOND: i64 = 1_000_000_000;

/// A thread that wakes every 10 ms for ten seconds, each time 5 us late, but for one of `late_ns` in the fourth second, which
/// swallows what lies in it.
fn with_a_stop(late_ns: i64) -> Collector {
    let clocks = ClockWatch::scripted(ClockId::Monotonic, Vec::new());
    let rules = StallRules { interval_ns: 10_000_000, deadline_ns: 1_000_000, recovered_within_ns: 10_000_000 };
    let mut collector = Collector::new(0, Some(0), 0, 1_000_000_000, Some(rules)).keeping_late(50).judged_later();
    let mut scheduled_ns = 0;
    while scheduled_ns < 10 * SECOND {
        let latency_ns = if scheduled_ns == 3_500_000_000 { late_ns } else { 5_000 };
        collector.take(Pair { first_ns: scheduled_ns, second_ns: scheduled_ns + latency_ns }, &clocks);
        scheduled_ns += 10_000_000 * (1 + latency_ns / 10_000_000);
    }
    collector.end(10 * SECOND);
    collector
}

#[test]
fn what_spoils_an_interval_leaves_the_others_and_every_number_is_theirs() {
    let mut collector = with_a_stop(300_000_000);
    assert!(collector.has_unsettled() && collector.finished().is_empty());
    assert_eq!(collector.worst_waits().max_by_key(|(from, to)| to - from), Some((3_500_000_000, 3_800_000_000)));
    let stop = spoil(3_500_000_000, 3_800_000_000, record::ReasonCode::Stopped);
    // Only what ended by then is settled.
    collector.settle(2 * SECOND, std::slice::from_ref(&stop));
    assert_eq!((collector.finished().len(), collector.settled_until_ns()), (2, 2 * SECOND));
    collector.settle(i64::MAX, &[stop]);
    assert!(collector.is_spoiled_at(3_000_000_000) && collector.is_spoiled_at(3_999_999_999));
    assert!(!collector.is_spoiled_at(4_000_000_000) && !collector.has_unsettled());
    let taken = collector.finish(10 * SECOND);
    assert_eq!((taken.intervals.len(), taken.samples, taken.total.count()), (9, 900, 900));
    assert_eq!((taken.total.max_ns(), taken.stalls.missed_periods, taken.stalls.rows), (Some(5_000), 0, 0));
    assert!(taken.rows.is_empty() && taken.swallowed.is_empty());
    assert!(taken.worst.iter().all(|sample| sample.latency_ns == 5_000) && taken.worst.len() == crate::worst::KEPT);
    assert!(taken.late.iter().all(|late| !(3 * SECOND..4 * SECOND).contains(&late.scheduled_ns)));
    let [spoiled] = &taken.spoiled.intervals[..] else { panic!("{:?}", taken.spoiled) };
    assert_eq!((taken.spoiled.count, taken.spoiled.length_ns), (1, 1_000_000_000));
    assert_eq!((spoiled.start_offset_ns, spoiled.samples, spoiled.missed_periods), (3_000_000_000, 70, 30));
    assert_eq!((spoiled.worst_ns, spoiled.reasons[0].code), (Some(300_000_000), record::ReasonCode::Stopped));
}

#[test]
fn without_anything_that_spoils_all_intervals_stand_whenever_they_are_settled() {
    let mut once = with_a_stop(300_000_000);
    once.settle(i64::MAX, &[]);
    let mut bit_by_bit = with_a_stop(300_000_000);
    (0..40).for_each(|quarter| bit_by_bit.settle(quarter * SECOND / 4, &[]));
    let (once, bit_by_bit) = (once.finish(10 * SECOND), bit_by_bit.finish(10 * SECOND));
    assert_eq!((once.total.clone(), once.stalls), (bit_by_bit.total.clone(), bit_by_bit.stalls));
    assert_eq!((once.total.max_ns(), once.stalls.missed_periods, once.samples), (Some(300_000_000), 30, 970));
    assert_eq!(once.intervals, bit_by_bit.intervals);
}

#[test]
fn what_is_noticed_when_an_interval_was_counted_is_told_once_and_changes_nothing() {
    let mut collector = with_a_stop(300_000_000);
    collector.settle(5 * SECOND, &[]);
    let late = spoil(3_500_000_000, 3_800_000_000, record::ReasonCode::Stopped);
    // It is told of at every look; the measured clock was corrected by a little meanwhile.
    let again = Spoil { from_ns: late.from_ns + 7, to_ns: late.to_ns + 7, ..late.clone() };
    collector.settle(6 * SECOND, std::slice::from_ref(&late));
    collector.settle(7 * SECOND, &[again]);
    let taken = collector.finish(10 * SECOND);
    assert_eq!((taken.known_too_late, taken.spoiled.count), (vec![late.reason], 0));
    assert_eq!((taken.samples, taken.intervals.len()), (970, 10));
}

#[test]
fn a_row_that_ends_after_the_interval_that_was_spoiled_is_no_row_of_the_next() {
    // The stop lasts until the end of its interval and beyond: the thread is back in time in the next one.
    let mut collector = with_a_stop(499_000_000);
    collector.settle(i64::MAX, &[spoil(3_500_000_000, 3_999_000_000, record::ReasonCode::Stopped)]);
    let taken = collector.finish(10 * SECOND);
    assert_eq!((taken.spoiled.count, taken.intervals.len()), (1, 9));
    assert!(taken.rows.is_empty(), "{:?}", taken.rows);
    assert_eq!((taken.stalls.rows, taken.stalls.longest_row_periods, taken.stalls.longest_recovery_ns), (0, 0, 0));
}

#[test]
fn a_spoil_that_ends_with_an_interval_takes_the_next_one_too_and_one_before_the_run_none() {
    let mut collector = with_a_stop(5_000);
    let before = spoil(-5 * SECOND, -1, record::ReasonCode::Suspended);
    let edge = spoil(6 * SECOND - 1, 6 * SECOND, record::ReasonCode::ClockStepped);
    collector.settle(i64::MAX, &[before, edge]);
    let taken = collector.finish(10 * SECOND);
    let starts: Vec<u64> = taken.spoiled.intervals.iter().map(|one| one.start_offset_ns).collect();
    assert_eq!(starts, [5_000_000_000, 6_000_000_000]);
    assert_eq!(taken.samples, 800);
    // To people they are one.
    let [stretch] = &taken.spoiled.stretches()[..] else { panic!("{:?}", taken.spoiled) };
    assert_eq!((stretch.start_offset_ns, stretch.length_ns, stretch.samples), (5_000_000_000, 2_000_000_000, 200));
}

#[test]
fn a_clock_that_jumps_by_years_leaves_one_long_interval() {
    const YEAR_S: i64 = 31_556_952;
    let jumped = taken(Keeping::All, [0, 1, 10 * YEAR_S, 10 * YEAR_S + 1].into_iter());
    assert!(jumped.intervals.len() < 8 && follow_each_other(&jumped.intervals), "{:?}", jumped.intervals.len());
    let with_samples: Vec<u64> = jumped.intervals.iter().map(Interval::taken).filter(|count| *count > 0).collect();
    assert_eq!(with_samples, [1, 1, 1, 1]);
    // A stall of some intervals keeps each of them, empty as it is.
    let stalled = taken(Keeping::All, [0, 20].into_iter());
    assert_eq!(stalled.intervals.len(), 21);
}

#[test]
fn intervals_on_utc_end_at_its_multiples_also_after_the_wall_clock_was_set() {
    let clocks = ClockWatch::scripted(ClockId::Monotonic, Vec::new());
    // UTC is 7.3 s ahead at first.
    let mut collector =
        Collector::new(0, Some(0), 400_000_000, 2_000_000_000, None).on_utc(Some(7_300_000_000)).judged_later();
    for tenth in 4..100_i64 {
        let now_ns = tenth * 100_000_000;
        if tenth == 55 {
            // It is set back by 450 ms, which is noticed 20 ms before this sample.
            collector.utc_changed(6_850_000_000, now_ns - 20_000_000);
        }
        collector.take(Pair { first_ns: now_ns, second_ns: now_ns + 5_000 }, &clocks);
    }
    let taken = collector.finish(10 * SECOND);
    let ends: Vec<i64> = taken
        .intervals
        .iter()
        .map(|one| 400_000_000 + i64::try_from(one.start_offset_ns + one.length_ns).unwrap())
        .collect();
    // 7.7 s to 8 s of UTC, to 10 and 12 s, to the step, then to 14 and 16 s of what UTC is now, and to the end.
    assert_eq!(ends, [700, 2_700, 4_700, 5_480, 7_150, 9_150, 10_000].map(|ms| ms * 1_000_000));
    assert!(follow_each_other(&taken.intervals));
    let counts: Vec<u64> = taken.intervals.iter().map(Interval::taken).collect();
    assert_eq!((counts.iter().sum::<u64>(), taken.samples), (96, 96));
}

#[test]
fn each_interval_has_the_moment_of_its_maximum_also_where_the_run_has_many_worse_ones() {
    let clocks = ClockWatch::scripted(ClockId::Monotonic, Vec::new());
    let mut collector = Collector::new(0, Some(0), 0, 1_000_000_000, None).keeping(Keeping::None, true).judged_later();
    // A hundred wake-ups of the first second are later than any after it.
    let latency_ns = |n: i64| if n < 100 { 90_000 + n } else { 1_000 + (n * 37) % 100 };
    let pairs: Vec<Pair> =
        (0..300).map(|n| Pair { first_ns: n * 10_000_000, second_ns: n * 10_000_000 + latency_ns(n) }).collect();
    for some in pairs.chunks(7) {
        collector.take_each(some, |pair| *pair, &clocks);
    }
    // As they are now, before anything is known to stand.
    let open = collector.open();
    let spoiled = [spoil(SECOND, SECOND + 1, record::ReasonCode::Stopped)];
    collector.settle(2 * SECOND, &spoiled);
    let (standing, apart) = (collector.hand_on(), collector.hand_on_spoiled());
    assert_eq!((open.len(), standing.len(), apart.len(), collector.hand_on_spoiled().len()), (3, 1, 1, 0));
    let moments = [open[0].max_at, standing[0].max_at, apart[0].worst_at, open[1].max_at, open[2].max_at];
    let expected = |second: usize| {
        let worst =
            pairs[second * 100..(second + 1) * 100].iter().rev().max_by_key(|pair| pair.second_ns - pair.first_ns);
        Some(clocks.moment(worst.unwrap().second_ns))
    };
    assert_eq!(moments, [expected(0), expected(0), expected(1), expected(1), expected(2)]);
    assert_eq!(open[1].followed_by(&open[0]).max_at, expected(0));
}
