//! Trains of pulses whose orders are known, damaged in all ways that are promised to be stood, and some more.

use std::collections::BTreeMap;

use proptest::prelude::*;
use units::Random;

use super::*;
use crate::edges::{ActiveLevel, Pulse};
use crate::marks::{is_long, numbers};

const INTERVAL_PS: i64 = 1_000_000_000;
const WIDTH_PS: i64 = INTERVAL_PS / 5;

fn ordered(every: u64) -> OrderedPulses {
    OrderedPulses { form: PulseForm::new(ActiveLevel::High, WIDTH_PS), interval_ps: INTERVAL_PS, every, orders: None }
}

/// What a train suffers.
#[derive(Clone, Debug)]
struct Damage {
    seed: u64,
    every: u64,
    /// The first order that the capture can show, and how many follow.
    from: u64,
    count: u64,
    /// By how much the capture's clock is faster.
    rate: f64,
    /// By how much that changes to and fro, slowly.
    wander: f64,
    /// Half the spread of the pulses about the grid, in intervals.
    jitter: f64,
    /// Percents of orders that are lost; that are much later than others; and of pulses that nobody ordered.
    lost: usize,
    late: usize,
    extra: usize,
    /// Orders of each burst of losses, and how many bursts.
    burst: usize,
    bursts: usize,
    /// Pulses whose width is that of the other kind, in the whole train.
    wrong_widths: usize,
}

impl Default for Damage {
    fn default() -> Self {
        Self {
            seed: 1,
            every: 49,
            from: 123_456,
            count: 5_000,
            rate: 0.0,
            wander: 0.0,
            jitter: 0.0,
            lost: 0,
            late: 0,
            extra: 0,
            burst: 0,
            bursts: 0,
            wrong_widths: 0,
        }
    }
}

/// A line, and which order each pulse is of, by its moment; none for those that nobody ordered.
struct Train {
    line: LinePulses,
    truth: BTreeMap<i64, Option<u64>>,
}

impl Train {
    fn has(&self, number: u64) -> bool {
        self.truth.values().any(|one| *one == Some(number))
    }
}

fn ps(intervals: f64) -> i64 {
    units::round_i64(intervals * units::approx_f64_i64(INTERVAL_PS))
}

fn train(damage: &Damage) -> Train {
    let mut random = Random::new(damage.seed);
    let count = usize::try_from(damage.count).unwrap();
    let mut lost: Vec<bool> = (0..count).map(|_| random.below(100) < damage.lost).collect();
    for _ in 0..damage.bursts {
        let begin = random.below(count);
        lost.iter_mut().skip(begin).take(damage.burst).for_each(|one| *one = true);
    }
    let phase = random.unit() * 1e6 - 5e5;
    let mut at = phase;
    let mut truth: BTreeMap<i64, (Option<u64>, i64)> = BTreeMap::new();
    for (number, lost) in (damage.from..).zip(&lost) {
        let turn = units::approx_f64(number - damage.from) / 700.0;
        at += 1.0 + damage.rate + damage.wander * turn.sin();
        let off = (random.unit() * 2.0 - 1.0) * damage.jitter;
        let late = if random.below(100) < damage.late { 0.13 + random.unit() * 0.45 } else { 0.0 };
        if !lost {
            let width = if is_long(number, damage.every) { 2 * WIDTH_PS } else { WIDTH_PS };
            let width = ps(units::approx_f64_i64(width) / 1e9 * (0.8 + 0.4 * random.unit()));
            truth.insert(ps(at + off + late), (Some(number), width));
        }
    }
    for _ in 0..damage.wrong_widths {
        let place = random.below(truth.len());
        let Some((_, width)) = truth.values_mut().nth(place) else { continue };
        *width = if *width > 3 * WIDTH_PS / 2 { WIDTH_PS } else { 2 * WIDTH_PS };
    }
    for _ in 0..count * damage.extra / 100 {
        let start = ps(phase + random.unit() * (at - phase));
        let width = [WIDTH_PS, 2 * WIDTH_PS, WIDTH_PS / 4 + ps(random.unit() / 10.0)][random.below(3)];
        // One that touches another one would be part of it.
        let before = truth.range(..=start).next_back().is_none_or(|(begin, (_, width))| begin + width < start);
        let behind = truth.range(start..).next().is_none_or(|(begin, _)| start + width < *begin);
        if before && behind {
            truth.insert(start, (None, width));
        }
    }
    // A pulse that begins before the one before it ends is part of that.
    let mut pulses: Vec<Pulse> = Vec::new();
    let mut whole = BTreeMap::new();
    for (start_ps, (number, width_ps)) in truth {
        match pulses.last_mut() {
            Some(last) if last.start_ps + last.width_ps >= start_ps => {
                last.width_ps = (start_ps + width_ps - last.start_ps).max(last.width_ps);
            }
            _ => {
                pulses.push(Pulse { start_ps, width_ps });
                whole.insert(start_ps, number);
            }
        }
    }
    Train { line: LinePulses { pulses, ..LinePulses::default() }, truth: whole }
}

