//! Where offsets lie, with their sign. Which side is worse goes by how far from zero they are, either way; a clock 50 us behind and one
//! 50 us ahead are equally far, and are not alike.
//!
//! It is a question of its own, beside that of the verdict, and so has the level for itself.

use units::approx_f64;
use units::format::{difference, latency};

use super::document::{
    ComparisonState, ComparisonVerdict, DifferenceInterval, QuantityComparison, SignedComparison, SignedRange,
    SignedState,
};
use super::exchange::{self, Dealt, Units};
use super::judge::{Cut, units_of};
use super::pieces::{Run, Signed};
use super::table::{Quantity, Table};
use super::verdict::p_text;
use super::{CompareOptions, LEAST_BEYOND, resample, tenth};
use crate::dependence;

/// The quantiles of both tails, with the mean.
const SHARES: [(&str, f64); 5] = [("p1", 0.01), ("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];
/// The row that the sentence names.
const MEAN: &str = "mean";

/// Compares both sides with their signs; `None` where no sample of either lies below zero.
pub(super) fn compare(cut: &Cut, margin_ns: f64, options: &CompareOptions) -> Option<SignedComparison> {
    let pieces = cut.pieces();
    let [a, b] = [0, 1].map(|side| whole(&cut.runs[side]));
    if a.below.is_empty() && b.below.is_empty() {
        return None;
    }
    let table = Table::from_signed(&pieces);
    let sides = cut.sides();
    let once = [0, 1].map(|side: usize| vec![1.0; sides[side].columns.len()]);
    let value = |quantity, side: usize| table.value(quantity, &sides[side].columns, &once[side]);
    let fewest = approx_f64(a.count().min(b.count()));
    let supported =
        SHARES.into_iter().filter(|(name, share)| share.min(1.0 - share) * fewest >= LEAST_BEYOND || *name == "p50");
    let rows = std::iter::once((MEAN, None)).chain(supported.map(|(name, share)| (name, Some(share))));
    let rows: Vec<(&str, Option<f64>, Quantity, f64, f64)> = rows
        .filter_map(|(name, share)| {
            let quantity = share.map_or(Quantity::Mean, Quantity::Quantile);
            Some((name, share, quantity, value(quantity, 0)?, value(quantity, 1)?))
        })
        .collect();
    let quantities: Vec<Quantity> = rows.iter().map(|row| row.2).collect();
    // Pieces are alike by where they lie, with the sign.
    let means =
        |run: &Run| run.pieces.iter().filter_map(|piece| piece.signed.as_ref()?.mean_ns()).collect::<Vec<f64>>();
    let means: Vec<Vec<f64>> = cut.runs.iter().flatten().map(means).collect();
    let mut dependence = dependence::dependence(&means);
    let shortest = means.iter().map(Vec::len).min().unwrap_or(1).max(1);
    dependence.block_pieces = dependence.block_pieces.min(shortest);
    let groups = [0, 1].map(|side| units_of(&sides[side], cut.unit, dependence.block_pieces));
    let units = [groups[0].len(), groups[1].len()];
    let (mut spreads, mut chances, mut smallest_p) = (vec![None; rows.len()], Vec::new(), 1.0);
    if !rows.is_empty() && !units.contains(&0) {
        spreads = resample::spreads(&table, [&sides[0], &sides[1]], &quantities, &dependence, options);
        let grouped = table.grouped(&groups.concat());
        let units = Units { table: &grouped, of_a: units[0], all: units[0] + units[1], decisive: &[] };
        // Another part of the sequence than the resamples drew.
        let deals = exchange::deals(options.resamples, options.level);
        let dealt = Dealt::deal(&units, &quantities, deals, !options.seed);
        (chances, smallest_p) = (dealt.chances(&vec![true; rows.len()]), dealt.smallest_p());
    }
    let quantities: Vec<QuantityComparison> = rows
        .iter()
        .enumerate()
        .map(|(at, &(name, share, _, a_ns, b_ns))| {
            let (difference_ns, chance) = (b_ns - a_ns, chances.get(at));
            QuantityComparison {
                name: name.to_owned(),
                share,
                a_ns: tenth(a_ns),
                b_ns: tenth(b_ns),
                difference_ns: tenth(difference_ns),
                // A part of what may be near zero says nothing.
                difference_percent: None,
                interval: spreads.get(at).copied().flatten().map(|spread| DifferenceInterval {
                    low_ns: tenth(difference_ns + spread.below_ns),
                    high_ns: tenth(difference_ns + spread.above_ns),
                }),
                p: chance.map(|chance| chance.p),
                p_together: chance.and_then(|chance| chance.p_together),
            }
        })
        .collect();
    let state = state(&quantities, margin_ns, smallest_p, options.level);
    let text = text(&quantities, state, margin_ns, options.level);
    Some(SignedComparison { quantities, a: range(&a), b: range(&b), state, text })
}

/// All samples of one side.
fn whole(runs: &[Run]) -> Signed {
    let mut all = Signed::default();
    runs.iter().flat_map(|run| &run.pieces).filter_map(|piece| piece.signed.as_ref()).for_each(|one| all.merge(one));
    all
}

fn range(of: &Signed) -> SignedRange {
    let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let lowest = of.below.max_ns().map(|below| -ns(below)).or_else(|| of.above.min_ns().map(ns));
    let highest = of.above.max_ns().map(ns).or_else(|| of.below.min_ns().map(|below| -ns(below)));
    SignedRange { lowest_ns: lowest.unwrap_or(0), highest_ns: highest.unwrap_or(0) }
}

/// Whether a row is shown to differ, and by more than what one bin resolves.
fn is_shown(row: &QuantityComparison, level: f64) -> bool {
    let resolution = if row.share.is_some() { row.a_ns.abs().max(row.b_ns.abs()) * 0.001 } else { 0.0 };
    row.is_unlikely(level) && !row.is_doubtful() && row.difference_ns.abs() > resolution
}

/// Whether the whole interval of a row lies beyond the margin.
fn is_beyond(row: &QuantityComparison, margin_ns: f64) -> bool {
    row.interval.is_some_and(|interval| interval.low_ns > margin_ns || interval.high_ns < -margin_ns)
}

fn state(rows: &[QuantityComparison], margin_ns: f64, smallest_p: f64, level: f64) -> SignedState {
    let shown: Vec<&QuantityComparison> = rows.iter().filter(|row| is_shown(row, level)).collect();
    if shown.iter().any(|row| is_beyond(row, margin_ns)) {
        SignedState::Elsewhere
    } else if !shown.is_empty() {
        SignedState::NotBeyondMargin
    } else if smallest_p > level {
        SignedState::CannotTell
    } else {
        SignedState::NotShown
    }
}

/// `with sign, the mean is -49.9 us of A and +50.1 us of B (+100 us, p below 0.001), beyond the margin of 5.0 us`.
fn text(rows: &[QuantityComparison], state: SignedState, margin_ns: f64, level: f64) -> String {
    let shown = |row: &&QuantityComparison| match state {
        SignedState::Elsewhere => is_beyond(row, margin_ns),
        _ => true,
    };
    let smallest = |rows: &mut dyn Iterator<Item = &QuantityComparison>| -> Option<usize> {
        let all: Vec<f64> = rows.map(|row| row.p_together.unwrap_or(1.0)).collect();
        (0..all.len()).min_by(|one, other| all[*one].total_cmp(&all[*other]))
    };
    // The mean, unless another row alone shows it.
    let candidates: Vec<&QuantityComparison> = rows.iter().filter(shown).collect();
    let named = candidates
        .iter()
        .find(|row| row.name == MEAN)
        .or_else(|| smallest(&mut candidates.iter().copied()).and_then(|at| candidates.get(at)));
    let Some(row) = named else { return "with sign nothing is known of where the samples lie".to_owned() };
    // Of too few runs a probability says nothing.
    let p = row.p_together.filter(|_| state != SignedState::CannotTell);
    let p = p.map_or_else(String::new, |p| format!(", p {}", p_text(p)));
    let margin = latency(margin_ns);
    let how = match state {
        SignedState::Elsewhere => format!(", beyond the margin of {margin}"),
        SignedState::NotBeyondMargin => format!(", not shown to be beyond the margin of {margin}"),
        SignedState::NotShown if row.is_unlikely(level) && row.is_doubtful() => {
            "; its interval contains 0, so none is shown in where they lie".to_owned()
        }
        SignedState::NotShown => "; no difference shown in where they lie".to_owned(),
        _ => "; whether they lie elsewhere cannot be told".to_owned(),
    };
    let name = if row.name == MEAN { "the mean" } else { row.name.as_str() };
    format!(
        "with sign, {name} is {} of A and {} of B ({}{p}){how}",
        difference(row.a_ns),
        difference(row.b_ns),
        difference(row.difference_ns)
    )
}

/// The verdict with what the signs add: where the distances from zero do not differ, or not by the margin, and the places do, the verdict
/// says so.
pub(super) fn complete(mut verdict: ComparisonVerdict, signed: &SignedComparison) -> ComparisonVerdict {
    if verdict.state == ComparisonState::Invalid {
        return verdict;
    }
    let is_alike = matches!(verdict.state, ComparisonState::NoDifferenceShown | ComparisonState::NotBeyondMargin);
    let mut text = signed.text.clone();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if is_alike && signed.state == SignedState::Elsewhere {
        verdict.state = ComparisonState::Elsewhere;
        verdict.reason = format!("{text}. How far from zero they are, either way: {}", continued(&verdict.reason));
    } else {
        verdict.reason = format!("{} {text}.", verdict.reason);
    }
    verdict
}

/// A sentence as a part of another; what begins with a letter that stands for a side is left.
fn continued(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            format!("{}{}", first.to_lowercase(), &text[first.len_utf8()..])
        }
        _ => text.to_owned(),
    }
}
