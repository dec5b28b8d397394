//! Histories, histograms, gaps.

use std::collections::BTreeMap;

use farm::monitor::{BootId, CpuHistogram, GapReason, Histograms, LeftTimes, MonitorEntry};
use farm::stream::ContentHash;
use histogram::Histogram;
use store::{GapWhy, HistoryAsked, Point, Quotas, Store, Tier};
use units::Random;

use super::support::{CONDITION, Fresh, INTERVAL, Kept, NOW, S, Sender, maintain_all};

const DAY: i64 = 288 * INTERVAL;

fn asked(days: i64, most_points: usize) -> HistoryAsked {
    HistoryAsked { from_utc_ns: NOW, to_utc_ns: NOW + days * DAY, most_points }
}

/// A node with some days of two CPUs, each hour of which has another largest latency.
fn some_days(store: &mut dyn Store, days: i64) -> Sender {
    let mut node = Sender::enrolled(store, 1);
    let mut random = Random::new(11);
    for _ in 0..days * 288 {
        let mut next = || 5_000 + i64::try_from(random.below(40_000)).unwrap();
        let maxima = [next(), next()];
        node.interval(&maxima);
    }
    node.send_all(store, NOW + days * DAY);
    node
}

fn by_span(points: &[Point], span_ns: i64) -> BTreeMap<i64, (i64, i64, u64)> {
    let mut spans: BTreeMap<i64, (i64, i64, u64)> = BTreeMap::new();
    for point in points {
        let (maximum_ns, at_ns) = (point.maximum_ns.unwrap(), point.maximum_utc_ns.unwrap());
        // By CLOCK_BOOTTIME, as the tiers are.
        let span = spans.entry((point.start_utc_ns - NOW).div_euclid(span_ns)).or_insert((maximum_ns, at_ns, 0));
        if (maximum_ns, -at_ns) > (span.0, -span.1) {
            (span.0, span.1) = (maximum_ns, at_ns);
        }
        span.2 += point.samples;
    }
    spans
}

pub(crate) fn tiers_are_what_their_rows_make_of_them(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let node = some_days(&mut *store, 4);
    let of = |store: &dyn Store, most_points| store.history(node.key, &asked(5, most_points)).unwrap();
    let fine = of(&*store, 10_000);
    // Computed as it is read, and as it is kept.
    for is_kept in [false, true] {
        for (most_points, span_ns, tier) in [(200, 12 * INTERVAL, Tier::Hours), (50, DAY, Tier::Days)] {
            let coarse = of(&*store, most_points);
            assert_eq!(coarse.tier, tier);
            for (fine, coarse) in fine.cpus.iter().zip(&coarse.cpus) {
                let expected = by_span(&fine.points, span_ns);
                let found = by_span(&coarse.points, span_ns);
                // A moment is cut to a millisecond of the boot once more.
                assert_eq!(found.len(), expected.len());
                for (span, (maximum_ns, at_ns, samples)) in expected {
                    let (found_ns, found_at_ns, found_samples) = found[&span];
                    assert_eq!((found_ns, found_samples), (maximum_ns, samples), "{tier:?} {span}, kept: {is_kept}");
                    assert!((0..1_000_000).contains(&(at_ns - found_at_ns)), "{at_ns} was {found_at_ns}");
                }
            }
        }
        maintain_all(&mut *store);
    }
    assert_eq!(of(&*store, 10_000), fine);
}

pub(crate) fn a_history_has_at_most_so_many_points_and_every_maximum(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let node = some_days(&mut *store, 2);
    maintain_all(&mut *store);
    let truth = store.history(node.key, &asked(3, 10_000)).unwrap();
    for most_points in [1, 2, 7, 60, 300, 575] {
        let history = store.history(node.key, &asked(3, most_points)).unwrap();
        for (cpu, all) in history.cpus.iter().zip(&truth.cpus) {
            assert!(cpu.points.len() <= most_points, "{} of {most_points}", cpu.points.len());
            let largest = |points: &[Point]| points.iter().filter_map(|point| point.maximum_ns).max();
            assert_eq!(largest(&cpu.points), largest(&all.points));
            let samples = |points: &[Point]| points.iter().map(|point| point.samples).sum::<u64>();
            assert_eq!(samples(&cpu.points), samples(&all.points));
            for point in &cpu.points {
                let at_ns = point.maximum_utc_ns.unwrap();
                let is_true = |one: &Point| {
                    one.maximum_ns == point.maximum_ns
                        && (0..1_000_000).contains(&(one.maximum_utc_ns.unwrap() - at_ns))
                };
                assert!(all.points.iter().any(is_true), "{point:?} is none of the maxima");
            }
        }
    }
    // A part of it.
    let part = HistoryAsked { from_utc_ns: NOW + DAY, to_utc_ns: NOW + DAY + 10 * INTERVAL, most_points: 100 };
    let part = store.history(node.key, &part).unwrap();
    assert_eq!(part.cpus[0].points.len(), 11, "ten, and one that reaches into it");
    // What is unlike is never one point.
    let mut other = Sender::enrolled(&mut *store, 2);
    for at in 0..50 {
        let interval = other.interval_under(if at % 2 == 0 { "{}" } else { CONDITION }, &[at]);
        other.append(&MonitorEntry::Interval(interval));
    }
    other.send_all(&mut *store, NOW);
    let points = &store.history(other.key, &asked(1, 20)).unwrap().cpus[0].points;
    assert!(points.len() <= 20);
    for (condition, largest) in [("{}", 48), (CONDITION, 49)] {
        let of = points.iter().filter(|point| point.condition == ContentHash::of(condition));
        assert_eq!(of.filter_map(|point| point.maximum_ns).max(), Some(largest));
    }
}

