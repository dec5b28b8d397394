//! The flows of a run with their delays, as tables.

use record::{ClockRelation, LatencyRole, PacketFlow, PacketRun, Record, Series, Uncertainty};
use serde::Serialize;

use super::{
    beside, clocks_sentence, counts_sentence, delays_of, known_parts, parts_sentence, path_words, way_of_packets,
};
use crate::run::Figures;

/// What is said of packets between nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketSummary {
    /// The flows, in the order of the record.
    pub flows: Vec<FlowSummary>,
    /// What was seen of the stamps of interfaces, as sentences without their full stops.
    pub hardware: Vec<String>,
    /// How far the clocks of the nodes are apart as each of them saw it ("Clock of a less that of b: …"), and what their time services
    /// say of it, without full stops.
    pub clocks: Vec<String>,
}

/// What is said of a flow of packets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Name of the node that sends.
    pub from: String,
    /// Name of the node that receives.
    pub to: String,
    /// The way through the systems, and how the receiver waits: "UDP over IPv4, receiver: block".
    pub way: String,
    /// Size and schedule: "128 bytes every 1 ms".
    pub schedule: String,
    /// How the packets were launched; `None` if they have no launch time.
    pub launch: Option<String>,
    /// What became of the packets, as a sentence without its full stop.
    pub counts: String,
    /// What it means that none came, or that no packet has all stamps, as sentences without their full stops.
    pub remarks: Vec<String>,
    /// The delay from program to program; `None` if no packet has one.
    pub delay: Option<DelayRow>,
    /// The same, its parts, and what the sender was late by: those of which a packet is known.
    pub rows: Vec<DelayRow>,
    /// The medians of the parts, as a sentence without its full stop; `None` if no part is known.
    pub parts: Option<String>,
    /// Packets that were lost; `None` if that is not known.
    pub lost: Option<u64>,
}

/// The delays of a flow between two points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DelayRow {
    /// The latency, named by its two points.
    pub name: String,
    /// What lies between the points, in a few words.
    pub words: String,
    /// The figures with their signs.
    pub figures: Figures,
    /// Median (ns).
    pub median_ns: Option<i64>,
    /// The worst delay (ns).
    pub worst_ns: Option<i64>,
    /// The error of each delay, in words; `None` if both points are of one clock.
    pub error: Option<String>,
}

/// What is said of packets between nodes; `None` if the run is of another kind.
#[must_use]
pub fn summary(record: &Record) -> Option<PacketSummary> {
    let run = record.packets()?;
    let clocks = |clocks: &ClockRelation| {
        let own = format!("Clock of {} less that of {}: {}", clocks.node, clocks.partner, clocks_sentence(clocks));
        let services = clocks.services.iter().map(|one| one.in_words_with_trust(&clocks.node, &clocks.partner));
        [own].into_iter().chain(services).collect::<Vec<String>>()
    };
    Some(PacketSummary {
        flows: run.flows.iter().map(|flow| flow_summary(flow, record)).collect(),
        hardware: run.hardware.iter().map(record::HardwareStamps::in_words).collect(),
        clocks: compared(record, run).into_iter().flat_map(clocks).collect(),
    })
}

/// How the clocks of nodes were compared. Of nodes that act only how the clock of each lies beside the server's: both ends of an exchange
/// saw the same, and the acting one's is said.
fn compared<'a>(record: &Record, run: &'a PacketRun) -> Vec<&'a ClockRelation> {
    let is_acting = |clocks: &ClockRelation| run.flows.iter().any(|flow| flow.to == clocks.node);
    let rank = |clocks: &ClockRelation| (clocks.offset.is_some(), is_acting(clocks));
    let is_said = |one: &&ClockRelation| {
        let other = run.clocks.iter().find(|other| (&other.node, &other.partner) == (&one.partner, &one.node));
        record.pulses().is_none() || other.is_none_or(|other| rank(one) >= rank(other))
    };
    run.clocks.iter().filter(is_said).collect()
}

