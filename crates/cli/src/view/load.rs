//! What a load did on a terminal: which of its parts made it late, where they took turns.

use analyse::{LoadTurn, load_turns};
use record::Record;
use units::format;

use crate::view::result::{Table, latency_cell};
use crate::view::wrap;

/// The turns of the load's parts, and what is to be concluded of them; empty where they took none.
pub(crate) fn turns(record: &Record) -> String {
    let Some(seen) = load_turns(record) else { return String::new() };
    let mut table = Table::new(&["load", "for", "samples", "max", "CPU", "beyond", "missed"]);
    let row = |turn: &LoadTurn| {
        vec![
            turn.name.clone(),
            format::span(turn.observed_ns),
            format::count(turn.samples),
            latency_cell(turn.worst_ns),
            turn.worst_cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
            turn.beyond.map_or_else(|| "-".to_owned(), format::count),
            format::count(turn.missed_periods),
        ]
    };
    seen.turns.iter().chain([&seen.between]).for_each(|turn| table.row(row(turn)));
    let mut text = format!("\n  by the part of the load that ran:\n{}", table.render());
    for sentence in &seen.sentences {
        text.push_str(&wrap::paragraph(sentence, "  ", wrap::width()));
    }
    text
}
