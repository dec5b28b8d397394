//! How a tail looks on a terminal: words first, then the times to come, the claim last.

use std::fmt::Write as _;

use analysis::tail::{ClaimAnswer, ClaimState, Tail, span_words};
use summary::tail::{CauseRows, TailTables};

use terminal::output;
use terminal::table::{Table, known};
use terminal::wrap;

/// The answer; how it was computed, and what is said against further refusals, where `is_verbose`.
pub(super) fn show(tail: &Tail, is_verbose: bool, width: usize, color: bool) -> String {
    let tables = summary::tail::tables(tail);
    let mut text = wrap::paragraph(&tail.sentence, "", width);
    if tail.expectations.iter().any(|one| one.worst.is_some()) {
        text.push('\n');
        text.push_str(&expectations(&tables).render());
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
    if let Some((by_cause, rows)) = tail.by_cause.as_ref().zip(tables.causes.as_ref()) {
        text.push('\n');
        text.push_str(&causes(&by_cause.sentence, rows, width));
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

fn expectations(tables: &TailTables) -> Table {
    let mut table = Table::new(&["within", "typical worst", &tables.interval, "beyond the worst seen", "by"]);
    for row in tables.expectations.iter().filter(|row| row.interval.is_some()) {
        let cells = [&row.typical, &row.interval, &row.beyond_worst_seen, &row.by].map(|cell| known(cell.as_deref()));
        table.row([row.within.clone()].into_iter().chain(cells).collect());
    }
    table
}

/// How often each cause comes and how large it is, and what would be left without it.
fn causes(sentence: &str, causes: &CauseRows, width: usize) -> String {
    let mut text = wrap::paragraph(sentence, "", width);
    let _ = writeln!(text, "Causes of the samples above {}:", causes.above);
    let mut table = Table::new(&["cause", "samples", "times a day (90 %)", "worst", "worst left without it"]);
    for row in causes.rows.clone() {
        let left = known(row.worst_left.as_deref());
        table.row(vec![row.cause, row.samples, row.times_a_day, row.worst, left]);
    }
    text.push_str(&table.render());
    text
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
