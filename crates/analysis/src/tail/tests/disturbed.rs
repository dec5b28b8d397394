//! A body with bounded disturbances above it, with and without known causes, and horizons shorter than a fitted block.

use record::{CauseClass, CauseTotal, Certainty, Explanation, Histogram, Interval, Measurement, Record};

use crate::tail::causes::Attribution;
use crate::tail::recombine::Recombined;
use crate::tail::{ClaimState, Tail, TailOptions, WorstBasis, tail};
use samples::record_of;
use units::Random;

const MINUTE_NS: u64 = 60_000_000_000;

/// A delay with a uniform size between `from` and `to` (ns) that occurs `rate` times per interval on average.
#[derive(Clone, Copy)]
struct Source {
    name: &'static str,
    rate: f64,
    from: f64,
    to: f64,
}

const ETHERNET: Source = Source { name: "24-eth0", rate: 1.0, from: 175e3, to: 181e3 };

/// Intervals of one minute with a body of 5 to 15 us and some disturbances, whose samples are all explained.
fn run(intervals: u64, seed: u64, sources: &[Source]) -> Record {
    let mut random = Random::new(seed.wrapping_mul(0x9e37) ^ 0x77);
    let mut record = record_of(Measurement::Wakeup, &[]);
    record.id = format!("run-{seed}");
    let mut sizes = vec![Histogram::new(); sources.len()];
    for number in 0..intervals {
        let (start_offset_ns, length_ns) = (number * MINUTE_NS, MINUTE_NS);
        let mut interval = Interval { start_offset_ns, length_ns, ..Interval::default() };
        for _ in 0..60 {
            interval.histogram.record_n(units::round_u64(5e3 + 10e3 * random.unit()), 1);
        }
        for (source, sizes) in sources.iter().zip(&mut sizes) {
            let mut time = -random.unit().ln();
            while time < source.rate {
                let size_ns = units::round_u64(source.from + (source.to - source.from) * random.unit());
                interval.histogram.record_n(size_ns, 1);
                sizes.record_n(size_ns, 1);
                time -= random.unit().ln();
            }
        }
        record.series[0].histogram.merge(&interval.histogram);
        record.series[0].intervals.push(interval);
    }
    let cause = |(source, sizes): (&Source, Histogram)| CauseTotal {
        class: if source.name.is_empty() { CauseClass::Unknown } else { CauseClass::Interrupt },
        name: source.name.to_owned(),
        certainty: if source.name.is_empty() { Certainty::Unknown } else { Certainty::Shown },
        samples: sizes.count(),
        worst_ns: i64::try_from(sizes.max_ns().unwrap_or(0)).unwrap(),
        took_ns: 1,
        latencies: sizes,
        beyond_deadline: None,
        owner: record::Owner::Other,
        remedy: String::new(),
        finding: None,
    };
    let causes: Vec<CauseTotal> = sources.iter().zip(sizes).map(cause).filter(|cause| cause.samples > 0).collect();
    let outliers = units::total(causes.iter().map(|cause| cause.samples));
    record.late_samples.explanation =
        Some(Explanation { above_ns: Some(20_000), outliers, explained: outliers, causes, ..Explanation::default() });
    record
}

fn predict(record: &Record, horizons: &[&str]) -> Tail {
    let horizons_ns = horizons.iter().map(|text| crate::tail::parse_span(text).unwrap()).collect();
    tail(&[record], &TailOptions { horizons_ns, resamples: 400, ..TailOptions::default() }).unwrap()
}

#[test]
fn a_bounded_disturbance_once_an_interval_is_predicted_without_its_cause() {
    let mut answered = 0;
    for seed in 0..10 {
        let mut record = run(120, seed, &[ETHERNET]);
        record.late_samples.explanation = None;
        let tail = predict(&record, &["18h"]);
        let Some(worst) = tail.expectations[0].worst else { continue };
        answered += 1;
        assert!(worst.low_ns > 175e3 && worst.low_ns <= 181e3 && worst.high_ns < 200e3, "{worst:?}");
        assert!(worst.high_ns >= 181e3, "{worst:?}");
        assert!(tail.fits.is_some() && tail.by_cause.is_none());
    }
    assert!(answered >= 8, "{answered} of 10");
}

