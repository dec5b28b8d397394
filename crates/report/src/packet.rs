//! Converts what was seen of packets between nodes to the view, and says it in sentences.

mod parts;

use std::collections::BTreeSet;

use record::{
    ClockRelation, HardwareStamps, Histogram, Interval, LatencyRole, Moment, NodeExplanation, PacketFlow, PacketLaunch,
    Place, Record, Series, TrackPoint, Uncertainty, WorstSample,
};
use units::{approx_f64, format};

pub(crate) use self::parts::{known_parts, parts_of};
use crate::Exact;
use crate::assemble::{moment, started_on};
use crate::sync::{range, track};
use crate::view::{
    PacketArrivalsView, PacketClocksView, PacketDelayView, PacketDelaysView, PacketErrorView, PacketExplanationView,
    PacketFlowView, PacketPartView, PacketView, PacketWorstView, SyncAllanView, SyncBoundView, SyncSourceView,
    SyncSpreadView,
};

/// Between which points a delay is the whole way, as the end of "took 9.0 us": "one way" is from program to program.
pub(crate) fn way_words(record: &Record, latency: &str) -> &'static str {
    let known = record.measurement.kind().latency(latency).map(|latency| latency.way);
    known.filter(|way| !way.is_empty()).unwrap_or("one way")
}

/// An error of which something is known.
fn known(error: Option<Uncertainty>) -> Option<Uncertainty> {
    error.filter(|error| !error.is_unknown())
}

/// The worst packets that a page lists.
const MOST_WORST: usize = 64;

/// The view of the packets; `None` if the run is of another kind.
pub(crate) fn view(record: &Record) -> Option<PacketView> {
    let run = record.packets()?;
    Some(PacketView {
        flows: run.flows.iter().map(|one| flow(one, record)).collect(),
        worst: record.worst.iter().take(MOST_WORST).filter_map(|sample| worst_packet(sample, record)).collect(),
        clocks: run.clocks.iter().map(|one| clocks(one, record)).collect(),
        hardware: run.hardware.iter().map(HardwareStamps::in_words).collect(),
        explanations: run.explanations.iter().map(|one| explained(one, record)).collect(),
    })
}

fn explained(one: &NodeExplanation, record: &Record) -> PacketExplanationView {
    PacketExplanationView {
        node: one.node.clone(),
        latency: one.latency.clone(),
        words: explained_words(one),
        explanation: crate::explanation::view_of(record, &one.explanation, started_on(record, &one.node)),
    }
}

/// "arrived_to_received on press-7".
pub(crate) fn explained_words(one: &NodeExplanation) -> String {
    format!("{} on {}", one.latency, one.node)
}

/// "vm → press-7".
pub(crate) fn arrow(flow: &PacketFlow) -> String {
    format!("{} \u{2192} {}", flow.from, flow.to)
}

/// A latency of a flow; `None` if the record has no series of it.
pub(crate) fn series_of<'a>(record: &'a Record, flow: &PacketFlow, latency: &str) -> Option<&'a Series> {
    record.series.iter().find(|series| series.name == latency && flow_number(&series.place) == Some(flow.flow))
}

/// What a flow has beside the way of its packets, with its words.
pub(crate) fn beside<'a>(
    record: &'a Record,
    flow: &PacketFlow,
    role: LatencyRole,
) -> Option<(&'static str, &'a Series)> {
    let latency = record.measurement.kind().by_role(role)?;
    Some((latency.words, series_of(record, flow, latency.name)?))
}

/// The delays of a flow from program to program, to which a limit applies; `None` if no packet has one.
pub(crate) fn delays_of<'a>(record: &'a Record, flow: &PacketFlow) -> Option<&'a Series> {
    record
        .series
        .iter()
        .find(|series| series.judged && series.taken() > 0 && flow_number(&series.place) == Some(flow.flow))
}

const fn flow_number(place: &Place) -> Option<u32> {
    match place {
        Place::Flow { flow, .. } => Some(*flow),
        _ => None,
    }
}

