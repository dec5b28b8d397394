//! Nodes that act together, on a terminal.

use record::Record;
use summary::pulse::{CELLS, PulseSummary, counts, summary};
use units::format;

use super::packet;
use super::result::{conclusion, signed_cell};
use terminal::table::Table;
use terminal::wrap;

/// The result of a run.
pub(crate) fn table(record: &Record, color: bool) -> String {
    let width = wrap::width();
    let Some(run) = summary(record) else { return conclusion(record, color) };
    let mut text = wrap::paragraph(&format!("{}.", run.ordered), "", width);
    text.push('\n');
    text.push_str(&orders(&run));
    text.push('\n');
    text.push_str(&latencies(&run));
    text.push('\n');
    for sentence in [&run.trials, &run.bursts] {
        text.push_str(&wrap::paragraph(&format!("{sentence}."), "", width));
    }
    for node in &run.nodes {
        for sentence in node.within.iter().chain(&node.needed) {
            text.push_str(&wrap::paragraph(&format!("{}: {sentence}.", node.node), "", width));
        }
    }
    if let Some(apart) = &run.apart {
        text.push_str(&wrap::paragraph(&format!("Where {}.", apart.trim_start_matches("where ")), "", width));
    }
    text.push('\n');
    text.push_str(&packet::ways(record));
    text.push_str(&conclusion(record, color));
    text
}

fn orders(run: &PulseSummary) -> String {
    let mut table = Table::new(&["node"].into_iter().chain(CELLS).collect::<Vec<_>>());
    for node in &run.nodes {
        table.row([node.node.clone()].into_iter().chain(counts(&node.orders).map(format::count)).collect());
    }
    let outputs: Vec<String> = run.nodes.iter().map(|node| format!("{}: output {}", node.node, node.output)).collect();
    format!("{}{}", table.render(), wrap::paragraph(&outputs.join("; "), "  ", wrap::width()))
}

fn latencies(run: &PulseSummary) -> String {
    let mut table = Table::new(&["", "orders", "min", "median", "p99.9", "max"]);
    for node in &run.nodes {
        for row in &node.rows {
            table.row(vec![
                format!("{} {}", node.node, row.words),
                format::count(row.figures.samples),
                signed_cell(row.figures.lowest_ns),
                signed_cell(row.median_ns),
                signed_cell(row.figures.quantile_ns(0.999)),
                signed_cell(row.worst_ns),
            ]);
        }
    }
    table.render()
}
