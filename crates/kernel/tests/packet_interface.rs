//! What is read of interfaces, routes, neighbors and queueing disciplines, in namespaces where it is known.

#![allow(unsafe_code, clippy::unwrap_used, reason = "a failed step of a test is a failed test; namespaces")]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::two_namespaces::{Network, Side};
use kernel::packet::interface::{AddressOfInterface, Interface};
use kernel::packet::qdisc::{LaunchSupport, Qdisc};
use kernel::packet::route::{Route, resolve_neighbor};
use kernel::packet::{LaunchClock, LookupError};
use units::ClockId;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn an_interface_is_read_as_it_was_made() {
    let Some(network) = Network::make() else { return };
    let a = network.at(Side::A, || Interface::read("va")).unwrap();
    assert_eq!((a.mac, a.mtu_bytes, a.is_up, a.has_carrier), (Some(Side::A.mac()), 1_500, true, true));
    assert_eq!((a.kind.as_deref(), a.driver.as_deref(), a.rx_queue_count), (Some("veth"), Some("veth"), 1));
    assert_eq!((a.xdp_program, a.vlan, a.hardware_stamping), (None, None, None));
    // It stamps by software alone.
    assert_eq!(a.stamping.map(|stamping| stamping.phc_index), Some(-1));
    let expected = [("10.77.0.1", 24), ("fd77::1", 64), (Side::A.link_local(), 64)]
        .map(|(address, prefix_bits)| AddressOfInterface { address: ip(address), prefix_bits });
    assert_eq!(a.addresses, expected);
    assert_eq!(a.source_for(ip("fd77::2")), Some(ip("fd77::1")));
    assert_eq!(a.source_for(ip("fe80::1")), Some(ip(Side::A.link_local())));
    assert_eq!(a.source_for(ip("192.0.2.1")), Some(ip("10.77.0.1")));

    network.ip(Side::B, "link set vb down");
    let without_peer = network.at(Side::A, || Interface::read("va")).unwrap();
    assert!(without_peer.is_up && !without_peer.has_carrier);
    let b = network.at(Side::B, || Interface::read("vb")).unwrap();
    assert!(!b.is_up && !b.has_carrier);
    assert!(matches!(network.at(Side::B, || Interface::read("va")), Err(LookupError::NoInterface { .. })));
}

#[test]
fn a_route_names_interface_source_and_router() {
    let Some(network) = Network::make() else { return };
    let index = network.at(Side::A, || Interface::read("va")).unwrap().index;
    let to = |text: &str| network.at(Side::A, || Route::to(SocketAddr::new(ip(text), 1)));
    let direct = to("10.77.0.2").unwrap();
    assert_eq!((direct.interface_index, direct.source, direct.gateway), (index, Some(ip("10.77.0.1")), None));
    assert!(!direct.is_local && to("10.77.0.1").unwrap().is_local);
    assert!(matches!(to("192.0.2.9"), Err(LookupError::NoRoute { to }) if to == ip("192.0.2.9")));
    assert!(matches!(to("2001:db8::9"), Err(LookupError::NoRoute { .. })));
    network.ip(Side::A, "route add 192.0.2.0/24 via 10.77.0.2");
    network.ip(Side::A, "route add unreachable 198.51.100.0/24");
    assert_eq!(to("192.0.2.9").unwrap().gateway, Some(ip("10.77.0.2")));
    assert!(matches!(to("198.51.100.1"), Err(LookupError::NoRoute { .. })));
    let scoped = format!("[{}%{index}]:1", Side::B.link_local()).parse().unwrap();
    let scoped = network.at(Side::A, || Route::to(scoped)).unwrap();
    assert_eq!((scoped.interface_index, scoped.is_local), (index, false));
    assert_eq!(network.at(Side::A, || Route::to("[fd77::2]:1".parse().unwrap())).unwrap().source, Some(ip("fd77::1")));
}

#[test]
fn a_neighbor_is_asked_for_and_one_that_does_not_answer_is_named() {
    let Some(network) = Network::make() else { return };
    let index = network.at(Side::A, || Interface::read("va")).unwrap().index;
    let resolve = |text: &str, patience| network.at(Side::A, || resolve_neighbor(index, ip(text), patience));
    for address in ["10.77.0.2", "fd77::2", Side::B.link_local()] {
        assert_eq!(resolve(address, Duration::from_secs(5)).unwrap(), Side::B.mac(), "{address}");
    }
    let nobody = resolve("10.77.0.77", Duration::from_millis(50)).unwrap_err();
    assert!(nobody.to_string().starts_with("nobody answers for 10.77.0.77"), "{nobody}");
}

#[test]
fn queueing_disciplines_are_read_from_the_root_downwards() {
    let Some(network) = Network::make() else { return };
    let index = network.at(Side::A, || Interface::read("va")).unwrap().index;
    let read = || network.at(Side::A, || Qdisc::read(index)).unwrap();
    let before: Vec<_> = read().into_iter().map(|qdisc| (qdisc.kind, qdisc.parent)).collect();
    assert_eq!(before, [("noqueue".to_owned(), Qdisc::ROOT)]);
    network.at(Side::A, || {
        for words in [
            "qdisc add dev va root handle 7: htb default 1",
            "class add dev va parent 7: classid 7:1 htb rate 1gbit",
            "qdisc add dev va parent 7:1 handle 8: pfifo limit 5",
        ] {
            let done = std::process::Command::new("tc").args(words.split(' ')).output().unwrap();
            assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
        }
    });
    let disciplines = read();
    let seen: Vec<_> = disciplines.iter().map(|qdisc| (&*qdisc.kind, qdisc.handle, qdisc.parent)).collect();
    assert_eq!(seen, [("htb", 0x7_0000, Qdisc::ROOT), ("pfifo", 0x8_0000, 0x7_0001)]);
    let wanted = LaunchClock { clock: ClockId::Tai, is_deadline: false };
    assert_eq!(Qdisc::launch_support(&disciplines, wanted, 0), LaunchSupport::Ignored);
}
