//! Records that nobody measured, for the tests of what reads records. Only tests depend on this crate.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, reason = "a failed step of a test is a failed test")]

use record::{
    AnswerRun, AnswerWitness, CauseClass, Certainty, ClockRelation, Counters, Detail, Direction, EdgeTotals,
    ExplainedSample, FlowInterval, HardBound, Histogram, Interval, Manifest, Measurement, NamedLatency, Node,
    NodeClocks, Nodes, OrderCounts, PacketFlow, PacketRun, Place, PulseNode, PulseRun, PulseTrials, Record, Requested,
    Series, SeriesDetail, Spread, SyncChange, SyncEvent, SyncRun, SyncService, SyncSource, TrackPoint, Uncertainty,
    Validity, WitnessSecond, WorstSample,
};
use units::{ClockId, Ns, Timestamp};

/// A run without samples.
#[must_use]
pub fn run(validity: Validity) -> Record {
    let empty = Record::empty("one".to_owned(), Measurement::Wakeup, Manifest::default());
    Record { label: "idle".to_owned(), validity, ..empty }
}

/// A run with the given samples (ns).
#[must_use]
pub fn run_of(id: &str, samples: &[u64], validity: Validity) -> Record {
    let mut histogram = Histogram::new();
    samples.iter().for_each(|ns| histogram.record_n(*ns, 1));
    let series = vec![Series {
        name: "scheduled_to_woke".to_owned(),
        place: Place::thread(0, Some(1)),
        histogram,
        ..Series::default()
    }];
    Record { id: id.to_owned(), series, ..run(validity) }
}

/// A run of `event` with one pair on two CPUs and the given samples (ns), each of which cost its caller 2 us.
#[must_use]
pub fn hand_overs(samples: &[u64], validity: Validity) -> Record {
    let mut run = run_of("one", samples, validity);
    run.measurement = Measurement::Event;
    let mut returned = Histogram::new();
    returned.record_n(2_000, u64::try_from(samples.len()).unwrap_or(0));
    let woke = &mut run.series[0];
    woke.place = Place::Pair { cpu: 2, waker_cpu: 1, pair: 0 };
    (woke.name, woke.variant) = ("handed_to_woke".to_owned(), "futex-pi".to_owned());
    let returned = Series { name: "handed_to_returned".to_owned(), judged: false, histogram: returned, ..woke.clone() };
    run.series.push(returned);
    run
}

/// A run of `response` between two CPUs with the given samples (ns), of each of which 3 us are before the kernel's stamp, and so
/// many edges that brought no event.
#[must_use]
pub fn responses(samples: &[u64], lost: u64, validity: Validity) -> Record {
    let mut run = run_of("one", samples, validity);
    run.measurement = Measurement::Response;
    let count = u64::try_from(samples.len()).unwrap_or(0);
    let whole = &mut run.series[0];
    whole.place = Place::Pair { cpu: 2, waker_cpu: 1, pair: 0 };
    whole.name = "acted_to_woke".to_owned();
    whole.detail = SeriesDetail::Edges(EdgeTotals { edges: count + lost, lost, ..EdgeTotals::default() });
    let whole = whole.clone();
    let of = |name: &str, samples: &mut dyn Iterator<Item = u64>| {
        let mut histogram = Histogram::new();
        samples.for_each(|ns| histogram.record_n(ns, 1));
        let detail = SeriesDetail::None;
        Series { name: name.to_owned(), judged: false, histogram, detail, ..whole.clone() }
    };
    let each = || samples.iter().copied();
    run.series.push(of("acted_to_event", &mut each().map(|_| 3_000)));
    run.series.push(of("event_to_woke", &mut each().map(|ns| ns - 3_000)));
    run.series.push(of("acted_to_returned", &mut each().map(|_| 2_000)));
    run
}

