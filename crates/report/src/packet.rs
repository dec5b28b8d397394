//! Converts what was seen of packets between nodes to the view.

use record::{
    ClockRelation, HardwareStamps, Interval, LatencyRole, Moment, NodeExplanation, PacketFlow, PacketLaunch, Record,
    Series, TrackPoint, Uncertainty, WorstSample,
};
use summary::packet::{
    arrow, beside, clocks_sentence, counts_sentence, delays_of, error_of_worst, error_words, explained_words,
    flow_number, known, mean_ns, p99_9_ns, parts_of, parts_sentence, path_of, series_of, way_words,
};

use crate::exact::Exact;
use crate::run::{moment, started_on};
use crate::sync::track;
use crate::view::{
    PacketArrivalsView, PacketClocksView, PacketDelayView, PacketDelaysView, PacketErrorView, PacketExplanationView,
    PacketFlowView, PacketPartView, PacketView, PacketWorstView, SyncAllanView, SyncBoundView, SyncSourceView,
    SyncSpreadView,
};

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
    // Intervals are cut by when packets were sent, moments are of when they arrived: the neighbors count too.
    let is_near = |interval: &&Interval| {
        let (start_ns, length_ns) = (interval.start_offset_ns, interval.length_ns);
        offset_ns.saturating_add(length_ns) >= start_ns
            && offset_ns <= start_ns.saturating_add(length_ns.saturating_mul(2))
    };
    let near = series.intervals.iter().filter(is_near).filter_map(|interval| interval.uncertainty);
    known(near.reduce(Uncertainty::widest).or(series.uncertainty))
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
    use record::Validity;

    use super::*;
    use samples::packets;

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
        assert_eq!(summary::packet::lost_words(&[&record]), "7 were lost");
        let mut unknown = record;
        let record::Detail::Packet(run) = &mut unknown.detail else { panic!("no packets") };
        run.flows[0].lost = None;
        assert_eq!(summary::packet::lost_words(&[&unknown]), "how many were lost is not known");
    }
}
