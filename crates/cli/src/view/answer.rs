//! Edges that were answered, and what a witness saw of it, on a terminal.

use record::Record;
use summary::answer::{AnswerSummary, summary};
use terminal::table::Table;
use terminal::wrap;
use units::format;

use super::result::latency_cell;

/// What is said beside the latencies; nothing of another kind.
pub(super) fn text(record: &Record) -> String {
    let Some(AnswerSummary { sentences, shown, worst_seconds }) = summary(record) else { return String::new() };
    let width = wrap::width();
    let mut text = "\n".to_owned();
    for sentence in &sentences {
        text.push_str(&wrap::paragraph(sentence, "  ", width));
    }
    if worst_seconds.is_empty() {
        return text;
    }
    text.push('\n');
    text.push_str(&wrap::paragraph(&shown, "  ", width));
    let mut table = Table::new(&["at", "answers", "min", "mean", "max", "overruns"]);
    for second in worst_seconds {
        table.row(vec![
            second.at,
            format::count(second.samples),
            latency_cell(second.min_ns),
            latency_cell(second.mean_ns),
            second.longest,
            format::count(second.overruns),
        ]);
    }
    text.push_str(&table.render());
    text
}