pub(crate) fn boots_of_1970_are_placed_by_their_receipt(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    // A board without a clock: it says 1970, and that nothing keeps it right.
    node.utc_ns = None;
    for _ in 0..20 {
        let mut interval = node.interval_under(CONDITION, &[5]);
        interval.times.wall =
            Some(farm::monitor::WallTime { ns: interval.times.start_ns, is_synchronized: false, error_ns: None });
        node.append(&MonitorEntry::Interval(interval));
        let now = node.now();
        node.send_all(&mut *store, now);
    }
    let first_end_ns = 17 * S + 5 + INTERVAL;
    let history = store.history(node.key, &asked(1, 1_000)).unwrap();
    let point = &history.cpus[0].points[0];
    assert_eq!(point.start_utc_ns + INTERVAL, NOW + first_end_ns, "it came as it was written");
    assert!(point.placed_error_ns >= 1_000_000, "at least the round trip");
    assert_eq!(history.cpus[0].points.len(), 20);

    // A second boot, whose clock is right later, is placed by that throughout.
    node.boot = "boot-2".to_owned();
    node.next_ns = 0;
    node.restart();
    node.interval(&[6]);
    node.utc_ns = Some(NOW + DAY / 2);
    node.interval(&[7]);
    let late = NOW + 30 * DAY;
    node.send_all(&mut *store, late);
    let points = store.history(node.key, &asked(1, 1_000)).unwrap().cpus[0].points.clone();
    let of = |maximum_ns: i64| points.iter().find(|point| point.maximum_ns == Some(maximum_ns)).unwrap();
    assert_eq!((of(6).start_utc_ns, of(7).start_utc_ns), (NOW + DAY / 2, NOW + DAY / 2 + INTERVAL));

    // A clock of years to come is kept, and not drawn.
    node.boot = "boot-3".to_owned();
    node.next_ns = 0;
    node.restart();
    node.utc_ns = Some(NOW + 3_000 * DAY);
    node.interval(&[8]);
    node.send_all(&mut *store, late);
    let far = HistoryAsked { from_utc_ns: NOW + 2_999 * DAY, to_utc_ns: NOW + 3_002 * DAY, most_points: 10_000 };
    let far = store.history(node.key, &far).unwrap();
    assert_eq!((far.cpus.len(), far.not_placed), (0, 1));
}

pub(crate) fn histograms_of_hours_add_up(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    for hour in 0..6_u32 {
        let mut histogram = Histogram::new();
        histogram.record_n(9_000, 100);
        histogram.record_n(20_000 + u64::from(hour), 2);
        let start_ns = node.next_ns;
        (0..12).for_each(|_| node.interval(&[20_000, 3]));
        let boot = BootId(node.boot.clone());
        let times = LeftTimes { boot, start_ns, length_ns: 3_600_000_000_000, wall: None };
        let cpus = [0, 1].map(|cpu| CpuHistogram { cpu, histogram: histogram.clone() }).into();
        let condition = ContentHash::of(if hour == 5 { "{}" } else { CONDITION });
        node.append(&MonitorEntry::Histograms(Histograms { times, condition, cpus }));
    }
    let now = node.now();
    node.send_all(&mut *store, now);
    for is_packed in [false, true] {
        let all = store.histograms(node.key, NOW + 3_600 * S, NOW + DAY).unwrap();
        let of: Vec<_> = all.into_iter().filter(|of| of.cpu == 1).collect();
        let of = |condition: &str| of.iter().find(|one| one.condition == ContentHash::of(condition)).unwrap();
        let (most, other) = (of(CONDITION), of("{}"));
        assert_eq!((most.hours, most.histogram.count(), other.hours), (4, 408, 1), "packed: {is_packed}");
        assert_eq!((most.histogram.min_ns(), most.histogram.max_ns()), (Some(9_000), Some(20_004)));
        assert!(store.histograms(node.key, NOW - DAY, NOW).unwrap().is_empty());
        for at in 0..400 {
            node.interval(&[at]);
        }
        let now = node.now();
        node.send_all(&mut *store, now);
        maintain_all(&mut *store);
    }
}

