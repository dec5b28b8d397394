//! How far clocks are apart, on a terminal.

use record::{HardBound, LatencyRole, Record, SyncChange, SyncRun, SyncSource, SyncState};
use units::format;

use super::result::{conclusion, when};
use terminal::table::Table;
use terminal::wrap;

/// Events that are printed; the record holds more.
const SHOWN_EVENTS: usize = 12;

/// The result of a run.
pub(crate) fn table(record: &Record, colour: bool) -> String {
    let width = wrap::width();
    let Some(run) = record.sync() else { return conclusion(record, colour) };
    let elapsed = format::span(record.measured_ns());
    let is_imported = matches!(record.manifest().origin, record::Origin::Imported { .. });
    let whose = if is_imported { "clocks" } else { "this machine's clocks" };
    let head = format!("offsets of {whose}, for {elapsed}");
    let mut text = wrap::paragraph(&head, "", width);
    if !run.sources.is_empty() {
        text.push('\n');
        text.push_str(&offsets(record, run));
    }
    for source in &run.sources {
        text.push_str(&about(source, width));
    }
    for why in &run.not_followed {
        text.push('\n');
        text.push_str(&wrap::paragraph(&format!("not followed: {why}"), "  ", width));
    }
    text.push_str(&events(record, run));
    text.push_str(&conclusion(record, colour));
    text
}

fn offsets(record: &Record, run: &SyncRun) -> String {
    let mut table =
        Table::new(&["", "state", "offsets", "lowest", "median", "highest", "hard bound from", "to", "delay"]);
    let path_delay = record.measurement.kind().by_role(LatencyRole::PathDelay).map(|latency| latency.name);
    for source in &run.sources {
        let state = source.states.last().map_or("-", |last| last.state.word()).to_owned();
        let cell = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), format::latency);
        let spread = source.spread.as_ref();
        let (from, to) = match &source.bound {
            HardBound::Stated { lowest_ns, highest_ns, .. } => (Some(*lowest_ns), Some(*highest_ns)),
            HardBound::Missing { .. } => (None, None),
        };
        let delay = record
            .series
            .iter()
            .find(|series| series.place == source.place && Some(series.name.as_str()) == path_delay)
            .and_then(|series| series.histogram.max_ns());
        table.row(vec![
            source.name(),
            state,
            spread.map_or_else(|| "-".to_owned(), |spread| format::count(spread.count)),
            cell(spread.map(|spread| spread.lowest_ns)),
            cell(spread.map(|spread| spread.median_ns)),
            cell(spread.map(|spread| spread.highest_ns)),
            cell(from),
            cell(to),
            super::result::latency_cell(delay),
        ]);
    }
    table.render()
}

/// What the source is compared with, what its bound rests on, what its own view is.
fn about(source: &SyncSource, width: usize) -> String {
    let mut text = String::from("\n");
    let version = source.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let reference = if source.reference.is_empty() { "nothing yet".to_owned() } else { source.reference.clone() };
    let head = format!("{}{version}: clock {} against {reference}", source.name(), source.clock_words());
    text.push_str(&wrap::paragraph(&head, "  ", width));
    if source.spread.is_none() && source.states.last().is_some_and(|last| last.state == SyncState::Reference) {
        text.push_str(&wrap::paragraph("it gives the time, and compares its clock with none", "    ", width));
        return text;
    }
    let line = match &source.bound {
        HardBound::Stated { narrowest_ns: (lower_ns, upper_ns), widest_ns, trusts, .. } => format!(
            "hard bound: widest {} at one moment, narrowest {} to {}; it trusts that {trusts}",
            format::latency(*widest_ns),
            format::latency(*lower_ns),
            format::latency(*upper_ns)
        ),
        HardBound::Missing { reason } => format!("no hard bound: {reason}"),
    };
    text.push_str(&wrap::paragraph(&line, "    ", width));
    if let Some(own) = &source.own_estimate {
        let line = format!(
            "its own estimate: rms {}, largest {}, of {}; it cannot see an asymmetric path",
            format::latency(units::round_u64(own.rms_ns)),
            format::latency(own.largest_ns),
            format::count(own.count)
        );
        text.push_str(&wrap::paragraph(&line, "    ", width));
    }
    if let Some(line) = source.growth_in_words() {
        text.push_str(&wrap::paragraph(&line, "    ", width));
    }
    for missed in &source.could_be_missed {
        text.push_str(&wrap::paragraph(&format!("could be missed: {missed}"), "    ", width));
    }
    text
}

fn events(record: &Record, run: &SyncRun) -> String {
    if run.events.is_empty() {
        return String::new();
    }
    let width = wrap::width();
    let mut text = String::from("\n");
    text.push_str(&wrap::paragraph("what changed:", "  ", width));
    // A state that flaps does not hide a step.
    let (states, others): (Vec<_>, Vec<_>) = run.events.iter().partition(|event| event.what == SyncChange::State);
    let mut shown: Vec<_> = others.into_iter().chain(states).take(SHOWN_EVENTS).collect();
    shown.sort_by_key(|event| event.at.monotonic.as_ns());
    for event in &shown {
        let at = when(event.at, record.manifest());
        let line = format!("{at}  {}  {}: {}", event.place, event.what.word(), event.detail);
        text.push_str(&wrap::paragraph(&line, "    ", width));
    }
    let more = u64::try_from(run.events.len() - shown.len()).unwrap_or(0) + run.events_left_out;
    if more > 0 {
        text.push_str(&wrap::paragraph(&format!("and {} more", format::count(more)), "    ", width));
    }
    text
}
