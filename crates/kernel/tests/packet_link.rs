//! Frames of an own EtherType between two network namespaces.

#![allow(unsafe_code, clippy::unwrap_used, reason = "a failed step of a test is a failed test; namespaces")]

use std::process::Command;

use crate::two_namespaces::ends::{deadline_ns, monotonic_ns, realtime_ns, stamps, take, wait_and_take};
use crate::two_namespaces::{Network, Side, payload};
use kernel::packet::link::{LinkEndpoint, LinkPlan, VlanTag};
use kernel::packet::{Counters, OpenError, Origin, PacketEndpoint as _, SendError};

fn open(network: &Network, side: Side, change: impl FnOnce(LinkPlan) -> LinkPlan) -> LinkEndpoint {
    let other = if side == Side::A { Side::B } else { Side::A };
    let plan = change(LinkPlan { partner: Some(other.mac()), ..LinkPlan::new(side.interface()) });
    network.at(side, || LinkEndpoint::open(&plan)).unwrap()
}

fn two_ends(network: &Network, change: impl Fn(LinkPlan) -> LinkPlan) -> (LinkEndpoint, LinkEndpoint) {
    (open(network, Side::A, &change), open(network, Side::B, &change))
}

#[test]
fn payloads_up_to_the_mtu_go_both_ways() {
    let Some(network) = Network::make() else { return };
    for side in [Side::A, Side::B] {
        network.ip(side, &format!("link set {} mtu 9000", side.interface()));
    }
    let (mut a, mut b) = two_ends(&network, |plan| plan);
    assert_eq!((a.largest_payload(), b.largest_payload()), (9_000, 9_000));
    for bytes in [1, 64, 1_400, 9_000] {
        let (there, back) = (payload(bytes), payload(bytes));
        a.send(&there, None).unwrap();
        let taken = wait_and_take(&mut b);
        assert!(taken.payload == there, "{bytes} bytes came as {}", taken.payload.len());
        assert_eq!((taken.from, taken.vlan_tag), (Origin::Link(Side::A.mac()), None));
        b.send(&back, None).unwrap();
        assert!(wait_and_take(&mut a).payload == back);
    }
    let too_large = SendError::TooLarge { bytes: 9_001, most_bytes: 9_000 };
    assert_eq!(a.send(&payload(9_001), None), Err(too_large));
    a.send(&[4; 46], None).unwrap();
    assert_eq!(wait_and_take(&mut b).payload, [4; 46]);
    let numbers: Vec<_> = stamps(&mut a, 5).iter().map(|stamp| stamp.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4], "what was too large costs no number");
    assert_eq!((a.counters(), b.counters()), (Counters::default(), Counters::default()));
}

#[test]
fn the_points_of_each_frame_s_way_are_passed_in_their_order() {
    const FRAMES: u64 = 300;
    let Some(network) = Network::make() else { return };
    let (mut a, mut b) = two_ends(&network, |plan| plan);
    let mut rows = Vec::new();
    for number in 0..FRAMES {
        let sent_ns = realtime_ns();
        a.send(&number.to_ne_bytes(), None).unwrap();
        let taken = wait_and_take(&mut b);
        let received_ns = realtime_ns();
        assert_eq!(taken.payload, number.to_ne_bytes());
        let sent = stamps(&mut a, 1);
        assert_eq!(sent.iter().map(|stamp| stamp.number).collect::<Vec<_>>(), [number]);
        rows.push([Some(sent_ns), sent[0].queued_ns, sent[0].stack_ns, taken.stack_ns, Some(received_ns)]);
    }
    let is_in_order = |row: &[Option<i64>; 5]| row.iter().all(Option::is_some) && row.is_sorted();
    // A step of the clock during the test would break the order once.
    let disordered: Vec<_> = rows.iter().filter(|row| !is_in_order(row)).collect();
    assert!(disordered.len() <= 1, "{disordered:?}");
}

#[test]
fn a_tag_goes_along_with_its_priority() {
    let Some(network) = Network::make() else { return };
    let tag = VlanTag { id: 5, priority: 3 };
    let (mut a, mut b) = two_ends(&network, |plan| LinkPlan { vlan: Some(tag), ..plan });
    for bytes in [64, 1_500] {
        let sent = payload(bytes);
        a.send(&sent, None).unwrap();
        let taken = wait_and_take(&mut b);
        assert!(taken.payload == sent);
        assert_eq!((taken.vlan_tag, taken.from), (Some(0x6005), Origin::Link(Side::A.mac())));
    }
    // Untagged ones are received too, and are seen to be without a tag. Its own are not.
    let mut untagged = open(&network, Side::A, |plan| plan);
    untagged.send(&[1; 50], None).unwrap();
    assert_eq!(wait_and_take(&mut b).vlan_tag, None);
    b.send(&[2; 50], None).unwrap();
    assert!(take(&mut b).is_none());
}

#[test]
fn frames_of_other_kinds_and_for_other_nodes_are_not_received() {
    let Some(network) = Network::make() else { return };
    let mut b = open(&network, Side::B, |plan| plan);
    // As if another program had made the interface promiscuous.
    network.ip(Side::B, "link set vb promisc on");
    let mut other_kind = open(&network, Side::A, |plan| LinkPlan { ethertype: 0x88b6, ..plan });
    let mut other_node = open(&network, Side::A, |plan| LinkPlan { partner: Some([2, 0, 0, 0, 0, 0xc]), ..plan });
    let mut ours = open(&network, Side::A, |plan| plan);
    let mut all = open(&network, Side::A, |plan| LinkPlan { partner: Some([0xff; 6]), ..plan });
    other_kind.send(&[1; 46], None).unwrap();
    other_node.send(&[2; 46], None).unwrap();
    ours.send(&[3; 46], None).unwrap();
    all.send(&[4; 46], None).unwrap();
    let mut payloads = Vec::new();
    while payloads.len() < 2 {
        assert!(b.wait(deadline_ns()).unwrap());
        payloads.extend(take(&mut b).map(|taken| taken.payload[0]));
    }
    assert_eq!(payloads, [3, 4]);
    assert!(take(&mut b).is_none());
}