#[test]
fn the_worst_case_without_a_cause_is_predicted_if_all_its_samples_are_explained() {
    let second = Source { name: "30-ahci", rate: 2.0, from: 58e3, to: 62e3 };
    let record = run(240, 3, &[ETHERNET, second]);
    let tail = predict(&record, &["1h", "1d"]);
    let by_cause = tail.by_cause.unwrap();
    assert_eq!(by_cause.complete_above_ns, 20_000);
    let names: Vec<&str> = by_cause.causes.iter().map(|cause| cause.name.as_str()).collect();
    assert_eq!(names, ["24-eth0", "30-ahci"]);
    let [low, rate, high] = by_cause.causes[0].per_day;
    assert!(low < 1_440.0 && high > 1_440.0 && low < rate && rate < high, "{:?}", by_cause.causes[0]);
    let [first, both] = by_cause.without.as_slice() else { panic!("{:?}", by_cause.without) };
    assert_eq!(first.causes, ["interrupt: 24-eth0"]);
    assert!((58_000..=62_000).contains(&first.worst_left_ns) && first.certainty == Certainty::Shown, "{first:?}");
    let day = first.expectations[1].worst.unwrap();
    assert!(day.low_ns > 60e3 && day.low_ns < 62.1e3 && day.high_ns < 70e3, "{day:?}");
    assert!((13_000..=15_010).contains(&both.worst_left_ns), "{both:?}");
    let sentence = &by_cause.sentence;
    assert!(sentence.starts_with("Without interrupt: 24-eth0 (shown) the worst of 1 day would probably"), "{sentence}");
    assert!(sentence.contains("instead of"), "{sentence}");
}

#[test]
fn the_worst_case_without_a_cause_is_refused_if_explanations_are_incomplete() {
    // Only the worst few samples are explained, all by one cause, which may also have made the samples below.
    let mut record = run(240, 3, &[ETHERNET]);
    let mut few = Histogram::new();
    let mut left = 16;
    for bin in record.series[0].histogram.bins_from_highest() {
        let count = bin.count.min(left);
        few.record_n(bin.from_ns, count);
        left -= count;
    }
    let explanation = record.late_samples.explanation.as_mut().unwrap();
    explanation.above_ns = None;
    explanation.causes[0].latencies = few;
    let by_cause = predict(&record, &["1d"]).by_cause.unwrap();
    assert!(by_cause.without.is_empty() && by_cause.complete_above_ns > 175_000, "{by_cause:?}");
    assert!(by_cause.sentence.contains("--explain --above"), "{}", by_cause.sentence);
    // The worst samples have no known cause.
    let unknown = Source { name: "", rate: 0.2, from: 300e3, to: 320e3 };
    let by_cause = predict(&run(240, 3, &[ETHERNET, unknown]), &["1d"]).by_cause.unwrap();
    assert!(by_cause.without.is_empty() && by_cause.sentence.contains("no known cause"), "{by_cause:?}");
    // The worst sample is not explained either.
    let mut record = run(240, 3, &[ETHERNET]);
    record.series[0].histogram.record_n(400_000, 1);
    assert_eq!(predict(&record, &["1d"]).by_cause, None);
}

/// Two causes with overlapping sizes and different rates, in 100 runs: the 90 % interval has to contain the worst case
/// of a span nine times as long.
#[test]
fn intervals_from_recombined_causes_hold_as_often_as_stated() {
    let sources = [
        Source { name: "24-eth0", rate: 0.4, from: 120e3, to: 181e3 },
        Source { name: "30-ahci", rate: 3.0, from: 60e3, to: 150e3 },
    ];
    let (mut answered, mut held) = (0, 0);
    for seed in 0..100 {
        let record = run(150, seed, &sources);
        let attribution = Attribution::from_records(&[&record], "scheduled_to_woke").unwrap();
        let Some(expected) = Recombined::new(&attribution, 300, 1).and_then(|all| all.expected(9.0, 0.9)) else {
            continue;
        };
        let came = units::approx_f64(run(9 * 150, seed + 1_000, &sources).worst_of_all().unwrap().0.unsigned_abs());
        answered += 1;
        held += u32::from((expected.low..=expected.high).contains(&came));
    }
    println!("{held} of {answered} of 100");
    // If 90 % of the intervals hold, 85 or fewer of 95 have a chance of less than 10 %.
    assert!(answered >= 80 && held * 100 >= answered * 85, "{held} of {answered}");
}

