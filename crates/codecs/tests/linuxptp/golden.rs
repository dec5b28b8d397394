//! Bytes of daemons against values decoded by hand.

use codecs::linuxptp::{
    Action, DelayRecord, Event, EventSet, ManagementErrorId, ManagementId, ManagementTlv, Message, PortIdentity,
    PortState, Request, Requester, SignalingTlv, SubscribeEvents, SyncRecord, TimeInterval, Timestamp, decode,
};

use super::fixture::{datagrams, from_hex, management, named, only_tlv};

fn port(text: &str) -> PortIdentity {
    text.parse().expect("a port identity")
}

/// The requests that both daemons answered when the fixtures were made, byte for byte.
#[test]
fn requests_are_the_bytes_that_daemons_answered() {
    let requester = Requester {
        transport_specific: 1,
        domain_number: 24,
        minor_version: 0,
        source: PortIdentity { port: 4242, ..PortIdentity::default() },
    };
    let get = requester.encode(0x1234, &Request::Get(ManagementId::TimeStatus)).expect("four bits each");
    let head =
        "1d02 0036 18 00 0000 0000000000000000 00000000 0000000000000000 1092 1234 04 7f ffffffffffffffff ffff 00 00";
    assert_eq!(get.as_bytes(), from_hex(&format!("{head} 00 00 0001 0002 c000")));

    let events = EventSet::NONE.with(Event::PortState).with(Event::TimeSync).with(Event::ParentDataSet);
    let subscription = SubscribeEvents { duration_s: 20, events: events.with(Event::Cmlds) };
    let set = requester.encode(0x1234, &Request::Subscribe(subscription)).expect("four bits each");
    let bits = format!("0f{}", "00".repeat(63));
    let expected = from_hex(&format!("{head} 01 00 0001 0044 c003 0014 {bits}").replace("0036", "0078"));
    assert_eq!(set.as_bytes(), expected);
    let refused = Requester { transport_specific: 16, ..requester }.encode(0, &Request::Get(ManagementId::PortStats));
    assert_eq!(refused.expect_err("16 has five bits").to_string(), "transportSpecific is 16, expected 0 to 15");
}

#[test]
fn headers_name_version_domain_and_asker() {
    for (version, minor) in [("3.1.1", 0), ("4.2", 1)] {
        for (mechanism, transport_specific, domain) in [("e2e", 0, 0), ("p2p", 0, 24), ("gptp", 1, 0)] {
            let datagram = datagrams(version, mechanism, "slave GET CURRENT_DATA_SET").remove(0);
            let message = management(&datagram);
            assert_eq!(message.header.minor_version, minor);
            assert_eq!(message.header.domain_number, domain);
            assert_eq!(message.header.transport_specific, transport_specific);
            assert_eq!(message.header.source, port("02005e.fffe.005302-0"));
            assert_eq!(message.target, port("000000.0000.000000-4242"));
            assert_eq!((message.starting_boundary_hops, message.boundary_hops), (0, 0));
        }
    }
}

#[test]
fn a_refusal_says_why() {
    use ManagementErrorId::{NoSuchId, NotSupported, WrongLength};
    for (name, action, error, id) in [
        ("GET 0xcfff", Action::Response, NoSuchId, 0xcfff),
        ("SET DEFAULT_DATA_SET", Action::Response, NotSupported, 0x2000),
        ("SET PRIORITY1 without data", Action::Response, WrongLength, 0x2005),
        ("COMMAND NULL_MANAGEMENT", Action::Acknowledge, NotSupported, 0),
        ("read-only SET SUBSCRIBE_EVENTS_NP", Action::Response, NotSupported, 0xc003),
        ("read-only SET PRIORITY2", Action::Response, NotSupported, 0x2006),
        ("read-only COMMAND CLOCK_ACCURACY", Action::Acknowledge, NotSupported, 0x2010),
    ] {
        for section in named(name) {
            let datagram = &section.datagrams[0];
            assert_eq!(management(datagram).action, action, "{name}");
            let ManagementTlv::Error(status) = only_tlv(datagram) else { panic!("{name}") };
            assert_eq!((status.error, status.id, status.text), (error, id, &b""[..]), "{name}");
        }
    }
}

#[test]
fn what_is_unknown_is_no_error() {
    for section in named("slave GET NULL_MANAGEMENT") {
        assert_eq!(only_tlv(&section.datagrams[0]), ManagementTlv::Empty { id: 0 });
    }
    for section in named("slave GET CLOCK_DESCRIPTION") {
        // An address of Ethernet is two bytes longer than one of IPv4.
        let length = if section.mechanism == "gptp" { 48 } else { 46 };
        assert_eq!(only_tlv(&section.datagrams[0]), ManagementTlv::Unknown { id: 1, length });
    }
    let datagram = datagrams("4.2", "e2e", "slave GET PORT_SERVICE_STATS_NP").remove(0);
    assert_eq!(only_tlv(&datagram), ManagementTlv::Unknown { id: 0xc007, length: 90 });
}

#[test]
fn a_subscription_is_echoed_with_its_events() {
    for section in named("SET SUBSCRIBE_EVENTS_NP") {
        let ManagementTlv::SubscribeEvents(data) = only_tlv(&section.datagrams[0]) else { panic!() };
        assert_eq!(data.duration_s, 20);
        assert!(
            [Event::PortState, Event::TimeSync, Event::ParentDataSet, Event::Cmlds].map(|e| data.events.contains(e))
                == [true; 4]
        );
    }
}