#[test]
fn an_interface_that_goes_down_is_an_error_and_no_silence() {
    let Some(network) = Network::make() else { return };
    let (mut a, mut b) = two_ends(&network, |plan| plan);
    network.ip(Side::B, "link set vb down");
    assert!(b.wait(deadline_ns()).unwrap(), "the wait does not last until its deadline");
    let error = b.receive(|_| ()).unwrap_err();
    assert_eq!(error.errno, libc::ENETDOWN);
    assert_eq!(b.send(&[1; 46], None), Err(SendError::Refused { errno: libc::ENETDOWN }));
    // The other side has lost its carrier, and drops what it is given.
    let _ = a.send(&[1; 46], None);
    network.ip(Side::B, "link set vb up");
    loop {
        let _ = a.send(&[7; 46], None);
        if b.wait(monotonic_ns() + 10_000_000).unwrap() {
            // What was sent while it was down is gone.
            if let Ok(Some(payload)) = b.receive(|got| got.payload.to_vec()) {
                break assert_eq!(payload, [7; 46]);
            }
        }
    }
}

#[test]
fn opening_fails_with_what_where_and_the_remedy() {
    let Some(network) = Network::make() else { return };
    network.ip(Side::A, "link set va down");
    let error = |plan: &LinkPlan| network.at(Side::A, || LinkEndpoint::open(plan)).unwrap_err();
    let down = error(&LinkPlan::new("va"));
    assert!(down.to_string().contains("ip link set va up"), "{down}");
    network.ip(Side::A, "link set va up");
    assert!(matches!(error(&LinkPlan::new("vb")), OpenError::NoInterface { .. }));
    network.ip(Side::A, "tuntap add t0 mode tun");
    network.ip(Side::A, "link set t0 up");
    assert!(matches!(error(&LinkPlan::new("t0")), OpenError::NoEthernet { interface } if interface == "t0"));
    let options = kernel::packet::SocketOptions { dscp: Some(1), ..Default::default() };
    assert!(matches!(error(&LinkPlan { options, ..LinkPlan::new("va") }), OpenError::Unsupported { .. }));
    let mut alone = network.at(Side::A, || LinkEndpoint::open(&LinkPlan::new("va"))).unwrap();
    assert_eq!(alone.send(&[1; 46], None), Err(SendError::NoPartner));
}

#[test]
fn frames_go_around_the_queueing_discipline_on_request() {
    let Some(network) = Network::make() else { return };
    // A discipline that lets nothing through: one byte a second.
    network.at(Side::A, || {
        let words = "qdisc add dev va root tbf rate 8bit burst 10b limit 10b";
        let done = Command::new("tc").args(words.split(' ')).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    });
    let mut b = open(&network, Side::B, |plan| plan);
    let mut queued = open(&network, Side::A, |plan| plan);
    assert_eq!(queued.send(&[1; 60], None), Err(SendError::Full));
    let mut around = open(&network, Side::A, |plan| LinkPlan { bypass_qdisc: true, ..plan });
    around.send(&[2; 60], None).unwrap();
    assert_eq!(wait_and_take(&mut b).payload, [2; 60]);
    assert_eq!(stamps_of_stack(&mut around).number, 0);
    // What was dropped has no number, and the stamp that it got on its way into the discipline is not the next one's.
    network.at(Side::A, || Command::new("tc").args(["qdisc", "del", "dev", "va", "root"]).status()).unwrap();
    let before_ns = realtime_ns();
    queued.send(&[3; 60], None).unwrap();
    assert_eq!(wait_and_take(&mut b).payload, [3; 60]);
    let stamp = stamps(&mut queued, 1)[0];
    assert_eq!((stamp.number, stamp.queued_ns.map(|ns| ns >= before_ns)), (0, Some(true)));
    assert_eq!(queued.counters(), Counters::default());
}

#[test]
fn an_end_that_only_sends_receives_nothing() {
    let Some(network) = Network::make() else { return };
    for vlan in [None, Some(VlanTag { id: 5, priority: 3 })] {
        let mut a = open(&network, Side::A, |plan| LinkPlan { receives: false, vlan, ..plan });
        let mut b = open(&network, Side::B, |plan| LinkPlan { vlan, ..plan });
        for number in 0..3 {
            a.send(&[number; 60], None).unwrap();
            let taken = wait_and_take(&mut b);
            assert_eq!((taken.payload, taken.vlan_tag), (vec![number; 60], vlan.map(|_| 0x6005)));
            b.send(&[number; 60], None).unwrap();
        }
        let numbers: Vec<_> = stamps(&mut a, 3).iter().map(|stamp| stamp.number).collect();
        assert_eq!((numbers, take(&mut a).is_none()), (vec![0, 1, 2], true));
        assert_eq!(a.counters(), Counters::default());
    }
}

fn stamps_of_stack(end: &mut LinkEndpoint) -> kernel::packet::SentStamp {
    loop {
        if let Some(stamp) = end.sent_stamp().filter(|stamp| stamp.stack_ns.is_some()) {
            return stamp;
        }
    }
}
