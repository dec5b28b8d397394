//! What decides a comparison: the worst case of each unit, or how often it was beyond the deadline where one is stated.
//!
//! One maximum says nothing of how the next would come out, and no resampling of it can: a bootstrap never draws a value
//! beyond the largest that was seen, so its interval for a maximum is wrong at any number of samples (Bickel and Freedman,
//! "Some Asymptotic Theory for the Bootstrap", 1981). What can be compared is how the maxima of repetitions rank. A run that
//! is longer has a larger maximum by that alone, so that runs count by equally long parts. Where the largest value of all
//! contradicts the ranks, nothing is concluded: seven runs of 40 us and one of 5 ms are not better than eight of 50 us.

use std::ops::Range;

use record::Measurement;
use units::{approx_f64, format};

use super::document::Unit;
use super::judge::LEAST_MARGIN_NS;
use super::pieces::Piece;
use units::format::latency;

/// Units may hold unequally many schedules by this factor: a maximum of more is larger by that alone.
const MOST_UNEVEN: f64 = 1.1;
/// The same for rates: one of fewer schedules is coarser, and more often 0, by that alone.
const MOST_UNEVEN_OF_RATES: f64 = 1.5;
/// What was seen of B beyond this factor of A's is no pass, though it is not shown to be worse. Equal groups whose worst
/// cases are bounded seldom differ so far; some with heavy tails do, and are refused (decision 0007 says how many).
const FAR: f64 = 2.0;
/// A rate is far from another by at least so many periods: fewer come together by chance.
const LEAST_FAR_PERIODS: f64 = 5.0;
/// Rates are whole numbers of this part of a schedule.
const RATE_STEPS: u128 = 1_000_000_000_000_000;

/// The maximum of each unit, over equally long parts of the runs.
#[derive(Clone, Debug)]
pub(super) struct Maxima {
    /// The maximum of each unit of A and of B (ns).
    pub(super) maxima_ns: [Vec<u64>; 2],
    /// The largest of all of A and of B, over the whole runs (ns).
    pub(super) largest_ns: [u64; 2],
    /// How long the part of each run is that counts (ns); absent where all of it does.
    pub(super) part_ns: Option<u64>,
    /// Why they cannot be held against each other; absent where they can.
    pub(super) problem: Option<String>,
}

/// The middle of some values, 0 where there are none.
pub(super) fn median(values: &[u64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at = |place: usize| sorted.get(place).map_or(0.0, |&value| approx_f64(value));
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { at(half) } else { f64::midpoint(at(half.saturating_sub(1)), at(half)) }
}

/// How much of it there was to be late: schedules, or where gaps are looked for the time observed.
fn exposure(piece: &Piece, measurement: Measurement) -> u64 {
    if measurement.kind().sampling.counts_by_time() { piece.threads_ns } else { piece.schedules() }
}

fn total(pieces: &[&Piece], of: impl Fn(&Piece) -> u64) -> u64 {
    units::total(pieces.iter().map(|piece| of(piece)))
}

/// Whether all are alike within a factor.
fn are_alike(values: &[u64], factor: f64) -> bool {
    let (least, most) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    least > 0 && approx_f64(most) / approx_f64(least) <= factor
}

/// The pieces of each unit of A and of B.
fn units_of<'a, 'p>(groups: &[Vec<Range<usize>>; 2], pieces: &'a [&'p Piece]) -> [Vec<&'a [&'p Piece]>; 2] {
    [0, 1].map(|of| groups[of].iter().map(|group| pieces.get(group.clone()).unwrap_or_default()).collect())
}

fn exposures(units: &[&[&Piece]], measurement: Measurement) -> Vec<u64> {
    units.iter().map(|unit| total(unit, |piece| exposure(piece, measurement))).collect()
}

