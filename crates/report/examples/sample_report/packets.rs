//! Runs of packets between two nodes: both ways, with losses, one per path, invalid, and without a single packet.

use record::{
    ClockRelation, Counters, Detail, Direction, Effective, FlowInterval, Histogram, Interval, Manifest, Measurement,
    Moment, NamedLatency, Node, NodeClocks, NodeIdentity, Nodes, PacketFlow, PacketRun, Place, ReasonCode, Record,
    Requested, Series, ServiceRelation, Spread, ToolVersion, TrackPoint, Uncertainty, Validity, WorstSample,
};
use units::{Ns, Random, Timestamp, approx_f64, round_u64};

use crate::synthetic::START_REALTIME_NS;

const SECOND_NS: u64 = 1_000_000_000;
const INTERVAL_NS: u64 = 1_000_000;
const INTERVALS: u64 = 60;

/// What a flow goes through.
#[derive(Clone, Copy)]
struct Way {
    path: &'static str,
    receiver: &'static str,
    /// Usual time from program to driver, of the network, and from kernel to program (ns).
    usual_ns: [f64; 3],
    /// Share of packets that wait long for the receiving program, and how long on average (ns).
    tail: (f64, f64),
    /// Half of the round trip between the kernels (ns), which is the error.
    error_ns: u64,
    /// Share of packets that are lost in the middle third of the run.
    loss: f64,
}

const UDP: Way = Way {
    path: "UDP over IPv4",
    receiver: "block",
    usual_ns: [8_700.0, 5_200.0, 38_000.0],
    tail: (0.004, 90_000.0),
    error_ns: 9_800,
    loss: 0.0,
};

fn moment(node: usize, ns: u64) -> Moment {
    // The monotonic clocks of two machines have nothing in common.
    let booted_ns = if node == 0 { 86_400_000_000_000 } else { 3_600_000_000_000 };
    let start = Moment { monotonic: Timestamp::from_ns(booted_ns), realtime: Timestamp::from_ns(START_REALTIME_NS) };
    start.plus(Ns(i64::try_from(ns).unwrap_or(0)))
}

fn signed(ns: f64) -> i64 {
    i64::try_from(round_u64(ns.abs())).unwrap_or(0) * if ns < 0.0 { -1 } else { 1 }
}

fn record_signed(histogram: &mut Histogram, below_zero: &mut Option<Histogram>, ns: i64) {
    if ns < 0 { below_zero.get_or_insert_default() } else { histogram }.record_n(ns.unsigned_abs(), 1);
}

/// One latency while it is collected.
struct Collected {
    name: &'static str,
    place: Place,
    node: String,
    error_ns: Option<u64>,
    histogram: Histogram,
    below_zero: Option<Histogram>,
    intervals: Vec<Interval>,
}

impl Collected {
    fn new(name: &'static str, place: &Place, node: &str, error_ns: Option<u64>, length_ns: u64) -> Self {
        let interval = |number: u64| Interval {
            start_offset_ns: number * length_ns,
            length_ns,
            // The bound is wider where messages queue.
            uncertainty: error_ns.map(|ns| uncertainty(ns + if number % 23 == 7 { ns } else { 0 })),
            ..Interval::default()
        };
        let intervals = (0..INTERVALS).map(interval).collect();
        Self {
            name,
            place: place.clone(),
            node: node.to_owned(),
            error_ns,
            histogram: Histogram::new(),
            below_zero: None,
            intervals,
        }
    }

    fn take(&mut self, interval: usize, ns: i64) {
        record_signed(&mut self.histogram, &mut self.below_zero, ns);
        let one = &mut self.intervals[interval];
        record_signed(&mut one.histogram, &mut one.below_zero, ns);
    }

    fn finish(self, lost: Option<u64>) -> Series {
        let samples = self.histogram.count() + self.below_zero.as_ref().map_or(0, Histogram::count);
        Series {
            node: self.node,
            place: self.place,
            name: self.name.to_owned(),
            judged: lost.is_some(),
            interval_ns: Some(INTERVAL_NS),
            histogram: self.histogram,
            below_zero: self.below_zero,
            uncertainty: self.error_ns.map(|ns| uncertainty(2 * ns)),
            counters: Counters { samples, lost, ..Counters::default() },
            intervals: self.intervals,
            ..Series::default()
        }
    }
}

