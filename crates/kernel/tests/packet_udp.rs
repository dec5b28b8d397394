//! Packets over UDP between two network namespaces: what arrives, and when each point on the way was passed.

#![allow(unsafe_code, clippy::unwrap_used, reason = "a failed step of a test is a failed test; namespaces")]

use std::net::{SocketAddr, UdpSocket};

use crate::two_namespaces::ends::{deadline_ns, monotonic_ns, realtime_ns, stamps, take, wait_and_take};
use crate::two_namespaces::{Network, Side, payload};
use kernel::clock::{KernelClock, now_ns};
use kernel::packet::udp::{UdpEndpoint, UdpPlan};
use kernel::packet::{Counters, Launch, LaunchClock, OpenError, Origin, PacketEndpoint as _, SendError, SocketOptions};
use units::ClockId;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn open(network: &Network, side: Side, local: &str) -> UdpEndpoint {
    network.at(side, || UdpEndpoint::open(&UdpPlan::new(address(local)))).unwrap()
}

/// Two ends that have each other as partner.
fn two_ends(network: &Network, a: &str, b: &str) -> (UdpEndpoint, UdpEndpoint) {
    let (mut a, mut b) = (open(network, Side::A, a), open(network, Side::B, b));
    let (local_a, local_b) = (a.local(), b.local());
    a.set_partner(seen_from(local_a, local_b)).unwrap();
    b.set_partner(seen_from(local_b, local_a)).unwrap();
    (a, b)
}

/// The scope of a link-local address is the number of the own interface, which differs between namespaces.
fn seen_from(own: SocketAddr, mut other: SocketAddr) -> SocketAddr {
    if let (SocketAddr::V6(own), SocketAddr::V6(other)) = (own, &mut other) {
        other.set_scope_id(own.scope_id());
    }
    other
}

#[test]
fn payloads_of_all_sizes_go_both_ways_over_both_versions_of_ip() {
    let Some(network) = Network::make() else { return };
    let scope = |side: Side| format!("[{}%{}]:0", side.link_local(), index(&network, side));
    for (a, b) in [
        ("10.77.0.1:0".to_owned(), "10.77.0.2:0".to_owned()),
        ("[fd77::1]:0".to_owned(), "[fd77::2]:0".to_owned()),
        (scope(Side::A), scope(Side::B)),
    ] {
        let (mut a, mut b) = two_ends(&network, &a, &b);
        for bytes in [0, 1, 64, 1_400, 9_000, 65_507] {
            let (there, back) = (payload(bytes), payload(bytes));
            a.send(&there, None).unwrap();
            let taken = wait_and_take(&mut b);
            assert!(taken.payload == there, "{bytes} bytes came as {}", taken.payload.len());
            assert_eq!(taken.from, Origin::Internet(seen_from(b.local(), a.local())));
            b.send(&back, None).unwrap();
            assert!(wait_and_take(&mut a).payload == back);
        }
        let most_bytes = a.largest_payload();
        let too_large = a.send(&payload(most_bytes + 1), None).unwrap_err();
        assert_eq!(too_large, SendError::TooLarge { bytes: most_bytes + 1, most_bytes });
        assert_eq!(take(&mut b).map(|taken| taken.payload.len()), None);
        assert_eq!((a.counters(), b.counters()), (Counters::default(), Counters::default()));
    }
}

fn index(network: &Network, side: Side) -> String {
    network.at(side, || {
        let text = std::fs::read_to_string("/proc/thread-self/net/igmp").unwrap();
        // "4	va        :     1      V3".
        let line = text.lines().find(|line| line.contains(side.interface())).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    })
}

