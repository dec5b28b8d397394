use record::{HardBound, Interval, PacketFlow, Series, Spread, StateChange, SyncRun, Uncertainty};
use units::Timestamp;

use super::*;

const S: i64 = 1_000_000_000;

/// A moment of a node whose system clock began at `start_ns`.
fn at(start_ns: i64, elapsed_ns: i64) -> Moment {
    Moment { monotonic: Timestamp::from_ns(0), realtime: Timestamp::from_ns(start_ns) }.plus(Ns(elapsed_ns))
}

fn point(at: Moment, offset_ns: i64, (lower_ns, upper_ns): (i64, i64)) -> TrackPoint {
    TrackPoint {
        at,
        count: 1,
        lowest_ns: Some(offset_ns),
        highest_ns: Some(offset_ns),
        bound_ns: Some((lower_ns, upper_ns)),
        narrowest_ns: None,
        delay_ns: None,
        frequency_ppb: None,
    }
}

fn spread(median_ns: i64) -> Spread {
    Spread { count: 9, median_ns, lowest_ns: median_ns, highest_ns: median_ns, mean_ns: 0.0, deviation_ns: 0.0 }
}

/// A service that bounds its clock by `bound` at each quarter of a second for 4 s.
fn source(
    service: SyncService,
    state: SyncState,
    id: Option<&str>,
    (start_ns, bound): (i64, (i64, i64)),
) -> SyncSource {
    let port = if service == SyncService::Phc { "ptp0" } else { "eth0" };
    let track = (0..=16).map(|quarter| point(at(start_ns, quarter * S / 4), (bound.0 + bound.1) / 2, bound));
    SyncSource {
        service,
        version: None,
        place: Place::Port { port: port.to_owned(), domain: (service == SyncService::Linuxptp).then_some(0) },
        clock: Some(ClockId::Realtime.into()),
        reference: "a clock".to_owned(),
        reference_id: id.map(str::to_owned),
        bound: HardBound::Stated {
            lowest_ns: bound.0,
            highest_ns: bound.1,
            narrowest_ns: bound,
            widest_ns: 0,
            trusts: format!("trusts {}", service.name()),
        },
        spread: Some(spread(0)),
        own_estimate: None,
        allan: Vec::new(),
        growth: Vec::new(),
        states: vec![StateChange { at: at(start_ns, 0), state }],
        track: track.collect(),
        could_be_missed: Vec::new(),
    }
}

fn node(name: &str, address: &str, sources: Vec<SyncSource>) -> NodeServices {
    let run = SyncRun { sources, ..SyncRun::default() };
    NodeServices { node: name.to_owned(), addresses: vec![address.to_owned()], run }
}

/// When both nodes' system clocks began: that of the node is 300 us behind.
const OWN_S: i64 = 1_000 * S;
const PARTNER_S: i64 = OWN_S + 300_000;
const APART_NS: i64 = -300_000;

/// A run whose exchange says that the clocks are -300 us apart, at most `error_ns` more or less.
fn run(own: Vec<SyncSource>, partner: Vec<SyncSource>, error_ns: i64) -> PacketRun {
    let bound = (APART_NS - error_ns, APART_NS + error_ns);
    let track = (0..200).map(|number| point(at(OWN_S, number * S / 50), APART_NS, bound)).collect();
    let relation = ClockRelation {
        node: "b".to_owned(),
        partner: "a".to_owned(),
        max_drift_ppb: 10_000,
        exchanges: 200,
        offset: Some(spread(APART_NS)),
        track,
        reading_error_ns: 50,
        ..ClockRelation::default()
    };
    PacketRun {
        flows: vec![PacketFlow { from: "a".to_owned(), to: "b".to_owned(), ..PacketFlow::default() }],
        clocks: vec![relation],
        services: vec![node("b", "10.0.0.2", own), node("a", "10.0.0.1", partner)],
        ..PacketRun::default()
    }
}

