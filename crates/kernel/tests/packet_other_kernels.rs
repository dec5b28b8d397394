//! What not every kernel has: queueing disciplines that honor launch times, VLAN interfaces, hardware that stamps. Where it
//! is missing, that is said. The lab's guests have all of it.

#![allow(unsafe_code, clippy::unwrap_used, reason = "a failed step of a test is a failed test; namespaces")]

use std::process::Command;

use crate::two_namespaces::ends::{deadline_ns, monotonic_ns, stamps, wait_and_take};
use crate::two_namespaces::{Network, Side};
use kernel::clock::{KernelClock, now_ns};
use kernel::ethtool::Ethtool;
use kernel::packet::interface::{HardwareStamping, Interface, ReceivedStamped, Vlan};
use kernel::packet::link::{LinkEndpoint, LinkPlan, VlanTag};
use kernel::packet::qdisc::{Gate, LaunchSupport, Qdisc, QdiscDetail};
use kernel::packet::udp::{UdpEndpoint, UdpPlan};
use kernel::packet::xdp::{Flow, Mode, XdpEndpoint, XdpPlan};
use kernel::packet::{
    Counters, Launch, LaunchClock, Origin, PacketEndpoint as _, SendError, SentStamp, SocketOptions, Stamps,
};
use units::ClockId;

/// Runs `tc` or `ip`; false, with the reason on standard error, where this kernel lacks what it takes.
fn has(network: &Network, side: Side, program: &str, words: &str) -> bool {
    let output =
        network.at(side, || Command::new(program).args(words.split_whitespace()).output()).map_err(|e| e.to_string());
    match output {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            eprintln!("not run: {program} {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
            false
        }
        Err(error) => {
            eprintln!("not run: {program}: {error}");
            false
        }
    }
}

fn launching_ends(network: &Network, clock: LaunchClock) -> (UdpEndpoint, UdpEndpoint) {
    let b = network.at(Side::B, || UdpEndpoint::open(&UdpPlan::new("10.77.0.2:0".parse().unwrap()))).unwrap();
    let plan = UdpPlan {
        partner: Some(b.local()),
        options: SocketOptions { launch: Some(clock), ..SocketOptions::default() },
        ..UdpPlan::new("10.77.0.1:0".parse().unwrap())
    };
    // The discipline would drop a question for the neighbor, which has no launch time.
    network.ip(Side::A, "neighbor replace 10.77.0.2 lladdr 02:00:00:00:00:0b dev va nud permanent");
    (network.at(Side::A, || UdpEndpoint::open(&plan)).unwrap(), b)
}

/// When the driver took a packet, on another clock than CLOCK_REALTIME.
fn driver_ns(end: &mut UdpEndpoint, clock: ClockId) -> i64 {
    let deadline = deadline_ns();
    while monotonic_ns() < deadline {
        if let Some(SentStamp { stack_ns: Some(stack_ns), .. }) = end.sent_stamp() {
            let realtime = KernelClock::from(ClockId::Realtime);
            return stack_ns - now_ns(realtime) + now_ns(clock.into());
        }
    }
    panic!("no stamp of a sent packet came");
}

fn read_qdiscs(network: &Network) -> Vec<Qdisc> {
    let index = network.at(Side::A, || Interface::read("va")).unwrap().index;
    network.at(Side::A, || Qdisc::read(index)).unwrap()
}

#[test]
fn etf_holds_packets_until_their_launch_time_and_drops_what_is_too_late() {
    /// So long that no machine is late by it.
    const DELTA_NS: i32 = 10_000_000;
    let Some(network) = Network::make() else { return };
    if !has(&network, Side::A, "tc", "qdisc add dev va root etf clockid CLOCK_TAI delta 10000000") {
        return;
    }
    let tai = LaunchClock { clock: ClockId::Tai, is_deadline: false };
    let detail =
        QdiscDetail::Etf { clock: Some(ClockId::Tai), delta_ns: DELTA_NS, is_deadline: false, is_offloaded: false };
    let qdiscs = read_qdiscs(&network);
    assert_eq!(qdiscs.iter().map(|qdisc| &qdisc.detail).collect::<Vec<_>>(), [&detail]);
    assert_eq!(Qdisc::launch_support(&qdiscs, tai, 0), LaunchSupport::Honored);
    let (mut a, mut b) = launching_ends(&network, tai);
    let clock = KernelClock::from(ClockId::Tai);
    for number in 0..10_u8 {
        let at_ns = now_ns(clock) + 50_000_000;
        a.send(&[number; 50], Some(Launch { at_ns })).unwrap();
        assert_eq!(wait_and_take(&mut b).payload, [number; 50]);
        // It is handed over this long before, and no earlier; the two clocks are not read at one moment.
        let driver_ns = driver_ns(&mut a, ClockId::Tai);
        assert!(driver_ns >= at_ns - i64::from(DELTA_NS) - 50_000, "{} ns too early", at_ns - driver_ns);
    }
    assert_eq!(a.send(&[9; 50], Some(Launch { at_ns: now_ns(clock) - 1 })), Err(SendError::LaunchRefused));
    assert!(!b.wait(monotonic_ns() + 20_000_000).unwrap());
    assert_eq!(a.counters(), Counters { launch_invalid: 1, ..Counters::default() });
    // What was not sent has no number.
    a.send(b"next", Some(Launch { at_ns: now_ns(clock) + 50_000_000 })).unwrap();
    assert_eq!(wait_and_take(&mut b).payload, b"next");
    let next = stamps(&mut a, 1);
    assert_eq!(next.iter().map(|stamp| stamp.number).collect::<Vec<_>>(), [10]);
    // With another clock than its own it takes nothing.
    let monotonic = LaunchClock { clock: ClockId::Monotonic, is_deadline: false };
    assert_eq!(Qdisc::launch_support(&qdiscs, monotonic, 0), LaunchSupport::OtherClock(ClockId::Tai));
    let (mut a, mut b) = launching_ends(&network, monotonic);
    let launch = Launch { at_ns: monotonic_ns() + 1_000_000 };
    assert_eq!(a.send(&[9; 50], Some(launch)), Err(SendError::LaunchRefused));
    assert!(!b.wait(monotonic_ns() + 20_000_000).unwrap());
    assert_eq!(a.counters(), Counters { launch_invalid: 1, ..Counters::default() });
}

