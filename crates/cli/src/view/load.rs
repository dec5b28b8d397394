//! What a load did on a terminal: which of its parts made it late, where they took turns.

use analyse::{LoadTurn, load_turns};
use record::Record;
use units::format;

use crate::view::result::{Table, latency_cell};
use crate::view::wrap;

/// `under load 'hard'`, for a heading; `None` without a load.
pub(crate) fn under(record: &Record) -> Option<String> {
    record.manifest().load.title().map(|title| format!("under load {title}"))
}

/// What the load consisted of, in lines of their own; empty without one, or where the heading says it already.
pub(crate) fn description(record: &Record) -> String {
    let load = &record.manifest().load;
    let (Some(title), Some(words)) = (load.title(), load.describe()) else { return String::new() };
    if words.ends_with(&title) {
        return String::new();
    }
    wrap::paragraph(&format!("load {title}: {words}, on CPUs {}", load.cpus), "  ", wrap::width())
}

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
