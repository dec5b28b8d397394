use proptest::prelude::*;
use units::Random;

use super::*;

/// A node whose system clock is steered, beside the true time.
struct Node {
    /// Its uncorrected clock less the true time at the start (ns), and its drift (parts per billion).
    raw_from_ns: i64,
    drift_ppb: i64,
    clock_less_raw_ns: f64,
    correction_ppb: i64,
}

impl Node {
    fn raw_ns(&self, true_ns: i64) -> i64 {
        self.raw_from_ns + true_ns + rate_ns(true_ns, self.drift_ppb)
    }

    fn clock_ns(&self, true_ns: i64) -> i64 {
        self.raw_ns(true_ns) + rounded(self.clock_less_raw_ns)
    }

    fn reading(&self, true_ns: i64, random: &mut Random) -> ClockReading {
        let wrong_ns = i64::try_from(random.below(101)).unwrap() - 50;
        ClockReading { raw_ns: self.raw_ns(true_ns), clock_ns: self.clock_ns(true_ns) + wrong_ns, error_ns: 50 }
    }

    /// Passes some time under its correction.
    fn pass(&mut self, ns: i64) {
        self.clock_less_raw_ns += units::approx_f64_i64(ns) * units::approx_f64_i64(self.correction_ppb) / 1e9;
    }
}

fn rate_ns(ns: i64, ppb: i64) -> i64 {
    i64::try_from(i128::from(ns) * i128::from(ppb) / 1_000_000_000).unwrap()
}

#[allow(clippy::cast_possible_truncation, reason = "well below 2^53")]
fn rounded(ns: f64) -> i64 {
    ns.round() as i64
}

/// A packet of the partner: what it took in truth, and what was computed of it.
struct Told {
    true_ns: i64,
    delay: Delay,
    /// The same of its way from kernel to kernel: with the whole, and by itself.
    part_ns: i64,
    part: Delay,
    alone: Delay,
}

struct Case {
    seed: u64,
    drifts_ppb: [i64; 2],
    corrections_ppb: Vec<(i64, i64)>,
    /// Shortest time on the way to this node, and from it (ns).
    ways_ns: [i64; 2],
}

/// Lets two nodes exchange messages every 20 ms, with measured packets in between.
fn run(case: &Case) -> (Vec<Told>, Vec<(i64, OffsetMeasurement)>) {
    let mut random = Random::new(case.seed);
    let mut own = Node {
        raw_from_ns: 77_000_000_000,
        drift_ppb: case.drifts_ppb[0],
        clock_less_raw_ns: 1.7e18,
        correction_ppb: 0,
    };
    let mut partner =
        Node { raw_from_ns: 5_000_000, drift_ppb: case.drifts_ppb[1], clock_less_raw_ns: -4e15, correction_ppb: 0 };
    let mut relation = Relation::new(100_000);
    let (mut told, mut seen, mut now_ns) = (Vec::new(), Vec::new(), 0_i64);
    let on_the_way = |random: &mut Random, least_ns: i64| {
        let queued = if random.below(10) == 0 { 2_000_000 } else { 10_000 };
        least_ns + i64::try_from(random.below(queued)).unwrap()
    };
    for (own_ppb, partner_ppb) in &case.corrections_ppb {
        (own.correction_ppb, partner.correction_ppb) = (*own_ppb, *partner_ppb);
        for _ in 0..5 {
            let mut waiting = Vec::new();
            for _ in 0..10 {
                let delay_ns = on_the_way(&mut random, case.ways_ns[0]);
                let sent_ns = partner.clock_ns(now_ns);
                // The correction of the time on the way is far below a nanosecond's tenth.
                let programs = (sent_ns, own.clock_ns(now_ns + delay_ns));
                // What the kernels take of it is sometimes too long to be looked at together with the whole.
                let kernels = (partner.clock_ns(now_ns + delay_ns / 4), own.clock_ns(now_ns + delay_ns / 2));
                waiting.push((programs, kernels, delay_ns));
                now_ns += 2_000_000;
                own.pass(2_000_000);
                partner.pass(2_000_000);
            }
            assert_eq!(relation.own_reading(own.reading(now_ns, &mut random)), None);
            assert_eq!(relation.partner_reading(partner.reading(now_ns, &mut random)), None);
            let (came_after_ns, back_ns) =
                (on_the_way(&mut random, case.ways_ns[0]), on_the_way(&mut random, case.ways_ns[1]));
            let from = (partner.clock_ns(now_ns), own.clock_ns(now_ns + came_after_ns));
            let to = (
                own.clock_ns(now_ns + came_after_ns + 3_000),
                partner.clock_ns(now_ns + came_after_ns + 3_000 + back_ns),
            );
            now_ns += 5_000_000;
            own.pass(5_000_000);
            partner.pass(5_000_000);
            assert_eq!(relation.own_reading(own.reading(now_ns, &mut random)), None);
            assert_eq!(relation.partner_reading(partner.reading(now_ns, &mut random)), None);
            let offset_ns = own.clock_ns(now_ns) - partner.clock_ns(now_ns);
            seen.extend(relation.exchange(from, to).map(|one| (offset_ns, one)));
            let mut reader = DelayReader::new(&relation);
            for (programs, kernels, true_ns) in waiting {
                let (Some(delay), Some(part)) = reader.delays(programs, Some(kernels)) else { continue };
                assert_eq!(Some(delay), relation.delay(programs.0, programs.1));
                let alone = relation.delay(kernels.0, kernels.1).unwrap();
                let part_ns = true_ns / 2 - true_ns / 4;
                told.push(Told { true_ns, delay, part_ns, part, alone });
            }
        }
    }
    (told, seen)
}

