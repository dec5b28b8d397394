//! Whether A and B differ by more than chance: their units change sides, and nothing else does.
//!
//! If both sides are the same process, it does not matter which unit stands on which side. So the units are reassigned,
//! every way there is or ten thousand at random, and the difference that was seen is placed among those that chance alone
//! makes (Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005). Units are runs where a side has
//! several; otherwise blocks of neighboring pieces of the two runs, long enough that blocks are not alike.
//!
//! A verdict asks two questions: of the worst case (or the rate beyond a deadline), and of the body. They share one level by
//! closed testing (Marcus, Peritz and Gabriel, 1976): a question is answered where it and both together reach the level.
//! Both together are judged by the smallest p-value (Westfall and Young, "Resampling-Based Multiple Testing", 1993), in which
//! the worst case weighs more, so that what the body's rows do by chance does not hide it. A gate asks one question, of one
//! side, and has the level for itself.

use super::float;
use super::table::{Quantity, Table};
use units::Random;

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
    /// What decides, one value for each unit, of which the ranks alone count; empty where nothing of it can be judged.
    pub(super) decisive: &'a [u64],
}

/// What the exchange says of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chance {
    /// How often chance alone makes such a difference or a greater one, either way.
    pub(super) p: f64,
    /// The same within the level that the whole verdict has; absent for rows that only stand beside it.
    pub(super) p_together: Option<f64>,
    /// Whether B was above A: 1, below: -1, neither: 0.
    pub(super) direction: i8,
}

impl Chance {
    /// Whether it is a difference at this level.
    pub(super) fn is_shown(&self, level: f64) -> bool {
        self.direction != 0 && self.p_together.is_some_and(|p| p <= level)
    }
}

/// Every way that the units were dealt out: one row for each quantity, then one for what decides, where it was given.
#[derive(Clone, Debug)]
pub(super) struct Dealt {
    observed: Vec<i64>,
    ways: Vec<Vec<i64>>,
    /// For each row its values in all ways, ascending.
    sorted: Vec<Vec<i64>>,
}

/// In the smallest p-value of both questions together the worst case weighs so much, and a row of the body so much. With
/// less than twice as much, the most extreme ways of the body never count against those of the worst case.
const DECISIVE_WEIGHT: usize = 3;
const BODY_WEIGHT: usize = 2;

/// How many ways there are to choose `chosen` of `all`.
pub(super) fn ways(all: usize, chosen: usize) -> f64 {
    (0..chosen.min(all - chosen.min(all))).fold(1.0, |ways, i| ways * float(all - i) / float(i + 1)).round()
}

/// The smallest two-sided p-value that exchanging units can give.
pub(super) fn smallest_p(of_a: usize, of_b: usize) -> f64 {
    (2.0 / ways(of_a + of_b, of_a)).min(1.0)
}

/// The smallest one-sided p-value that exchanging units can give.
pub(super) fn smallest_one_sided_p(of_a: usize, of_b: usize) -> f64 {
    1.0 / ways(of_a + of_b, of_a)
}