#[test]
fn a_rare_cause_has_a_rate_but_no_fitted_size() {
    let seldom = Source { name: "9-acpi", rate: 0.03, from: 250e3, to: 300e3 };
    let record = run(240, 5, &[ETHERNET, seldom]);
    let by_cause = predict(&record, &["10h"]).by_cause.unwrap();
    let cause = &by_cause.causes[0];
    assert_eq!(cause.name, "9-acpi");
    assert!(cause.samples < 30 && cause.size.is_none() && cause.per_day[2] > 1.3 * cause.per_day[1], "{cause:?}");
    let attribution = Attribution::from_records(&[&record], "scheduled_to_woke").unwrap();
    assert!(
        Recombined::new(&attribution, 200, 1).is_none(),
        "the cause without a fit reaches further than those with one"
    );
}

#[test]
fn a_horizon_shorter_than_a_fitted_block_is_predicted_from_equally_long_spans() {
    let mut random = Random::new(9);
    let mut record = record_of(Measurement::Wakeup, &[]);
    for number in 0..12_000_u64 {
        let (start_offset_ns, length_ns) = (number * 5 * MINUTE_NS, 5 * MINUTE_NS);
        let mut interval = Interval { start_offset_ns, length_ns, ..Interval::default() };
        // Few samples, most of them just above 20 us, so that the interval maxima do not follow the limit law.
        for _ in 0..3 {
            let away = if random.unit() < 0.02 { 8e3 - 6e3 * random.unit().ln() } else { 500.0 * random.unit() };
            interval.histogram.record_n(units::round_u64(20e3 + away), 1);
        }
        record.series[0].histogram.merge(&interval.histogram);
        record.series[0].intervals.push(interval);
    }
    let tail = predict(&record, &["1s", "5min", "1h", "6h", "1d", "1w", "100d"]);
    let each: Vec<_> = tail.expectations.iter().filter_map(|one| Some((one.worst?, one.basis?))).collect();
    assert_eq!(each.len(), 7, "{:?}", tail.expectations);
    assert_eq!([each[0].1, each[1].1, each[2].1], [WorstBasis::Interval, WorstBasis::Seen, WorstBasis::Seen]);
    assert_eq!(each[6].1, WorstBasis::Fit);
    for (worst, _) in &each {
        assert!(worst.low_ns >= 20e3, "no sample is below: {worst:?}");
    }
    for pair in each.windows(2) {
        let ([a, b], text) = ([pair[0].0, pair[1].0], format!("{pair:?}"));
        assert!(a.low_ns <= b.low_ns && a.typical_ns <= b.typical_ns && a.high_ns <= b.high_ns, "{text}");
    }
    // The curve begins with what was seen, too.
    assert!(tail.curve.low_ns.iter().all(|&low| low >= 20e3), "{:?}", tail.curve.low_ns);
}

#[test]
fn one_exceedance_in_a_year_does_not_break_a_claim_that_allows_one_in_a_hundred_days() {
    let mut record = run(365, 1, &[]);
    for (interval, number) in record.series[0].intervals.iter_mut().zip(0_u64..) {
        (interval.start_offset_ns, interval.length_ns) = (number * 1_440 * MINUTE_NS, 1_440 * MINUTE_NS);
    }
    record.series[0].intervals[200].histogram.record_n(43_000, 1);
    record.series[0].histogram.record_n(43_000, 1);
    let claim = |text: &str| {
        let options = TailOptions { claim: Some(text.parse().unwrap()), resamples: 300, ..TailOptions::default() };
        tail(&[&record], &options).unwrap().claim.unwrap()
    };
    let answer = claim("42us for 1 day at 99%");
    assert!(matches!(answer.state, ClaimState::NeedsMore | ClaimState::NotShown | ClaimState::Shown), "{answer:?}");
    assert_eq!(answer.exceeded.map(|exceeded| exceeded.intervals), Some(1));
    assert!(answer.state == ClaimState::Shown || answer.more_ns.is_some(), "{answer:?}");
    // A limit that is exceeded nearly every day breaks the claim.
    assert_eq!(claim("14500ns for 1 day at 99%").state, ClaimState::Broken);
}