/// The worst packet of some runs.
pub(crate) struct Worst<'a> {
    /// Its delay (ns).
    pub(crate) ns: i64,
    /// Between which points that is: "one way".
    pub(crate) way: &'static str,
    /// The error of the interval in which it arrived; `None` if it is not known.
    pub(crate) error: Option<Uncertainty>,
    /// Name of the node that sent it.
    pub(crate) from: &'a str,
    /// Name of the node that received it.
    pub(crate) to: &'a str,
}

/// The worst packet of the runs that are not invalid, with its run; `None` if none of them has one.
pub(crate) fn worst_of<'a>(runs: &[&'a Record]) -> Option<(&'a Record, Worst<'a>)> {
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
fn error_of_worst(run: &Record, series: &Series) -> Option<Uncertainty> {
    let sign = run.sign(series);
    let worst_ns = series.worst_ns(sign)?;
    let has_it = |interval: &&Interval| interval.worst_ns(sign) == Some(worst_ns);
    let found = series.intervals.iter().filter(has_it).filter_map(|interval| interval.uncertainty);
    known(found.reduce(Uncertainty::widest).or(series.uncertainty))
}

/// How many different pairs of sender and receiver the runs have.
pub(crate) fn paths(runs: &[&Record]) -> usize {
    let flows = runs.iter().filter_map(|run| run.packets()).flat_map(|packets| &packets.flows);
    flows.map(|flow| (&flow.from, &flow.to)).collect::<BTreeSet<_>>().len()
}

/// "±10.9 us".
pub(crate) fn error_words(error: Uncertainty) -> String {
    error.in_words()
}

/// "none was lost", "3 were lost", "how many were lost is not known", over all given runs that are not invalid.
pub(crate) fn lost_words(runs: &[&Record]) -> String {
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
pub(crate) fn counts_sentence(flow: &PacketFlow) -> String {
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
pub(crate) fn parts_sentence(record: &Record, flow: &PacketFlow) -> Option<String> {
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
fn path_of(flow: &PacketFlow) -> (Option<String>, Option<String>) {
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
pub(crate) fn path_words(flow: &PacketFlow) -> String {
    match path_of(flow) {
        (path, Some(receiver)) => {
            format!("{}, receiver: {receiver}", path.unwrap_or_else(|| "way not known".to_owned()))
        }
        (path, None) => path.unwrap_or_else(|| "way not known".to_owned()),
    }
}

fn flow(flow: &PacketFlow, record: &Record) -> PacketFlowView {
    let delays = delays_of(record, flow);
    let (path, receiver) = path_of(flow);
    PacketFlowView {
        flow: flow.flow,
        from: flow.from.clone(),
        to: flow.to.clone(),
        path,
        receiver,
        size_bytes: flow.size_bytes,
        interval_ns: flow.interval_ns.into(),
        schedule: flow.schedule_words(),
        sent: flow.sent.map(Exact::from),
        skipped: flow.skipped.map(Exact::from),
        refused: flow.refused.map(Exact::from),
        arrived: flow.arrived.map(Exact::from),
        lost: flow.lost.map(Exact::from),
        doubled: flow.doubled.into(),
        reordered: flow.reordered.into(),
        too_old: flow.too_old.into(),
        foreign: flow.foreign.into(),
        forged: flow.forged.into(),
        counts_sentence: counts_sentence(flow),
        series: delays.and_then(|series| {
            let at = record.series.iter().position(|one| std::ptr::eq(one, series))?;
            u32::try_from(at).ok()
        }),
        delay: delays.and_then(|series| delay(record, series)),
        parts: parts_of(record, flow).iter().map(|latency| part(record, flow, latency.name, latency.words)).collect(),
        parts_sentence: parts_sentence(record, flow),
        lateness: beside(record, flow, LatencyRole::SenderLateness).and_then(|(_, series)| delay(record, series)),
        launch: flow.launch.as_ref().map(PacketLaunch::in_words),
        launched: beside(record, flow, LatencyRole::LaunchLateness).and_then(|(_, series)| delay(record, series)),
        over_time: delays.map(over_time).unwrap_or_default(),
        arrivals: arrivals(flow),
    }
}

fn error_view(error: Uncertainty) -> PacketErrorView {
    PacketErrorView { below_ns: error.below_ns.into(), above_ns: error.above_ns.into(), words: error_words(error) }
}

/// The mean of all samples with their signs (ns).
pub(crate) fn mean_ns(series: &Series) -> Option<f64> {
    let sum = |histogram: &Histogram| histogram.mean_ns().unwrap_or(0.0) * approx_f64(histogram.count());
    let below = series.below_zero.as_ref().map_or(0.0, sum);
    (series.taken() > 0).then(|| (sum(&series.histogram) - below) / approx_f64(series.taken()))
}

/// The value that 99.9 % of the samples do not exceed (ns); `None` if fewer than ten samples are above it.
pub(crate) fn p99_9_ns(series: &Series) -> Option<i64> {
    (series.taken() >= 10_000).then(|| series.quantile_ns(0.999)).flatten()
}

fn delay(record: &Record, series: &Series) -> Option<PacketDelayView> {
    Some(PacketDelayView {
        count: series.taken().into(),
        lowest_ns: series.lowest_ns()?.into(),
        median_ns: series.quantile_ns(0.5)?.into(),
        mean_ns: (mean_ns(series)? * 100.0).round() / 100.0,
        p99_9_ns: p99_9_ns(series).map(Exact::from),
        highest_ns: series.worst_ns(record.sign(series))?.into(),
        way: way_words(record, &series.name).to_owned(),
        error: known(series.uncertainty).map(error_view),
        error_of_highest: error_of_worst(record, series).map(error_view),
    })
}

fn part(record: &Record, flow: &PacketFlow, name: &str, words: &str) -> PacketPartView {
    let series = series_of(record, flow, name).filter(|series| series.taken() > 0);
    let known = series.map_or(0, Series::taken);
    let worst = record.worst.iter().find(|worst| flow_number(&worst.place) == Some(flow.flow));
    PacketPartView {
        name: name.to_owned(),
        words: words.to_owned(),
        delay: series.and_then(|series| delay(record, series)),
        missing: flow.arrived.map(|arrived| arrived.saturating_sub(known).into()),
        of_worst_ns: worst.and_then(|worst| part_of(worst, name)).map(Exact::from),
    }
}

fn part_of(worst: &WorstSample, name: &str) -> Option<i64> {
    worst.besides.iter().find(|part| part.name == name).map(|part| part.ns)
}

fn over_time(series: &Series) -> PacketDelaysView {
    let mut view = PacketDelaysView::default();
    for interval in &series.intervals {
        let error = known(interval.uncertainty.or(series.uncertainty)).filter(|_| interval.taken() > 0);
        view.start_offset_ns.push(interval.start_offset_ns.into());
        view.length_ns.push(interval.length_ns.into());
        view.count.push(interval.taken().into());
        view.median_ns.push(interval.quantile_ns(0.5).map(Exact::from));
        view.highest_ns.push(interval.quantile_ns(1.0).map(Exact::from));
        view.below_ns.push(error.map(|error| error.below_ns.into()));
        view.above_ns.push(error.map(|error| error.above_ns.into()));
    }
    view
}

fn arrivals(flow: &PacketFlow) -> PacketArrivalsView {
    let mut view = PacketArrivalsView::default();
    for interval in &flow.over_time {
        view.start_offset_ns.push(interval.start_offset_ns.into());
        view.length_ns.push(interval.length_ns.into());
        view.sent.push(interval.sent.into());
        view.arrived.push(interval.arrived.into());
        view.missing.push(interval.missing.into());
        view.doubled.push(interval.doubled.into());
        view.reordered.push(interval.reordered.into());
    }
    view
}

fn worst_packet(sample: &WorstSample, record: &Record) -> Option<PacketWorstView> {
    let number = flow_number(&sample.place)?;
    let flow = record.packets()?.flows.iter().find(|flow| flow.flow == number)?;
    let series = delays_of(record, flow);
    let started = started_on(record, &sample.node);
    let error = series.and_then(|series| error_at(series, sample.to.at, started));
    Some(PacketWorstView {
        flow: arrow(flow),
        at: moment(sample.from.at, started),
        delay_ns: sample.latency_ns.into(),
        error: error.map(error_view),
        parts_ns: parts_of(record, flow).iter().map(|latency| part_of(sample, latency.name).map(Exact::from)).collect(),
    })
}

/// The error of the interval that contains a moment, or else of the whole series.
fn error_at(series: &Series, at: Moment, started: Moment) -> Option<Uncertainty> {
    let offset_ns = u64::try_from(at.monotonic.as_ns().saturating_sub(started.monotonic.as_ns())).unwrap_or(0);
    // Intervals are cut by when packets were sent, moments are of when they arrived: the neighbours count too.
    let is_near = |interval: &&Interval| {
        let (start_ns, length_ns) = (interval.start_offset_ns, interval.length_ns);
        offset_ns.saturating_add(length_ns) >= start_ns
            && offset_ns <= start_ns.saturating_add(length_ns.saturating_mul(2))
    };
    let near = series.intervals.iter().filter(is_near).filter_map(|interval| interval.uncertainty);
    known(near.reduce(Uncertainty::widest).or(series.uncertainty))
}

/// What the comparison of two nodes' clocks came to.
pub(crate) fn clocks_sentence(clocks: &ClockRelation) -> String {
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

/// A comparison of two nodes' clocks in the form of a source of time.
fn as_source(clocks: &ClockRelation, record: &Record, name: String, points: &[TrackPoint]) -> SyncSourceView {
    let bounds = || points.iter().filter_map(|point| point.bound_ns);
    let hull = bounds().reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    let widest_ns = bounds().map(|(lower, upper)| upper.abs_diff(lower)).max();
    SyncSourceView {
        name,
        version: None,
        place: clocks.node.clone(),
        clock: format!("of {}", clocks.node),
        reference: format!("the clock of {}", clocks.partner),
        state: None,
        judged: false,
        bound: hull.map(|(lowest_ns, highest_ns)| SyncBoundView {
            lowest_ns: lowest_ns.into(),
            highest_ns: highest_ns.into(),
            widest_ns: widest_ns.unwrap_or(0).into(),
        }),
        bound_sentence: String::new(),
        spread: None,
        own_estimate_sentence: None,
        growth_sentence: None,
        from_zero: None,
        below_zero: None,
        allan: SyncAllanView::default(),
        states: Vec::new(),
        track: track(points, started_on(record, &clocks.node)),
        could_be_missed: Vec::new(),
    }
}

fn clocks(clocks: &ClockRelation, record: &Record) -> PacketClocksView {
    let sentence = clocks_sentence(clocks);
    let source = SyncSourceView {
        bound_sentence: sentence.clone(),
        spread: clocks.offset.map(|spread| SyncSpreadView {
            count: spread.count.into(),
            median_ns: spread.median_ns.into(),
            lowest_ns: spread.lowest_ns.into(),
            highest_ns: spread.highest_ns.into(),
            deviation_ns: spread.deviation_ns,
        }),
        ..as_source(clocks, record, format!("clock of {}", clocks.node), &clocks.track)
    };
    let services = clocks.services.iter().map(|one| {
        let sentence = one.in_words_with_trust(&clocks.node, &clocks.partner);
        let name = format!("time services of {} and {}", clocks.node, clocks.partner);
        SyncSourceView { bound_sentence: sentence, ..as_source(clocks, record, name, &one.track) }
    });
    let services = services.collect();
    PacketClocksView { node: clocks.node.clone(), partner: clocks.partner.clone(), sentence, source, services }
}

#[cfg(test)]
mod tests {
    use record::{ReasonCode, Validity};

    use super::*;
    use crate::sample::packets;

    #[test]
    fn delays_keep_their_signs_and_their_error() {
        let record = packets(&[-2_000, 4_000, 9_000], 3_000, 1, Validity::default());
        let view = view(&record).unwrap();
        let [flow] = &view.flows[..] else { panic!("{} flows", view.flows.len()) };
        assert_eq!(flow.series, Some(1), "not the first series of the record");
        let delay = flow.delay.as_ref().unwrap();
        // A quantile is the highest value of its bin.
        let expected = (Exact::from(-2_000_i64), Exact::from(4_001_i64), Exact::from(9_000_i64));
        assert_eq!((delay.lowest_ns, delay.median_ns, delay.highest_ns), expected);
        assert!((delay.mean_ns - 3_666.67).abs() < 0.01, "{}", delay.mean_ns);
        assert_eq!(delay.error_of_highest.as_ref().unwrap().words, "\u{b1}3.0 us");
        assert_eq!(delay.p99_9_ns, None, "of three packets");
        assert_eq!(flow.over_time.highest_ns[0], Some(Exact::from(-2_000_i64)));
        assert_eq!(flow.over_time.above_ns[2], Some(Exact::from(3_000_u64)));
        assert_eq!((flow.path.as_deref(), flow.receiver.as_deref()), (Some("UDP over IPv4"), Some("block")));
    }

    #[test]
    fn parts_stand_in_the_order_of_the_way_and_what_is_missing_is_counted() {
        let view = view(&packets(&[4_000, 9_000], 3_000, 0, Validity::default())).unwrap();
        let flow = &view.flows[0];
        let parts: Vec<(&str, bool, Option<Exact>)> =
            flow.parts.iter().map(|part| (part.words.as_str(), part.delay.is_some(), part.missing)).collect();
        assert_eq!(
            parts,
            [
                ("sending program to driver", false, Some(Exact::from(2_u64))),
                ("network", false, Some(Exact::from(2_u64))),
                ("receiving kernel to program", true, Some(Exact::from(1_u64))),
            ]
        );
        assert_eq!(flow.parts[2].of_worst_ns, Some(Exact::from(700_i64)));
        let sentence = flow.parts_sentence.as_deref().unwrap();
        let expected = "Medians: receiving kernel to program 800 ns; 3 packets have no stamp of the sending kernel";
        assert_eq!(sentence, expected);
    }

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
    fn times_of_the_partner_are_counted_on_its_own_clock() {
        let view = view(&packets(&[4_000, 9_000], 3_000, 0, Validity::default())).unwrap();
        assert_eq!(view.worst[0].at.offset_ns, Exact::from(2_000_000_000_i64));
        assert_eq!(view.clocks[0].source.track.offset_ns, [Exact::from(1_000_000_000_i64)]);
        let sentence = &view.clocks[0].sentence;
        assert!(sentence.starts_with("median -5 ns, -5 ns to -5 ns; never outside of -40 ns to 30 ns;"), "{sentence}");
        assert!(sentence.contains("differ by at most 100 parts per million"), "{sentence}");
    }

    #[test]
    fn a_run_without_a_delay_has_none_and_says_what_is_lost() {
        let record = packets(&[], 0, 7, Validity::default());
        let view = view(&record).unwrap();
        assert!(view.flows[0].delay.is_none() && view.worst.is_empty());
        assert_eq!(
            view.flows[0].counts_sentence,
            "7 sent, 0 arrived, 7 lost, 2 schedules skipped by the sender, 3 without the sending kernel's stamp"
        );
        assert_eq!(lost_words(&[&record]), "7 were lost");
        let mut unknown = record;
        let record::Detail::Packet(run) = &mut unknown.detail else { panic!("no packets") };
        run.flows[0].lost = None;
        assert_eq!(lost_words(&[&unknown]), "how many were lost is not known");
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