impl Dealt {
    pub(super) fn deal(units: &Units<'_>, quantities: &[Quantity], deals: u32, seed: u64) -> Self {
        let ranks = ranks(units.decisive);
        let deal = Deal { units, quantities, ranks: &ranks };
        let observed_sides: Vec<bool> = (0..units.all).map(|unit| unit < units.of_a).collect();
        let observed = deal.statistics(&observed_sides);
        let mut dealt: Vec<Vec<i64>> = Vec::new();
        if ways(units.all, units.of_a) <= MOST_ENUMERATED {
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
        let sorted = (0..observed.len())
            .map(|row| {
                let mut values: Vec<i64> = dealt.iter().filter_map(|way| way.get(row).copied()).collect();
                values.sort_unstable();
                values
            })
            .collect();
        Self { observed, ways: dealt, sorted }
    }

    /// No two-sided p-value below this is possible.
    pub(super) fn smallest_p(&self) -> f64 {
        (2.0 / float(self.ways.len())).min(1.0)
    }

    /// Ways in which the row is at least so high.
    fn ways_up(&self, row: usize, value: i64) -> usize {
        self.sorted[row].len() - self.sorted[row].partition_point(|&other| other < value)
    }

    /// Twice the ways of the smaller tail: two-sided.
    fn ways_either(&self, row: usize, value: i64) -> usize {
        let down = self.sorted[row].partition_point(|&other| other <= value);
        (2 * self.ways_up(row, value).min(down)).min(self.ways.len())
    }

    /// Whether B was above A: 1, below: -1, neither: 0.
    pub(super) fn direction(&self, row: usize) -> i8 {
        let value = self.observed[row];
        if value > 0 { 1 } else { -i8::from(value < 0) }
    }

    /// What is shown of each row at a level that the whole verdict has. `is_body` says which of the quantities belong to the body
    /// judged by; a row behind them is what decides.
    pub(super) fn chances(&self, is_body: &[bool]) -> Vec<Chance> {
        let all = float(self.ways.len());
        let decisive = (self.observed.len() > is_body.len()).then_some(is_body.len());
        let body = |way: &[i64]| -> Option<usize> {
            let rows = way.iter().zip(is_body).enumerate().filter(|(_, (_, is_body))| **is_body);
            rows.map(|(row, (value, _))| self.ways_either(row, *value)).min()
        };
        // Weighted by multiplying with the other's weight, so that all stays in whole numbers.
        let together = |way: &[i64]| {
            let of_body = body(way).map(|ways| ways * DECISIVE_WEIGHT);
            let of_decisive = decisive.map(|row| self.ways_either(row, way[row]) * BODY_WEIGHT);
            of_body.into_iter().chain(of_decisive).min().unwrap_or(usize::MAX)
        };
        let seen_together = together(&self.observed);
        let p_together = float(self.ways.iter().filter(|way| together(way) <= seen_together).count()) / all;
        let mut of_body: Vec<usize> = self.ways.iter().filter_map(|way| body(way)).collect();
        of_body.sort_unstable();
        (0..self.observed.len())
            .map(|row| {
                let ways = self.ways_either(row, self.observed[row]);
                let own = if decisive == Some(row) {
                    Some(float(ways) / all)
                } else {
                    is_body[row].then(|| float(of_body.partition_point(|&other| other <= ways)) / all)
                };
                Chance {
                    p: float(ways) / all,
                    p_together: own.map(|own| own.max(p_together)),
                    direction: self.direction(row),
                }
            })
            .collect()
    }

    /// How often chance alone puts B so far above A in one of the rows together: one question, of one side.
    pub(super) fn p_above(&self, rows: &[usize]) -> f64 {
        let most = |way: &[i64]| rows.iter().map(|&row| self.ways_up(row, way[row])).min().unwrap_or(usize::MAX);
        let seen = most(&self.observed);
        float(self.ways.iter().filter(|way| most(way) <= seen).count()) / float(self.ways.len())
    }

    /// How often chance alone puts B so far below A in this row.
    pub(super) fn p_below(&self, row: usize) -> f64 {
        let down = self.sorted[row].partition_point(|&other| other <= self.observed[row]);
        float(down) / float(self.ways.len())
    }
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

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;
    use crate::compare::pieces::Piece;

    fn dealt(a: &[u64], b: &[u64], decisive: &[u64]) -> Dealt {
        let values: Vec<u64> = [a, b].concat();
        let pieces: Vec<Piece> = values
            .iter()
            .map(|&value| {
                let mut histogram = Histogram::new();
                histogram.record_n(value, 10);
                Piece { length_ns: 1, threads_ns: 1_000, histogram, ..Piece::default() }
            })
            .collect();
        let table = Table::from_pieces(&pieces.iter().collect::<Vec<_>>());
        let units = Units { table: &table, of_a: a.len(), all: values.len(), decisive };
        Dealt::deal(&units, &[Quantity::Mean, Quantity::Quantile(0.5)], 999, 7)
    }

    fn exchanged(a: &[u64], b: &[u64]) -> Vec<Chance> {
        dealt(a, b, &[a, b].concat()).chances(&[true, true])
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
        // The median is the same for several ways; mean and ranks are not.
        for chance in [found[0], found[2]] {
            assert!((chance.p - 2.0 / 70.0).abs() < 1e-12, "{chance:?}");
            assert!((chance.p_together.unwrap() - 2.0 / 70.0).abs() < 1e-12, "{chance:?}");
            assert_eq!(chance.direction, 1);
        }
    }

    #[test]
    fn worst_cases_that_are_all_apart_are_not_hidden_by_rows_that_are_not() {
        // The body has an order of its own, whose most extreme ways are others than those of the worst case.
        let (a, b) = ([1_000, 1_300, 1_100, 1_200], [1_050, 1_350, 1_150, 1_250]);
        let worst: Vec<u64> = (1..=8).collect();
        let found = dealt(&a, &b, &worst).chances(&[true, true]);
        assert!((found[2].p_together.unwrap() - 2.0 / 70.0).abs() < 1e-12, "{found:?}");
        // The other way round the body pays for each row.
        let shuffled = [1, 5, 3, 7, 2, 6, 4, 8];
        let found =
            dealt(&[1_000, 1_010, 1_020, 1_030], &[2_000, 2_010, 2_020, 2_030], &shuffled).chances(&[true, true]);
        assert!((found[0].p_together.unwrap() - 4.0 / 70.0).abs() < 1e-12, "{found:?}");
        assert!(found[2].p_together.unwrap() > 0.4, "what does not differ is not shown beside what does: {found:?}");
    }

    #[test]
    fn a_question_of_one_side_has_one_tail() {
        let apart = dealt(&[1_000, 1_010, 1_020], &[2_000, 2_010, 2_020], &[1, 2, 3, 4, 5, 6]);
        assert!((apart.p_above(&[2]) - 1.0 / 20.0).abs() < 1e-12);
        assert!((apart.p_above(&[0, 2]) - 1.0 / 20.0).abs() < 1e-12);
        assert!((apart.p_below(2) - 1.0).abs() < 1e-12);
        assert!((smallest_one_sided_p(3, 3) - 1.0 / 20.0).abs() < 1e-12);
    }

    #[test]
    fn the_rank_sum_test_is_the_known_one() {
        // Maxima of 3 and 4 units; the tables of Mann and Whitney give P(U <= 1) = 2/35 for one side.
        let found = exchanged(&[10_000, 11_000, 14_000], &[13_000, 15_000, 16_000, 17_000]);
        assert!((found[2].p - 4.0 / 35.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn equal_sides_are_no_difference_and_many_ways_are_drawn() {
        let same = exchanged(&[5_000; 4], &[5_000; 4]);
        assert!(same.iter().all(|chance| chance.p >= 1.0 && chance.direction == 0), "{same:?}");
        let many: Vec<u64> = (0..12).map(|i| 5_000 + i * 100).collect();
        let found = dealt(&many, &many, &[]);
        assert!((found.smallest_p() - 2.0 / 1_000.0).abs() < 1e-12);
        assert!(found.chances(&[true, true]).iter().all(|chance| chance.p > 0.5), "{found:?}");
    }
}
