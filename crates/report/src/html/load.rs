//! The parts of loads and the latencies while they ran, for readers without scripts.

use std::fmt::Write as _;

use record::Record;
use summary::label;
use summary::load::{LoadSummary, LoadTurnRow, summary};
use units::format;

use super::escape;

/// The dash of a value that does not exist.
const NONE: &str = "\u{2013}";

/// Writes what the loads were and what their parts achieved; nothing if no run has a load of which more is known than its name.
pub(super) fn plain_loads(page: &mut String, runs: &[Record]) {
    let is_known = |load: &LoadSummary| load.description.is_some() || !load.parts.is_empty();
    let loads: Vec<(&Record, LoadSummary)> =
        runs.iter().filter_map(|run| Some((run, summary(run).filter(is_known)?))).collect();
    if loads.is_empty() {
        return;
    }
    page.push_str("<section><h2>What the load did</h2>\n");
    for (run, load) in loads {
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let does = load.description.clone().unwrap_or_else(|| format!("load {}", load.title));
        let _ = writeln!(page, "<h3>{}{doubt}: {}</h3>", escape(label(run)), escape(&does));
        parts(page, &load);
        turns(page, &load);
    }
    page.push_str("</section>\n");
}

fn parts(page: &mut String, load: &LoadSummary) {
    if load.parts.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>part</th><th class=\"number\">CPUs used</th><th>achieved</th>\
         </tr></thead><tbody>\n",
    );
    for part in &load.parts {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&part.name),
            part.cpus_used.as_deref().unwrap_or(NONE),
            escape(&part.achieved)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn turns(page: &mut String, load: &LoadSummary) {
    if load.turns.is_empty() {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>while it ran</th><th class=\"number\">for</th>\
         <th class=\"number\">samples</th><th class=\"number\">worst</th><th class=\"number\">CPU</th>\
         <th class=\"number\">beyond</th><th class=\"number\">missed</th></tr></thead><tbody>\n",
    );
    load.turns.iter().for_each(|turn| row(page, turn));
    page.push_str("</tbody></table></div>\n");
    for sentence in &load.sentences {
        let _ = writeln!(page, "<p>{}</p>", escape(sentence));
    }
}

fn row(page: &mut String, turn: &LoadTurnRow) {
    let none = || NONE.to_owned();
    let _ = writeln!(
        page,
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
        escape(&turn.name),
        format::span(turn.observed_ns),
        format::count(turn.samples),
        turn.worst_ns.map_or_else(none, format::latency),
        turn.worst_cpu.map_or_else(none, |cpu| cpu.to_string()),
        turn.beyond.map_or_else(none, format::count),
        format::count(turn.missed_periods),
    );
}
