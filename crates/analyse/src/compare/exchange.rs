//! Whether A and B differ by more than chance: their units change sides, and nothing else does.
//!
//! If both sides are the same process, it does not matter which unit stands on which side. So the units are dealt out anew,
//! every way there is or ten thousand at random, and the difference that was seen is placed among those that chance alone
//! makes (Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005). Units are runs where a side has
//! several; otherwise blocks of neighbouring pieces of the two runs, long enough that blocks are not alike.
//! Several quantities are judged together by the smallest of their p-values (Westfall and Young, "Resampling-Based Multiple
//! Testing", 1993), so that the level holds for the verdict as a whole.

use super::float;
use super::table::{Quantity, Table};
use crate::random::Random;

/// Ways to deal the units out up to which all are taken.
const MOST_ENUMERATED: f64 = 20_000.0;

/// Random ways for each 1 / level: where few, what is seen of eight rows could not reach the level, however great it is.
const DEALS_OF_LEVEL: f64 = 40.0;
/// More random ways only take time.
const MOST_DEALS: f64 = 200_000.0;

/// How many random ways are dealt where there are too many to take all.
pub(super) fn deals(resamples: u32, level: f64) -> u32 {
    let of_level = (DEALS_OF_LEVEL / level).min(MOST_DEALS).ceil();
    resamples.max(u32::try_from(units::round_u64(of_level)).unwrap_or(u32::MAX))
}

/// What changes sides.
#[derive(Clone, Debug)]
pub(super) struct Units<'a> {
    /// The units, A's first.
    pub(super) table: &'a Table,
    /// How many are A's.
    pub(super) of_a: usize,
    /// How many there are.
    pub(super) all: usize,
    /// The maximum of each (ns); empty where worst cases are not to be judged.
    pub(super) maxima_ns: &'a [u64],
}

/// What the exchange says of one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chance {
    /// How often chance alone makes such a difference or a greater one, either way.
    pub(super) p: f64,
    /// The same for the most striking of all quantities judged together.
    pub(super) p_together: f64,
    /// Whether B was above A: 1, below: -1, neither: 0.
    pub(super) direction: i8,
}

/// The outcome of the exchange.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// One for each quantity, then one for the worst case where maxima were given.
    pub(super) chances: Vec<Chance>,
    /// No p-value below this is possible.
    pub(super) smallest_p: f64,
}

/// How many ways there are to choose `chosen` of `all`.
pub(super) fn ways(all: usize, chosen: usize) -> f64 {
    (0..chosen.min(all - chosen.min(all))).fold(1.0, |ways, i| ways * float(all - i) / float(i + 1)).round()
}

/// The smallest two-sided p-value that exchanging units can give.
pub(super) fn smallest_p(of_a: usize, of_b: usize) -> f64 {
    (2.0 / ways(of_a + of_b, of_a)).min(1.0)
}

pub(super) fn exchange(units: &Units<'_>, quantities: &[Quantity], deals: u32, seed: u64) -> Exchange {
    let ranks = ranks(units.maxima_ns);
    let deal = Deal { units, quantities, ranks: &ranks };
    let observed_sides: Vec<bool> = (0..units.all).map(|unit| unit < units.of_a).collect();
    let observed = deal.statistics(&observed_sides);
    let all_ways = ways(units.all, units.of_a);
    let mut dealt: Vec<Vec<i64>> = Vec::new();
    if all_ways <= MOST_ENUMERATED {
        each_way(units.all, units.of_a, &mut |sides| dealt.push(deal.statistics(sides)));
    } else {
        // What was seen is one of the ways (Phipson and Smyth, 2010): no p-value is ever 0.
        dealt.push(observed.clone());
        let mut random = Random::new(seed);
        let mut sides = observed_sides;
        for _ in 0..deals {
            for place in (1..sides.len()).rev() {
                sides.swap(place, random.below(place + 1));
            }
            dealt.push(deal.statistics(&sides));
        }
    }
    Exchange { chances: chances(&observed, &dealt), smallest_p: (2.0 / float(dealt.len())).min(1.0) }
}

struct Deal<'a> {
    units: &'a Units<'a>,
    quantities: &'a [Quantity],
    ranks: &'a [f64],
}

impl Deal<'_> {
    /// B - A of everything that is judged, in steps far below a nanosecond, so that equal ones compare equal.
    fn statistics(&self, in_a: &[bool]) -> Vec<i64> {
        let a: Vec<f64> = in_a.iter().map(|&in_a| if in_a { 1.0 } else { 0.0 }).collect();
        let b: Vec<f64> = a.iter().map(|weight| 1.0 - weight).collect();
        let columns = 0..self.units.all;
        let value = |quantity, weights: &[f64]| self.units.table.value(quantity, &columns, weights).unwrap_or(0.0);
        let mut statistics: Vec<i64> =
            self.quantities.iter().map(|&quantity| steps(value(quantity, &b) - value(quantity, &a))).collect();
        if !self.ranks.is_empty() {
            let mean_rank = |weights: &[f64]| {
                self.ranks.iter().zip(weights).map(|(rank, weight)| rank * weight).sum::<f64>()
                    / weights.iter().sum::<f64>().max(1.0)
            };
            statistics.push(steps(mean_rank(&b) - mean_rank(&a)));
        }
        statistics
    }
}

fn steps(difference: f64) -> i64 {
    let magnitude = i64::try_from(units::round_u64(difference.abs() * 1_000.0)).unwrap_or(i64::MAX);
    if difference < 0.0 { -magnitude } else { magnitude }
}