fn uncertainty(ns: u64) -> Uncertainty {
    Uncertainty { below_ns: ns, above_ns: ns, spread_ns: Some(ns / 12) }
}

const NODES: [&str; 2] = ["press-7", "camera-2"];

/// The packets of a flow from one node to the other.
fn flow(number: u32, way: &Way, seconds: u64, random: &mut Random) -> (PacketFlow, Vec<Series>, Vec<WorstSample>) {
    let (from, to) = if number == 0 { (0, 1) } else { (1, 0) };
    let packets = seconds * SECOND_NS / INTERVAL_NS;
    let length_ns = seconds * SECOND_NS / INTERVALS;
    let arrives = Place::Flow { flow: number, direction: Direction::Received, queue: None };
    let leaves = Place::Flow { flow: number, direction: Direction::Sent, queue: None };
    let received = |name, error_ns| Collected::new(name, &arrives, NODES[to], error_ns, length_ns);
    let mut whole = received("sent_to_received", Some(way.error_ns));
    let mut parts = [
        received("sent_to_transmitted", None),
        received("transmitted_to_arrived", Some(way.error_ns)),
        received("arrived_to_received", None),
    ];
    let mut late = Collected::new("scheduled_to_sent", &leaves, NODES[from], None, length_ns);
    let mut worst: Vec<WorstSample> = Vec::new();
    let mut over_time: Vec<FlowInterval> = Vec::new();
    let (mut lost, mut reordered, mut doubled) = (0, 0, 0);
    for packet in 0..packets {
        let interval = usize::try_from(packet * INTERVALS / packets).unwrap_or(0);
        let at_ns = packet * INTERVAL_NS;
        late.take(interval, signed(11_000.0 - 9_000.0 * (1.0 - random.unit()).ln()));
        let start_offset_ns = at_ns - at_ns % 100_000_000;
        if over_time.last().is_none_or(|last| last.start_offset_ns != start_offset_ns) {
            let missing = over_time.last().map_or(0, |last| last.missing);
            over_time.push(FlowInterval {
                start_offset_ns,
                length_ns: 100_000_000,
                missing,
                ..FlowInterval::default()
            });
        }
        let Some(here) = over_time.last_mut() else { continue };
        here.sent += 1;
        let is_middle = (packets / 3..packets * 2 / 3).contains(&packet);
        if is_middle && random.unit() < way.loss {
            lost += 1;
            here.missing += 1;
            continue;
        }
        here.arrived += 1;
        if is_middle && random.unit() < way.loss / 3.0 {
            here.reordered += 1;
            reordered += 1;
        }
        if is_middle && random.unit() < way.loss / 9.0 {
            here.doubled += 1;
            doubled += 1;
        }
        let mut legs = way.usual_ns.map(|usual_ns| usual_ns * (0.85 - 0.12 * (1.0 - random.unit()).ln()));
        if random.unit() < way.tail.0 {
            legs[2] -= way.tail.1 * (1.0 - random.unit()).ln();
        }
        // Within the error, the network can seem to take less than nothing.
        legs[1] += (random.unit() - 0.5) * approx_f64(way.error_ns);
        let legs_ns = legs.map(signed);
        let delay_ns: i64 = legs_ns.iter().sum();
        whole.take(interval, delay_ns);
        for (part, ns) in parts.iter_mut().zip(legs_ns) {
            part.take(interval, ns);
        }
        worst.push(WorstSample {
            node: NODES[to].to_owned(),
            place: arrives.clone(),
            name: "sent_to_received".to_owned(),
            latency_ns: delay_ns,
            besides: parts
                .iter()
                .zip(legs_ns)
                .map(|(part, ns)| NamedLatency { name: part.name.to_owned(), ns })
                .collect(),
            sample: packet,
            missed_periods: 0,
            from: moment(to, at_ns).into(),
            to: moment(to, at_ns).plus(Ns(delay_ns)).into(),
        });
        if worst.len() == 128 {
            worst.sort_by_key(|one| std::cmp::Reverse(one.latency_ns));
            worst.truncate(32);
        }
    }
    let flow = PacketFlow {
        flow: number,
        from: NODES[from].to_owned(),
        to: NODES[to].to_owned(),
        sent_by: Some(way.path.to_owned()),
        received_by: Some(format!("{}, {}", way.path, way.receiver)),
        size_bytes: 128,
        interval_ns: INTERVAL_NS,
        sent: Some(packets),
        skipped: Some(11),
        refused: Some(0),
        arrived: Some(packets - lost),
        lost: Some(lost),
        doubled,
        reordered,
        over_time,
        ..PacketFlow::default()
    };
    let series = std::iter::once(late.finish(None))
        .chain(std::iter::once(whole.finish(Some(lost))))
        .chain(parts.map(|part| part.finish(None)));
    (flow, series.collect(), worst)
}

