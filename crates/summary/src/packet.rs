//! What is said of packets between nodes: what became of them, how long they took with which error, and their parts.

mod parts;
mod table;

use std::collections::BTreeSet;

use record::{
    ClockRelation, Histogram, Interval, Kind, LatencyRole, NodeExplanation, PacketFlow, Place, Record, Series,
    TrackPoint, Uncertainty,
};
use units::{approx_f64, format};

pub use self::parts::{known_parts, parts_of};
pub(crate) use self::table::row;
pub use self::table::{DelayRow, FlowSummary, PacketSummary, summary};
use crate::sync::range;

/// Between which points a delay is the whole way, as the end of "took 9.0 us": "one way" is from program to program.
#[must_use]
pub fn way_words(record: &Record, latency: &str) -> &'static str {
    let known = record.measurement.kind().latency(latency).map(|latency| latency.way);
    known.filter(|way| !way.is_empty()).unwrap_or("one way")
}

/// An error of which something is known.
#[must_use]
pub fn known(error: Option<Uncertainty>) -> Option<Uncertainty> {
    error.filter(|error| !error.is_unknown())
}

/// "arrived_to_received on press-7".
#[must_use]
pub fn explained_words(one: &NodeExplanation) -> String {
    format!("{} on {}", one.latency, one.node)
}

/// "vm → press-7".
#[must_use]
pub fn arrow(flow: &PacketFlow) -> String {
    format!("{} \u{2192} {}", flow.from, flow.to)
}

/// A latency of a flow; `None` if the record has no series of it.
#[must_use]
pub fn series_of<'a>(record: &'a Record, flow: &PacketFlow, latency: &str) -> Option<&'a Series> {
    record.series.iter().find(|series| series.name == latency && flow_number(&series.place) == Some(flow.flow))
}

/// What a flow has beside the way of its packets, with its words.
#[must_use]
pub fn beside<'a>(record: &'a Record, flow: &PacketFlow, role: LatencyRole) -> Option<(&'static str, &'a Series)> {
    let latency = record.measurement.kind().by_role(role)?;
    Some((latency.words, series_of(record, flow, latency.name)?))
}

/// The delays of a flow from program to program, to which a limit applies where packets are what is measured; `None` if no packet has one.
#[must_use]
pub fn delays_of<'a>(record: &'a Record, flow: &PacketFlow) -> Option<&'a Series> {
    let kind = record.measurement.kind();
    // Where packets bring orders, what is judged is the act: it stands with the nodes that act.
    match way_of_packets(kind).filter(|way| kind.compared != Some(way)) {
        Some(way) => series_of(record, flow, way).filter(|series| series.taken() > 0),
        None => record
            .series
            .iter()
            .find(|series| series.judged && series.taken() > 0 && flow_number(&series.place) == Some(flow.flow)),
    }
}

/// The latency that is the whole way of a packet: the one by which runs are compared, or where that is no way the first that is one.
fn way_of_packets(kind: &Kind) -> Option<&'static str> {
    let is_way = |name: &&str| kind.latency(name).is_some_and(|latency| latency.role == LatencyRole::Way);
    let first = || kind.latencies.iter().find(|latency| latency.role == LatencyRole::Way && latency.part_of.is_empty());
    kind.compared.filter(is_way).or_else(|| first().map(|latency| latency.name))
}

/// The number of a flow (from 0); `None` if the place is of no flow.
#[must_use]
pub const fn flow_number(place: &Place) -> Option<u32> {
    match place {
        Place::Flow { flow, .. } => Some(*flow),
        _ => None,
    }
}

/// The worst packet of some runs.
pub struct Worst<'a> {
    /// Its delay (ns).
    pub ns: i64,
    /// Between which points that is: "one way".
    pub way: &'static str,
    /// The error of the interval in which it arrived; `None` if it is not known.
    pub error: Option<Uncertainty>,
    /// Name of the node that sent it.
    pub from: &'a str,
    /// Name of the node that received it.
    pub to: &'a str,
}

/// The worst packet of the runs that are not invalid, with its run; `None` if none of them has one.
#[must_use]
pub fn worst_of<'a>(runs: &[&'a Record]) -> Option<(&'a Record, Worst<'a>)> {
    let valid = runs.iter().copied().filter(|run| !run.validity.is_invalid());
    let flows = valid
        .flat_map(|run| run.packets().map(|packets| (run, packets)))
        .flat_map(|(run, packets)| packets.flows.iter().map(move |flow| (run, flow)));
    let worst = flows.filter_map(|(run, flow)| {
        let series = delays_of(run, flow)?;
        let ns = series.worst_ns(run.sign(series))?;
        let way = way_words(run, &series.name);
        Some((run, Worst { ns, way, error: error_of_worst(run, series), from: &flow.from, to: &flow.to }))
    });
    worst.max_by_key(|(_, worst)| worst.ns)
}

