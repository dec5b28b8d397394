//! How a tail looks on a terminal: words first, then the times to come, the claim last.

use std::fmt::Write as _;

use analysis::tail::{ByCause, ClaimAnswer, ClaimState, Expectation, Tail, WorstBasis, span_words};
use units::format::{self, latency};

use terminal::output;
use terminal::table::Table;
use terminal::wrap;

/// The answer; how it was computed, and what is said against further refusals, where `is_verbose`.
pub(super) fn show(tail: &Tail, is_verbose: bool, width: usize, color: bool) -> String {
    let mut text = wrap::paragraph(&tail.sentence, "", width);
    if tail.expectations.iter().any(|one| one.worst.is_some()) {
        text.push('\n');
        text.push_str(&expectations(tail).render());
    }
    for (horizon_ns, refusal) in
        tail.expectations.iter().filter_map(|one| Some((one.horizon_ns, one.refusal.as_ref()?)))
    {
        // What speaks against one fit to all is printed once: above, or below.
        if tail.refusals.is_empty() {
            let line = format!("{}: no answer. {}", span_words(horizon_ns), refusal.words());
            text.push_str(&wrap::paragraph(&line, "  ", width));
        }
    }
    // If some time span is refused, the sentence above gave the first reason.
    let printed = usize::from(tail.expectations.iter().any(|one| one.refusal.is_some()));
    if tail.refusals.len() > printed {
        text.push_str(if printed > 0 { "Also:\n" } else { "No one fit describes it all:\n" });
        for refusal in tail.refusals.iter().skip(printed) {
            let words = if is_verbose { refusal.words() } else { refusal.reason.clone() };
            text.push_str(&wrap::paragraph(&words, "  ", width));
        }
    }
    if let Some(by_cause) = &tail.by_cause {
        text.push('\n');
        text.push_str(&causes(by_cause, width));
    }
    text.push('\n');
    text.push_str(&wrap::paragraph(&tail.model_free, "", width));
    if is_verbose || !tail.stationarity.stationary {
        text.push_str(&wrap::paragraph(&format!("Stationary? {}", tail.stationarity.sentence), "", width));
    }
    if is_verbose {
        text.push_str(&wrap::paragraph(&tail.how(), "", width));
    }
    for note in &tail.notes {
        text.push_str(&wrap::paragraph(note, "", width));
    }
    if let Some(claim) = &tail.claim {
        text.push('\n');
        text.push_str(&answer(claim, width, color));
    }
    text
}

fn expectations(tail: &Tail) -> Table {
    let interval = format!("{:.0} % interval", tail.method.level * 100.0);
    let mut table = Table::new(&["within", "typical worst", &interval, "beyond the worst seen", "by"]);
    let row = |one: &Expectation| {
        let worst = one.worst?;
        let chance = one
            .model_free_chance
            .map_or_else(|| "-".to_owned(), |chance| format!("at most {:.1} %", (chance * 1_000.0).ceil() / 10.0));
        let basis = one.basis.unwrap_or(WorstBasis::Fit);
        // Of a part of an interval only the bound is known.
        let (typical, interval) = if basis == WorstBasis::Interval {
            ("-".to_owned(), format!("at most {}", latency(worst.high_ns)))
        } else {
            (latency(worst.typical_ns), format!("{} to {}", latency(worst.low_ns), latency(worst.high_ns)))
        };
        Some(vec![span_words(one.horizon_ns), typical, interval, chance, basis.word().to_owned()])
    };
    tail.expectations.iter().filter_map(row).for_each(|cells| table.row(cells));
    table
}

/// How often each cause comes and how large it is, and what would be left without it.
fn causes(by_cause: &ByCause, width: usize) -> String {
    let above = latency(units::approx_f64(by_cause.complete_above_ns));
    let mut text = wrap::paragraph(&by_cause.sentence, "", width);
    text.push_str(&format!("Causes of the samples above {above}:\n"));
    let mut table = Table::new(&["cause", "samples", "times a day (90 %)", "worst", "worst left without it"]);
    for cause in &by_cause.causes {
        let words = cause.words();
        let left = by_cause.without.iter().find(|without| without.causes.last() == Some(&words));
        let also = if left.is_some_and(|left| left.causes.len() > 1) { " (and those above)" } else { "" };
        let [low, _, high] = cause.per_day;
        table.row(vec![
            words,
            format::count(cause.samples),
            format!("{} to {}", times(low), times(high)),
            latency(units::approx_f64(cause.worst_ns)),
            left.map_or_else(|| "-".to_owned(), |left| latency(units::approx_f64(left.worst_left_ns)) + also),
        ]);
    }
    text.push_str(&table.render());
    text
}

/// How often, with a decimal only where it says something.
fn times(count: f64) -> String {
    if count < 10.0 { format!("{count:.1}") } else { format::count(units::round_u64(count)) }
}

/// The answer to a claim: the word, and the sentence under it.
pub(crate) fn answer(claim: &ClaimAnswer, width: usize, color: bool) -> String {
    let style = match claim.state {
        ClaimState::Shown => "1;32",
        ClaimState::Broken => "1;31",
        ClaimState::NeedsMore | ClaimState::NotShown | ClaimState::CannotBeTold => "1;33",
    };
    let mut text = String::new();
    let _ = writeln!(text, "{}", output::paint(color, style, &claim.state.word().to_uppercase()));
    text.push_str(&wrap::paragraph(&claim.sentence, "", width));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_a_cause_comes_is_a_count() {
        assert_eq!(
            [times(0.04), times(9.94), times(36_182.2)],
            ["0.0".to_owned(), "9.9".to_owned(), format::count(36_182)]
        );
    }
}