/// A run of `answer` with the given answers (ns from the kernel's stamp), of each of which 3 us are the write, and a witness that saw
/// each 30 us after its edge.
#[must_use]
pub fn answers(samples: &[u64], change: impl FnOnce(&mut AnswerRun)) -> Record {
    let mut run = run_of("one", samples, Validity::default());
    run.measurement = Measurement::Answer;
    let count = u64::try_from(samples.len()).unwrap_or(0);
    let whole = &mut run.series[0];
    (whole.name, whole.judged) = ("event_to_answered".to_owned(), false);
    let whole = whole.clone();
    let of = |name: &str, samples: &mut dyn Iterator<Item = u64>| {
        let mut histogram = Histogram::new();
        samples.for_each(|ns| histogram.record_n(ns, 1));
        Series {
            name: name.to_owned(),
            judged: name == "edge_to_answer",
            histogram,
            intervals: Vec::new(),
            ..whole.clone()
        }
    };
    let each = || samples.iter().copied();
    run.series.push(of("event_to_woke", &mut each().map(|ns| ns - 3_000)));
    run.series.push(of("woke_to_answered", &mut each().map(|_| 3_000)));
    let by_witness = of("edge_to_answer", &mut each().map(|_| 30_000));
    run.series.push(Series { variant: "latmon".to_owned(), resolution_ns: Some(1_000), ..by_witness });
    let mut witness = AnswerWitness {
        address: "192.0.2.7:2306".to_owned(),
        period_ns: 1_000_000,
        sessions: 1,
        in_histogram: count + 1_000,
        warm_up: 1_000,
        overrun_ns: 1_000_000,
        ..AnswerWitness::default()
    };
    witness.add(WitnessSecond {
        at_offset_ns: 2_000_000_000,
        frames: 1,
        samples: count,
        overruns: 0,
        min_ns: Some(28_000),
        max_ns: Some(32_000),
        sum_ns: 30_000 * count,
    });
    let mut answers = AnswerRun { edges: count + 1_000, warm_up: 16, overflowed: 0, witness: Some(witness) };
    change(&mut answers);
    run.detail = Detail::Answer(answers);
    run
}

/// A run of `sync` with one source and the given offsets (ns), one each second, and its hard bound (ns) if it has one.
#[must_use]
pub fn offsets(offsets_ns: &[i64], bound_ns: Option<(i64, i64)>, validity: Validity) -> Record {
    let place = Place::Port { port: "eth0".to_owned(), domain: Some(0) };
    let mut record = Record::empty("one".to_owned(), Measurement::Sync, Manifest::default());
    let started = record.manifest().started;
    let (mut above, mut below) = (Histogram::new(), Histogram::new());
    for &ns in offsets_ns {
        if ns < 0 { &mut below } else { &mut above }.record_n(ns.unsigned_abs(), 1);
    }
    record.series = vec![Series {
        name: "reference_to_clock".to_owned(),
        place: place.clone(),
        judged: bound_ns.is_some(),
        below_zero: (!below.is_empty()).then_some(below),
        histogram: above,
        ..Series::default()
    }];
    let point = |(second, &offset_ns): (i64, &i64)| TrackPoint {
        at: started.plus(Ns(second * 1_000_000_000)),
        count: 1,
        lowest_ns: Some(offset_ns),
        highest_ns: Some(offset_ns),
        bound_ns,
        narrowest_ns: None,
        delay_ns: Some(2_000),
        frequency_ppb: None,
    };
    let source = SyncSource {
        service: SyncService::Linuxptp,
        version: None,
        place: place.clone(),
        clock: Some(ClockId::Realtime.into()),
        reference: "grand master a".to_owned(),
        reference_id: None,
        bound: bound_ns.map_or_else(
            || HardBound::Missing { reason: "no raw stamps".to_owned() },
            |(lowest_ns, highest_ns)| HardBound::Stated {
                lowest_ns,
                highest_ns,
                narrowest_ns: (lowest_ns, highest_ns),
                widest_ns: highest_ns.abs_diff(lowest_ns),
                trusts: "the stamps are right".to_owned(),
            },
        ),
        spread: Some(Spread {
            count: offsets_ns.len() as u64,
            median_ns: 0,
            lowest_ns: offsets_ns.iter().copied().min().unwrap_or(0),
            highest_ns: offsets_ns.iter().copied().max().unwrap_or(0),
            mean_ns: 0.0,
            deviation_ns: 0.0,
        }),
        own_estimate: None,
        allan: Vec::new(),
        growth: Vec::new(),
        states: Vec::new(),
        track: (0..).zip(offsets_ns).map(point).collect(),
        could_be_missed: Vec::new(),
    };
    let event = SyncEvent { at: started, place, what: SyncChange::Leap, detail: "announced".to_owned() };
    record.detail = Detail::Sync(SyncRun { sources: vec![source], events: vec![event], ..SyncRun::default() });
    Record { label: "clocks".to_owned(), validity, ..record }
}