/// Hours of a day, one after the other.
fn hour(node: &mut Sender, maximum_ns: u64) {
    let mut histogram = Histogram::new();
    histogram.record_n(9_215, 100);
    histogram.record_n(maximum_ns, 1);
    let start_ns = node.next_ns;
    (0..12).for_each(|_| node.interval(&[20_000]));
    let boot = BootId(node.boot.clone());
    let times = LeftTimes { boot, start_ns, length_ns: 3_600_000_000_000, wall: None };
    let condition = ContentHash::of(CONDITION);
    node.append(&MonitorEntry::Histograms(Histograms {
        times,
        condition,
        cpus: vec![CpuHistogram { cpu: 0, histogram }],
    }));
}

pub(crate) fn histograms_of_old_hours_become_those_of_days_and_count_once(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    for at in 0..48 {
        // In bins as they are kept, so that nothing is rounded.
        hour(&mut node, 1_024 + 32 * (at % 32) + 31);
    }
    let again = node.body(1_000).unwrap();
    let now = node.now();
    node.send_all(&mut *store, now);
    let key = node.key;
    let days = |store: &dyn Store, from: i64, to: i64| {
        let all = store.histograms(key, NOW + from * 3_600 * S, NOW + to * 3_600 * S).unwrap();
        all.first().map(|of| (of.hours, of.histogram.clone(), of.start_utc_ns - NOW, of.end_utc_ns - NOW))
    };
    let all = days(&*store, -1, 49).unwrap();
    let (first, second) = (days(&*store, 0, 24).unwrap(), days(&*store, 24, 48).unwrap());
    assert_eq!((all.0, first.0, second.0), (48, 24, 24));
    let first_count = first.1.count();
    let day_ends = NOW + DAY;
    let merge =
        |store: &mut dyn Store, at: i64| -> usize { (0..3).map(|_| store.maintain(1_000, at).unwrap().merged).sum() };
    // A day that has ended less than 112 days ago stays in its hours; a millisecond for the errors of the clocks.
    assert_eq!(merge(&mut *store, day_ends + 112 * DAY - 1), 0);
    assert_eq!(merge(&mut *store, day_ends + 112 * DAY + S), 24);
    assert_eq!(merge(&mut *store, day_ends + 112 * DAY + S), 0);
    assert_eq!(days(&*store, -1, 49).unwrap(), all);
    assert_eq!((days(&*store, 0, 24).unwrap(), days(&*store, 24, 48).unwrap()), (first, second));
    // The day is one now: it begins where its first hour does.
    assert_eq!((days(&*store, 0, 1).unwrap().0, days(&*store, 1, 24)), (24, None));
    assert_eq!(days(&*store, 24, 25).unwrap().0, 1);
    // Sent again, nothing is counted twice.
    store.take_batch(&node.arriving(&again, NOW + 200 * DAY)).unwrap();
    assert_eq!(merge(&mut *store, NOW + 200 * DAY), 24);
    assert_eq!(days(&*store, -1, 49).unwrap(), all);
    maintain_all(&mut *store);
    assert_eq!(days(&*store, -1, 49).unwrap(), all);
    // An hour of the first day that comes late is counted beside the others, before and after it is put to them.
    node.restart();
    node.next_ns = 3 * 3_600 * S;
    hour(&mut node, 70_000_000);
    node.send_all(&mut *store, NOW + 201 * DAY);
    let late = days(&*store, 0, 24).unwrap();
    assert_eq!((late.0, late.1.count()), (25, first_count + 101));
    assert_eq!(merge(&mut *store, NOW + 201 * DAY), 1);
    assert_eq!(days(&*store, 0, 24).unwrap(), late);
}

pub(crate) fn gaps_have_their_reason(fresh: &Fresh) {
    let Kept { mut store, folder: _folder } = fresh(Quotas::default());
    let mut node = Sender::enrolled(&mut *store, 1);
    node.interval(&[1]);
    let start_ns = node.next_ns;
    node.gap(GapReason::Suspended, 3 * INTERVAL);
    node.gap(GapReason::Other("lent".to_owned()), INTERVAL);
    node.interval(&[1]);
    node.send_all(&mut *store, NOW);
    let history = store.history(node.key, &asked(1, 1_000)).unwrap();
    let gaps: Vec<_> = history
        .gaps
        .iter()
        .map(|gap| (gap.start_utc_ns - NOW, i64::try_from(gap.length_ns).unwrap(), gap.why.clone()))
        .collect();
    assert_eq!(
        gaps,
        [
            (start_ns, 3 * INTERVAL, GapWhy::Said(GapReason::Suspended)),
            (start_ns + 3 * INTERVAL, INTERVAL, GapWhy::Said(GapReason::Other("lent".to_owned()))),
        ]
    );
    let later = HistoryAsked { from_utc_ns: NOW + DAY, to_utc_ns: NOW + 2 * DAY, most_points: 1_000 };
    assert!(store.history(node.key, &later).unwrap().gaps.is_empty());
    // Hours say what of them was not monitored.
    let hours = store.history(node.key, &asked(40, 600)).unwrap();
    assert_eq!(hours.tier, Tier::Hours);
    let hour = &hours.cpus[0].points[0];
    assert_eq!(i64::try_from(hour.not_monitored_ns).unwrap(), 3_600 * S - 2 * INTERVAL);
}