/// Checks all that has to hold, and returns the share of orders' pulses that got a number.
fn judge(train: &Train, read: &NumberedLine, every: u64) -> f64 {
    let mut rights = 0_u64;
    let whole_numbers = numbers(every);
    assert!(read.pulses.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert!(read.pulses.windows(2).all(|pair| pair[0].start_ps < pair[1].start_ps));
    for pulse in &read.pulses {
        match train.truth[&pulse.start_ps] {
            Some(number) => {
                assert_eq!(pulse.number, number % whole_numbers, "at {}", pulse.start_ps);
                rights += 1;
            }
            None => assert!(!train.has(pulse.number), "{} is that of another pulse", pulse.number),
        }
    }
    let counts = read.counts;
    let without =
        [counts.unclear, counts.displaced, counts.wrong_width, counts.between, counts.unplaced, counts.undecided];
    let all = u64::try_from(read.pulses.len()).unwrap() + without.iter().sum::<u64>();
    assert_eq!(all, u64::try_from(train.line.pulses.len()).unwrap(), "{counts:?}");
    let (first, last) = (read.pulses[0].number, read.pulses.last().unwrap().number);
    // Each order from the first to the last number is numbered, seen without a number, or missing.
    let numbered = u64::try_from(read.pulses.len()).unwrap();
    let seen = counts.unclear_orders + counts.displaced + counts.wrong_width;
    let between = last - first + 1;
    assert!(numbered + counts.missing + counts.maybe_missing <= between);
    assert!(numbered + counts.missing + counts.maybe_missing + seen >= between, "{counts:?}");
    units::approx_f64(rights) / units::approx_f64(train.truth.values().flatten().count() as u64)
}

#[test]
fn a_whole_train_is_numbered_from_its_first_pulse_to_its_last() {
    for rate in [-0.02, -0.0001, 0.0, 0.013, 0.02] {
        let train = train(&Damage { rate, jitter: 0.05, ..Damage::default() });
        let read = number(&train.line, &ordered(49)).unwrap();
        assert!((judge(&train, &read, 49) - 1.0).abs() < 1e-9, "{:?}", read.counts);
        assert_eq!((read.counts.missing, read.counts.extra(), read.counts.stretches), (0, 0, 1));
        assert_eq!((read.pulses[0].number, read.faults.len()), (123_456, 0));
    }
}

#[test]
fn missing_and_extra_are_counted_exactly() {
    let damage = Damage { jitter: 0.02, ..Damage::default() };
    let Train { line, mut truth } = train(&damage);
    let mut pulses = line.pulses;
    // Nine orders are lost, two of a mark's among them; two glitches stand between orders, and one order has two pulses.
    for lost in [100, 101, 102, 103, 104, 400, 999, 2_000, 3_000_usize] {
        truth.remove(&pulses[lost].start_ps);
    }
    pulses.retain(|pulse| truth.contains_key(&pulse.start_ps));
    for (at, off) in [(700, 600), (1_200, 650), (1_500, 300)] {
        let start_ps = pulses[at].start_ps + INTERVAL_PS / 1_000 * off;
        pulses.push(Pulse { start_ps, width_ps: 1_000 });
        truth.insert(start_ps, None);
    }
    pulses.sort_unstable_by_key(|pulse| pulse.start_ps);
    let train = Train { line: LinePulses { pulses, ..LinePulses::default() }, truth };
    let read = number(&train.line, &ordered(49)).unwrap();
    judge(&train, &read, 49);
    let counts = read.counts;
    assert_eq!((counts.missing, counts.maybe_missing, counts.extra()), (9, 0, 3), "{counts:?}");
    assert_eq!((counts.unclear_orders, counts.unclear, counts.between), (3, 6, 0));
    assert_eq!(counts.marks, 5_000 / 49, "also the one that lost two of its pulses");
}

#[test]
fn a_capture_without_two_marks_cannot_be_numbered_and_says_so() {
    let short = train(&Damage { every: 1_000, from: 500, count: 900, ..Damage::default() });
    let said = number(&short.line, &ordered(1_000)).unwrap_err().to_string();
    assert!(said.starts_with("900 pulses, but their marks do not say which numbers they have"), "{said}");
    let unmarked = number(&short.line, &ordered(0)).unwrap_err();
    assert_eq!(unmarked, NumberingError::Unmarked);
    assert_eq!(number(&LinePulses::default(), &ordered(49)).unwrap_err(), NumberingError::Empty);
    let narrow = OrderedPulses { interval_ps: 2 * WIDTH_PS, ..ordered(49) };
    assert!(matches!(number(&short.line, &narrow).unwrap_err(), NumberingError::Mark(_)));
    let wrong_interval = OrderedPulses { interval_ps: INTERVAL_PS / 7 * 9, ..ordered(49) };
    let said = number(&short.line, &wrong_interval).unwrap_err().to_string();
    assert!(said.contains("nowhere 24 in a row"), "{said}");
    let two = train(&Damage { every: 1_000, from: 990, count: 1_040, ..Damage::default() });
    assert_eq!(number(&two.line, &ordered(1_000)).unwrap().pulses.len(), 1_040);
}

#[test]
fn a_line_that_leaps_by_whole_intervals_is_reported_and_not_averaged_over() {
    for leap in [1, 2, -1] {
        let mut train = train(&Damage { count: 49 * 160, jitter: 0.02, ..Damage::default() });
        let middle = train.line.pulses.len() / 2;
        let behind_ps = train.line.pulses[middle].start_ps;
        let mut moved = LinePulses::default();
        let mut truth = BTreeMap::new();
        for pulse in &train.line.pulses {
            let number = train.truth[&pulse.start_ps];
            let is_behind = pulse.start_ps >= behind_ps;
            // Pulses that a leap back lays over others are not there.
            let is_covered = !is_behind && pulse.start_ps > behind_ps + leap * INTERVAL_PS - INTERVAL_PS / 2;
            if !is_covered {
                let start_ps = pulse.start_ps + if is_behind { leap * INTERVAL_PS } else { 0 };
                moved.pulses.push(Pulse { start_ps, ..*pulse });
                truth.insert(start_ps, number);
            }
        }
        train = Train { line: moved, truth };
        let read = number(&train.line, &ordered(49)).unwrap();
        let share = judge(&train, &read, 49);
        assert!((0.5..0.9).contains(&share), "{share} {:?}", read.counts);
        let is_leap = |fault: &NumberingFault| match fault {
            NumberingFault::Marks { expected, found, .. } => found - expected == -leap,
            _ => false,
        };
        assert!(read.faults.iter().any(is_leap), "{:?}", read.faults);
    }
}

#[test]
fn what_is_missing_is_sure_unless_pulses_without_a_number_lie_there() {
    let whole = train(&Damage { count: 8_030, jitter: 0.02, ..Damage::default() });
    let without = |lost: &[std::ops::Range<usize>]| {
        let pulses =
            whole.line.pulses.iter().enumerate().filter(|(at, _)| !lost.iter().any(|range| range.contains(at)));
        let line = LinePulses { pulses: pulses.map(|(_, pulse)| *pulse).collect(), ..LinePulses::default() };
        number(&line, &ordered(49)).unwrap()
    };
    let all = without(&[3_000..5_030, 0..0]);
    assert_eq!((all.pulses.len(), all.counts.stretches, all.counts.undecided_stretches), (6_000, 2, 0));
    assert_eq!((all.counts.missing, all.counts.maybe_missing), (2_030, 0));
    // In the middle of that gap a few pulses are there, and no two marks.
    let few = without(&[3_000..4_000, 4_030..5_030]);
    assert_eq!((few.pulses.len(), few.counts.undecided, few.counts.undecided_stretches), (6_000, 30, 1));
    assert_eq!((few.counts.missing, few.counts.maybe_missing), (0, 2_030));
    // The ends are not between two numbers.
    let ends = without(&[0..500, 7_000..8_030]);
    assert_eq!((ends.counts.missing, ends.pulses[0].number), (0, 123_956));
}

/// The train with its pulses moved: by so many thousandths of an interval from one to another of them.
fn moved(train: &Train, from: usize, to: usize, thousandths: i64) -> Train {
    let mut moved = Train { line: LinePulses::default(), truth: BTreeMap::new() };
    for (at, pulse) in train.line.pulses.iter().enumerate() {
        let off_ps = if (from..to).contains(&at) { INTERVAL_PS / 1_000 * thousandths } else { 0 };
        let start_ps = pulse.start_ps + off_ps;
        moved.truth.insert(start_ps, train.truth[&pulse.start_ps]);
        moved.line.pulses.push(Pulse { start_ps, ..*pulse });
    }
    moved
}

#[test]
fn a_line_that_leaps_and_leaps_back_between_two_marks_that_agree_is_reported_too() {
    // The pulse before the leap back is lost: two would stand at one place.
    let mut train = train(&Damage { count: 49 * 40, jitter: 0.02, ..Damage::default() });
    let lost = train.line.pulses.remove(1_100);
    train.truth.remove(&lost.start_ps);
    let moved = moved(&train, 1_000, 1_100, 1_000);
    let read = number(&moved.line, &ordered(49)).unwrap();
    let share = judge(&moved, &read, 49);
    assert!((0.7..0.93).contains(&share), "{share} {:?}", read.counts);
    assert!(read.counts.wrong_marks >= 2, "{:?}", read.counts);
    assert!(read.faults.iter().any(|fault| matches!(fault, NumberingFault::Mark { .. })), "{:?}", read.faults);
}

#[test]
fn one_late_pulse_gets_its_number_and_several_in_a_row_do_not() {
    let train = train(&Damage { jitter: 0.02, ..Damage::default() });
    let one = moved(&train, 1_000, 1_001, 450);
    let read = number(&one.line, &ordered(49)).unwrap();
    judge(&one, &read, 49);
    assert_eq!((read.pulses.len(), read.counts.displaced), (5_000, 0));
    assert_eq!(read.pulses[1_000].number, 124_456);
    // Perhaps the line's own clock was set: by how many intervals nobody knows.
    let several = moved(&train, 1_000, 1_010, 450);
    let read = number(&several.line, &ordered(49)).unwrap();
    judge(&several, &read, 49);
    assert_eq!((read.pulses.len(), read.counts.displaced, read.counts.missing), (4_990, 10, 0));
}

#[test]
fn a_pulse_whose_width_is_not_that_of_its_number_gets_none() {
    let mut train = train(&Damage::default());
    // The second order of a mark is short; now it looks long, and another one is neither.
    let place = 49 - 123_456 % 49 + 1 + 49 * 20;
    train.line.pulses[place].width_ps = 2 * WIDTH_PS;
    train.line.pulses[place + 5].width_ps = 3 * WIDTH_PS / 2;
    let read = number(&train.line, &ordered(49)).unwrap();
    judge(&train, &read, 49);
    assert_eq!((read.pulses.len(), read.counts.wrong_width, read.counts.missing), (4_999, 1, 0));
    assert_eq!((read.counts.wrong_marks, read.faults.len()), (0, 0), "one pulse is no wrong mark");
}

#[test]
fn two_runs_in_one_capture_are_reported() {
    let first = train(&Damage::default());
    let second = train(&Damage { from: 10, seed: 2, ..Damage::default() });
    let end = first.line.pulses.last().unwrap().start_ps;
    let begin = second.line.pulses[0].start_ps;
    let moved = second
        .line
        .pulses
        .iter()
        .map(|pulse| Pulse { start_ps: pulse.start_ps - begin + end + 2_000 * INTERVAL_PS, ..*pulse });
    let pulses: Vec<Pulse> = first.line.pulses.iter().copied().chain(moved).collect();
    let said = number(&LinePulses { pulses, ..LinePulses::default() }, &ordered(49)).unwrap_err().to_string();
    assert!(said.contains("does the capture show two runs?"), "{said}");
}

#[test]
fn numbers_beyond_the_last_order_are_not_given() {
    let train = train(&Damage { from: 0, count: 3_000, ..Damage::default() });
    let few = OrderedPulses { orders: Some(2_900), ..ordered(49) };
    let read = number(&train.line, &few).unwrap();
    assert_eq!((read.pulses.len(), read.counts.between), (2_900, 100));
}

fn damages() -> impl Strategy<Value = Damage> {
    let train = (any::<u64>(), prop::sample::select(vec![49_u64, 60, 128, 1_000]), any::<u64>(), 500..12_000_u64);
    let clock = (-0.02..0.02_f64, 0.0..0.000_1_f64, 0.0..0.1_f64);
    let loss = (0..41_usize, 0..10_usize, 0..10_usize, 0..400_usize, 0..6_usize, 0..2_usize);
    (train, clock, loss).prop_map(|((seed, every, from, count), (rate, wander, jitter), loss)| {
        let (lost, late, extra, burst, bursts, wrong_widths) = loss;
        // Small numbers and those around a carry are as likely as others.
        let from = match seed % 3 {
            0 => from % 2_000,
            1 => (1 << (from % 23)) * every - (from >> 32) % every.min(300),
            _ => from,
        } % (numbers(every) - 20_000);
        Damage { seed, every, from, count, rate, wander, jitter, lost, late, extra, burst, bursts, wrong_widths }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Whatever is lost and added within the limits, no pulse gets the number of another order.
    #[test]
    fn no_pulse_ever_gets_the_number_of_another_order(damage in damages()) {
        let train = train(&damage);
        if train.line.pulses.is_empty() {
            return Ok(());
        }
        if let Ok(read) = number(&train.line, &ordered(damage.every)) {
            judge(&train, &read, damage.every);
        }
    }

    /// With marks enough nearly all of them get one, two in five orders lost and one pulse in twenty nobody's.
    #[test]
    fn most_pulses_of_a_damaged_train_get_their_number(damage in damages()) {
        let damage = Damage { every: 49, count: 8_000, burst: 0, late: 0, extra: damage.extra / 2, ..damage };
        let damage = Damage { from: damage.from % (numbers(49) - 20_000), ..damage };
        let train = train(&damage);
        let read = number(&train.line, &ordered(49)).unwrap();
        let share = judge(&train, &read, 49);
        prop_assert!(share > 0.8, "{} {:?}", share, read.counts);
    }
}

#[test]
fn faults_are_said_in_times_that_a_person_reads() {
    let said = NumberingFault::Mark { number: 50, at_ps: 8_313_135_000_000 }.to_string();
    assert_eq!(said, "the mark of order 50, at 8.313135 s, does not look like one");
    let said = NumberingFault::Marks { before_ps: -1_500_000, after_ps: 3_600_000_000_000_000, expected: 3, found: 4 };
    assert!(
        said.to_string().contains("at 3600.000000 s has") && said.to_string().ends_with("up to -0.000002 s"),
        "{said}"
    );
    let width = NumberingError::Undecided { pulses: 70, every: 50, width_ps: 60_000_000_000, long: 7, odd: 5 };
    assert!(width.to_string().contains("widths of 60\u{202f}000 us and twice"), "{width}");
}
