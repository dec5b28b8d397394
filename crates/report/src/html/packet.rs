//! Packets between nodes, for readers without scripts.

use std::fmt::Write as _;

use record::Record;
use summary::label;
use summary::packet::{DelayRow, FlowSummary, PacketSummary, summary};
use units::format;

use super::escape;

/// The dash of a value that does not exist.
const NONE: &str = "\u{2013}";

/// Writes the packets of each run, and one table of all of them if there are several; nothing if no run has any.
pub(super) fn plain_packets(page: &mut String, runs: &[Record]) {
    let runs: Vec<(&Record, PacketSummary)> = runs.iter().filter_map(|run| Some((run, summary(run)?))).collect();
    if runs.is_empty() {
        return;
    }
    page.push_str("<section><h2>Packets from program to program</h2>\n");
    if runs.len() > 1 {
        side_by_side(page, &runs);
    }
    for (run, packets) in &runs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>", escape(label(run)));
        for flow in &packets.flows {
            one_flow(page, run, flow);
        }
        for sentence in packets.hardware.iter().chain(&packets.clocks) {
            let _ = writeln!(page, "<p>{}.</p>", escape(sentence));
        }
    }
    page.push_str("</section>\n");
}

/// The cells of some delays: packets, lowest, mean, median, 99.9 %, highest, error.
fn cells(row: &DelayRow) -> String {
    let DelayRow { figures, median_ns, worst_ns, error, .. } = row;
    let values = [figures.lowest_ns, figures.mean_whole_ns(), *median_ns, figures.quantile_ns(0.999), *worst_ns];
    let mut text = format!("<td class=\"number\">{}</td>", format::count(figures.samples));
    for value in values {
        let value = value.map_or_else(|| NONE.to_owned(), format::latency);
        let _ = write!(text, "<td class=\"number\">{value}</td>");
    }
    let _ = write!(text, "<td class=\"number\">{}</td>", error.as_deref().unwrap_or(NONE));
    text
}

const HEAD: &str = "<th class=\"number\">packets</th><th class=\"number\">min</th><th class=\"number\">mean</th>\
                    <th class=\"number\">median</th><th class=\"number\">p99.9</th><th class=\"number\">max</th>\
                    <th class=\"number\">error</th>";

/// All runs in one table: the way through the systems, how the receiver waited, and the delays.
fn side_by_side(page: &mut String, runs: &[(&Record, PacketSummary)]) {
    let _ = writeln!(
        page,
        "<h3>One-way delay, run by run</h3>\n<div class=\"scroll\"><table><thead><tr><th>run</th><th>from, to</th><th>path</th>{HEAD}\
         <th class=\"number\">lost</th></tr></thead><tbody>"
    );
    for (run, flow) in runs.iter().flat_map(|(run, packets)| packets.flows.iter().map(move |flow| (run, flow))) {
        let none = || format!("<td class=\"number\">{NONE}</td>").repeat(7);
        let _ = writeln!(
            page,
            "<tr class=\"{}\"><td>{}{}</td><td>{} to {}</td><td>{}</td>{}<td class=\"number\">{}</td></tr>",
            run.validity.state().word(),
            escape(label(run)),
            if run.validity.is_invalid() { " (invalid)" } else { "" },
            escape(&flow.from),
            escape(&flow.to),
            escape(&flow.way),
            flow.delay.as_ref().map_or_else(none, cells),
            flow.lost.map_or_else(|| "not known".to_owned(), format::count)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn one_flow(page: &mut String, run: &Record, flow: &FlowSummary) {
    let _ = writeln!(
        page,
        "<p><b>{} to {}</b>: {}, {}{}. {}.</p>",
        escape(&flow.from),
        escape(&flow.to),
        escape(&flow.way),
        flow.schedule,
        flow.launch.as_ref().map_or_else(String::new, |launch| format!(", {}", escape(launch))),
        flow.counts
    );
    for remark in &flow.remarks {
        let _ = writeln!(page, "<p>{}.</p>", escape(remark));
    }
    if flow.rows.is_empty() {
        page.push_str("<p>No packet has a delay.</p>\n");
        return;
    }
    let _ = writeln!(page, "<div class=\"scroll\"><table><thead><tr><th>from, to</th>{HEAD}</tr></thead><tbody>");
    for row in &flow.rows {
        let state = run.validity.state().word();
        let _ = writeln!(page, "<tr class=\"{state}\"><td>{}</td>{}</tr>", row.words, cells(row));
    }
    page.push_str("</tbody></table></div>\n");
    if let Some(parts) = &flow.parts {
        let _ = writeln!(page, "<p>{}.</p>", escape(parts));
    }
}