/// A run of packets from `a` to `b` with the given delays (ns) and the given error on both sides (ns), one each second, and
/// `lost` more that did not arrive.
#[must_use]
pub fn packets(delays_ns: &[i64], error_ns: u64, lost: u64, validity: Validity) -> Record {
    let node = |name: &str, release: &str, started_ns: i64| {
        let mut manifest = Manifest::default();
        manifest.node.hostname = name.to_owned();
        manifest.node.kernel_release = release.to_owned();
        manifest.started.monotonic = Timestamp::from_ns(started_ns);
        Node { name: name.to_owned(), role: String::new(), clocks: NodeClocks::default(), manifest }
    };
    // The monotonic clocks of two machines have nothing in common.
    let nodes = vec![node("a", "6.12.48", 1_000), node("b", "6.18.2", 90_000_000_000_000)];
    let mut record = Record::empty("one".to_owned(), Measurement::Packet, Manifest::default());
    record.nodes = Nodes::try_from(nodes).expect("two names");
    let started = record.nodes.iter().last().expect("two nodes").manifest.started;
    let uncertainty = Some(Uncertainty { below_ns: error_ns, above_ns: error_ns, spread_ns: None });
    let (mut above, mut below) = (Histogram::new(), Histogram::new());
    for &ns in delays_ns {
        if ns < 0 { &mut below } else { &mut above }.record_n(ns.unsigned_abs(), 1);
    }
    let interval = |(second, &ns): (u64, &i64)| {
        let mut one = Interval {
            start_offset_ns: second * 1_000_000_000,
            length_ns: 1_000_000_000,
            uncertainty,
            ..Interval::default()
        };
        if ns < 0 { one.below_zero.get_or_insert_default() } else { &mut one.histogram }.record_n(ns.unsigned_abs(), 1);
        one
    };
    let place = Place::Flow { flow: 0, direction: Direction::Received, queue: None };
    let delays = Series {
        node: "b".to_owned(),
        place: place.clone(),
        name: "sent_to_received".to_owned(),
        below_zero: (!below.is_empty()).then_some(below),
        histogram: above,
        uncertainty,
        counters: Counters { lost: Some(lost), ..Counters::default() },
        intervals: (0..).zip(delays_ns).map(interval).collect(),
        ..Series::default()
    };
    let mut to_program = Histogram::new();
    to_program.record_n(800, delays_ns.len() as u64 / 2);
    let part = Series {
        node: "b".to_owned(),
        place: place.clone(),
        name: "arrived_to_received".to_owned(),
        judged: false,
        histogram: to_program,
        ..Series::default()
    };
    let worst = delays_ns.iter().max().map(|&latency_ns| WorstSample {
        node: "b".to_owned(),
        place,
        name: "sent_to_received".to_owned(),
        latency_ns,
        besides: vec![NamedLatency { name: "arrived_to_received".to_owned(), ns: 700 }],
        from: started.plus(Ns(2_000_000_000)).into(),
        to: started.plus(Ns(2_000_000_000 + latency_ns)).into(),
        ..WorstSample::default()
    });
    let arrived = delays_ns.len() as u64;
    let flow = PacketFlow {
        from: "a".to_owned(),
        to: "b".to_owned(),
        sent_by: Some("UDP over IPv4".to_owned()),
        received_by: Some("UDP over IPv4, block".to_owned()),
        size_bytes: 128,
        interval_ns: 1_000_000_000,
        sent: Some(arrived + lost),
        skipped: Some(2),
        arrived: Some(arrived),
        lost: Some(lost),
        without_transmitted: 3,
        over_time: vec![FlowInterval {
            length_ns: 100_000_000,
            sent: arrived + lost,
            arrived,
            missing: lost,
            ..FlowInterval::default()
        }],
        ..PacketFlow::default()
    };
    let point = TrackPoint {
        at: started.plus(Ns(1_000_000_000)),
        count: 1,
        lowest_ns: Some(-5),
        highest_ns: Some(-5),
        bound_ns: Some((-40, 30)),
        narrowest_ns: None,
        delay_ns: Some(35),
        frequency_ppb: None,
    };
    let clocks = ClockRelation {
        node: "b".to_owned(),
        partner: "a".to_owned(),
        max_drift_ppb: 100_000,
        exchanges: 1,
        incomplete: 2,
        offset: Some(Spread {
            count: 1,
            median_ns: -5,
            lowest_ns: -5,
            highest_ns: -5,
            mean_ns: -5.0,
            deviation_ns: 0.0,
        }),
        track: vec![point],
        ..ClockRelation::default()
    };
    record.series = if delays_ns.is_empty() { Vec::new() } else { vec![part, delays] };
    record.worst = worst.into_iter().collect();
    record.detail = Detail::Packet(PacketRun { flows: vec![flow], clocks: vec![clocks], ..PacketRun::default() });
    Record { label: "udp".to_owned(), validity, ..record }
}