impl Maxima {
    pub(super) fn new(
        groups: &[Vec<Range<usize>>; 2],
        pieces: &[&Piece],
        unit: Unit,
        measurement: Measurement,
    ) -> Self {
        let units = units_of(groups, pieces);
        // Noise without a gap is a CPU that lost nothing; where no packet came, nothing is known of how long one takes.
        let is_quiet = measurement.kind().sampling.is_quiet_without_samples();
        let maxima_of = |units: &[&[&Piece]]| maxima_of(units, is_quiet);
        let largest_ns = [0, 1].map(|of| maxima_of(&units[of]).into_iter().max().unwrap_or(0));
        let whole = |problem: Option<&str>| Self {
            maxima_ns: [0, 1].map(|of| maxima_of(&units[of])),
            largest_ns,
            part_ns: None,
            problem: problem.map(str::to_owned),
        };
        if [0, 1].iter().any(|of: &usize| maxima_of(&units[*of]).len() < units[*of].len()) {
            return whole(Some("some hold no sample of what is compared, and have no maximum"));
        }
        let [a, b] = [0, 1].map(|of| exposures(&units[of], measurement));
        if unit == Unit::Block {
            let longer = "the pieces of one side hold more schedules, and their maxima are larger by that alone";
            return whole((!are_alike_in_the_middle(&a, &b, MOST_UNEVEN)).then_some(longer));
        }
        let all = [a, b].concat();
        if are_alike(&all, MOST_UNEVEN) {
            return whole(None);
        }
        let wanted = approx_f64(all.iter().min().copied().unwrap_or(0));
        let parts: [Vec<&[&Piece]>; 2] =
            [0, 1].map(|of| units[of].iter().map(|unit| first_part(unit, wanted, measurement)).collect());
        let [a, b] = [0, 1].map(|of| exposures(&parts[of], measurement));
        let lengths: Vec<u64> = parts.iter().flatten().map(|part| total(part, |piece| piece.length_ns)).collect();
        if !are_alike(&[a, b].concat(), MOST_UNEVEN) || !are_alike(&lengths, MOST_UNEVEN) {
            return whole(Some(
                "the runs hold unequally many schedules, and maxima of more are larger by that alone; take runs of one length, \
                 interval and number of CPUs",
            ));
        }
        Self {
            maxima_ns: [0, 1].map(|of| maxima_of(&parts[of])),
            largest_ns,
            part_ns: lengths.iter().min().copied(),
            problem: None,
        }
    }

    /// B's median less A's (ns).
    pub(super) fn difference_ns(&self) -> f64 {
        median(&self.maxima_ns[1]) - median(&self.maxima_ns[0])
    }

    /// Why what the ranks say (B above A: 1, below: -1) is not to be concluded.
    pub(super) fn contradiction(&self, direction: i8) -> Option<String> {
        let [a, b] = self.largest_ns.map(approx_f64);
        let beyond = match direction {
            1 => a - b,
            -1 => b - a,
            _ => return None,
        };
        let (ranks, largest) = if direction > 0 { ("B", "A") } else { ("A", "B") };
        let difference_ns = self.difference_ns();
        if beyond > difference_ns.abs() {
            return Some(format!(
                "most of {ranks}'s maxima are the higher ones, but the largest of all is {largest}'s: {} of A, {} of B",
                latency(a),
                latency(b)
            ));
        }
        (difference_ns * f64::from(direction) < 0.0).then(|| {
            format!(
                "by ranks {ranks}'s maxima are the higher ones, but the median of {largest}'s is higher: {} of A, {} of B",
                latency(median(&self.maxima_ns[0])),
                latency(median(&self.maxima_ns[1]))
            )
        })
    }

    /// Why B does not pass although its maxima are not shown to be worse: what was seen is too far beyond A's.
    pub(super) fn far_worse(&self) -> Option<String> {
        let [a, b] = [0, 1].map(|side| median(&self.maxima_ns[side]));
        let [a_largest, b_largest] = self.largest_ns.map(approx_f64);
        let is_far = |a: f64, b: f64| b > a * FAR && b - a > LEAST_MARGIN_NS;
        let all = [("largest of all", a_largest, b_largest), ("median of maxima", a, b)];
        let (what, ..) = all.into_iter().find(|&(_, a, b)| is_far(a, b))?;
        Some(format!("its {what} is over twice A's"))
    }
}

/// The maximum of each unit that has one: without a sample it has none, save where `is_quiet` says that this is 0.
fn maxima_of(units: &[&[&Piece]], is_quiet: bool) -> Vec<u64> {
    let of_unit = |unit: &&[&Piece]| unit.iter().filter_map(|piece| piece.histogram.max_ns()).max();
    units.iter().filter_map(|unit| of_unit(unit).or(is_quiet.then_some(0))).collect()
}

/// Blocks of one run may differ by a piece: it is both sides' typical one that counts.
fn are_alike_in_the_middle(a: &[u64], b: &[u64], factor: f64) -> bool {
    let (a, b) = (median(a), median(b));
    a > 0.0 && b > 0.0 && (a / b).max(b / a) <= factor
}