#[test]
fn fq_holds_packets_until_their_launch_time() {
    let Some(network) = Network::make() else { return };
    if !has(&network, Side::A, "tc", "qdisc add dev va root fq") {
        return;
    }
    let monotonic = LaunchClock { clock: ClockId::Monotonic, is_deadline: false };
    assert_eq!(Qdisc::launch_support(&read_qdiscs(&network), monotonic, 0), LaunchSupport::Honored);
    let (mut a, mut b) = launching_ends(&network, monotonic);
    for number in 0..10_u8 {
        let at_ns = monotonic_ns() + 20_000_000;
        a.send(&[number; 50], Some(Launch { at_ns })).unwrap();
        assert_eq!(wait_and_take(&mut b).payload, [number; 50]);
        let driver_ns = driver_ns(&mut a, ClockId::Monotonic);
        // The two clocks are not read at one moment.
        assert!(driver_ns >= at_ns - 50_000, "{} ns too early", at_ns - driver_ns);
    }
}

#[test]
fn taprio_is_read_with_its_gates() {
    let Some(network) = Network::make_with_queues(2) else { return };
    let words = "qdisc add dev va root taprio num_tc 2 map 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 \
                 base-time 1000000 sched-entry S 01 300000 sched-entry S 02 700000 clockid CLOCK_TAI";
    if !has(&network, Side::A, "tc", words) {
        return;
    }
    let qdiscs = read_qdiscs(&network);
    let root = qdiscs.iter().find(|qdisc| qdisc.parent == Qdisc::ROOT).unwrap();
    assert_eq!(root.kind, "taprio");
    let QdiscDetail::Taprio { clock, gates, assigns_launch_times, is_offloaded, .. } = &root.detail else { panic!() };
    assert_eq!((*clock, *assigns_launch_times, *is_offloaded), (Some(ClockId::Tai), false, false));
    let gate = |open_classes, interval_ns| Gate { open_classes, interval_ns };
    // Until its base time has come it is the schedule to come.
    assert!(gates.is_empty() || *gates == [gate(1, 300_000), gate(2, 700_000)], "{gates:?}");
}

