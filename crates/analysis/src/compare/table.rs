//! Mean and quantiles of any weighting of pieces, without touching a sample again.
//!
//! For each bin the table holds how many samples of each piece lie in it or below. A weighting of pieces then has its
//! quantile where the weighted sum of a row first reaches the wanted share: some twelve rows are read by bisection.
//! Quantiles are the bins' upper ends, so within 0.1 % of the sample; means are exact.

use std::ops::Range;

use histogram::weighted_sum;
use units::approx_f64;

use super::pieces::{Piece, Signed};

/// Cells beyond which neighboring pieces should be merged first: 64 MiB.
pub(super) const MOST_CELLS: usize = 8 << 20;

/// Cumulative counts of pieces over the bins of all of them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pieces: usize,
    /// The upper end of each row's bin (ns), ascending.
    ends_ns: Vec<f64>,
    /// Row by row: samples of each piece in this bin or below.
    cumulative: Vec<f64>,
    counts: Vec<f64>,
    sums_ns: Vec<f64>,
    /// The same where samples are summed up over time: what is added to a sample once is added here once a second.
    stolen_ns: Vec<f64>,
    /// Seconds of all threads.
    seconds: Vec<f64>,
}

/// What is asked of a weighting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantity {
    Mean,
    /// The sum of samples in each second of a thread.
    InASecond,
    /// Its share of all samples, 0 to 1.
    Quantile(f64),
}

/// By how much later the samples of one side are taken to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shift {
    /// By so much (ns, at least 0).
    By(f64),
    /// By this factor (at least 1).
    Times(f64),
}

impl Shift {
    /// The identity, without a shift.
    pub(super) const NONE: Self = Self::By(0.0);

    pub(super) fn apply(self, ns: f64) -> f64 {
        match self {
            Self::By(more) => ns + more,
            Self::Times(factor) => ns * factor,
        }
    }
}

/// Cells that a table of these pieces has.
pub(super) fn cells(pieces: &[&Piece]) -> usize {
    ends(pieces).len() * pieces.len()
}