/// The first pieces of a run that hold about so much together.
fn first_part<'a, 'p>(unit: &'a [&'p Piece], wanted: f64, measurement: Measurement) -> &'a [&'p Piece] {
    let mut held = 0.0;
    for (place, piece) in unit.iter().enumerate() {
        let more = approx_f64(exposure(piece, measurement));
        // Cut where it comes nearest.
        if held + more / 2.0 > wanted {
            return &unit[..place];
        }
        held += more;
    }
    unit
}

/// How often each unit was beyond the deadline, over about equally long parts of the runs.
///
/// Rates of unequally long runs must not be ranked: of an event in a minute most runs of ten seconds have none, and most of
/// a hundred seconds have one, so that the longer ones rank higher although the rate is the same.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    pub(super) deadline_ns: u64,
    /// Periods of each unit of A and of B that were late by more than the deadline, taken or skipped; of noise gaps.
    pub(super) beyond: [Vec<u64>; 2],
    /// Periods of each unit; of noise the time observed (ns).
    pub(super) exposure: [Vec<u64>; 2],
    /// The sums of `beyond` over the whole runs.
    pub(super) whole_beyond: [u64; 2],
    /// How many of `beyond` are schedules that late wake-ups skipped.
    pub(super) missed_beyond: [u64; 2],
    /// The same over the whole runs.
    whole_missed_beyond: [u64; 2],
    /// The sums of `exposure` over the whole runs.
    whole_exposure: [u64; 2],
    /// How long the shortest part that counts is (ns); absent where all of each run does.
    pub(super) part_ns: Option<u64>,
    /// Why they cannot be held against each other; absent where they can.
    pub(super) problem: Option<String>,
    measurement: Measurement,
}

impl Rates {
    pub(super) fn new(
        deadline_ns: u64,
        groups: &[Vec<Range<usize>>; 2],
        pieces: &[&Piece],
        unit: Unit,
        measurement: Measurement,
        are_missed_counted: bool,
    ) -> Self {
        let sums = |units: &[Vec<&[&Piece]>; 2], of: &dyn Fn(&Piece) -> u64| -> [Vec<u64>; 2] {
            [0, 1].map(|side| units[side].iter().map(|unit| total(unit, of)).collect())
        };
        let missed_beyond = |piece: &Piece| if are_missed_counted { piece.missed_beyond } else { 0 };
        let beyond = |piece: &Piece| {
            // By bins: of the deadline's own bin nothing counts but a maximum beyond it.
            piece.histogram.count_above(deadline_ns).saturating_add(missed_beyond(piece))
        };
        let exposed = |piece: &Piece| match measurement.kind().sampling.counts_by_time() {
            true => piece.threads_ns,
            false if are_missed_counted => piece.schedules(),
            false => piece.histogram.count(),
        };
        let whole = units_of(groups, pieces);
        let [a, b] = [0, 1].map(|side| exposures(&whole[side], measurement));
        let wanted = approx_f64(a.iter().chain(&b).min().copied().unwrap_or(0));
        let is_even = match unit {
            Unit::Block => are_alike_in_the_middle(&a, &b, MOST_UNEVEN_OF_RATES),
            Unit::Run => are_alike(&[a, b].concat(), MOST_UNEVEN_OF_RATES),
        };
        let (mut counted, mut part_ns, mut problem) = (whole.clone(), None, None);
        if !is_even {
            let parts: [Vec<&[&Piece]>; 2] =
                [0, 1].map(|side| whole[side].iter().map(|unit| first_part(unit, wanted, measurement)).collect());
            let [a, b] = [0, 1].map(|side| exposures(&parts[side], measurement));
            let lengths: Vec<u64> = parts.iter().flatten().map(|part| total(part, |piece| piece.length_ns)).collect();
            let are_equal = are_alike(&[a, b].concat(), MOST_UNEVEN_OF_RATES) && are_alike(&lengths, MOST_UNEVEN);
            if unit == Unit::Run && are_equal {
                part_ns = lengths.iter().min().copied();
                counted = parts;
            } else {
                let why = "the runs hold unequally many schedules, and rates of fewer are more often 0 by that alone; take runs \
                           of one length, interval and number of CPUs";
                problem = Some(why.to_owned());
            }
        }
        let sum = |of: &dyn Fn(&Piece) -> u64| sums(&whole, of).map(units::total);
        Self {
            deadline_ns,
            beyond: sums(&counted, &beyond),
            exposure: sums(&counted, &exposed),
            missed_beyond: sums(&counted, &missed_beyond).map(units::total),
            whole_beyond: sum(&beyond),
            whole_missed_beyond: sum(&missed_beyond),
            whole_exposure: sum(&exposed),
            part_ns,
            problem,
            measurement,
        }
    }