#[test]
fn a_vlan_interface_carries_frames_and_leads_to_the_tag() {
    let Some(network) = Network::make() else { return };
    for (side, address) in [(Side::A, "10.78.0.1"), (Side::B, "10.78.0.2")] {
        let name = side.interface();
        if !has(&network, side, "ip", &format!("link add link {name} name {name}.5 type vlan id 5 egress 3:6")) {
            return;
        }
        network.ip(side, &format!("link set {name}.5 up"));
        network.ip(side, &format!("address add {address}/24 dev {name}.5"));
    }
    let index = network.at(Side::A, || Interface::read("va")).unwrap().index;
    let vlan = network.at(Side::A, || Interface::read("va.5")).unwrap();
    assert_eq!((vlan.vlan, vlan.kind.as_deref()), (Some(Vlan { lower_index: index, id: 5 }), Some("vlan")));
    // Frames of the VLAN interface come tagged to an end below it, with the priority that the socket's is mapped to.
    let plan = |interface: &str, partner: Side| LinkPlan { partner: Some(partner.mac()), ..LinkPlan::new(interface) };
    let options = SocketOptions { priority: Some(3), ..SocketOptions::default() };
    let mut a = network.at(Side::A, || LinkEndpoint::open(&LinkPlan { options, ..plan("va.5", Side::B) })).unwrap();
    let mut b = network.at(Side::B, || LinkEndpoint::open(&plan("vb.5", Side::A))).unwrap();
    let tag = Some(VlanTag { id: 5, priority: 6 });
    let mut below = network.at(Side::B, || LinkEndpoint::open(&LinkPlan { vlan: tag, ..plan("vb", Side::A) })).unwrap();
    a.send(&[1; 60], None).unwrap();
    assert_eq!((wait_and_take(&mut b).payload, wait_and_take(&mut below).vlan_tag), (vec![1; 60], Some(0xc005)));
    below.send(&[2; 60], None).unwrap();
    assert_eq!(wait_and_take(&mut a).payload, [2; 60]);
    // Past the stack, a route by the VLAN interface is one by the interface below it with the VLAN's tag.
    let flow = |local: &str, partner| Flow::Udp { local: local.parse().unwrap(), partner };
    let xdp = |flow, vlan| XdpPlan { vlan, modes: vec![Mode::Generic], ..XdpPlan::new("va", flow) };
    let mut stack = network.at(Side::B, || UdpEndpoint::open(&UdpPlan::new("10.78.0.2:0".parse().unwrap()))).unwrap();
    let to_stack = flow("10.78.0.1:0", Some(stack.local()));
    let untagged = network.at(Side::A, || XdpEndpoint::open(&xdp(to_stack, None))).unwrap_err().to_string();
    assert!(untagged.starts_with("packets to 10.78.0.2 leave by 'va.5' and not by 'va'"), "{untagged}");
    let mut tagged = network.at(Side::A, || XdpEndpoint::open(&xdp(to_stack, tag))).unwrap();
    stack.set_partner(tagged.local().unwrap()).unwrap();
    tagged.send(b"to the stack", None).unwrap();
    let taken = wait_and_take(&mut stack);
    assert_eq!((&*taken.payload, taken.from), (&b"to the stack"[..], Origin::Internet(tagged.local().unwrap())));
    stack.send(b"from the stack", None).unwrap();
    assert_eq!(wait_and_take(&mut tagged).payload, b"from the stack");
}

#[test]
fn hardware_stamps_both_ends_of_a_cable() {
    if Interface::read("punctual0").is_err() {
        eprintln!("not run: no hardware stamps here (the lab's module punctual_time makes two interfaces with them)");
        return;
    }
    let Some(network) = Network::make() else { return };
    for (side, name) in [(Side::A, "punctual0"), (Side::B, "punctual1")] {
        network.adopt(side, name);
        network.ip(side, &format!("link set {name} up"));
        network.ip(side, &format!("address add 10.79.0.{}/24 dev {name}", if side == Side::A { 1 } else { 2 }));
        let set = network.at(side, || Ethtool::open().unwrap().set_hardware_stamping(name, [0, 1, 1]));
        assert_eq!(set.unwrap(), [0, 1, 1]);
        let interface = network.at(side, || Interface::read(name)).unwrap();
        assert_eq!(interface.hardware_stamping, Some(HardwareStamping { sends: true, receives: ReceivedStamped::All }));
    }
    let stamps = Stamps { hardware: true, ..Stamps::SOFTWARE };
    let open = |side: Side, local: &str| {
        network.at(side, || UdpEndpoint::open(&UdpPlan { stamps, ..UdpPlan::new(local.parse().unwrap()) })).unwrap()
    };
    let (mut a, mut b) = (open(Side::A, "10.79.0.1:0"), open(Side::B, "10.79.0.2:0"));
    a.set_partner(b.local()).unwrap();
    let mut last = None;
    for number in 0..100_u64 {
        a.send(&number.to_ne_bytes(), None).unwrap();
        assert!(b.wait(deadline_ns()).unwrap());
        let (payload, received_ns) = b.receive(|got| (got.payload.to_vec(), got.hardware_ns)).unwrap().unwrap();
        assert_eq!(payload, number.to_ne_bytes());
        let mut all = SentStamp::default();
        let deadline = deadline_ns();
        while [all.queued_ns, all.stack_ns, all.hardware_ns].contains(&None) {
            assert!(monotonic_ns() < deadline, "{number}: {all:?}");
            let Some(stamp) = a.sent_stamp() else { continue };
            assert_eq!(stamp.number, number);
            all.queued_ns = all.queued_ns.or(stamp.queued_ns);
            all.stack_ns = all.stack_ns.or(stamp.stack_ns);
            all.hardware_ns = all.hardware_ns.or(stamp.hardware_ns);
        }
        // Each side has a clock of its own; both go on.
        let pair = (all.hardware_ns, received_ns);
        assert!(received_ns.is_some() && last < Some(pair), "{number}: {last:?} {pair:?}");
        last = Some(pair);
    }
    assert_eq!((a.counters(), b.counters()), (Counters::default(), Counters::default()));
}