/// 3.1.1 notifies of the state of a port and of nothing else, whatever it was asked.
#[test]
fn notifications_are_answers_that_nobody_asked_for() {
    for section in named("notifications master lost") {
        let datagram = &section.datagrams[0];
        let message = management(datagram);
        assert_eq!((message.action, message.boundary_hops), (Action::Response, 1));
        let ManagementTlv::PortDataSet(data) = only_tlv(datagram) else { panic!() };
        assert_eq!(message.header.source, data.port_identity);
        // A clock that may become master does.
        let expected = if section.mechanism == "gptp" { PortState::Master } else { PortState::Listening };
        assert_eq!(data.port_state, expected);
        if section.version == "3.1.1" {
            assert_eq!(section.datagrams.len(), 1);
        }
    }
    let kinds: Vec<_> = datagrams("4.2", "gptp", "notifications master lost").iter().map(|d| kind(d)).collect();
    assert_eq!(kinds, ["PORT_DATA_SET", "PARENT_DATA_SET"]);
    let kinds: Vec<_> = datagrams("4.2", "e2e", "SET SUBSCRIBE_EVENTS_NP for 4 s").iter().map(|d| kind(d)).collect();
    assert_eq!(kinds, ["SUBSCRIBE_EVENTS_NP", "TIME_STATUS_NP", "TIME_STATUS_NP", "TIME_STATUS_NP"]);
    assert_eq!(datagrams("3.1.1", "e2e", "SET SUBSCRIBE_EVENTS_NP for 4 s").len(), 1);
}

fn kind(datagram: &[u8]) -> &'static str {
    match only_tlv(datagram) {
        ManagementTlv::PortDataSet(_) => "PORT_DATA_SET",
        ManagementTlv::ParentDataSet(_) => "PARENT_DATA_SET",
        ManagementTlv::TimeStatus(_) => "TIME_STATUS_NP",
        ManagementTlv::SubscribeEvents(_) => "SUBSCRIBE_EVENTS_NP",
        other => panic!("{other:?}"),
    }
}

fn records(datagrams: &[Vec<u8>]) -> (Vec<SyncRecord>, Vec<DelayRecord>) {
    let (mut syncs, mut delays) = (Vec::new(), Vec::new());
    for datagram in datagrams {
        let Ok(Message::Signaling(message)) = decode(datagram) else { panic!("a signaling message") };
        // Even a daemon with another value in `transportSpecific` writes 0 here.
        assert_eq!(message.header.transport_specific, 0);
        assert_eq!(message.header.source, port("02005e.fffe.005302-0"));
        assert_eq!(message.target, PortIdentity::ANY);
        for tlv in message.tlvs() {
            let (source, one) = match tlv.expect("a TLV of a daemon decodes") {
                SignalingTlv::SyncTiming { source, records } => {
                    let before = syncs.len();
                    syncs.extend(records.map(|record| record.expect("a record of a daemon decodes")));
                    (source, syncs.len() - before)
                }
                SignalingTlv::DelayTiming { source, records } => {
                    let before = delays.len();
                    delays.extend(records.map(|record| record.expect("a record of a daemon decodes")));
                    (source, delays.len() - before)
                }
                SignalingTlv::Unknown { tlv_type, .. } => panic!("{tlv_type:#x}"),
            };
            assert_eq!((source, one), (port("02005e.fffe.005301-1"), 1), "one record a message");
        }
    }
    (syncs, delays)
}

/// Both clocks are the same one, so each transit time is above 0.
#[test]
fn raw_time_stamps_of_both_directions() {
    for section in named("slave event monitor") {
        let (syncs, delays) = records(&section.datagrams);
        assert!(syncs.len() >= 3, "{}", section.mechanism);
        assert_eq!(delays.is_empty(), section.mechanism != "e2e", "peer delay gives no such records");
        for sync in syncs {
            assert!((0..1_000_000 << 16).contains(&sync.transit_and_offset_scaled_ns()));
        }
        for delay in delays {
            assert!((0..1_000_000 << 16).contains(&delay.transit_minus_offset_scaled_ns()));
        }
    }
}

#[test]
fn a_record_by_hand() {
    let sync = from_hex(
        "0c02005c 0000 0000 0000000000000000 00000000 02005efffe005302 0000 0056 05 7f ffffffffffffffff ffff \
         8004 002c 02005efffe005301 0001 0014 0000 6b063325 0fe14491 0000000000000000 00000000 0000 6b063325 0fe14de1",
    );
    let all = datagrams("3.1.1", "e2e", "slave event monitor");
    assert!(all.contains(&sync));
    let (syncs, _) = records(&[sync]);
    let seconds = 1_795_568_421;
    let expected = SyncRecord {
        sequence_id: 20,
        t1: Timestamp { seconds, nanoseconds: 266_421_393 },
        correction: TimeInterval { scaled_ns: 0 },
        scaled_cumulative_rate_offset: 0,
        t2: Timestamp { seconds, nanoseconds: 266_423_777 },
    };
    assert_eq!(syncs, [expected]);
    assert_eq!(expected.t2.as_ns(), 1_795_568_421_266_423_777);
    assert_eq!(expected.transit_and_offset_scaled_ns(), 2384 << 16);
    // The correction takes from the transit time, to 2^-16 ns.
    let corrected = SyncRecord { correction: TimeInterval { scaled_ns: (100 << 16) + 1 }, ..expected };
    assert_eq!(corrected.transit_and_offset_scaled_ns(), (2284 << 16) - 1);
    let (_, delays) = records(&all);
    let delay = *delays.last().expect("a delay record");
    assert_eq!((delay.sequence_id, delay.t3.nanoseconds, delay.t4.nanoseconds), (90, 397_769_961, 397_772_274));
    assert_eq!(delay.transit_minus_offset_scaled_ns(), 2313 << 16);
    let corrected = DelayRecord { correction: TimeInterval { scaled_ns: -1 }, ..delay };
    assert_eq!(corrected.transit_minus_offset_scaled_ns(), (2313 << 16) + 1);
}