fn clocks(node: usize, error_ns: u64, seconds: u64, random: &mut Random) -> ClockRelation {
    let exchanges = seconds * 50;
    let bound_ns = i64::try_from(error_ns).unwrap_or(0);
    let mut lowest_ns = i64::MAX;
    let mut highest_ns = i64::MIN;
    let track = (0..exchanges).map(|number| {
        let wander = (approx_f64(number) / 170.0).sin() * 900.0 * if node == 0 { 1.0 } else { -1.0 };
        let offset_ns = signed(wander + (random.unit() - 0.5) * 700.0);
        (lowest_ns, highest_ns) = (lowest_ns.min(offset_ns), highest_ns.max(offset_ns));
        let wider_ns = if (number / 50) % 23 == 7 { bound_ns } else { 0 };
        TrackPoint {
            at: moment(node, number * SECOND_NS / 50),
            count: 1,
            lowest_ns: Some(offset_ns),
            highest_ns: Some(offset_ns),
            bound_ns: Some((offset_ns - bound_ns - wider_ns, offset_ns + bound_ns + wider_ns)),
            narrowest_ns: None,
            delay_ns: Some(bound_ns + wider_ns),
            frequency_ppb: None,
        }
    });
    let track = track.collect();
    ClockRelation {
        node: NODES[node].to_owned(),
        partner: NODES[1 - node].to_owned(),
        max_drift_ppb: 100_000,
        exchanges,
        incomplete: 2,
        offset: Some(Spread {
            count: exchanges,
            median_ns: 4,
            lowest_ns,
            highest_ns,
            mean_ns: 2.0,
            deviation_ns: 640.0,
        }),
        track,
        services: vec![services(node, seconds)],
        ..ClockRelation::default()
    }
}

/// A slave on one node and its grand master on the other: the bound grows between two of its exchanges.
fn services(node: usize, seconds: u64) -> ServiceRelation {
    let track = (0..=seconds * 4).map(|number| {
        let error_ns = 14_000 + i64::try_from(number % 4).unwrap_or(0) * 6_000;
        TrackPoint {
            at: moment(node, number * SECOND_NS / 4),
            count: 0,
            lowest_ns: None,
            highest_ns: None,
            bound_ns: Some((-error_ns, error_ns + 2_500)),
            narrowest_ns: None,
            delay_ns: None,
            frequency_ppb: None,
        }
    });
    ServiceRelation {
        reference: "PTP clock 7a0552.fffe.2b6357".to_owned(),
        source: "ptp4l eth1 domain 0".to_owned(),
        partner_source: "ptp4l eth0 domain 0".to_owned(),
        trusts: vec!["the time stamps of both clocks are right".to_owned()],
        track: track.collect(),
    }
}

fn node(number: usize, seconds: u64, limit_ns: Option<u64>) -> Node {
    let manifest = Manifest {
        tool: ToolVersion { name: "punctual".to_owned(), version: "0.1.0".to_owned() },
        node: NodeIdentity {
            hostname: NODES[number].to_owned(),
            kernel_release: if number == 0 { "6.12.48-rt" } else { "6.18.2-rt" }.to_owned(),
            kernel_version: "#1 SMP PREEMPT_RT".to_owned(),
            machine: if number == 0 { "x86_64" } else { "aarch64" }.to_owned(),
            online_cpus: (0..4).collect(),
            ..NodeIdentity::default()
        },
        started: moment(number, 0),
        ended: moment(number, seconds * SECOND_NS),
        time_zone: Some("Europe/Berlin".to_owned()),
        requested: Requested {
            cpus: (2..3).collect(),
            policy: "fifo".to_owned(),
            priority: 98,
            pinned: true,
            interval_ns: Some(INTERVAL_NS),
            duration_ns: Some(seconds * SECOND_NS),
            deadline_ns: limit_ns,
            ..Requested::default()
        },
        effective: vec![Effective { policy: "fifo".to_owned(), priority: 98, ..Effective::default() }],
        ..Manifest::default()
    };
    let role = if number == 0 { "initiator" } else { "partner" };
    Node { name: NODES[number].to_owned(), role: role.to_owned(), clocks: NodeClocks::default(), manifest }
}