/// The error of the interval that has the worst sample of a series, or else of the whole series.
#[must_use]
pub fn error_of_worst(run: &Record, series: &Series) -> Option<Uncertainty> {
    let sign = run.sign(series);
    let worst_ns = series.worst_ns(sign)?;
    let has_it = |interval: &&Interval| interval.worst_ns(sign) == Some(worst_ns);
    let found = series.intervals.iter().filter(has_it).filter_map(|interval| interval.uncertainty);
    known(found.reduce(Uncertainty::widest).or(series.uncertainty))
}

/// How many different pairs of sender and receiver the runs have.
#[must_use]
pub fn paths(runs: &[&Record]) -> usize {
    let flows = runs.iter().filter_map(|run| run.packets()).flat_map(|packets| &packets.flows);
    flows.map(|flow| (&flow.from, &flow.to)).collect::<BTreeSet<_>>().len()
}

/// "±10.9 us".
#[must_use]
pub fn error_words(error: Uncertainty) -> String {
    error.in_words()
}

/// "none was lost", "3 were lost", "how many were lost is not known", over all given runs that are not invalid.
#[must_use]
pub fn lost_words(runs: &[&Record]) -> String {
    let flows = || {
        runs.iter().filter(|run| !run.validity.is_invalid()).filter_map(|run| run.packets()).flat_map(|run| &run.flows)
    };
    let lost = units::total(flows().filter_map(|flow| flow.lost));
    let is_known = flows().all(|flow| flow.lost.is_some());
    match (lost, is_known) {
        (0, true) => "none was lost".to_owned(),
        (1, true) => "1 was lost".to_owned(),
        (lost, true) => format!("{} were lost", format::count(lost)),
        (0, false) => "how many were lost is not known".to_owned(),
        (lost, false) => format!("at least {} were lost", format::count(lost)),
    }
}

/// What became of the packets of a flow; what did not happen and is rare is left out.
#[must_use]
pub fn counts_sentence(flow: &PacketFlow) -> String {
    let always = [("sent", flow.sent), ("arrived", flow.arrived), ("lost", flow.lost)];
    let known = always.map(|(what, number)| {
        number.map_or_else(|| format!("{what}: not known"), |n| format!("{} {what}", format::count(n)))
    });
    let rare = [
        ("schedules skipped by the sender", flow.skipped.unwrap_or(0)),
        ("refused by the sending system", flow.refused.unwrap_or(0)),
        ("doubled", flow.doubled),
        ("out of order", flow.reordered),
        ("too old to tell from copies", flow.too_old),
        ("foreign", flow.foreign),
        ("forged", flow.forged),
        ("without the sending kernel's stamp", flow.without_transmitted),
        ("without the receiving kernel's stamp", flow.without_arrived),
        ("without a usable stamp of the sending interface", flow.without_hw_transmitted),
        ("without a usable stamp of the receiving interface", flow.without_hw_arrived),
        ("stamps of interfaces that contradict the kernels'", flow.hw_contradicting),
    ];
    let rare = rare
        .into_iter()
        .filter(|(_, number)| *number > 0)
        .map(|(what, number)| format!("{} {what}", format::count(number)));
    let counts = known.into_iter().chain(rare).collect::<Vec<_>>().join(", ");
    flow.awaited_words().map_or_else(|| counts.clone(), |words| format!("{counts}; {words}"))
}

/// The parts of the delay of a flow with their medians, in the order in which a packet passes them; `None` if none is known.
#[must_use]
pub fn parts_sentence(record: &Record, flow: &PacketFlow) -> Option<String> {
    let parts = known_parts(record, flow);
    if parts.is_empty() {
        return None;
    }
    let words = parts.iter().map(|(words, series)| {
        let median = series.quantile_ns(0.5).map_or_else(String::new, format::latency);
        let error = series.uncertainty.map_or_else(String::new, |error| {
            if error.is_unknown() { " (error not known)".to_owned() } else { format!(" {}", error_words(error)) }
        });
        format!("{words} {median}{error}")
    });
    let mut sentence = format!("Medians: {}", words.collect::<Vec<_>>().join(", "));
    for (number, whose) in [(flow.without_transmitted, "sending"), (flow.without_arrived, "receiving")] {
        if number > 0 {
            sentence.push_str(&format!("; {} packets have no stamp of the {whose} kernel", format::count(number)));
        }
    }
    Some(sentence)
}

/// Path and receiver mode, which the record keeps as one text: "UDP over IPv4, block".
#[must_use]
pub fn path_of(flow: &PacketFlow) -> (Option<String>, Option<String>) {
    let received = flow.received_by.as_ref().and_then(|by| by.rsplit_once(", "));
    let receiver = received.map(|(_, mode)| mode.to_owned());
    let at_receiver = received.map(|(way, _)| way.to_owned()).or_else(|| flow.received_by.clone());
    let path = match (&flow.sent_by, at_receiver) {
        (Some(sent), Some(received)) if *sent != received => {
            // The interfaces of two nodes have two names: "AF_PACKET, eth0 to enp3s0".
            match (sent.split_once(" on "), received.split_once(" on ")) {
                (Some((one, from)), Some((other, to))) if one == other => Some(format!("{one}, {from} to {to}")),
                _ => Some(format!("{sent}, received by {received}")),
            }
        }
        (sent, received) => sent.clone().or(received),
    };
    (path, receiver)
}

