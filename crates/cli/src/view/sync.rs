//! How far clocks are apart, on a terminal.

use record::Record;
use summary::run::coverage;
use summary::sync::{SourceSummary, SyncSummary, summary};
use units::format;

use super::result::{conclusion, latency_cell, signed_cell, when};
use terminal::table::Table;
use terminal::wrap;

/// Events that are printed; the record holds more.
const SHOWN_EVENTS: usize = 12;

/// The result of a run.
pub(crate) fn table(record: &Record, color: bool) -> String {
    let width = wrap::width();
    let Some(run) = summary(record) else { return conclusion(record, color) };
    let whose = if record.manifest().is_imported() { "clocks" } else { "this machine's clocks" };
    let elapsed = coverage(record).map_or_else(String::new, |coverage| format!(", for {}", coverage.measured));
    let mut text = wrap::paragraph(&format!("offsets of {whose}{elapsed}"), "", width);
    if !run.sources.is_empty() {
        text.push('\n');
        text.push_str(&offsets(&run));
    }
    for source in &run.sources {
        text.push_str(&about(source, width));
    }
    for why in &run.not_followed {
        text.push('\n');
        text.push_str(&wrap::paragraph(&format!("not followed: {why}"), "  ", width));
    }
    text.push_str(&events(record, &run));
    text.push_str(&conclusion(record, color));
    text
}

fn offsets(run: &SyncSummary) -> String {
    let mut table =
        Table::new(&["", "state", "offsets", "lowest", "median", "highest", "hard bound from", "to", "delay"]);
    for source in &run.sources {
        table.row(vec![
            source.name.clone(),
            source.state.unwrap_or("-").to_owned(),
            source.offsets.map_or_else(|| "-".to_owned(), format::count),
            signed_cell(source.lowest_ns),
            signed_cell(source.median_ns),
            signed_cell(source.highest_ns),
            signed_cell(source.bound_ns.map(|(lowest_ns, _)| lowest_ns)),
            signed_cell(source.bound_ns.map(|(_, highest_ns)| highest_ns)),
            latency_cell(source.delay_ns),
        ]);
    }
    table.render()
}

/// What the source is compared with, what its bound rests on, what its own view is.
fn about(source: &SourceSummary, width: usize) -> String {
    let version = source.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let head = format!("{}{version}: clock {} against {}", source.name, source.clock, source.reference);
    let bound = if source.bound_ns.is_some() { "hard bound: " } else { "" };
    let lines = [format!("{bound}{}", source.bound)]
        .into_iter()
        .chain(source.own_estimate.clone())
        .chain(source.growth.clone())
        .chain(source.could_be_missed.iter().map(|missed| format!("could be missed: {missed}")));
    let head = format!("\n{}", wrap::paragraph(&head, "  ", width));
    lines.fold(head, |text, line| text + &wrap::paragraph(&line, "    ", width))
}

fn events(record: &Record, run: &SyncSummary) -> String {
    if run.events.is_empty() {
        return String::new();
    }
    let width = wrap::width();
    let mut text = String::from("\n");
    text.push_str(&wrap::paragraph("what changed:", "  ", width));
    for event in run.shown_events(SHOWN_EVENTS) {
        let at = when(event.at, record.manifest());
        let line = format!("{at}  {}  {}: {}", event.source, event.what, event.detail);
        text.push_str(&wrap::paragraph(&line, "    ", width));
    }
    let more = run.events_not_shown(SHOWN_EVENTS);
    if more > 0 {
        text.push_str(&wrap::paragraph(&format!("and {} more", format::count(more)), "    ", width));
    }
    text
}