proptest! {
    #[test]
    fn the_true_delay_is_within_the_bound_whatever_steers_the_clocks(
        seed in any::<u64>(),
        drifts_ppb in [-45_000_i64..45_000, -45_000_i64..45_000],
        corrections_ppb in prop::collection::vec((-50_000_i64..50_000, -50_000_i64..50_000), 1..8),
        ways_ns in [1_000_i64..500_000, 1_000_i64..500_000],
    ) {
        let (told, _) = run(&Case { seed, drifts_ppb, corrections_ppb, ways_ns });
        prop_assert!(told.len() >= 40);
        for Told { true_ns, delay, part_ns, part, alone } in told {
            prop_assert!(contains(&delay, true_ns), "{} {:?}", true_ns, delay);
            prop_assert!(contains(&part, part_ns), "{} {:?}", part_ns, part);
            // No wider than by itself, but for what drifts make in 100 us at both ends.
            let width_ns = |delay: &Delay| delay.below_ns + delay.above_ns;
            prop_assert!(width_ns(&part) <= width_ns(&alone) + 160, "{:?} {:?}", part, alone);
        }
    }
}

#[test]
fn the_error_is_about_half_of_the_round_trip_and_an_asymmetry_is_inside_of_it() {
    let widths = |ways_ns: [i64; 2]| {
        let case = Case { seed: 3, drifts_ppb: [10_000, -10_000], corrections_ppb: vec![(0, 0); 20], ways_ns };
        let (told, _) = run(&case);
        let mut widths: Vec<u64> = told.iter().map(|one| one.delay.below_ns.max(one.delay.above_ns)).collect();
        widths.sort_unstable();
        widths[widths.len() / 2]
    };
    // Half of 20 us, a part of the queueing, and 100 parts per million of some 10 ms.
    let even_ns = widths([10_000, 10_000]);
    assert!((10_000..22_000).contains(&even_ns), "{even_ns}");
    let uneven_ns = widths([10_000, 510_000]);
    assert!((260_000..272_000).contains(&uneven_ns), "{uneven_ns}");
}

#[test]
fn the_likeliest_offset_follows_drifting_clocks_far_closer_than_the_bound() {
    let case =
        Case { seed: 11, drifts_ppb: [30_000, -20_000], corrections_ppb: vec![(0, 0); 60], ways_ns: [20_000, 20_000] };
    let (told, seen) = run(&case);
    // Of 20 us each way, and up to 10 us of queueing, both alike.
    let wrong = |ns: i64, truth_ns: i64| (ns - truth_ns).unsigned_abs();
    let mut errors: Vec<u64> = told.iter().skip(600).map(|one| wrong(one.delay.ns, one.true_ns)).collect();
    errors.sort_unstable();
    assert!(
        errors[errors.len() / 2] < 1_500 && errors[errors.len() * 99 / 100] < 4_000,
        "{:?}",
        &errors[errors.len() - 9..]
    );
    let widest = told.iter().skip(600).map(|one| one.delay.below_ns).min().unwrap();
    assert!(widest > 15_000, "{widest}");
    assert!(seen.len() > 200);
}

#[test]
fn a_round_trip_and_the_offset_of_the_system_clocks_are_shown_with_each_exchange() {
    let case =
        Case { seed: 5, drifts_ppb: [0, 0], corrections_ppb: vec![(20_000, -30_000); 10], ways_ns: [10_000, 10_000] };
    let (_, seen) = run(&case);
    assert_eq!(seen.len(), 50);
    for (offset_ns, one) in seen {
        // The times of the exchange lie up to 5 ms before: 50 parts per million of that, and the errors of the comparisons.
        let slack_ns = 600;
        assert!(
            one.bound.lower_ns - slack_ns <= offset_ns && offset_ns <= one.bound.upper_ns + slack_ns,
            "{offset_ns} {one:?}"
        );
        assert!(one.round_trip_ns >= 19_000, "{one:?}");
    }
}