fn ptp(state: SyncState, id: &str, start_ns: i64, bound: (i64, i64)) -> SyncSource {
    source(SyncService::Linuxptp, state, Some(id), (start_ns, bound))
}

/// The bound that the services of both make, and what it excludes.
fn related(run: &mut PacketRun) -> (Option<(i64, i64)>, Vec<Contradiction>) {
    let contradictions = relate(run, &[37]);
    let bounds = run.clocks[0].services.first().and_then(|one| {
        let inner = one.track.iter().filter_map(|point| point.bound_ns);
        inner.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))
    });
    (bounds, contradictions)
}

#[test]
fn two_clocks_that_follow_one_grand_master_are_bounded_by_it_and_the_grand_master_itself_is_exact() {
    // b is 300 us behind a third clock which a follows within 1 us.
    let own = ptp(SyncState::Locked, "gm", OWN_S, (-302_000, -298_000));
    let partner = ptp(SyncState::Locked, "gm", PARTNER_S, (-1_000, 1_000));
    let mut both = run(vec![own.clone()], vec![partner], 50_000);
    let (bound, contradictions) = related(&mut both);
    let (lower_ns, upper_ns) = bound.unwrap();
    // -303 us to -297 us, opened by the drift between two looks: 250 ms at 10 parts per million, half of it.
    assert!((-304_300..=-303_000).contains(&lower_ns) && (-297_000..=-295_700).contains(&upper_ns), "{bound:?}");
    assert_eq!(contradictions, []);
    assert_eq!(both.clocks[0].services[0].reference, "PTP clock gm");
    // And where a is that clock.
    let master = ptp(SyncState::Reference, "gm", PARTNER_S, (7, 7));
    let (bound, contradictions) = related(&mut run(vec![own], vec![master], 50_000));
    assert_eq!((bound, contradictions), (Some((-302_000, -298_000)), vec![]));
}

#[test]
fn two_grand_masters_of_one_name_are_not_one_clock() {
    let master = |start_ns| ptp(SyncState::Reference, "gm", start_ns, (0, 0));
    assert_eq!(related(&mut run(vec![master(OWN_S)], vec![master(PARTNER_S)], 20_000)), (None, vec![]));
}

#[test]
fn a_service_that_excludes_the_exchange_is_named_with_the_moment_and_makes_the_run_invalid() {
    // The servo of b believes that it is on time, over a path that is 600 us longer one way.
    let own = ptp(SyncState::Locked, "gm", OWN_S, (-1_000, 1_000));
    let master = ptp(SyncState::Reference, "gm", PARTNER_S, (0, 0));
    let mut both = run(vec![own], vec![master], 20_000);
    let (_, contradictions) = related(&mut both);
    assert_eq!(contradictions.len(), 1);
    let reasons = judge(&both, &contradictions, &[("b".to_owned(), at(OWN_S, -S))]);
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(reason.code, ReasonCode::BoundsContradict);
    assert!(reason.detail.starts_with("from 1 s into the run on"), "{}", reason.detail);
    for words in ["the clock of b less that of a is -320 us to -280 us", "ptp4l eth0"] {
        assert!(reason.detail.contains(words), "{words}: {}", reason.detail);
    }
    // Wider bounds, that contain both, contradict nothing.
    let own = ptp(SyncState::Locked, "gm", OWN_S, (-281_000, 281_000));
    let master = ptp(SyncState::Reference, "gm", PARTNER_S, (0, 0));
    assert_eq!(related(&mut run(vec![own], vec![master], 20_000)).1, []);
}

