//! No method of an end allocates or frees.

#![allow(unsafe_code, clippy::unwrap_used, reason = "a failed step of a test is a failed test; namespaces")]

mod two_namespaces;

use kernel::hot_section::{self, PanickingAllocator};
use kernel::packet::link::{LinkEndpoint, LinkPlan};
use kernel::packet::udp::{UdpEndpoint, UdpPlan};
use kernel::packet::xdp::{Flow, Mode, XdpEndpoint, XdpPlan};
use kernel::packet::{BusyPoll, PacketEndpoint, SendError};
use two_namespaces::ends::monotonic_ns;
use two_namespaces::{Network, Side};

#[global_allocator]
static ALLOCATOR: PanickingAllocator = PanickingAllocator;

const PACKETS: u64 = 2_000;

/// Sends and receives, with all that goes wrong on the way.
fn exchange(a: &mut impl PacketEndpoint, b: &mut impl PacketEndpoint) {
    let payload = [7_u8; 128];
    let too_large = vec![0_u8; 70_000];
    let received = hot_section::enter(|| {
        let mut received = 0;
        for _ in 0..PACKETS {
            a.send(&payload, None).unwrap();
            assert!(b.wait(monotonic_ns() + 5_000_000_000).unwrap());
            let length = b.receive(|got| got.payload.len()).unwrap();
            received += u64::from(length == Some(payload.len()));
            assert!(b.receive(|_| ()).unwrap().is_none() && !b.wait(0).unwrap());
            let _ = a.wait(0).unwrap();
            while a.sent_stamp().is_some() {}
            let refused = a.send(&too_large, None);
            assert!(matches!(refused, Err(SendError::TooLarge { .. })));
        }
        let _ = (a.counters(), b.counters());
        received
    });
    assert_eq!(received, PACKETS);
}

#[test]
fn the_guard_itself_works() {
    let caught = std::panic::catch_unwind(|| hot_section::enter(|| std::hint::black_box(vec![1_u8; 64])));
    assert!(caught.is_err());
}

#[test]
fn udp_allocates_nothing() {
    let Some(network) = Network::make() else { return };
    let open = |side: Side, local: &str| {
        network.at(side, || UdpEndpoint::open(&UdpPlan::new(local.parse().unwrap()))).unwrap()
    };
    let (mut a, mut b) = (open(Side::A, "[fd77::1]:0"), open(Side::B, "[fd77::2]:0"));
    a.set_partner(b.local()).unwrap();
    exchange(&mut a, &mut b);
    // Answers to what cannot be delivered as well.
    b.set_partner(a.local()).unwrap();
    drop(a);
    let deadline_ns = monotonic_ns() + 5_000_000_000;
    let undeliverable = hot_section::enter(|| {
        while b.counters().undeliverable == 0 && monotonic_ns() < deadline_ns {
            while b.send(&[1], None).is_err() {}
            while b.sent_stamp().is_some() {}
        }
        b.counters().undeliverable
    });
    assert!(undeliverable > 0, "nobody answers");
}

#[test]
fn link_allocates_nothing() {
    let Some(network) = Network::make() else { return };
    let open = |side: Side, partner: Side| {
        let plan = LinkPlan { partner: Some(partner.mac()), ..LinkPlan::new(side.interface()) };
        network.at(side, || LinkEndpoint::open(&plan)).unwrap()
    };
    exchange(&mut open(Side::A, Side::B), &mut open(Side::B, Side::A));
}

#[test]
fn xdp_allocates_nothing() {
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        for busy_poll in [None, Some(BusyPoll { us: 20, prefer: true })] {
            let plan = |side: Side, local: &str, partner| XdpPlan {
                modes: vec![mode],
                busy_poll,
                ..XdpPlan::new(side.interface(), Flow::Udp { local: local.parse().unwrap(), partner })
            };
            let mut b = match network.at(Side::B, || XdpEndpoint::open(&plan(Side::B, "[::]:0", None))) {
                Ok(end) => end,
                Err(error) => return eprintln!("not run: {error}"),
            };
            let mut a = network.at(Side::A, || XdpEndpoint::open(&plan(Side::A, "[::]:0", b.local()))).unwrap();
            exchange(&mut a, &mut b);
        }
    }
}