#[test]
fn a_step_of_either_clock_is_noticed_and_no_slewing_is_one() {
    let at = |raw_ns: i64, ahead_ns: i64| ClockReading { raw_ns, clock_ns: raw_ns + ahead_ns, error_ns: 50 };
    let mut scale = Scale::default();
    assert_eq!(scale.take(at(0, 0)), None);
    assert_eq!(scale.take(at(1_000_000_000, 500_000)), None, "500 parts per million");
    assert_eq!(scale.take(at(1_020_000_000, 1_500_000)), Some(1_000_000));
    assert_eq!(scale.uncorrected(1_021_500_000).unwrap().ns, 1_020_000_000);
    assert_eq!(scale.take(at(1_010_000_000, 9_500_000)), None, "of an older message");
}

/// Two nodes whose exchanges take 5 us each way, each of four comparisons within 30 us, every 20 ms: as a run has them. Both
/// uncorrected clocks show the true time but for the partner's drift; this node's system clock is set by `step_ns` at a moment.
fn ordinary(drift_ppb: i64, (step_ns, step_at_ns): (i64, i64), end_ns: i64, error_ns: i64) -> Relation {
    let own = |true_ns: i64| true_ns + if true_ns >= step_at_ns { step_ns } else { 0 };
    let partner = |true_ns: i64| true_ns + rate_ns(true_ns, drift_ppb);
    let mut relation = Relation::new(100_000);
    let mut random = Random::new(u64::try_from(step_ns.abs() + step_at_ns).unwrap());
    let mut wrong =
        |error_ns: i64| i64::try_from(random.below(usize::try_from(2 * error_ns + 1).unwrap())).unwrap() - error_ns;
    for at_ns in (1_000_000_000..end_ns).step_by(20_000_000) {
        let readings = [0, 10_000, 22_000, 30_000].map(|after_ns| at_ns + after_ns);
        for true_ns in readings {
            let clock_ns = own(true_ns) + wrong(error_ns);
            if relation.own_reading(ClockReading { raw_ns: true_ns, clock_ns, error_ns }).is_some() {
                relation.forget();
            }
            let (raw_ns, clock_ns) = (partner(true_ns), partner(true_ns) + wrong(error_ns));
            assert_eq!(relation.partner_reading(ClockReading { raw_ns, clock_ns, error_ns }), None);
        }
        let [t1, t2, t3, t4] = [1_000, 6_000, 16_000, 21_000].map(|after_ns| at_ns + after_ns);
        relation.exchange((partner(t3), own(t4)), (own(t1), partner(t2)));
    }
    relation
}

fn contains(delay: &Delay, true_ns: i64) -> bool {
    let least_ns = delay.ns.saturating_sub_unsigned(delay.below_ns);
    (least_ns..=delay.ns.saturating_add_unsigned(delay.above_ns)).contains(&true_ns)
}

#[test]
fn the_comparisons_of_each_exchange_do_not_widen_the_error_of_what_lies_between() {
    let relation = ordinary(10_000, (0, 0), 3_000_000_000, 100);
    for after_ns in (40_000..20_000_000).step_by(250_000) {
        let came_ns = 2_000_000_000 + after_ns;
        let sent_ns = came_ns - 5_000;
        let delay = relation.delay(sent_ns + rate_ns(sent_ns, 10_000), came_ns).unwrap();
        assert!(contains(&delay, 5_000), "{after_ns} {delay:?}");
        // Half of the round trip is 5 us, the drift 1 us at most; a reading is wrong by up to 100 ns, and the rate of a stretch
        // by a fifth of that in each of its milliseconds.
        assert!(delay.below_ns.max(delay.above_ns) < 7_500, "{after_ns} {delay:?}");
    }
}

