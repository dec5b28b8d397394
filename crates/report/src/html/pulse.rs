//! Nodes that act together, for readers without scripts.

use std::fmt::Write as _;

use record::Record;
use summary::label;
use summary::packet::DelayRow;
use summary::pulse::{CELLS, PulseSummary, counts, summary};
use units::format;

use super::escape;

/// The dash of a value that does not exist.
const NONE: &str = "\u{2013}";

/// Writes what nodes did that act together, run by run; nothing if no run has any.
pub(super) fn plain_pulses(page: &mut String, runs: &[Record]) {
    let runs: Vec<(&Record, PulseSummary)> = runs.iter().filter_map(|run| Some((run, summary(run)?))).collect();
    if runs.is_empty() {
        return;
    }
    page.push_str("<section><h2>Nodes that act together</h2>\n");
    for (run, pulses) in &runs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>\n<p>{}.</p>", escape(label(run)), escape(&pulses.ordered));
        orders(page, run, pulses);
        latencies(page, run, pulses);
        for sentence in [&pulses.trials, &pulses.bursts].into_iter().chain(&pulses.apart) {
            let mut letters = sentence.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
            let _ = writeln!(page, "<p>{}{}.</p>", escape(&first), escape(letters.as_str()));
        }
        for node in &pulses.nodes {
            for sentence in node.within.iter().chain(&node.needed) {
                let _ = writeln!(page, "<p>{}: {}.</p>", escape(&node.node), escape(sentence));
            }
        }
    }
    page.push_str("</section>\n");
}

fn orders(page: &mut String, run: &Record, pulses: &PulseSummary) {
    let head: String = CELLS.iter().map(|cell| format!("<th class=\"number\">{cell}</th>")).collect();
    let _ = writeln!(
        page,
        "<div class=\"scroll\"><table><thead><tr><th>node</th><th>output</th>{head}</tr></thead><tbody>"
    );
    for node in &pulses.nodes {
        let cells: String =
            counts(&node.orders).map(|count| format!("<td class=\"number\">{}</td>", format::count(count))).concat();
        let _ = writeln!(
            page,
            "<tr class=\"{}\"><td>{}</td><td>{}</td>{cells}</tr>",
            run.validity.state().word(),
            escape(&node.node),
            escape(&node.output)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn latencies(page: &mut String, run: &Record, pulses: &PulseSummary) {
    let _ = writeln!(
        page,
        "<div class=\"scroll\"><table><thead><tr><th>node</th><th></th><th class=\"number\">orders</th><th class=\"number\">min</th>\
         <th class=\"number\">median</th><th class=\"number\">p99.9</th><th class=\"number\">max</th></tr></thead><tbody>"
    );
    for (node, row) in pulses.nodes.iter().flat_map(|node| node.rows.iter().map(move |row| (node, row))) {
        let DelayRow { words, figures, median_ns, worst_ns, .. } = row;
        let values = [figures.lowest_ns, *median_ns, figures.quantile_ns(0.999), *worst_ns];
        let cells: String = values
            .map(|value| {
                format!("<td class=\"number\">{}</td>", value.map_or_else(|| NONE.to_owned(), format::latency))
            })
            .concat();
        let _ = writeln!(
            page,
            "<tr class=\"{}\"><td>{}</td><td>{}</td><td class=\"number\">{}</td>{cells}</tr>",
            run.validity.state().word(),
            escape(&node.node),
            escape(words),
            format::count(figures.samples)
        );
    }
    page.push_str("</tbody></table></div>\n");
}