/// A run in which `a` ordered `b` and `c` for a second, each millisecond, and both acted at each order, 23 us late at worst; `change`
/// changes what became of the orders.
#[must_use]
pub fn pulses(change: impl FnOnce(&mut PulseRun)) -> Record {
    let node = |name: &str| {
        let mut manifest = Manifest::default();
        manifest.node.hostname = name.to_owned();
        Node { name: name.to_owned(), role: String::new(), clocks: NodeClocks::default(), manifest }
    };
    let mut record = Record::empty("one".to_owned(), Measurement::Pulse, Manifest::default());
    record.nodes = Nodes::try_from(vec![node("a"), node("b"), node("c")]).expect("three names");
    record.manifest_mut().requested.deadline_ns = Some(100_000);
    let series = |flow: u32, node: &str, name: &str, values_ns: [u64; 2]| {
        let mut histogram = Histogram::new();
        histogram.record_n(values_ns[0], 999);
        histogram.record_n(values_ns[1], 1);
        Series {
            node: node.to_owned(),
            name: name.to_owned(),
            place: Place::Flow { flow, direction: Direction::Received, queue: None },
            judged: name == "ordered_to_acted",
            counters: Counters { lost: Some(0), ..Counters::default() },
            histogram,
            ..Series::default()
        }
    };
    let orders = OrderCounts { scheduled: 1_000, acted: 1_000, ..OrderCounts::default() };
    let acting = |flow: u32, node: &str| PulseNode {
        node: node.to_owned(),
        flow,
        output: "valve".to_owned(),
        output_words: Some("gpiochip0/17, active high".to_owned()),
        arming_ns: Some(1_200),
        spin_ns: 100_000,
        ordered_to_returned_max_ns: Some(30_000),
        clock_ahead_ns: Some((-1_000, 2_000)),
        orders,
        ..PulseNode::default()
    };
    let flow = |flow: u32, to: &str| PacketFlow {
        flow,
        from: "a".to_owned(),
        to: to.to_owned(),
        sent_by: Some("UDP over IPv4".to_owned()),
        received_by: Some("UDP over IPv4, block".to_owned()),
        size_bytes: 128,
        interval_ns: 1_000_000,
        sent: Some(1_000),
        skipped: Some(0),
        refused: Some(0),
        arrived: Some(1_000),
        lost: Some(0),
        ..PacketFlow::default()
    };
    for (number, name) in [(0, "b"), (1, "c")] {
        record.series.extend([
            series(number, name, "ordered_to_acted", [40, 23_000]),
            series(number, name, "acted_to_returned", [6_000, 7_000]),
            series(number, name, "scheduled_to_armed", [60_000, 310_000]),
            series(number, name, "sent_to_received", [40_000, 250_000]),
        ]);
    }
    let mut run = PulseRun {
        packets: PacketRun { flows: vec![flow(0, "b"), flow(1, "c")], ..PacketRun::default() },
        interval_ns: 1_000_000,
        lead_ns: 800_000,
        width_ns: 250_000,
        tolerance_ns: 100_000,
        nodes: vec![acting(0, "b"), acting(1, "c")],
        trials: PulseTrials { scheduled: 1_000, kept: 1_000, ..PulseTrials::default() },
        ..PulseRun::default()
    };
    change(&mut run);
    record.detail = Detail::Pulse(run);
    record
}

/// A valid run of one thread on CPU 2 with these samples (ns).
#[must_use]
pub fn record_of(measurement: Measurement, latencies_ns: &[u64]) -> Record {
    let mut histogram = Histogram::new();
    latencies_ns.iter().for_each(|ns| histogram.record_n(*ns, 1));
    let manifest = Manifest {
        requested: Requested { cpus: [2].into_iter().collect(), ..Requested::default() },
        ..Manifest::default()
    };
    let series = Series {
        name: "scheduled_to_woke".to_owned(),
        place: Place::thread(0, Some(2)),
        histogram,
        ..Series::default()
    };
    Record { series: vec![series], ..Record::empty("1".to_owned(), measurement, manifest) }
}

/// A late sample whose cause is shown.
#[must_use]
pub fn explained(class: CauseClass, name: &str, latency_ns: i64) -> ExplainedSample {
    ExplainedSample {
        cpu: 2,
        latency_ns,
        class,
        name: name.to_owned(),
        certainty: Certainty::Shown,
        ..ExplainedSample::default()
    }
}