fn ends(pieces: &[&Piece]) -> Vec<u64> {
    let mut ends: Vec<u64> = pieces.iter().flat_map(|piece| piece.histogram.bins().map(|bin| bin.to_ns)).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

impl Table {
    pub(super) fn from_pieces(pieces: &[&Piece]) -> Self {
        let ends = ends(pieces);
        let mut cumulative = vec![0.0; ends.len() * pieces.len()];
        for (column, piece) in pieces.iter().enumerate() {
            let mut bins = piece.histogram.bins().peekable();
            let mut seen = 0.0;
            for (row, &end) in ends.iter().enumerate() {
                while let Some(bin) = bins.next_if(|bin| bin.to_ns <= end) {
                    seen += approx_f64(bin.count);
                }
                cumulative[row * pieces.len() + column] = seen;
            }
        }
        Self {
            pieces: pieces.len(),
            ends_ns: ends.into_iter().map(approx_f64).collect(),
            cumulative,
            counts: pieces.iter().map(|piece| approx_f64(piece.histogram.count())).collect(),
            sums_ns: pieces.iter().map(|piece| approx_f64(piece.histogram.sum_ns())).collect(),
            stolen_ns: pieces.iter().map(|piece| approx_f64(piece.histogram.sum_ns())).collect(),
            seconds: pieces.iter().map(|piece| approx_f64(piece.threads_ns) / 1e9).collect(),
        }
    }

    /// The same of samples with their sign, the lowest first; one below zero counts by the end of its bin that is farther from it.
    pub(super) fn from_signed(pieces: &[&Piece]) -> Self {
        let none = Signed::default();
        let signed: Vec<&Signed> = pieces.iter().map(|piece| piece.signed.as_ref().unwrap_or(&none)).collect();
        let bins = |signed: &Signed| -> Vec<(f64, f64)> {
            let below = signed.below.bins_from_highest().map(|bin| (-approx_f64(bin.to_ns), approx_f64(bin.count)));
            below.chain(signed.above.bins().map(|bin| (approx_f64(bin.to_ns), approx_f64(bin.count)))).collect()
        };
        let bins: Vec<Vec<(f64, f64)>> = signed.iter().map(|signed| bins(signed)).collect();
        let mut ends: Vec<f64> = bins.iter().flatten().map(|(end, _)| *end).collect();
        ends.sort_unstable_by(f64::total_cmp);
        ends.dedup();
        let mut cumulative = vec![0.0; ends.len() * pieces.len()];
        for (column, bins) in bins.iter().enumerate() {
            let (mut bins, mut seen) = (bins.iter().peekable(), 0.0);
            for (row, &end) in ends.iter().enumerate() {
                while let Some((_, count)) = bins.next_if(|(at, _)| *at <= end) {
                    seen += count;
                }
                cumulative[row * pieces.len() + column] = seen;
            }
        }
        let sums_ns: Vec<f64> = signed.iter().map(|signed| signed.sum_ns()).collect();
        Self {
            pieces: pieces.len(),
            ends_ns: ends,
            cumulative,
            counts: signed.iter().map(|signed| approx_f64(signed.count())).collect(),
            stolen_ns: sums_ns.clone(),
            sums_ns,
            seconds: pieces.iter().map(|piece| approx_f64(piece.threads_ns) / 1e9).collect(),
        }
    }

    /// The same samples with groups of pieces as one piece each.
    pub(super) fn grouped(&self, groups: &[Range<usize>]) -> Self {
        let sum = |row: &[f64], group: &Range<usize>| row.get(group.clone()).map_or(0.0, |part| part.iter().sum());
        let all = |row: &[f64]| groups.iter().map(|group| sum(row, group)).collect::<Vec<f64>>();
        Self {
            pieces: groups.len(),
            ends_ns: self.ends_ns.clone(),
            cumulative: self.cumulative.chunks(self.pieces.max(1)).flat_map(all).collect(),
            counts: all(&self.counts),
            sums_ns: all(&self.sums_ns),
            stolen_ns: all(&self.stolen_ns),
            seconds: all(&self.seconds),
        }
    }

    /// The same with the samples of the first `of_a` pieces later by a shift: whether B is worse by more than that is then
    /// whether it is worse. What is stolen in a second has a shift of its own, since it is no latency.
    pub(super) fn shifted(&self, of_a: usize, shift: Shift, of_stolen: Shift) -> Self {
        let mut ends: Vec<f64> = self.ends_ns.iter().flat_map(|&end| [end, shift.apply(end)]).collect();
        ends.sort_unstable_by(f64::total_cmp);
        ends.dedup();
        let mut cumulative = vec![0.0; ends.len() * self.pieces];
        let (mut of_plain, mut of_shifted) = (0, 0);
        for (row, &end) in ends.iter().enumerate() {
            while self.ends_ns.get(of_plain).is_some_and(|&other| other <= end) {
                of_plain += 1;
            }
            while self.ends_ns.get(of_shifted).is_some_and(|&other| shift.apply(other) <= end) {
                of_shifted += 1;
            }
            for column in 0..self.pieces {
                let rows = if column < of_a { of_shifted } else { of_plain };
                if let Some(from) = rows.checked_sub(1) {
                    cumulative[row * self.pieces + column] = self.cumulative[from * self.pieces + column];
                }
            }
        }
        let sums = |sums: &[f64], times: &[f64], shift: Shift| -> Vec<f64> {
            let one = |(column, (&sum, &times)): (usize, (&f64, &f64))| match shift {
                _ if column >= of_a => sum,
                Shift::By(ns) => sum + ns * times,
                Shift::Times(factor) => sum * factor,
            };
            sums.iter().zip(times).enumerate().map(one).collect()
        };
        Self {
            pieces: self.pieces,
            sums_ns: sums(&self.sums_ns, &self.counts, shift),
            stolen_ns: sums(&self.stolen_ns, &self.seconds, of_stolen),
            ends_ns: ends,
            cumulative,
            counts: self.counts.clone(),
            seconds: self.seconds.clone(),
        }
    }

    /// A quantity (ns) of the pieces in `columns`, each counted as often as its weight says.
    /// `None` where they hold no sample.
    pub(super) fn value(&self, quantity: Quantity, columns: &Range<usize>, weights: &[f64]) -> Option<f64> {
        let sum = |row: &[f64]| Some(weighted_sum(row.get(columns.clone())?, weights));
        if quantity == Quantity::InASecond {
            let seconds = sum(&self.seconds)?;
            return (seconds > 0.0).then_some(sum(&self.stolen_ns)? / seconds);
        }
        let total = sum(&self.counts)?;
        if total <= 0.0 {
            return None;
        }
        match quantity {
            Quantity::Mean | Quantity::InASecond => Some(sum(&self.sums_ns)? / total),
            Quantity::Quantile(share) => {
                let wanted = (share * total).ceil().max(1.0);
                let (mut low, mut high) = (0, self.ends_ns.len().saturating_sub(1));
                while low < high {
                    let middle = usize::midpoint(low, high);
                    let row = middle * self.pieces;
                    let cells = self.cumulative.get(row + columns.start..row + columns.end)?;
                    if weighted_sum(cells, weights) >= wanted { high = middle } else { low = middle + 1 }
                }
                self.ends_ns.get(low).copied()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::Histogram;

    use super::*;

    fn piece(values: &[u64]) -> Piece {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record_n(value, 1));
        Piece { length_ns: 1, threads_ns: 1_000, histogram, ..Piece::default() }
    }

    proptest! {
        #[test]
        fn a_weighting_has_the_quantiles_of_the_merged_histogram(
            values in proptest::collection::vec(proptest::collection::vec(0_u64..5_000_000, 1..40), 1..9),
            weights in proptest::collection::vec(0_u8..4, 9), share in 0.0_f64..1.0,
        ) {
            let pieces: Vec<Piece> = values.iter().map(|values| piece(values)).collect();
            let table = Table::from_pieces(&pieces.iter().collect::<Vec<_>>());
            let mut merged = Histogram::new();
            for (piece, &times) in pieces.iter().zip(&weights) {
                (0..times).for_each(|_| merged.merge(&piece.histogram));
            }
            let weights: Vec<f64> = weights.iter().take(pieces.len()).map(|&weight| f64::from(weight)).collect();
            let columns = 0..pieces.len();
            let mean = table.value(Quantity::Mean, &columns, &weights);
            prop_assert_eq!(mean.is_some(), merged.mean_ns().is_some());
            if let (Some(mean), Some(expected)) = (mean, merged.mean_ns()) {
                prop_assert!((mean - expected).abs() <= expected * 1e-12);
                let found = table.value(Quantity::Quantile(share), &columns, &weights).unwrap();
                let expected = approx_f64(merged.quantile_ns(share).unwrap());
                prop_assert!((found - expected).abs() <= expected * 0.001, "{found} {expected}");
            }
        }
    }

    proptest! {
        #[test]
        fn signed_quantiles_are_those_of_the_sorted_samples(
            values in proptest::collection::vec(proptest::collection::vec(-3_000_000_i64..3_000_000, 1..40), 1..9),
            share in 0.001_f64..1.0,
        ) {
            let pieces: Vec<Piece> = values.iter().map(|values| {
                let mut signed = Signed::default();
                for &value in values {
                    if value < 0 { &mut signed.below } else { &mut signed.above }.record_n(value.unsigned_abs(), 1);
                }
                Piece { length_ns: 1, threads_ns: 1_000, signed: Some(signed), ..Piece::default() }
            }).collect();
            let table = Table::from_signed(&pieces.iter().collect::<Vec<_>>());
            let mut sorted: Vec<i64> = values.concat();
            sorted.sort_unstable();
            let (columns, once) = (0..pieces.len(), vec![1.0; pieces.len()]);
            let count = sorted.len();
            let sum: i64 = sorted.iter().sum();
            let mean = table.value(Quantity::Mean, &columns, &once).unwrap();
            prop_assert!((mean - units::approx_f64_i64(sum) / approx_f64(count as u64)).abs() < 1e-3);
            let rank = units::round_u64((share * approx_f64(count as u64)).ceil().max(1.0));
            let expected = units::approx_f64_i64(sorted[usize::try_from(rank).unwrap() - 1]);
            let found = table.value(Quantity::Quantile(share), &columns, &once).unwrap();
            prop_assert!((found - expected).abs() <= expected.abs() * 0.001 + 1.0, "{found} {expected}");
        }
    }

    #[test]
    fn groups_hold_what_their_pieces_hold() {
        let pieces = [piece(&[1, 9]), piece(&[5]), piece(&[7, 8, 20])];
        let table = Table::from_pieces(&pieces.iter().collect::<Vec<_>>());
        let grouped = table.grouped(&[0..2, 2..3]);
        let value = |quantity, weights: &[f64]| grouped.value(quantity, &(0..2), weights);
        assert_eq!(value(Quantity::Mean, &[1.0, 0.0]), Some(5.0));
        assert_eq!(value(Quantity::Quantile(0.5), &[0.0, 1.0]), Some(8.0));
        assert_eq!(value(Quantity::Mean, &[0.0, 0.0]), None);
        // Three pieces of a microsecond each, 50 ns in all.
        let stolen = value(Quantity::InASecond, &[1.0, 1.0]).unwrap();
        assert!((stolen - 50.0 / 3e-6).abs() < 1.0, "{stolen}");
    }

    #[test]
    fn a_shift_moves_the_first_side_alone() {
        let pieces = [piece(&[10_000, 90_000]), piece(&[50_000]), piece(&[70_000])];
        let table = Table::from_pieces(&pieces.iter().collect::<Vec<_>>());
        let of = |table: &Table, quantity, weights: &[f64]| table.value(quantity, &(0..3), weights).unwrap();
        let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 0.001, "{found} {wanted}");
        let later = table.shifted(2, Shift::By(20_000.0), Shift::By(20_000.0));
        near(of(&later, Quantity::Mean, &[1.0, 0.0, 0.0]), 70_000.0);
        near(of(&later, Quantity::Quantile(0.5), &[1.0, 0.0, 0.0]), 30_000.0);
        near(of(&later, Quantity::Quantile(1.0), &[1.0, 1.0, 1.0]), 110_000.0);
        near(of(&later, Quantity::Quantile(0.5), &[0.0, 0.0, 1.0]), 70_000.0);
        let seconds = 1e-6;
        near(of(&later, Quantity::InASecond, &[0.0, 1.0, 0.0]), 50_000.0 / seconds + 20_000.0);
        let longer = table.shifted(1, Shift::Times(1.5), Shift::Times(1.5));
        near(of(&longer, Quantity::Mean, &[1.0, 0.0, 0.0]), 75_000.0);
        near(of(&longer, Quantity::Quantile(0.9), &[1.0, 1.0, 0.0]), 135_000.0);
        near(of(&longer, Quantity::InASecond, &[1.0, 0.0, 0.0]), 150_000.0 / seconds);
    }
}