/// Ranks from 1, equal values sharing the mean of theirs.
fn ranks(values: &[u64]) -> Vec<f64> {
    let rank = |value: u64| {
        let below = values.iter().filter(|&&other| other < value).count();
        let equal = values.iter().filter(|&&other| other == value).count();
        float(below) + (float(equal) + 1.0) / 2.0
    };
    values.iter().map(|&value| rank(value)).collect()
}

/// Calls with every way to put `of_a` of `all` units on side A.
fn each_way(all: usize, of_a: usize, call: &mut dyn FnMut(&[bool])) {
    let mut chosen: Vec<usize> = (0..of_a).collect();
    let mut sides = vec![false; all];
    loop {
        sides.fill(false);
        chosen.iter().for_each(|&unit| sides[unit] = true);
        call(&sides);
        // The last one that can still move on does, and those behind it follow.
        let Some(place) = (0..of_a).rev().find(|&place| chosen[place] < all - of_a + place) else { return };
        chosen[place] += 1;
        for behind in place + 1..of_a {
            chosen[behind] = chosen[behind - 1] + 1;
        }
    }
}

/// Two-sided p-values: twice the smaller tail.
fn chances(observed: &[i64], dealt: &[Vec<i64>]) -> Vec<Chance> {
    let all = float(dealt.len());
    let sorted: Vec<Vec<i64>> = (0..observed.len())
        .map(|quantity| {
            let mut values: Vec<i64> = dealt.iter().filter_map(|way| way.get(quantity).copied()).collect();
            values.sort_unstable();
            values
        })
        .collect();
    let p = |quantity: usize, value: i64| {
        let up = sorted[quantity].len() - sorted[quantity].partition_point(|&other| other < value);
        let down = sorted[quantity].partition_point(|&other| other <= value);
        (2.0 * float(up.min(down)) / all).min(1.0)
    };
    let mut smallest: Vec<f64> = dealt
        .iter()
        .map(|way| way.iter().enumerate().map(|(quantity, &value)| p(quantity, value)).fold(1.0, f64::min))
        .collect();
    smallest.sort_unstable_by(f64::total_cmp);
    observed
        .iter()
        .enumerate()
        .map(|(quantity, &value)| {
            let p = p(quantity, value);
            // Half a step above, since the same fraction may differ in its last bit.
            let as_striking = smallest.partition_point(|&other| other <= p + 0.5 / all);
            let direction = if value > 0 { 1 } else { -i8::from(value < 0) };
            Chance { p, p_together: float(as_striking) / all, direction }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;
    use crate::compare::pieces::Piece;

    fn exchanged(a: &[u64], b: &[u64]) -> Exchange {
        let values: Vec<u64> = [a, b].concat();
        let pieces: Vec<Piece> = values
            .iter()
            .map(|&value| {
                let mut histogram = Histogram::new();
                histogram.record_n(value, 10);
                Piece { length_ns: 1, threads_ns: 1_000, histogram, ..Piece::default() }
            })
            .collect();
        let table = Table::of(&pieces.iter().collect::<Vec<_>>());
        let units = Units { table: &table, of_a: a.len(), all: values.len(), maxima_ns: &values };
        exchange(&units, &[Quantity::Mean, Quantity::Quantile(0.5)], 999, 7)
    }

    #[test]
    fn a_low_level_takes_more_random_ways() {
        assert_eq!([deals(10_000, 0.05), deals(10_000, 0.000_5), deals(10_000, 1e-9)], [10_000, 80_000, 200_000]);
    }

    #[test]
    fn all_ways_are_counted() {
        assert_eq!([ways(6, 3), ways(8, 4), ways(5, 1), ways(4, 0)].map(units::round_u64), [20, 70, 5, 1]);
        let mut seen = std::collections::BTreeSet::new();
        each_way(6, 3, &mut |sides| assert!(seen.insert(sides.to_vec())));
        assert_eq!(seen.len(), 20);
        each_way(2, 2, &mut |sides| assert_eq!(sides, [true, true]));
    }

    #[test]
    fn the_most_striking_way_has_the_smallest_p() {
        let found = exchanged(&[1_000, 1_010, 1_020, 1_030], &[2_000, 2_010, 2_020, 2_030]);
        assert!((found.smallest_p - 2.0 / 70.0).abs() < 1e-12);
        // The median is the same for several ways; mean and ranks are not.
        for chance in [found.chances[0], found.chances[2]] {
            assert!((chance.p - 2.0 / 70.0).abs() < 1e-12, "{chance:?}");
            assert!((chance.p_together - 2.0 / 70.0).abs() < 1e-12, "{chance:?}");
            assert_eq!(chance.direction, 1);
        }
    }

    #[test]
    fn the_rank_sum_test_is_the_known_one() {
        // Maxima of 3 and 4 units; the tables of Mann and Whitney give P(U <= 1) = 2/35 for one side.
        let found = exchanged(&[10_000, 11_000, 14_000], &[13_000, 15_000, 16_000, 17_000]);
        assert!((found.chances[2].p - 4.0 / 35.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn equal_sides_are_no_difference_and_many_ways_are_drawn() {
        let same = exchanged(&[5_000; 4], &[5_000; 4]);
        assert!(same.chances.iter().all(|chance| chance.p >= 1.0 && chance.direction == 0), "{same:?}");
        let many: Vec<u64> = (0..12).map(|i| 5_000 + i * 100).collect();
        let found = exchanged(&many, &many);
        assert!((found.smallest_p - 2.0 / 1_000.0).abs() < 1e-12);
        assert!(found.chances.iter().all(|chance| chance.p > 0.5), "{found:?}");
    }
}
