//! The parts of loads and the latencies while they ran, for readers without scripts.

use std::fmt::Write as _;

use analyse::{LoadTurn, LoadTurns, load_turns};
use record::Record;
use units::format;

use super::escape;
use crate::load;
use crate::view::LoadView;

/// Writes what the loads were and what their parts achieved; nothing if no run has a load.
pub(super) fn plain_loads(page: &mut String, runs: &[Record]) {
    let loads: Vec<(&Record, LoadView)> = runs.iter().filter_map(|run| Some((run, load::view(run)?))).collect();
    if loads.is_empty() {
        return;
    }
    page.push_str("<section><h2>What the load did</h2>\n");
    for (run, load) in loads {
        let does = load.description.as_ref().map_or_else(String::new, |words| format!(" ({words})"));
        let doubt = if run.validity.is_invalid() { " (invalid: not a result)" } else { "" };
        let label = if run.label.is_empty() { run.measurement.name() } else { &run.label };
        let _ = writeln!(page, "<h3>{}{doubt}: {}{}</h3>", escape(label), escape(&load.name), escape(&does));
        if !load.parts.is_empty() {
            parts(page, &load);
        }
        if let Some(all) = load_turns(run) {
            turns(page, &all);
        }
    }
    page.push_str("</section>\n");
}

fn parts(page: &mut String, load: &LoadView) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>part</th><th class=\"number\">CPUs used</th><th>achieved</th>\
         </tr></thead><tbody>\n",
    );
    for part in &load.parts {
        let mut words = match &part.dropped {
            Some(why) => vec![format!("did not run: {why}")],
            None => part.achieved.clone(),
        };
        words.extend(part.lacks.iter().map(|lack| format!("without {lack}")));
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&part.name),
            part.cpu_used.map_or_else(|| "\u{2013}".to_owned(), |used| format!("{used:.2}")),
            escape(&words.join("; "))
        );
    }
    page.push_str("</tbody></table></div>\n");
}

fn turns(page: &mut String, all: &LoadTurns) {
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>while it ran</th><th class=\"number\">for</th>\
         <th class=\"number\">samples</th><th class=\"number\">worst</th><th class=\"number\">CPU</th>\
         <th class=\"number\">beyond</th><th class=\"number\">missed</th></tr></thead><tbody>\n",
    );
    for turn in all.turns.iter().chain([&all.between]) {
        row(page, turn);
    }
    page.push_str("</tbody></table></div>\n");
    for sentence in &all.sentences {
        let _ = writeln!(page, "<p>{}</p>", escape(sentence));
    }
}

fn row(page: &mut String, turn: &LoadTurn) {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let none = || "\u{2013}".to_owned();
    let _ = writeln!(
        page,
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
        escape(&turn.name),
        format::span(signed(turn.observed_ns)),
        format::count(turn.samples),
        turn.worst_ns.map_or_else(none, |ns| format::latency(signed(ns))),
        turn.worst_cpu.map_or_else(none, |cpu| cpu.to_string()),
        turn.beyond.map_or_else(none, format::count),
        format::count(turn.missed_periods),
    );
}
