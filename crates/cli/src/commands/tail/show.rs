//! How a tail looks on a terminal: words first, then the times to come, the claim last.

use std::fmt::Write as _;

use analyse::tail::{ClaimAnswer, ClaimState, Expectation, Tail, span_words};
use units::format;

use crate::output;
use crate::view::result::Table;
use crate::view::wrap;

pub(super) fn show(tail: &Tail, width: usize, colour: bool) -> String {
    let mut text = wrap::paragraph(&tail.sentence, "", width);
    if tail.expectations.iter().any(|one| one.worst.is_some()) {
        text.push('\n');
        text.push_str(&expectations(tail).render());
    }
    for (horizon_ns, refusal) in
        tail.expectations.iter().filter_map(|one| Some((one.horizon_ns, one.refusal.as_ref()?)))
    {
        // What speaks against any answer is told once, below.
        if tail.refusals.is_empty() {
            let line = format!("{}: not told. {}", span_words(horizon_ns), refusal.words());
            text.push_str(&wrap::paragraph(&line, "  ", width));
        }
    }
    if tail.refusals.len() > 1 {
        text.push_str("Also:\n");
        for refusal in tail.refusals.iter().skip(1) {
            text.push_str(&wrap::paragraph(&refusal.words(), "  ", width));
        }
    }
    text.push('\n');
    text.push_str(&wrap::paragraph(&tail.model_free, "", width));
    text.push_str(&wrap::paragraph(&format!("Stationary? {}", tail.stationarity.sentence), "", width));
    text.push_str(&wrap::paragraph(&tail.how(), "", width));
    for note in &tail.notes {
        text.push_str(&wrap::paragraph(note, "", width));
    }
    if let Some(claim) = &tail.claim {
        text.push('\n');
        text.push_str(&answer(claim, width, colour));
    }
    text
}

fn expectations(tail: &Tail) -> Table {
    let interval = format!("{:.0} % interval", tail.method.level * 100.0);
    let mut table = Table::new(&["within", "typical worst", &interval, "beyond the worst seen"]);
    let ns = |ns: f64| format::latency(i64::try_from(units::round_u64(ns)).unwrap_or(i64::MAX));
    let row = |one: &Expectation| {
        let worst = one.worst?;
        let chance = one
            .model_free_chance
            .map_or_else(|| "-".to_owned(), |chance| format!("at most {:.1} %", (chance * 1_000.0).ceil() / 10.0));
        Some(vec![
            span_words(one.horizon_ns),
            ns(worst.typical_ns),
            format!("{} to {}", ns(worst.low_ns), ns(worst.high_ns)),
            chance,
        ])
    };
    tail.expectations.iter().filter_map(row).for_each(|cells| table.row(cells));
    table
}

/// The answer to a claim: the word, and the sentence under it.
pub(crate) fn answer(claim: &ClaimAnswer, width: usize, colour: bool) -> String {
    let style = match claim.state {
        ClaimState::Shown => "1;32",
        ClaimState::Broken => "1;31",
        ClaimState::NeedsMore | ClaimState::NotShown | ClaimState::CannotBeTold => "1;33",
    };
    let mut text = String::new();
    let _ = writeln!(text, "{}", output::paint(colour, style, &claim.state.word().to_uppercase()));
    text.push_str(&wrap::paragraph(&claim.sentence, "", width));
    text
}