fn run(label: &str, ways: &[Way], limit_ns: Option<u64>, validity: Validity) -> Record {
    let seconds = 30;
    let mut random = Random::new(31);
    let mut record = Record::empty(format!("packets-{label}"), Measurement::Packet, Manifest::default());
    record.label = label.to_owned();
    // Two names are two names.
    if let Ok(nodes) = Nodes::try_from(vec![node(0, seconds, limit_ns), node(1, seconds, limit_ns)]) {
        record.nodes = nodes;
    }
    record.validity = validity;
    let mut flows = Vec::new();
    for (number, way) in (0..).zip(ways) {
        let (flow, series, worst) = flow(number, way, seconds, &mut random);
        flows.push(flow);
        record.series.extend(series);
        record.worst.extend(worst);
    }
    record.worst.sort_by_key(|one| std::cmp::Reverse(one.latency_ns));
    record.worst.truncate(32);
    let error_ns = ways.first().map_or(UDP.error_ns, |way| way.error_ns);
    let clocks = [0, 1].map(|node| clocks(node, error_ns, seconds, &mut random)).to_vec();
    record.detail = Detail::Packet(PacketRun { flows, clocks, ..PacketRun::default() });
    record.verdict = limit_ns.map(|limit_ns| analysis::verdict(&record, limit_ns));
    record
}

/// Both ways, nothing lost, with a limit that holds.
pub(crate) fn both_ways() -> Vec<Record> {
    let back = Way { usual_ns: [12_000.0, 4_100.0, 22_000.0], tail: (0.001, 60_000.0), ..UDP };
    vec![run("packet", &[UDP, back], Some(2_000_000), Validity::default())]
}

/// One way with losses, copies and packets out of order in the middle third: a limit is broken.
pub(crate) fn lossy() -> Vec<Record> {
    let mut validity = Validity::default();
    validity.add(ReasonCode::NoTimeService, "the delays rest on the exchange of the two programs alone");
    vec![run("packet", &[Way { loss: 0.03, ..UDP }], Some(300_000), validity)]
}

/// The same packets by three ways, without a limit.
pub(crate) fn by_path() -> Vec<Record> {
    let link = Way { path: "AF_PACKET on eth0", usual_ns: [6_100.0, 5_000.0, 31_000.0], ..UDP };
    let xdp = Way {
        path: "AF_XDP on eth0, zero-copy",
        receiver: "poll",
        usual_ns: [1_900.0, 4_700.0, 3_400.0],
        tail: (0.0005, 9_000.0),
        ..UDP
    };
    vec![
        run("udp", &[UDP], None, Validity::default()),
        run("l2", &[link], None, Validity::default()),
        run("xdp", &[xdp], None, Validity::default()),
    ]
}

/// The partner's clock was stepped: nothing of it is a result.
pub(crate) fn stepped() -> Vec<Record> {
    let mut validity = Validity::default();
    validity.add(
        ReasonCode::ClockStepped,
        "the system clock of camera-2 was stepped by 1.0 s, noticed 12.4 s into the run",
    );
    vec![run("packet", &[UDP], Some(2_000_000), validity)]
}

/// No packet came through.
pub(crate) fn none() -> Vec<Record> {
    let mut validity = Validity::default();
    validity.add(ReasonCode::NoSamples, "");
    validity.add(ReasonCode::ClocksUnrelated, "of 1 503 exchanges with camera-2 none was complete");
    let mut record = run("packet", &[UDP], None, validity);
    record.series.clear();
    record.worst.clear();
    if let Detail::Packet(run) = &mut record.detail {
        for flow in &mut run.flows {
            (flow.arrived, flow.lost) = (Some(0), flow.sent);
            flow.over_time.clear();
        }
        for clocks in &mut run.clocks {
            (clocks.exchanges, clocks.incomplete, clocks.offset) = (0, 1_503, None);
            clocks.track.clear();
        }
    }
    vec![record]
}