#[test]
fn the_points_of_each_packet_s_way_are_passed_in_their_order() {
    const PACKETS: u64 = 300;
    let Some(network) = Network::make() else { return };
    let (mut a, mut b) = two_ends(&network, "10.77.0.1:0", "10.77.0.2:0");
    let mut rows = Vec::new();
    for number in 0..PACKETS {
        let sent_ns = realtime_ns();
        a.send(&number.to_ne_bytes(), None).unwrap();
        // The first ones lie a while, so that a stamp of the reading in place of the arrival would be seen.
        if number < 3 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let before_read_ns = realtime_ns();
        let taken = wait_and_take(&mut b);
        let received_ns = realtime_ns();
        assert_eq!(taken.payload, number.to_ne_bytes());
        if number < 3 {
            assert!(taken.stack_ns.unwrap() < before_read_ns, "the stamp is of the reading, not of the arrival");
        }
        let sent = stamps(&mut a, 1);
        assert_eq!(sent.iter().map(|stamp| stamp.number).collect::<Vec<_>>(), [number]);
        rows.push([Some(sent_ns), sent[0].queued_ns, sent[0].stack_ns, taken.stack_ns, Some(received_ns)]);
    }
    let is_in_order = |row: &[Option<i64>; 5]| row.iter().all(Option::is_some) && row.is_sorted();
    // A step of the clock during the test would break the order once.
    let disordered: Vec<_> = rows.iter().filter(|row| !is_in_order(row)).collect();
    assert!(disordered.len() <= 1, "{disordered:?}");
    assert_eq!((a.counters(), b.counters()), (Counters::default(), Counters::default()));
}

