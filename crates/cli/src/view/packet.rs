//! Packets between two nodes, on a terminal.

use record::Record;
use summary::packet::{FlowSummary, summary};
use units::format;

use super::result::{conclusion, signed_cell};
use terminal::table::Table;
use terminal::wrap;

/// The result of a run.
pub(crate) fn table(record: &Record, color: bool) -> String {
    format!("{}{}", ways(record), conclusion(record, color))
}

/// The ways of the packets with their delays, and how far the clocks are apart; empty if the run has none.
pub(super) fn ways(record: &Record) -> String {
    let width = wrap::width();
    let Some(run) = summary(record) else { return String::new() };
    let mut text = String::new();
    for flow in &run.flows {
        let head = format!("{} -> {}: {}, {}", flow.from, flow.to, flow.way, flow.schedule);
        text.push_str(&wrap::paragraph(&head, "", width));
        if let Some(launch) = &flow.launch {
            text.push_str(&wrap::paragraph(&format!("packets were {launch}"), "  ", width));
        }
        text.push('\n');
        text.push_str(&delays(flow));
        for line in [&flow.counts].into_iter().chain(&flow.remarks) {
            text.push_str(&wrap::paragraph(line, "  ", width));
        }
        text.push('\n');
    }
    for sentence in run.hardware.iter().chain(&run.clocks) {
        text.push_str(&wrap::paragraph(&format!("{sentence}."), "", width));
    }
    text.push_str(&super::explanation::of_packets(record));
    text
}

fn delays(flow: &FlowSummary) -> String {
    let mut table = Table::new(&["", "packets", "min", "median", "p99.9", "max", "error"]);
    for row in &flow.rows {
        table.row(vec![
            row.name.clone(),
            format::count(row.figures.samples),
            signed_cell(row.figures.lowest_ns),
            signed_cell(row.median_ns),
            signed_cell(row.figures.quantile_ns(0.999)),
            signed_cell(row.worst_ns),
            row.error.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table.render()
}