proptest! {
    #[test]
    fn a_long_delay_has_the_drift_of_its_own_time_in_its_error(
        drift_ppb in -99_000_i64..99_000, delay_ns in 1_000_i64..2_000_000_000,
    ) {
        let relation = ordinary(drift_ppb, (0, 0), 4_000_000_000, 20);
        let came_ns = 3_500_000_000;
        let sent_ns = came_ns - delay_ns;
        let delay = relation.delay(sent_ns + rate_ns(sent_ns, drift_ppb), came_ns).unwrap();
        prop_assert!(contains(&delay, delay_ns), "{} {:?}", delay_ns, delay);
        // 100 parts per million, beside half of the round trip.
        prop_assert!(delay.below_ns < 9_000 + delay_ns.unsigned_abs() / 9_000, "{} {:?}", delay_ns, delay);
    }

    #[test]
    fn a_step_too_small_to_be_noticed_is_in_the_error(
        step_ns in -140_000_i64..140_000, after_ns in 30_001_i64..20_000_000, error_ns in 1_i64..500,
    ) {
        let step_at_ns = 2_000_000_000 + after_ns;
        let relation = ordinary(20_000, (step_ns, step_at_ns), 2_200_000_000, error_ns);
        for number in 0..60 {
            let came_ns = 1_990_000_000 + number * 1_000_000 + 777_000;
            let sent_ns = came_ns - 5_000;
            let own_ns = came_ns + if came_ns >= step_at_ns { step_ns } else { 0 };
            // What a reading cannot show cannot be told from its error.
            let hidden_ns = u64::try_from(5 * error_ns + 20).unwrap().min(step_ns.unsigned_abs());
            let Some(mut delay) = relation.delay(sent_ns + rate_ns(sent_ns, 20_000), own_ns) else { continue };
            // Where a step was noticed, what was received before it is not told at all in a run.
            if relation.held.front().is_some_and(|first| first.own_raw_ns > came_ns) {
                continue;
            }
            delay.below_ns += hidden_ns;
            delay.above_ns += hidden_ns;
            prop_assert!(contains(&delay, 5_000), "{} ns after the step: {:?}", came_ns - step_at_ns, delay);
        }
    }
}

#[test]
fn nothing_is_known_without_an_exchange() {
    let mut relation = Relation::new(100_000);
    assert_eq!(relation.delay(5, 10), None);
    let reading = ClockReading { raw_ns: 0, clock_ns: 0, error_ns: 0 };
    relation.own_reading(reading);
    relation.partner_reading(reading);
    assert_eq!(relation.delay(5, 10), None);
    assert_eq!(relation.settled_to_ns(), None);
    assert!(relation.exchange((0, 10), (20, 30)).is_some());
    assert_eq!(relation.delay(5, 10).map(|delay| delay.ns), Some(5));
    assert_eq!(relation.settled_to_ns(), None, "nothing shows yet how straight the clocks go");
    let later_ns = 20 + TELLING_NS;
    assert!(relation.exchange((later_ns, later_ns), (later_ns, later_ns)).is_some());
    assert_eq!(relation.settled_to_ns(), Some(20));
}

/// Times of a partner that says anything, mostly ones that lie near each other.
fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 0_i64..2_000_000_000, 1 => any::<i64>(), 1 => prop::sample::select(vec![i64::MIN, -1, 0, i64::MAX])]
}

proptest! {
    #[test]
    fn a_partner_that_says_anything_breaks_nothing(
        said in prop::collection::vec(prop::array::uniform6(any_time()), 1..40), max_drift_ppb in any::<u32>(),
    ) {
        let mut relation = Relation::new(max_drift_ppb);
        for [a, b, c, d, e, f] in said {
            relation.own_reading(ClockReading { raw_ns: a, clock_ns: b, error_ns: c });
            relation.partner_reading(ClockReading { raw_ns: d, clock_ns: e, error_ns: f });
            relation.exchange((a, b), (c, d));
            let mut reader = DelayReader::new(&relation);
            for (programs, kernels) in [((e, f), (a, b)), ((a, b), (a, b)), ((c, d), (c.saturating_add(5), d))] {
                reader.delays(programs, Some(kernels));
                reader.delays(programs, None);
                let _ = relation.delay(programs.0, programs.1);
            }
        }
    }
}

/// Two exchanges that cannot both be: where they exclude each other no offset is left, and no delay that had an error of 0.
#[test]
fn where_bounds_contradict_each_other_no_delay_is_known() {
    let mut relation = Relation::new(100_000);
    for at_ns in [0, 2_000_000_000] {
        let reading = ClockReading { raw_ns: at_ns, clock_ns: at_ns, error_ns: 50 };
        relation.own_reading(reading);
        relation.partner_reading(reading);
    }
    // There and back in 10 us, with the clocks equal; then with them 5 ms apart.
    let exchange = |relation: &mut Relation, at_ns: i64, ahead_ns: i64| {
        relation.exchange((at_ns - ahead_ns, at_ns + 10_000), (at_ns + 20_000, at_ns + 30_000 - ahead_ns)).unwrap()
    };
    assert!(!exchange(&mut relation, 1_000_000, 0).bound.is_contradiction());
    assert!(relation.delay(1_100_000, 1_110_000).is_some());
    assert!(exchange(&mut relation, 3_000_000, 5_000_000).bound.is_contradiction());
    for own_ns in [2_900_000, 3_100_000] {
        assert_eq!(relation.delay(own_ns - 10_000, own_ns), None, "{own_ns}");
        let mut reader = DelayReader::new(&relation);
        let programs = (own_ns - 10_000, own_ns);
        assert_eq!(reader.delays(programs, Some(programs)), (None, None), "{own_ns}");
    }
}