/// Shows something only where nobody else on the machine has packets stamped.
#[test]
fn a_packet_right_after_opening_has_the_time_of_its_arrival() {
    let Some(network) = Network::make() else { return };
    let sender = network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap();
    // The neighbor is known by then.
    sender.send_to(b"x", "10.77.0.2:9").unwrap();
    for _ in 0..20 {
        let mut b = open(&network, Side::B, "10.77.0.2:0");
        sender.send_to(b"first", b.local()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let before_read_ns = realtime_ns();
        let stack_ns = wait_and_take(&mut b).stack_ns.unwrap();
        assert!(stack_ns < before_read_ns, "the stamp is {} ns after the reading began", stack_ns - before_read_ns);
    }
}

#[test]
fn many_packets_come_in_order_and_each_stamp_has_its_number() {
    const PACKETS: usize = 5_000;
    let Some(network) = Network::make() else { return };
    let (mut a, mut b) = two_ends(&network, "[fd77::1]:0", "[fd77::2]:0");
    let mut numbers = Vec::new();
    for number in 0..PACKETS {
        a.send(&number.to_ne_bytes(), None).unwrap();
        assert_eq!(wait_and_take(&mut b).payload, number.to_ne_bytes());
        while let Some(stamp) = a.sent_stamp() {
            if stamp.stack_ns.is_some() {
                numbers.push(stamp.number);
            }
        }
    }
    numbers.extend(stamps(&mut a, 0).iter().map(|stamp| stamp.number));
    assert!(numbers.iter().copied().eq(0..PACKETS as u64), "{} numbers", numbers.len());
}

#[test]
fn a_wait_ends_at_its_deadline_and_not_at_a_stamp_of_a_sent_packet() {
    let Some(network) = Network::make() else { return };
    let (mut a, mut b) = two_ends(&network, "10.77.0.1:0", "10.77.0.2:0");
    a.send(&[1], None).unwrap();
    let monotonic = KernelClock::from(ClockId::Monotonic);
    let deadline = now_ns(monotonic) + 20_000_000;
    assert!(!a.wait(deadline).unwrap());
    assert!(now_ns(monotonic) >= deadline);
    // Nor are the stamps lost by that.
    let sent = stamps(&mut a, 1);
    assert!(sent[0].number == 0 && sent[0].queued_ns <= sent[0].stack_ns, "{sent:?}");
    assert!(b.wait(0).unwrap(), "what lies there is found without waiting");
    assert!(take(&mut b).is_some() && !b.wait(0).unwrap());
}

#[test]
fn packets_of_others_are_received_with_their_origin() {
    let Some(network) = Network::make() else { return };
    let (_a, mut b) = two_ends(&network, "10.77.0.1:0", "10.77.0.2:0");
    let stranger = network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap();
    stranger.send_to(b"hello", b.local()).unwrap();
    let taken = wait_and_take(&mut b);
    assert_eq!((&*taken.payload, taken.from), (&b"hello"[..], Origin::Internet(stranger.local_addr().unwrap())));
}

/// Sends until a host answers that it cannot deliver: each packet is taken, and each stamp has its number. A process that
/// another test starts meanwhile has a copy of a closed socket until its own program runs.
fn send_until_undeliverable(end: &mut UdpEndpoint, sent_before: u64) {
    let deadline = deadline_ns();
    let mut sent = sent_before;
    while end.counters().undeliverable == 0 {
        assert!(monotonic_ns() < deadline, "nobody answers");
        for _ in 0..5 {
            end.send(&[7], None).unwrap();
        }
        let numbers: Vec<_> = stamps(end, 5).iter().map(|stamp| stamp.number).collect();
        let expected: Vec<_> = (sent..sent + 5).collect();
        assert_eq!(numbers, expected);
        sent += 5;
    }
}

#[test]
fn a_connected_end_has_its_partner_alone() {
    let Some(network) = Network::make() else { return };
    let mut b = open(&network, Side::B, "10.77.0.2:0");
    let plan = UdpPlan { connects: true, partner: Some(b.local()), ..UdpPlan::new(address("0.0.0.0:0")) };
    let mut a = network.at(Side::A, || UdpEndpoint::open(&plan)).unwrap();
    // The route decided where its packets come from.
    assert_eq!(a.local().ip(), address("10.77.0.1:0").ip());
    b.set_partner(a.local()).unwrap();
    let stranger = network.at(Side::B, || UdpSocket::bind("10.77.0.2:0")).unwrap();
    stranger.send_to(b"stranger", a.local()).unwrap();
    for bytes in [64, 65_507] {
        let (there, back) = (payload(bytes), payload(bytes));
        a.send(&there, None).unwrap();
        assert!(wait_and_take(&mut b).payload == there);
        b.send(&back, None).unwrap();
        assert!(wait_and_take(&mut a).payload == back);
    }
    // Of a partner that is gone it is notified, and goes on.
    let partner = b.local();
    drop(b);
    assert_eq!(stamps(&mut a, 2).len(), 2);
    send_until_undeliverable(&mut a, 2);
    assert!(take(&mut a).is_none());
    let mut again = network.at(Side::B, || UdpEndpoint::open(&UdpPlan::new(partner))).unwrap();
    a.send(b"again", None).unwrap();
    assert_eq!(wait_and_take(&mut again).payload, b"again");
    let no_route = a.set_partner(address("192.0.2.1:9")).unwrap_err().to_string();
    assert!(no_route.starts_with("no route to 192.0.2.1"), "{no_route}");
}

#[test]
fn a_partner_that_does_not_listen_is_counted_and_each_later_packet_is_sent() {
    let Some(network) = Network::make() else { return };
    let mut a = open(&network, Side::A, "10.77.0.1:0");
    let closed = network.at(Side::B, || UdpSocket::bind("10.77.0.2:0")).unwrap().local_addr().unwrap();
    a.set_partner(closed).unwrap();
    send_until_undeliverable(&mut a, 0);
    assert_eq!(take(&mut a).map(|taken| taken.from), None);
}

#[test]
fn what_the_kernel_drops_for_want_of_room_is_counted() {
    const PACKETS: u64 = 200;
    let Some(network) = Network::make() else { return };
    let mut plan = UdpPlan::new(address("10.77.0.2:0"));
    plan.options.receive_buffer_bytes = Some(20_000);
    let mut b = network.at(Side::B, || UdpEndpoint::open(&plan)).unwrap();
    let mut a = open(&network, Side::A, "10.77.0.1:0");
    a.set_partner(b.local()).unwrap();
    assert_eq!(b.receive_buffer_bytes(), 20_000);
    for _ in 0..PACKETS {
        a.send(&payload(1_000), None).unwrap();
    }
    // A stamp is given after the packet was delivered to the other namespace's queue.
    let mut taken = 0;
    while b.wait(now_ns(KernelClock::from(ClockId::Monotonic)) + 50_000_000).unwrap() {
        taken += u64::from(take(&mut b).is_some());
    }
    assert!(taken > 0 && taken < PACKETS, "{taken}");
    assert_eq!(b.counters().receive_dropped, PACKETS - taken);
}

#[test]
fn opening_fails_with_what_where_and_the_remedy() {
    let Some(network) = Network::make() else { return };
    let first = open(&network, Side::A, "10.77.0.1:0");
    let error = |plan: &UdpPlan| network.at(Side::A, || UdpEndpoint::open(plan)).unwrap_err();
    let in_use = error(&UdpPlan::new(first.local()));
    assert!(matches!(&in_use, OpenError::AddressInUse { address } if *address == first.local().to_string()));
    assert!(matches!(error(&UdpPlan::new(address("192.0.2.1:0"))), OpenError::AddressMissing { .. }));
    let no_scope = error(&UdpPlan::new(address("[fe80::ff:fe00:a]:0"))).to_string();
    assert!(no_scope.contains("%INTERFACE"), "{no_scope}");
    let nowhere = UdpPlan { interface: Some("vb".to_owned()), ..UdpPlan::new(address("10.77.0.1:0")) };
    assert!(matches!(error(&nowhere), OpenError::NoInterface { interface } if interface == "vb"));
    let versions = UdpPlan { partner: Some(address("[::1]:1")), ..UdpPlan::new(address("10.77.0.1:0")) };
    assert!(matches!(error(&versions), OpenError::Mismatch { .. }));
}

#[test]
fn what_cannot_be_sent_is_refused_and_costs_no_number() {
    let Some(network) = Network::make() else { return };
    let (mut a, mut b) = two_ends(&network, "10.77.0.1:0", "10.77.0.2:0");
    let partner = b.local();
    assert_eq!(a.send(&[1], Some(Launch { at_ns: 1 })), Err(SendError::NoLaunchTime));
    let mut alone = open(&network, Side::A, "10.77.0.1:0");
    assert_eq!(alone.send(&[1], None), Err(SendError::NoPartner));
    a.set_partner(address("192.0.2.1:9")).unwrap();
    assert_eq!(a.send(&[1], None), Err(SendError::Refused { errno: libc::ENETUNREACH }));
    a.set_partner(partner).unwrap();
    a.send(&[2], None).unwrap();
    assert_eq!(wait_and_take(&mut b).payload, [2]);
    assert_eq!(stamps(&mut a, 1)[0].number, 0);
}

#[test]
fn a_launch_time_is_taken_by_an_end_that_was_opened_for_one() {
    let Some(network) = Network::make() else { return };
    let launch = LaunchClock { clock: ClockId::Tai, is_deadline: false };
    let plan = UdpPlan {
        options: SocketOptions { launch: Some(launch), ..SocketOptions::default() },
        ..UdpPlan::new(address("10.77.0.1:0"))
    };
    let mut a = network.at(Side::A, || UdpEndpoint::open(&plan)).unwrap();
    let mut b = open(&network, Side::B, "10.77.0.2:0");
    a.set_partner(b.local()).unwrap();
    let at_ns = now_ns(KernelClock::from(ClockId::Tai)) + 1_000_000;
    a.send(&[3], Some(Launch { at_ns })).unwrap();
    assert_eq!(wait_and_take(&mut b).payload, [3]);
    assert_eq!(stamps(&mut a, 1)[0].number, 0);
}