fn flow_summary(flow: &PacketFlow, record: &Record) -> FlowSummary {
    let kind = record.measurement.kind();
    let delays = delays_of(record, flow);
    let compared = way_of_packets(kind).and_then(|name| kind.latency(name));
    let whole = compared.zip(delays).filter(|(latency, series)| series.name == latency.name);
    let whole = whole.map(|(latency, series)| (latency.words, series));
    let late = [LatencyRole::SenderLateness, LatencyRole::LaunchLateness].map(|role| beside(record, flow, role));
    let parts = known_parts(record, flow).into_iter().filter(|(_, series)| Some(&*series.name) != way_of_packets(kind));
    let rows = whole.into_iter().chain(parts).chain(late.into_iter().flatten());
    let rows = rows.filter(|(_, series)| series.taken() > 0).map(|(words, series)| row(words, series, record));
    FlowSummary {
        from: flow.from.clone(),
        to: flow.to.clone(),
        way: path_words(flow),
        schedule: flow.schedule_words(),
        launch: flow.launch.as_ref().map(record::PacketLaunch::in_words),
        counts: counts_sentence(flow),
        remarks: remarks(flow),
        delay: delays.map(|series| row(kind.latency(&series.name).map_or("", |latency| latency.words), series, record)),
        rows: rows.collect(),
        parts: parts_sentence(record, flow),
        lost: flow.lost,
    }
}

pub(crate) fn row(words: &str, series: &Series, record: &Record) -> DelayRow {
    DelayRow {
        name: series.name.clone(),
        words: words.to_owned(),
        figures: Figures::of(&series.histogram, series.below_zero.as_ref()),
        median_ns: series.quantile_ns(0.5),
        worst_ns: series.worst_ns(record.sign(series)),
        error: series.uncertainty.map(Uncertainty::in_words),
    }
}

fn remarks(flow: &PacketFlow) -> Vec<String> {
    let mut remarks = Vec::new();
    if flow.arrived == Some(0) && flow.sent.is_some_and(|sent| sent > 0) {
        remarks.push(
            "not one came: a firewall between the nodes can keep them back, or what the validity says of the sender"
                .to_owned(),
        );
    }
    if flow.arrived.is_some_and(|arrived| arrived > 0 && flow.without_transmitted.max(flow.without_arrived) >= arrived)
    {
        remarks.push(
            "of not one packet the stamps of both kernels came, so the parts of the delay are not known".to_owned(),
        );
    }
    remarks
}

#[cfg(test)]
mod tests {
    use record::Spread;
    use samples::{packets, pulses};

    use super::*;

    #[test]
    fn of_nodes_that_act_each_pair_of_clocks_is_said_once_by_the_one_that_acts() {
        let spread = |median_ns| Spread {
            count: 9,
            median_ns,
            lowest_ns: median_ns,
            highest_ns: median_ns,
            mean_ns: 0.0,
            deviation_ns: 0.0,
        };
        let clocks = |node: &str, partner: &str, offset| ClockRelation {
            node: node.to_owned(),
            partner: partner.to_owned(),
            offset,
            ..ClockRelation::default()
        };
        let of = |relations: Vec<ClockRelation>| {
            let said = summary(&pulses(|run| run.packets.clocks = relations)).unwrap().clocks;
            said.into_iter().map(|sentence| sentence.split(':').next().unwrap().to_owned()).collect::<Vec<String>>()
        };
        let known = || Some(spread(1_000));
        let both = vec![
            clocks("a", "b", known()),
            clocks("b", "a", known()),
            clocks("a", "c", known()),
            clocks("c", "a", known()),
        ];
        assert_eq!(of(both), ["Clock of b less that of a", "Clock of c less that of a"]);
        // What the server alone saw is said too.
        let half = vec![clocks("a", "b", known()), clocks("b", "a", None), clocks("a", "c", known())];
        assert_eq!(of(half), ["Clock of a less that of b", "Clock of a less that of c"]);
        // Of packets alone neither node leads, and both are said.
        let mut record = packets(&[4_000], 300, 0, record::Validity::default());
        if let record::Detail::Packet(run) = &mut record.detail {
            run.clocks = vec![clocks("a", "b", known()), clocks("b", "a", known())];
        }
        assert_eq!(summary(&record).unwrap().clocks.len(), 2);
    }
}