#[test]
fn whoever_follows_other_references_is_not_compared_and_the_record_says_so() {
    let own = ptp(SyncState::Locked, "gm", OWN_S, (-302_000, -298_000));
    for partner in [
        ptp(SyncState::Locked, "another", PARTNER_S, (-1_000, 1_000)),
        source(SyncService::Chrony, SyncState::Locked, Some("10.0.0.9"), (PARTNER_S, (-1_000, 1_000))),
        SyncSource { reference_id: None, ..ptp(SyncState::Locked, "gm", PARTNER_S, (-1_000, 1_000)) },
    ] {
        let mut both = run(vec![own.clone()], vec![partner], 20_000);
        assert_eq!(related(&mut both), (None, vec![]));
        let reasons = judge(&both, &[], &[]);
        assert_eq!(reasons.iter().map(|reason| reason.code).collect::<Vec<_>>(), [ReasonCode::NoTimeService]);
    }
    // Where one has no service at all, its own half has said so.
    let both = run(vec![own], Vec::new(), 20_000);
    assert_eq!(judge(&both, &[], &[]), []);
}

/// A server s whose clock b and c follow as theirs; c follows another reference where it is not to be compared.
fn run_of_three(c_id: &str, order: [&str; 2]) -> PacketRun {
    let of = |name: &str, id: &str| {
        let locked = ptp(SyncState::Locked, id, OWN_S, (-302_000, -298_000));
        let mut half = run(vec![locked], Vec::new(), 20_000);
        (half.clocks[0].node, half.clocks[0].partner) = (name.to_owned(), "s".to_owned());
        half.services = vec![NodeServices { node: name.to_owned(), ..half.services.remove(0) }];
        half
    };
    let master = node("s", "10.0.0.1", vec![ptp(SyncState::Reference, "gm", PARTNER_S, (0, 0))]);
    let mut all = PacketRun { services: vec![master], ..PacketRun::default() };
    for name in order {
        let half = of(name, if name == "c" { c_id } else { "gm" });
        all.clocks.extend(half.clocks);
        all.services.extend(half.services);
        // As each join does.
        assert_eq!(relate(&mut all, &[37]), []);
    }
    all
}

#[test]
fn of_several_nodes_each_is_held_against_the_server_once_whichever_was_joined_first() {
    for order in [["b", "c"], ["c", "b"]] {
        let both = run_of_three("gm", order);
        assert!(both.clocks.iter().all(|relation| relation.services.len() == 1), "{:?}", both.clocks);
        assert_eq!(judge(&both, &[], &[]), []);
        let one = run_of_three("another", order);
        let reasons = judge(&one, &[], &[]);
        let [Reason { code: ReasonCode::NoTimeService, detail }] = &reasons[..] else { panic!("{reasons:?}") };
        assert!(detail.contains("c: ptp4l") && !detail.contains("b: ptp4l"), "{detail}");
    }
}

#[test]
fn a_server_of_ntp_without_a_source_is_the_reference_of_its_own_clients_alone() {
    let server = |start_ns: i64| SyncSource {
        track: Vec::new(),
        ..source(SyncService::Chrony, SyncState::Reference, None, (start_ns, (0, 0)))
    };
    let client =
        |server: &str| source(SyncService::Chrony, SyncState::Locked, Some(server), (OWN_S, (-310_000, -290_000)));
    let (bound, _) = related(&mut run(vec![client("10.0.0.1")], vec![server(PARTNER_S)], 50_000));
    assert_eq!(bound, Some((-310_000, -290_000)));
    let (bound, _) = related(&mut run(vec![client("10.0.0.7")], vec![server(PARTNER_S)], 50_000));
    assert_eq!(bound, None, "its server is another one");
    let (bound, _) = related(&mut run(vec![server(OWN_S)], vec![server(PARTNER_S)], 50_000));
    assert_eq!(bound, None, "two clocks that follow nobody");
}

