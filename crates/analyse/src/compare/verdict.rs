//! What a comparison concludes, always with its reason.

use record::ValidityState;
use units::format;

use super::document::{
    ComparisonState, ComparisonVerdict, GroupSummary, QuantityComparison, RunSummary, Unit, WorstComparison,
};
use super::maxima;

/// What the verdict is drawn from.
pub(super) struct Judged<'a> {
    pub(super) a: &'a GroupSummary,
    pub(super) b: &'a GroupSummary,
    pub(super) quantities: &'a [QuantityComparison],
    pub(super) worst: &'a WorstComparison,
    /// Whether B's maxima rank above A's: 1, below: -1, neither: 0.
    pub(super) worst_direction: i8,
    pub(super) unit: Unit,
    /// Units of A and of B.
    pub(super) units: [usize; 2],
    pub(super) smallest_p: f64,
    pub(super) level: f64,
}

/// One row with what it shows.
struct Shown {
    name: String,
    direction: i8,
    p_together: f64,
    text: String,
}

pub(super) fn verdict(judged: &Judged<'_>) -> ComparisonVerdict {
    let runs = || judged.a.runs.iter().chain(&judged.b.runs);
    let unusable = |run: &&RunSummary| run.validity == ValidityState::Invalid || run.samples == 0;
    if let Some(first) = runs().find(unusable) {
        let why = first.reasons.first().map_or("it holds no sample", String::as_str);
        let (invalid, of) = (runs().filter(unusable).count(), runs().count());
        return plain(ComparisonState::Invalid, format!("{invalid} of {of} runs do not mean what was asked: {why}."));
    }
    if judged.quantities.is_empty() {
        return plain(ComparisonState::NoDifferenceShown, "One side holds no sample.".to_owned());
    }
    let shown = shown(judged);
    let named = |direction: i8| -> Vec<String> {
        shown.iter().filter(|row| row.direction == direction).map(|row| row.name.clone()).collect()
    };
    let (worse, better) = (named(1), named(-1));
    let state = match (worse.is_empty(), better.is_empty()) {
        (false, _) => ComparisonState::Worse,
        (true, false) => ComparisonState::Better,
        (true, true) => return plain(ComparisonState::NoDifferenceShown, nothing_shown(judged)),
    };
    let direction = if state == ComparisonState::Worse { 1 } else { -1 };
    let of_state: Vec<&Shown> = shown.iter().filter(|row| row.direction == direction).collect();
    let mut reason = String::from("B - A: ");
    reason.push_str(&of_state.iter().map(|row| row.text.as_str()).collect::<Vec<_>>().join("; "));
    let striking = of_state.iter().map(|row| row.p_together).fold(1.0, f64::min);
    reason.push_str(&format!(" (p {})", p_text(striking)));
    if state == ComparisonState::Worse && !better.is_empty() {
        reason.push_str(&format!("; better in {}, which does not make up for it", better.join(", ")));
    }
    reason.push('.');
    ComparisonVerdict { state, reason, worse, better }
}

fn plain(state: ComparisonState, reason: String) -> ComparisonVerdict {
    ComparisonVerdict { state, reason, worse: Vec::new(), better: Vec::new() }
}

fn shown(judged: &Judged<'_>) -> Vec<Shown> {
    let rows = judged.quantities.iter().filter_map(|row| {
        let p_together = row.p_together.filter(|&p| p <= judged.level)?;
        // A quantile within one bin of the other is the same number.
        let resolution = if row.share.is_some() { row.a_ns.max(row.b_ns) * 0.001 } else { 0.0 };
        if row.difference_ns.abs() <= resolution {
            return None;
        }
        let percent = row.difference_percent.map_or_else(String::new, |percent| format!(" ({percent:+.1} %)"));
        let text = format!("{} {}{percent}", row.name, signed(row.difference_ns));
        let direction = if row.difference_ns > 0.0 { 1 } else { -1 };
        Some(Shown { name: row.name.clone(), direction, p_together, text })
    });
    let worst =
        judged.worst.p_together.filter(|&p| p <= judged.level && judged.worst_direction != 0).map(|p_together| {
            let text = format!("worst case {} (median of maxima)", signed(judged.worst.median_difference_ns));
            Shown { name: WORST.to_owned(), direction: judged.worst_direction, p_together, text }
        });
    rows.chain(worst).collect()
}

/// What the verdict calls the row of worst cases.
pub(super) const WORST: &str = "worst case";

fn nothing_shown(judged: &Judged<'_>) -> String {
    let [of_a, of_b] = judged.units;
    if judged.smallest_p > judged.level {
        return match judged.unit {
            Unit::Run => {
                let text = maxima::too_few(of_a, of_b, judged.level, "repetitions").unwrap_or_default();
                format!("Too few repetitions: {text}.")
            }
            Unit::Block => format!(
                "The runs cannot tell: they have few intervals, or ones that are much alike, and count as {of_a} and {of_b} \
                 independent pieces, too few for any p below {}. Run longer, or take repetitions (at least 4 of each).",
                level_text(judged.level)
            ),
        };
    }
    let smallest = judged.quantities.iter().filter_map(|row| row.p_together).chain(judged.worst.p_together);
    format!(
        "What differs is within chance: the most striking row has p {}, the level is {}.",
        p_text(smallest.fold(1.0, f64::min)),
        level_text(judged.level)
    )
}

/// With as many digits as tell it to half a per cent: where many comparisons share a level, each has an odd part of it.
pub(super) fn level_text(level: f64) -> String {
    let is_near = |text: &String| text.parse().is_ok_and(|told: f64| (told - level).abs() <= level * 0.005);
    (1..12).map(|digits| format!("{level:.digits$}")).find(is_near).unwrap_or_else(|| level.to_string())
}

fn p_text(p: f64) -> String {
    if p < 0.001 { "below 0.001".to_owned() } else { format!("{p:.3}") }
}

/// A difference with its sign.
pub(super) fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "+" };
    format!("{sign}{}", format::latency(i64::try_from(units::round_u64(ns.abs())).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_level_is_told_in_few_digits() {
        let told = [0.05, 0.01, 0.01 / 3.0, 0.05 / 7.0, 0.5, 0.0001].map(level_text);
        assert_eq!(told, ["0.05", "0.01", "0.00333", "0.00714", "0.5", "0.0001"]);
    }
}
