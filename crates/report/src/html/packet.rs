//! Packets between nodes, for readers without scripts.

use std::fmt::Write as _;

use record::{LatencyRole, PacketFlow, PacketRun, Record, Series, Uncertainty};
use units::format;

use super::escape;
use summary::packet::{
    beside, clocks_sentence, counts_sentence, delays_of, known_parts, mean_ns, p99_9_ns, parts_sentence, path_words,
};

/// The dash of a value that does not exist.
const NONE: &str = "\u{2013}";

/// Writes the packets of each run, and one table of all of them if there are several; nothing if no run has any.
pub(super) fn plain_packets(page: &mut String, runs: &[Record]) {
    let runs: Vec<(&Record, &PacketRun)> = runs.iter().filter_map(|run| Some((run, run.packets()?))).collect();
    if runs.is_empty() {
        return;
    }
    page.push_str("<section><h2>Packets from program to program</h2>\n");
    if runs.len() > 1 {
        side_by_side(page, &runs);
    }
    for (run, packets) in runs {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let _ = writeln!(page, "<h3>{}{doubt}</h3>", escape(&run.label));
        for flow in &packets.flows {
            one_flow(page, run, flow);
        }
        for hardware in &packets.hardware {
            let _ = writeln!(page, "<p>{}.</p>", escape(&hardware.in_words()));
        }
        for clocks in &packets.clocks {
            let (node, partner) = (escape(&clocks.node), escape(&clocks.partner));
            let sentence = escape(&clocks_sentence(clocks));
            let _ = writeln!(page, "<p>Clock of <b>{node}</b> less that of {partner}: {sentence}.</p>");
            for services in &clocks.services {
                let words = services.in_words_with_trust(&clocks.node, &clocks.partner);
                let _ = writeln!(page, "<p>{}.</p>", escape(&words));
            }
        }
    }
    page.push_str("</section>\n");
}

fn latency(ns: Option<i64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), format::latency)
}

/// The cells of a series: packets, lowest, mean, median, 99.9 %, highest, error.
fn cells(run: &Record, series: &Series) -> String {
    let mean = mean_ns(series).map(|ns| {
        let magnitude = i64::try_from(units::round_u64(ns.abs())).unwrap_or(i64::MAX);
        if ns < 0.0 { -magnitude } else { magnitude }
    });
    let values =
        [series.lowest_ns(), mean, series.quantile_ns(0.5), p99_9_ns(series), series.worst_ns(run.sign(series))];
    let mut text = format!("<td class=\"number\">{}</td>", format::count(series.taken()));
    for value in values {
        let _ = write!(text, "<td class=\"number\">{}</td>", latency(value));
    }
    let error = series.uncertainty.map_or_else(|| NONE.to_owned(), Uncertainty::in_words);
    let _ = write!(text, "<td class=\"number\">{error}</td>");
    text
}

const HEAD: &str = "<th class=\"number\">packets</th><th class=\"number\">min</th><th class=\"number\">mean</th>\
                    <th class=\"number\">median</th><th class=\"number\">p99.9</th><th class=\"number\">max</th>\
                    <th class=\"number\">error</th>";

/// All runs in one table: the way through the systems, how the receiver waited, and the delays.
fn side_by_side(page: &mut String, runs: &[(&Record, &PacketRun)]) {
    let _ = writeln!(
        page,
        "<h3>One-way delay, run by run</h3>\n<div class=\"scroll\"><table><thead><tr><th>run</th><th>from, to</th><th>path</th>{HEAD}\
         <th class=\"number\">lost</th></tr></thead><tbody>"
    );
    for (run, packets) in runs {
        for flow in &packets.flows {
            let delays = delays_of(run, flow)
                .map_or_else(|| format!("<td class=\"number\">{NONE}</td>").repeat(7), |one| cells(run, one));
            let _ = writeln!(
                page,
                "<tr class=\"{}\"><td>{}{}</td><td>{} to {}</td><td>{}</td>{delays}<td class=\"number\">{}</td></tr>",
                run.validity.state().word(),
                escape(&run.label),
                if run.validity.is_invalid() { " (invalid)" } else { "" },
                escape(&flow.from),
                escape(&flow.to),
                escape(&path_words(flow)),
                flow.lost.map_or_else(|| "not known".to_owned(), format::count)
            );
        }
    }
    page.push_str("</tbody></table></div>\n");
}

fn one_flow(page: &mut String, run: &Record, flow: &PacketFlow) {
    let _ = writeln!(
        page,
        "<p><b>{} to {}</b>: {}, {}{}. {}.</p>",
        escape(&flow.from),
        escape(&flow.to),
        escape(&path_words(flow)),
        flow.schedule_words(),
        flow.launch.as_ref().map_or_else(String::new, |launch| format!(", {}", escape(&launch.in_words()))),
        counts_sentence(flow)
    );
    let compared = run.measurement.kind().compared.and_then(|name| run.measurement.kind().latency(name));
    let whole = compared.zip(delays_of(run, flow)).filter(|(latency, series)| series.name == latency.name);
    let whole = whole.map(|(latency, series)| (latency.words, series));
    let late = beside(run, flow, LatencyRole::SenderLateness);
    let launched = beside(run, flow, LatencyRole::LaunchLateness);
    let rows: Vec<(&str, &Series)> = whole
        .into_iter()
        .chain(known_parts(run, flow))
        .chain(late)
        .chain(launched)
        .filter(|(_, series)| series.taken() > 0)
        .collect();
    if rows.is_empty() {
        page.push_str("<p>No packet has a delay.</p>\n");
        return;
    }
    let _ = writeln!(page, "<div class=\"scroll\"><table><thead><tr><th>from, to</th>{HEAD}</tr></thead><tbody>");
    for (words, series) in rows {
        let _ =
            writeln!(page, "<tr class=\"{}\"><td>{words}</td>{}</tr>", run.validity.state().word(), cells(run, series));
    }
    page.push_str("</tbody></table></div>\n");
    if let Some(parts) = parts_sentence(run, flow) {
        let _ = writeln!(page, "<p>{}.</p>", escape(&parts));
    }
}