#[test]
fn a_hardware_clock_is_a_link_of_the_chain_and_whole_seconds_between_time_scales_are_no_offset() {
    // b's hardware clock follows the grand master and keeps TAI: the system clock is 37 s and 300 us behind it.
    let clock = SyncSource {
        clock: Some(ClockName::Phc("ptp0".to_owned())),
        ..ptp(SyncState::Locked, "gm", OWN_S, (-500, 500))
    };
    let between = 37 * S - APART_NS;
    let hardware = source(SyncService::Phc, SyncState::Locked, None, (OWN_S, (between - 1_000, between + 1_000)));
    let master = ptp(SyncState::Reference, "gm", PARTNER_S, (0, 0));
    let mut both = run(vec![clock.clone(), hardware], vec![master.clone()], 50_000);
    let (bound, contradictions) = related(&mut both);
    let (lower_ns, upper_ns) = bound.unwrap();
    assert!((-301_502..=-301_500).contains(&lower_ns) && (-298_500..=-298_498).contains(&upper_ns), "{bound:?}");
    assert_eq!(contradictions, []);
    assert_eq!(both.clocks[0].services[0].trusts, ["trusts ptp4l", "trusts phc", "trusts ptp4l"]);
    // Without a comparison of that clock nothing is known of the system clock.
    assert_eq!(related(&mut run(vec![clock], vec![master], 50_000)).0, None);
}

fn series(error_ns: u64, seconds: u64) -> Series {
    let uncertainty = Some(Uncertainty { below_ns: error_ns, above_ns: error_ns, spread_ns: Some(3) });
    let interval = |second: u64| {
        let mut interval =
            Interval { start_offset_ns: second * 1_000_000_000, length_ns: 1_000_000_000, ..Interval::default() };
        interval.histogram.record_n(5, 1);
        interval.uncertainty = uncertainty;
        interval
    };
    Series {
        name: "sent_to_received".to_owned(),
        place: Place::Flow { flow: 0, direction: record::Direction::Received, queue: None },
        intervals: (0..seconds).map(interval).collect(),
        uncertainty,
        ..Series::default()
    }
}

#[test]
fn the_error_of_delays_is_what_exchange_and_services_both_allow_where_the_services_were_followed() {
    let own = ptp(SyncState::Locked, "gm", OWN_S, (-300_400, -298_000));
    let master = ptp(SyncState::Reference, "gm", PARTNER_S, (0, 0));
    let mut both = run(vec![own], vec![master], 50_000);
    assert_eq!(related(&mut both).1, []);
    let mut all = [series(50_000, 3), series(50_000, 5)];
    tighten(&both, &mut all, |name| (name == "b").then_some(OWN_S));
    let Uncertainty { below_ns, above_ns, .. } = all[0].uncertainty.unwrap();
    // 2 us, or 0.4 us, with the errors of readings and the drift since the nearer look.
    assert!((2_050..=3_400).contains(&below_ns) && (450..=1_800).contains(&above_ns), "{below_ns} {above_ns}");
    // They were not followed to the end of the last one.
    assert_eq!(all[1].uncertainty.unwrap().below_ns, 50_000);
    // Those of intervals were handed on.
    let unchanged = series(50_000, 5).intervals;
    assert!(all.iter().all(|one| unchanged.starts_with(&one.intervals)));
    // Between the interfaces the readings of their clocks are another error, and of what one node did services say nothing.
    let named = |name: &str| Series { name: name.to_owned(), ..series(50_000, 3) };
    let mut all =
        [named("hw_transmitted_to_hw_arrived"), named("hw_arrived_to_arrived"), named("transmitted_to_arrived")];
    both.clocks[0].hw_reading_error_ns = 9_050;
    tighten(&both, &mut all, |_| Some(OWN_S));
    let [between, on_one_node, kernels] = all.map(|one| one.uncertainty.unwrap().below_ns);
    assert_eq!((between - kernels, on_one_node), (9_000, 50_000));
    // Services that exclude the offset that was used narrow nothing.
    let elsewhere = ptp(SyncState::Locked, "gm", OWN_S, (-297_000, -296_000));
    let mut both = run(vec![elsewhere], vec![ptp(SyncState::Reference, "gm", PARTNER_S, (0, 0))], 50_000);
    assert_eq!(related(&mut both).1, []);
    let mut all = [series(50_000, 3)];
    tighten(&both, &mut all, |_| Some(OWN_S));
    assert_eq!(all[0], series(50_000, 3));
}