/// Way and receiver mode in words: "UDP over IPv4, receiver: block".
#[must_use]
pub fn path_words(flow: &PacketFlow) -> String {
    match path_of(flow) {
        (path, Some(receiver)) => {
            format!("{}, receiver: {receiver}", path.unwrap_or_else(|| "way not known".to_owned()))
        }
        (path, None) => path.unwrap_or_else(|| "way not known".to_owned()),
    }
}

/// The mean of all samples with their signs (ns).
#[must_use]
pub fn mean_ns(series: &Series) -> Option<f64> {
    let sum = |histogram: &Histogram| histogram.mean_ns().unwrap_or(0.0) * approx_f64(histogram.count());
    let below = series.below_zero.as_ref().map_or(0.0, sum);
    (series.taken() > 0).then(|| (sum(&series.histogram) - below) / approx_f64(series.taken()))
}

/// The value that 99.9 % of the samples do not exceed (ns); `None` if fewer than ten samples are above it.
#[must_use]
pub fn p99_9_ns(series: &Series) -> Option<i64> {
    (series.taken() >= 10_000).then(|| series.quantile_ns(0.999)).flatten()
}

/// What the comparison of two nodes' clocks came to.
#[must_use]
pub fn clocks_sentence(clocks: &ClockRelation) -> String {
    let ClockRelation { exchanges, incomplete, max_drift_ppb, .. } = clocks;
    let Some(offset) = &clocks.offset else {
        return format!(
            "The clocks were not compared: of {} exchanges of messages none was complete",
            format::count(exchanges.saturating_add(*incomplete))
        );
    };
    let widths =
        || clocks.track.iter().filter_map(TrackPoint::narrowest_bound_ns).map(|(lower, upper)| upper.abs_diff(lower));
    let narrowest =
        widths().min().map_or_else(String::new, |ns| format!("; narrowest bound {} wide", format::latency(ns)));
    let bound = bound_ns(clocks).map_or_else(String::new, |bound| format!("; never outside of {}", range(bound)));
    let lost = match incomplete {
        0 => String::new(),
        number => format!(", {} more were not complete", format::count(*number)),
    };
    format!(
        "median {}, {}{bound}{narrowest}; from {} exchanges{lost}; trusts that the kernels' stamps are right, and that the rates of \
         the uncorrected clocks differ by at most {} parts per million",
        format::latency(offset.median_ns),
        range((offset.lowest_ns, offset.highest_ns)),
        format::count(*exchanges),
        f64::from(*max_drift_ppb) / 1_000.0
    )
}

/// The lowest lower and the highest upper bound on the offset (ns); `None` without a bound.
fn bound_ns(clocks: &ClockRelation) -> Option<(i64, i64)> {
    let bounds = clocks.track.iter().filter_map(|point| point.bound_ns);
    bounds.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}

#[cfg(test)]
mod tests {
    use record::{ReasonCode, Validity};
    use samples::packets;

    use super::*;

    #[test]
    fn the_way_is_said_once_where_both_ends_have_the_same() {
        let by = |sent: Option<&str>, received: Option<&str>| {
            let [sent_by, received_by] = [sent, received].map(|by| by.map(str::to_owned));
            path_words(&PacketFlow { sent_by, received_by, ..PacketFlow::default() })
        };
        assert_eq!(by(Some("UDP over IPv4"), Some("UDP over IPv4, poll")), "UDP over IPv4, receiver: poll");
        let link = by(Some("AF_PACKET on eth0"), Some("AF_PACKET on enp3s0, block"));
        assert_eq!(link, "AF_PACKET, eth0 to enp3s0, receiver: block");
        let mixed = by(Some("AF_XDP on eth0, zero-copy"), Some("AF_PACKET on eth0, block"));
        assert_eq!(mixed, "AF_XDP on eth0, zero-copy, received by AF_PACKET on eth0, receiver: block");
        assert_eq!(by(None, None), "way not known");
    }

    #[test]
    fn an_invalid_run_has_no_worst_packet() {
        let mut stepped = Validity::default();
        stepped.add(ReasonCode::ClockStepped, "by 1 s");
        let (good, bad) = (packets(&[4_000], 300, 0, Validity::default()), packets(&[9_000], 300, 0, stepped));
        assert_eq!(worst_of(&[&good, &bad]).map(|(_, worst)| worst.ns), Some(4_000));
        assert!(worst_of(&[&bad]).is_none());
    }
}
