//! Packets between two nodes, on a terminal.

use record::{ClockRelation, LatencyRole, PacketFlow, Place, Record, Uncertainty};
use units::format;

use super::result::conclusion;
use terminal::table::Table;
use terminal::wrap;

/// The result of a run.
pub(crate) fn table(record: &Record, colour: bool) -> String {
    let width = wrap::width();
    let Some(run) = record.packets() else { return conclusion(record, colour) };
    let mut text = String::new();
    for flow in &run.flows {
        let by = [&flow.sent_by, &flow.received_by].into_iter().flatten().next();
        let by = by.map_or_else(String::new, |by| format!("{by}, "));
        let head = format!("{} -> {}: {by}{}", flow.from, flow.to, flow.schedule_words());
        text.push_str(&wrap::paragraph(&head, "", width));
        if let Some(launch) = &flow.launch {
            text.push_str(&wrap::paragraph(&format!("packets were {}", launch.in_words()), "  ", width));
        }
        text.push('\n');
        text.push_str(&delays(record, flow));
        text.push_str(&counts(flow));
        text.push('\n');
    }
    for hardware in &run.hardware {
        text.push_str(&wrap::paragraph(&format!("{}.", hardware.in_words()), "", width));
    }
    for clocks in run.clocks.iter().filter(|clocks| run.flows.iter().any(|flow| flow.to == clocks.node)) {
        text.push_str(&wrap::paragraph(&clocks_words(clocks), "", width));
        for services in &clocks.services {
            let words = services.in_words(&clocks.node, &clocks.partner);
            text.push_str(&wrap::paragraph(&format!("{words}."), "  ", width));
        }
    }
    text.push_str(&super::explanation::of_packets(record));
    text.push_str(&conclusion(record, colour));
    text
}

const fn flow_of(place: &Place) -> Option<u32> {
    match place {
        Place::Flow { flow, .. } => Some(*flow),
        _ => None,
    }
}

fn delays(record: &Record, flow: &PacketFlow) -> String {
    let mut table = Table::new(&["", "packets", "min", "median", "p99.9", "max", "error"]);
    let kind = record.measurement.kind();
    for latency in kind.latencies.iter().filter(|latency| latency.role != LatencyRole::RoundTrip) {
        let found = record
            .series
            .iter()
            .find(|series| series.name == latency.name && flow_of(&series.place) == Some(flow.flow));
        let Some(series) = found else { continue };
        let cell = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), format::latency);
        table.row(vec![
            series.name.clone(),
            format::count(series.taken()),
            cell(series.lowest_ns()),
            cell(series.quantile_ns(0.5)),
            cell(series.quantile_ns(0.999)),
            cell(series.worst_ns(record.sign(series))),
            series.uncertainty.map_or_else(|| "-".to_owned(), Uncertainty::in_words),
        ]);
    }
    table.render()
}

/// What became of the packets of a flow; what did not happen is left out.
fn counts(flow: &PacketFlow) -> String {
    // Where all of them are, one sentence says it.
    let some_of = |number: u64| if flow.arrived == Some(number) { 0 } else { number };
    let always = [("sent", flow.sent), ("arrived", flow.arrived), ("lost", flow.lost)];
    let known = always.map(|(what, number)| (what, number.map_or_else(|| "?".to_owned(), format::count)));
    let rare = [
        ("schedules skipped by the sender", flow.skipped.unwrap_or(0)),
        ("refused by the sending system", flow.refused.unwrap_or(0)),
        ("doubled", flow.doubled),
        ("out of order", flow.reordered),
        ("too old to tell from copies", flow.too_old),
        ("foreign", flow.foreign),
        ("forged", flow.forged),
        ("without the sending kernel's stamp", some_of(flow.without_transmitted)),
        ("without the receiving kernel's stamp", some_of(flow.without_arrived)),
        ("without a usable stamp of the sending interface", flow.without_hw_transmitted),
        ("without a usable stamp of the receiving interface", flow.without_hw_arrived),
        ("stamps of interfaces that contradict the kernels'", flow.hw_contradicting),
    ];
    let rare = rare.into_iter().filter(|(_, number)| *number > 0).map(|(what, number)| (what, format::count(number)));
    let words: Vec<String> = known.into_iter().chain(rare).map(|(what, number)| format!("{number} {what}")).collect();
    let mut text = wrap::paragraph(&words.join(", "), "  ", wrap::width());
    if let Some(words) = flow.awaited_words() {
        text.push_str(&wrap::paragraph(&words, "  ", wrap::width()));
    }
    if flow.arrived == Some(0) && flow.sent.is_some_and(|sent| sent > 0) {
        let line =
            "not one came: a firewall between the nodes can keep them back, or what the validity says of the sender";
        text.push_str(&wrap::paragraph(line, "  ", wrap::width()));
    }
    if flow.arrived.is_some_and(|arrived| arrived > 0 && flow.without_transmitted.max(flow.without_arrived) >= arrived)
    {
        let line = "of not one packet the stamps of both kernels came, so the parts of the delay are not known";
        text.push_str(&wrap::paragraph(line, "  ", wrap::width()));
    }
    text
}

fn clocks_words(clocks: &ClockRelation) -> String {
    let ClockRelation { node, partner, exchanges, incomplete, .. } = clocks;
    let Some(offset) = &clocks.offset else {
        return format!(
            "The clocks of {node} and {partner} were not compared: of {} exchanges none was complete.",
            format::count(*incomplete)
        );
    };
    let narrowest = clocks
        .track
        .iter()
        .filter_map(record::TrackPoint::narrowest_bound_ns)
        .map(|(lower, upper)| upper.saturating_sub(lower))
        .min();
    let incomplete = if *incomplete > 0 {
        format!(", {} more were not complete", format::count(*incomplete))
    } else {
        String::new()
    };
    format!(
        "Clock of {node} less that of {partner}: median {}, {} to {}; narrowest bound {} wide, from {} exchanges{incomplete}.",
        format::latency(offset.median_ns),
        format::latency(offset.lowest_ns),
        format::latency(offset.highest_ns),
        narrowest.map_or_else(|| "-".to_owned(), format::latency),
        format::count(*exchanges)
    )
}