    /// The rate of each unit, A's first, in steps that ranks can be made of. A's may be taken to be higher by a factor.
    pub(super) fn ranked(&self, factor_of_a: f64) -> Vec<u64> {
        let of = |side: usize| self.beyond[side].iter().zip(&self.exposure[side]);
        let rate = |(&beyond, &exposure): (&u64, &u64)| {
            let steps = u128::from(beyond).saturating_mul(RATE_STEPS) / u128::from(exposure.max(1));
            u64::try_from(steps).unwrap_or(u64::MAX)
        };
        let higher = |steps: u64| units::round_u64(approx_f64(steps) * factor_of_a);
        of(0).map(rate).map(higher).chain(of(1).map(rate)).collect()
    }

    pub(super) fn total_beyond(&self, side: usize) -> u64 {
        units::total(self.beyond[side].iter().copied())
    }

    pub(super) fn total_exposure(&self, side: usize) -> u64 {
        units::total(self.exposure[side].iter().copied())
    }

    /// The rate of all units together.
    pub(super) fn rate(&self, side: usize) -> f64 {
        approx_f64(self.total_beyond(side)) / approx_f64(self.total_exposure(side).max(1))
    }

    /// The rate over the whole runs.
    pub(super) fn whole_rate(&self, side: usize) -> f64 {
        approx_f64(self.whole_beyond[side]) / approx_f64(self.whole_exposure[side].max(1))
    }

    /// `12 of 300 000 periods (9 of them skipped)`.
    pub(super) fn text(&self, side: usize) -> String {
        self.in_words(self.total_beyond(side), self.missed_beyond[side], self.total_exposure(side))
    }

    /// The same over the whole runs.
    fn whole_text(&self, side: usize) -> String {
        self.in_words(self.whole_beyond[side], self.whole_missed_beyond[side], self.whole_exposure[side])
    }

    /// `, of the first 20 s of each run (in all of them 12 of 300 000 periods and 4 of 90 000 periods)`; empty where all of each
    /// run counts.
    pub(super) fn part_text(&self) -> String {
        self.part_ns.map_or_else(String::new, |part_ns| {
            format!(
                ", of the first {} of each run (in all of them {} and {})",
                format::span(part_ns),
                self.whole_text(0),
                self.whole_text(1),
            )
        })
    }

    fn in_words(&self, beyond: u64, skipped: u64, exposure: u64) -> String {
        let beyond = format::count(beyond);
        let kind = self.measurement.kind();
        if kind.sampling.counts_by_time() {
            return format!("{beyond} {} in {}", kind.samples, format::span(exposure));
        }
        let skipped = match skipped {
            0 => String::new(),
            skipped => format!(" ({} of them skipped)", format::count(skipped)),
        };
        format!("{beyond} of {} periods{skipped}", format::count(exposure))
    }

    /// Why what the ranks say (B above A: 1, below: -1) is not to be concluded.
    pub(super) fn contradiction(&self, direction: i8) -> Option<String> {
        let difference = self.whole_rate(1) - self.whole_rate(0);
        let opposed = (direction > 0 && difference < 0.0) || (direction < 0 && difference > 0.0);
        let (ranks, sum) = if direction > 0 { ("B", "A") } else { ("A", "B") };
        opposed.then(|| {
            format!(
                "most of {ranks}'s runs have the higher rate, but {sum} has the higher one over all its runs: {} of A, {} of B",
                self.whole_text(0),
                self.whole_text(1)
            )
        })
    }

    /// What would show more.
    pub(super) fn remedy(&self) -> &'static str {
        // What lies behind the parts that are compared is in no repetition.
        if self.part_ns.is_some() { "take runs of one length" } else { "take more repetitions" }
    }

    /// Why B does not pass although its rates are not shown to be worse: what was seen is too far beyond A's.
    pub(super) fn far_worse(&self) -> Option<String> {
        let [of_a, of_b] = self.whole_beyond;
        if of_a == 0 && of_b > 0 {
            let all = format::count(of_b);
            return Some(match self.part_ns {
                None => {
                    format!("A never exceeded the deadline, and B did ({all} in all its runs), too seldom to show it")
                }
                Some(_) => format!(
                    "A never exceeded the deadline, and B did ({all} in all its runs, {} of them in the parts that are compared)",
                    format::count(self.total_beyond(1))
                ),
            });
        }
        let [a, b] = [0, 1].map(|side| self.whole_rate(side));
        let more = approx_f64(of_b) - a * approx_f64(self.whole_exposure[1]);
        (b > a * FAR && more >= LEAST_FAR_PERIODS).then(|| {
            format!(
                "over the whole runs it is over twice A's ({} of A, {} of B)",
                self.whole_text(0),
                self.whole_text(1)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;

    /// A run of pieces of a second with 1,000 schedules and these maxima.
    fn pieces(maxima_us: &[u64]) -> Vec<Piece> {
        let piece = |&max_us: &u64| {
            let mut histogram = Histogram::new();
            histogram.record_n(5_000, 999);
            histogram.record_n(max_us * 1_000, 1);
            Piece { length_ns: 1_000_000_000, threads_ns: 1_000_000_000, histogram, ..Piece::default() }
        };
        maxima_us.iter().map(piece).collect()
    }

    fn maxima(a: &[&[u64]], b: &[&[u64]]) -> Maxima {
        let runs: Vec<Vec<Piece>> = a.iter().chain(b).map(|run| pieces(run)).collect();
        let all: Vec<&Piece> = runs.iter().flatten().collect();
        let mut start = 0;
        let ranges: Vec<Range<usize>> = runs
            .iter()
            .map(|run| {
                start += run.len();
                start - run.len()..start
            })
            .collect();
        let groups = [ranges[..a.len()].to_vec(), ranges[a.len()..].to_vec()];
        Maxima::new(&groups, &all, Unit::Run, Measurement::Wakeup)
    }

    #[test]
    fn medians() {
        assert_eq!(
            [median(&[3, 1, 2]), median(&[4, 1, 2, 3]), median(&[])].map(|median| units::round_u64(median * 10.0)),
            [20, 25, 0]
        );
    }

    #[test]
    fn a_longer_run_counts_by_a_part_as_long_as_the_others() {
        let found = maxima(&[&[20, 21], &[22, 20]], &[&[20, 23, 30, 900], &[25, 24, 20, 20]]);
        assert_eq!(found.maxima_ns, [vec![21_000, 22_000], vec![23_000, 25_000]]);
        assert_eq!((found.part_ns, found.problem.as_deref()), (Some(2_000_000_000), None));
        assert_eq!(found.largest_ns, [22_000, 900_000], "what came later is not forgotten");
        assert!(found.contradiction(-1).is_some_and(|why| why.contains("900 us of B")));
    }

    #[test]
    fn one_longer_run_among_many_is_noticed() {
        // The medians are the same: one run of ten times the length has the largest maximum by that alone.
        let long: Vec<u64> = (0..20).map(|at| 20 + at).collect();
        let found = maxima(&[&[20, 21], &[22, 20], &[20, 20]], &[&[20, 23], &[25, 24], &long]);
        assert_eq!(found.maxima_ns[1], [23_000, 25_000, 21_000]);
    }

    #[test]
    fn ranks_that_the_largest_contradicts_decide_nothing() {
        let found = maxima(&[&[50], &[51], &[52], &[50]], &[&[40], &[41], &[42], &[5_000]]);
        let why = found.contradiction(-1).unwrap();
        assert!(why.contains("most of A's maxima are the higher ones, but the largest of all is B's"), "{why}");
        let found = maxima(&[&[50], &[51], &[52], &[50]], &[&[40], &[41], &[42], &[55]]);
        assert_eq!(found.contradiction(-1), None, "a largest that is higher by less than the difference is chance");
    }

    #[test]
    fn ranks_that_the_medians_contradict_decide_nothing() {
        // B is higher in most pairs of runs, and by its median lower: no sentence can say both.
        let found = maxima(&[&[10], &[10], &[30], &[30], &[30]], &[&[29], &[29], &[29], &[100], &[100]]);
        let why = found.contradiction(1).unwrap();
        assert!(why.contains("the median of A's is higher: 30.0 us of A, 29.0 us of B"), "{why}");
    }

    #[test]
    fn rates_are_those_of_equally_long_parts() {
        // One late wake-up in four seconds on both sides: runs of two seconds have mostly none, runs of eight have two.
        let runs = [
            pieces(&[20, 20]),
            pieces(&[20, 20]),
            pieces(&[20, 150, 20, 20, 20, 150, 20, 20]),
            pieces(&[20, 20, 20, 150, 20, 20, 20, 150]),
        ];
        let all: Vec<&Piece> = runs.iter().flatten().collect();
        let groups = [vec![0..2, 2..4], vec![4..12, 12..20]];
        let rates = Rates::new(100_000, &groups, &all, Unit::Run, Measurement::Wakeup, true);
        assert_eq!((rates.beyond.clone(), rates.part_ns), ([vec![0, 0], vec![1, 0]], Some(2_000_000_000)));
        assert_eq!(rates.exposure, [vec![2_000, 2_000], vec![2_000, 2_000]]);
        assert_eq!((rates.whole_beyond, rates.problem.as_deref()), ([0, 4], None), "what came later is not forgotten");
        assert!(rates.part_text().starts_with(", of the first 2"), "{}", rates.part_text());
        assert_eq!(
            rates.far_worse().as_deref(),
            Some(
                "A never exceeded the deadline, and B did (4 in all its runs, 1 of them in the parts that are compared)"
            )
        );
        assert_eq!(rates.remedy(), "take runs of one length");
        // Of four times as many schedules a second the same number is a shorter time: no part is the same of both.
        let mut dense = runs.clone();
        dense[2..].iter_mut().flatten().for_each(|piece| piece.length_ns /= 4);
        let all: Vec<&Piece> = dense.iter().flatten().collect();
        let rates = Rates::new(100_000, &groups, &all, Unit::Run, Measurement::Wakeup, true);
        assert_eq!(rates.part_ns, None);
        assert!(rates.problem.is_some_and(|why| why.contains("take runs of one length, interval and number of CPUs")));
        // Without intervals no part is known.
        let mut long = pieces(&[150]);
        (0..3).for_each(|_| long[0].histogram.merge(&runs[0][0].histogram));
        let all: Vec<&Piece> = runs[0][..1].iter().chain(&long).collect();
        let groups = [0, 1].map(|unit| std::iter::once(unit..unit + 1).collect());
        let rates = Rates::new(100_000, &groups, &all, Unit::Run, Measurement::Wakeup, true);
        assert!(rates.problem.is_some_and(|why| why.contains("unequally many schedules")));
    }

    #[test]
    fn rates_that_contradict_each_other_are_named_as_rates_where_more_runs_have_more_in_sum() {
        // 60 late of 8,000 in one of A's eight runs; 5 of 1,000 in each of B's sixteen: 80, and a lower rate.
        let mut runs = [pieces(&[20; 7]), pieces(&[20; 17])].concat();
        runs[23].histogram.record_n(150_000, 60);
        runs[7..23].iter_mut().for_each(|piece| piece.histogram.record_n(150_000, 5));
        let mut all: Vec<&Piece> = runs.iter().collect();
        let last = all.remove(23);
        all.insert(7, last);
        let groups = [(0..8).map(|unit| unit..unit + 1).collect(), (8..24).map(|unit| unit..unit + 1).collect()];
        let rates = Rates::new(100_000, &groups, &all, Unit::Run, Measurement::Wakeup, true);
        assert_eq!(rates.whole_beyond, [60, 80]);
        let why = rates.contradiction(1).unwrap();
        assert!(why.contains("but A has the higher one over all its runs: 60 of "), "{why}");
        assert_eq!(rates.contradiction(-1), None);
    }

    #[test]
    fn a_missed_period_counts_where_it_was_late_by_more_than_the_deadline() {
        let mut late = pieces(&[150, 20]);
        (late[1].missed_periods, late[1].missed_beyond) = (9, 5);
        let all: Vec<&Piece> = late.iter().collect();
        let groups = [0, 1].map(|unit| std::iter::once(unit..unit + 1).collect());
        let rates = Rates::new(100_000, &groups, &all, Unit::Run, Measurement::Wakeup, true);
        assert_eq!((rates.total_beyond(0), rates.total_beyond(1)), (1, 5));
        assert_eq!(rates.text(1), format!("5 of {} periods (5 of them skipped)", format::count(1_009)));
        let uncounted = Rates::new(100_000, &groups, &all, Unit::Run, Measurement::Wakeup, false);
        assert_eq!((uncounted.total_beyond(1), uncounted.total_exposure(1)), (0, 1_000));
        assert!(rates.contradiction(-1).is_some() && rates.contradiction(1).is_none());
        assert_eq!(rates.ranked(2.0)[0], 2_000_000_000_000);
    }
}
