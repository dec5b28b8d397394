//! Packets past the network stack between two network namespaces: what arrives, what is left to others, and that nothing
//! stays behind.

#![allow(unsafe_code, clippy::unwrap_used, reason = "a failed step of a test is a failed test; namespaces")]

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::two_namespaces::ends::{monotonic_ns, take, wait_and_take};
use crate::two_namespaces::{Network, Side, payload};
use kernel::packet::interface::Interface;
use kernel::packet::link::{LOCAL_EXPERIMENT, VlanTag};
use kernel::packet::udp::{UdpEndpoint, UdpPlan};
use kernel::packet::xdp::{Flow, Mode, XdpEndpoint, XdpPlan};
use kernel::packet::{Counters, Launch, OpenError, Origin, PacketEndpoint, SendError};

/// Set in the child process that holds an end until it is killed.
const HOLDS: &str = "PUNCTUAL_TEST_HOLDS_XDP";

fn udp(local: &str, partner: Option<SocketAddr>) -> Flow {
    Flow::Udp { local: local.parse().unwrap(), partner }
}

fn link(partner: Option<[u8; 6]>) -> Flow {
    Flow::Link { ethertype: LOCAL_EXPERIMENT, partner }
}

fn try_open(network: &Network, side: Side, plan: &XdpPlan) -> Result<XdpEndpoint, OpenError> {
    network.at(side, || XdpEndpoint::open(plan))
}

/// An end in one mode; `None`, with the reason on standard error, where this kernel has no XDP.
fn open(network: &Network, side: Side, flow: Flow, mode: Mode) -> Option<XdpEndpoint> {
    let plan = XdpPlan { modes: vec![mode], ..XdpPlan::new(side.interface(), flow) };
    match try_open(network, side, &plan) {
        Ok(end) => Some(end),
        Err(error @ (OpenError::NoRight { .. } | OpenError::Unsupported { .. })) => {
            eprintln!("not run: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Two ends of UDP that have each other as partner.
fn two_ends(network: &Network, a: &str, b: &str, mode: Mode) -> Option<(XdpEndpoint, XdpEndpoint)> {
    let mut a = open(network, Side::A, udp(a, None), mode)?;
    let mut b = open(network, Side::B, udp(b, None), mode)?;
    let (local_a, local_b) = (a.local().unwrap(), b.local().unwrap());
    network.at(Side::A, || a.set_partner(seen_from(local_a, local_b))).unwrap();
    network.at(Side::B, || b.set_partner(seen_from(local_b, local_a))).unwrap();
    Some((a, b))
}

/// The scope of a link-local address is the number of the own interface, which differs between namespaces.
fn seen_from(own: SocketAddr, mut other: SocketAddr) -> SocketAddr {
    if let (SocketAddr::V6(own), SocketAddr::V6(other)) = (own, &mut other) {
        other.set_scope_id(own.scope_id());
    }
    other
}

fn program_on(network: &Network, side: Side) -> Option<u32> {
    network.at(side, || Interface::read(side.interface())).unwrap().xdp_program
}

/// The program goes when the last file of it is closed; a process that another test starts meanwhile has a copy of it until
/// its own program runs.
fn assert_no_program_on(network: &Network, side: Side) {
    let began = Instant::now();
    while program_on(network, side).is_some() {
        assert!(began.elapsed() < Duration::from_secs(5), "the program is still there");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn round_trips(a: &mut XdpEndpoint, b: &mut XdpEndpoint, sizes: &[usize], origins: [Origin; 2], vlan_tag: Option<u16>) {
    let one_way = |from: &mut XdpEndpoint, to: &mut XdpEndpoint, bytes, origin| {
        let sent = payload(bytes);
        from.send(&sent, None).unwrap();
        let taken = wait_and_take(to);
        assert!(taken.payload == sent, "{bytes} bytes came as {}", taken.payload.len());
        assert_eq!((taken.from, taken.vlan_tag, taken.stack_ns), (origin, vlan_tag, None));
    };
    for &bytes in sizes {
        one_way(a, b, bytes, origins[0]);
        one_way(b, a, bytes, origins[1]);
    }
    assert_eq!((a.counters(), b.counters()), (Counters::default(), Counters::default()));
    assert_eq!((a.sent_stamp(), take(a).is_none(), take(b).is_none()), (None, true, true));
}

#[test]
fn payloads_of_all_sizes_go_both_ways_in_each_mode_and_over_both_versions_of_ip() {
    let Some(network) = Network::make() else { return };
    let link_local = |side: Side| {
        let index = network.at(side, || Interface::read(side.interface())).unwrap().index;
        format!("[{}%{index}]:0", side.link_local())
    };
    for mode in [Mode::Native, Mode::Generic] {
        for (a, b, header_bytes) in [
            ("10.77.0.1:0".to_owned(), "0.0.0.0:0".to_owned(), 28),
            ("[fd77::1]:0".to_owned(), "[::]:0".to_owned(), 48),
            (link_local(Side::A), link_local(Side::B), 48),
        ] {
            let Some((mut a, mut b)) = two_ends(&network, &a, &b, mode) else { return };
            assert_eq!((a.mode(), b.mode(), a.queue_count()), (mode, mode, 1));
            let (local_a, local_b) = (a.local().unwrap(), b.local().unwrap());
            let origins = [seen_from(local_b, local_a), seen_from(local_a, local_b)].map(Origin::Internet);
            let most_bytes = 1_500 - header_bytes;
            round_trips(&mut a, &mut b, &[0, 1, 64, 1_400, most_bytes], origins, None);
            assert_eq!(a.largest_payload(), most_bytes);
            let too_large = SendError::TooLarge { bytes: most_bytes + 1, most_bytes };
            assert_eq!(a.send(&payload(most_bytes + 1), None), Err(too_large));
            assert_eq!(a.send(&[1], Some(Launch { at_ns: 1 })), Err(SendError::NoLaunchTime));
        }
    }
}

#[test]
fn frames_of_an_ethertype_go_both_ways_with_and_without_a_tag() {
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        for vlan in [None, Some(VlanTag { id: 5, priority: 3 })] {
            let end = |side: Side, partner: Side| {
                let plan =
                    XdpPlan { modes: vec![mode], vlan, ..XdpPlan::new(side.interface(), link(Some(partner.mac()))) };
                try_open(&network, side, &plan).unwrap()
            };
            if open(&network, Side::A, link(None), mode).is_none() {
                return;
            }
            let (mut a, mut b) = (end(Side::A, Side::B), end(Side::B, Side::A));
            let origins = [Side::A, Side::B].map(|side| Origin::Link(side.mac()));
            round_trips(&mut a, &mut b, &[46, 64, 1_400, 1_500], origins, vlan.map(|_| 0x6005));
        }
    }
}

#[test]
fn datagrams_with_a_tag_are_ours_too() {
    let Some(network) = Network::make() else { return };
    let Some(mut b) = open(&network, Side::B, udp("10.77.0.2:0", None), Mode::Generic) else { return };
    let vlan = Some(VlanTag { id: 9, priority: 1 });
    let plan = XdpPlan { vlan, ..XdpPlan::new("va", udp("10.77.0.1:0", b.local())) };
    let mut a = try_open(&network, Side::A, &plan).unwrap();
    a.send(b"tagged", None).unwrap();
    let taken = wait_and_take(&mut b);
    assert_eq!((&*taken.payload, taken.vlan_tag), (&b"tagged"[..], Some(0x2009)));
}

#[test]
fn packets_of_large_mtus_fit_as_far_as_a_page_does() {
    let Some(network) = Network::make() else { return };
    for side in [Side::A, Side::B] {
        network.ip(side, &format!("link set {} mtu 9000", side.interface()));
    }
    let Some((mut a, mut b)) = two_ends(&network, "10.77.0.1:0", "10.77.0.2:0", Mode::Generic) else { return };
    let most_bytes = a.largest_payload();
    assert_eq!(most_bytes, 4_096 - 256 - 18 - 28);
    let origins = [a.local(), b.local()].map(|local| Origin::Internet(local.unwrap()));
    round_trips(&mut a, &mut b, &[1, 3_000, most_bytes], origins, None);
    assert!(matches!(a.send(&payload(9_000), None), Err(SendError::TooLarge { .. })));
}

#[test]
fn a_partner_in_the_stack_is_understood_and_understands() {
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        for (a, b) in [("10.77.0.1:0", "10.77.0.2:0"), ("[fd77::1]:0", "[fd77::2]:0")] {
            let mut stack = network.at(Side::A, || UdpEndpoint::open(&UdpPlan::new(a.parse().unwrap()))).unwrap();
            let Some(mut xdp) = open(&network, Side::B, udp(b, Some(stack.local())), mode) else { return };
            // It was opened in the other namespace, where the partner's neighbor was looked up.
            stack.set_partner(xdp.local().unwrap()).unwrap();
            for bytes in [0, 64, 1_401] {
                let (there, back) = (payload(bytes), payload(bytes));
                stack.send(&there, None).unwrap();
                let taken = wait_and_take(&mut xdp);
                assert!(taken.payload == there);
                assert_eq!(taken.from, Origin::Internet(stack.local()));
                // The stack throws a wrong checksum away.
                xdp.send(&back, None).unwrap();
                let taken = wait_and_take(&mut stack);
                assert!(taken.payload == back && taken.stack_ns.is_some());
            }
            assert_eq!((xdp.counters(), stack.counters()), (Counters::default(), Counters::default()));
        }
    }
}

#[test]
fn what_is_not_ours_is_left_to_the_stack() {
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let Some(mut xdp) = open(&network, Side::B, udp("10.77.0.2:0", None), mode) else { return };
        let port = xdp.local().unwrap().port();
        let sender = network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap();
        let sender_v6 = network.at(Side::A, || UdpSocket::bind("[fd77::1]:0")).unwrap();
        let socket = |address: &str| {
            let socket = network.at(Side::B, || UdpSocket::bind(address)).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket
        };
        network.ip(Side::B, "address replace 10.77.0.3/24 dev vb");
        // Another port, another address with the same port, the other version of IP with the same port.
        let others =
            [socket("10.77.0.2:0"), socket(&format!("10.77.0.3:{port}")), socket(&format!("[fd77::2]:{port}"))];
        for (place, other) in others.iter().enumerate() {
            let sender = if place == 2 { &sender_v6 } else { &sender };
            sender.send_to(b"theirs", other.local_addr().unwrap()).unwrap();
            let mut room = [0; 100];
            assert_eq!(other.recv(&mut room).unwrap(), 6, "{mode:?}, {place}");
        }
        // Fragments of a datagram for our own port are the stack's, and what it makes of them is not ours either.
        sender.send_to(&payload(3_000), xdp.local().unwrap()).unwrap();
        sender.send_to(b"ours", xdp.local().unwrap()).unwrap();
        assert_eq!(wait_and_take(&mut xdp).payload, b"ours");
        assert!(take(&mut xdp).is_none());
        assert_eq!(xdp.counters(), Counters::default());
        let replies = network.at(Side::A, || Command::new("ping").args(["-c", "1", "10.77.0.2"]).output());
        match replies {
            Ok(replies) => assert!(replies.status.success(), "{replies:?}"),
            Err(error) => eprintln!("not shown: ping: {error}"),
        }
    }
}

#[test]
fn packets_of_others_come_with_their_origin_and_damaged_ones_are_counted() {
    let Some(network) = Network::make() else { return };
    let Some(mut b) = open(&network, Side::B, udp("10.77.0.2:0", None), Mode::Generic) else { return };
    let stranger = network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap();
    stranger.send_to(b"hello", b.local().unwrap()).unwrap();
    let taken = wait_and_take(&mut b);
    assert_eq!((&*taken.payload, taken.from), (&b"hello"[..], Origin::Internet(stranger.local_addr().unwrap())));
    // The same frame with another byte in it, so that its checksum is wrong.
    let mut raw = network
        .at(Side::A, || {
            let plan = kernel::packet::link::LinkPlan {
                ethertype: 0x0800,
                partner: Some(Side::B.mac()),
                ..kernel::packet::link::LinkPlan::new("va")
            };
            kernel::packet::link::LinkEndpoint::open(&plan)
        })
        .unwrap();
    let port = b.local().unwrap().port().to_be_bytes();
    let mut packet = vec![
        0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2, 1, 2, port[0], port[1], 0, 9, 1, 1, 7,
    ];
    let sum: u32 = packet[..20].chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let checksum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    raw.send(&packet, None).unwrap();
    stranger.send_to(b"after", b.local().unwrap()).unwrap();
    assert_eq!(wait_and_take(&mut b).payload, b"after");
    assert_eq!(b.counters(), Counters { receive_damaged: 1, ..Counters::default() });
}

#[test]
fn many_packets_come_in_order_and_memory_is_used_again() {
    const PACKETS: u64 = 20_000;
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let Some((a, b)) = two_ends(&network, "10.77.0.1:0", "10.77.0.2:0", mode) else { return };
        let (mut sender, _) = a.split();
        let (_, mut receiver) = b.split();
        assert_eq!(receiver.send(&[1], None), Err(SendError::NoPartner));
        assert!(take(&mut sender).is_none());
        let received = Arc::new(AtomicU64::new(0));
        let counting = Arc::clone(&received);
        let receiving = std::thread::spawn(move || {
            for number in 0..PACKETS {
                assert_eq!(wait_and_take(&mut receiver).payload, number.to_ne_bytes());
                counting.store(number + 1, Ordering::Relaxed);
            }
            receiver.counters()
        });
        for number in 0..PACKETS {
            sender.send(&number.to_ne_bytes(), None).unwrap();
            // The receiver has room for 512.
            while number - received.load(Ordering::Relaxed).min(number) > 400 && !receiving.is_finished() {
                std::thread::yield_now();
            }
        }
        assert_eq!(receiving.join().unwrap(), Counters::default());
    }
}

#[test]
fn what_has_no_room_is_counted() {
    const PACKETS: u64 = 200;
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let plan = XdpPlan { modes: vec![mode], receive_slots: 64, ..XdpPlan::new("vb", udp("10.77.0.2:0", None)) };
        let Ok(mut b) = try_open(&network, Side::B, &plan) else { return };
        let sender = network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap();
        for _ in 0..PACKETS {
            sender.send_to(&[5; 50], b.local().unwrap()).unwrap();
        }
        let mut taken = 0;
        while b.wait(monotonic_ns() + 50_000_000).unwrap() {
            taken += u64::from(take(&mut b).is_some());
        }
        assert!((64..PACKETS).contains(&taken), "{taken}");
        assert_eq!(b.counters().receive_dropped, PACKETS - taken, "{mode:?}");
    }
}

#[test]
fn each_queue_of_an_interface_is_received_from() {
    let Some(network) = Network::make_with_queues(2) else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let Some(mut b) = open(&network, Side::B, udp("10.77.0.2:0", None), mode) else { return };
        assert_eq!(b.queue_count(), 2);
        // Flows are spread over the queues by a hash of their ports.
        let senders: Vec<_> =
            (0..64).map(|_| network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap()).collect();
        for sender in &senders {
            sender.send_to(b"x", b.local().unwrap()).unwrap();
        }
        let mut origins: Vec<_> = senders.iter().map(|_| wait_and_take(&mut b).from).collect();
        let mut expected: Vec<_> =
            senders.iter().map(|sender| Origin::Internet(sender.local_addr().unwrap())).collect();
        for list in [&mut origins, &mut expected] {
            list.sort_by_key(|origin| format!("{origin:?}"));
        }
        assert_eq!(origins, expected, "{mode:?}");
    }
}

#[test]
fn the_best_mode_that_works_is_taken_and_the_better_ones_are_named() {
    let Some(network) = Network::make() else { return };
    if open(&network, Side::B, link(None), Mode::Generic).is_none() {
        return;
    }
    let best = try_open(&network, Side::B, &XdpPlan::new("vb", link(None))).unwrap();
    // A virtual interface has no hardware that could write to our memory.
    assert_eq!(best.mode(), Mode::Native);
    assert_eq!(best.refused_modes().iter().map(|refused| refused.mode).collect::<Vec<_>>(), [Mode::ZeroCopy]);
    drop(best);
    let only = XdpPlan { modes: vec![Mode::ZeroCopy], ..XdpPlan::new("vb", link(None)) };
    let error = try_open(&network, Side::B, &only).unwrap_err().to_string();
    assert!(error.starts_with("no mode of XDP works on 'vb': zero-copy: queue 0 is not bound: "), "{error}");
    assert_no_program_on(&network, Side::B);
}

#[test]
fn somebody_else_s_program_is_named_and_left_alone() {
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let Some(mut theirs) = open(&network, Side::B, udp("10.77.0.2:0", None), mode) else { return };
        let before = program_on(&network, Side::B);
        for modes in [Mode::ALL.to_vec(), vec![Mode::Generic], vec![Mode::Native]] {
            let plan = XdpPlan { modes, ..XdpPlan::new("vb", link(None)) };
            match try_open(&network, Side::B, &plan).unwrap_err() {
                OpenError::ForeignXdp { interface, id, name } => {
                    assert_eq!((&*interface, Some(id), &*name), ("vb", before, "punctual"));
                }
                other => panic!("{other}"),
            }
        }
        assert_eq!(program_on(&network, Side::B), before);
        let sender = network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap();
        sender.send_to(b"still here", theirs.local().unwrap()).unwrap();
        assert_eq!(wait_and_take(&mut theirs).payload, b"still here");
    }
}

#[test]
fn nothing_stays_behind_and_the_queue_can_be_taken_again_at_once() {
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        for _ in 0..5 {
            let Some(end) = open(&network, Side::B, udp("10.77.0.2:0", None), mode) else { return };
            assert!(program_on(&network, Side::B).is_some());
            // The port is held, so that nobody is told that it is closed.
            let local = end.local().unwrap();
            let taken = network.at(Side::B, || UdpSocket::bind(local)).unwrap_err();
            assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
            let (sender, receiver) = end.split();
            drop(sender);
            assert!(program_on(&network, Side::B).is_some(), "the other half is at work");
            drop(receiver);
            assert_no_program_on(&network, Side::B);
            let began = Instant::now();
            while network.at(Side::B, || UdpSocket::bind(local)).is_err() {
                assert!(began.elapsed() < Duration::from_secs(5), "the port is still held");
            }
        }
    }
}

/// No test of its own: what the next one starts and kills.
#[test]
fn holder() {
    if std::env::var_os(HOLDS).is_none() {
        return;
    }
    let _end = XdpEndpoint::open(&XdpPlan::new("vb", udp("10.77.0.2:4000", None))).unwrap();
    println!("holding");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_no_program_behind() {
    let Some(network) = Network::make() else { return };
    if open(&network, Side::B, link(None), Mode::Generic).is_none() {
        return;
    }
    let mut child = network.at(Side::B, || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "packet_xdp::holder", "--nocapture"])
            .env(HOLDS, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("holding")), "it could not open its end");
    assert!(program_on(&network, Side::B).is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_no_program_on(&network, Side::B);
    // Nor its socket: the queue can be taken.
    let end = try_open(&network, Side::B, &XdpPlan::new("vb", udp("10.77.0.2:4000", None))).unwrap();
    assert_eq!(end.mode(), Mode::Native);
}

#[test]
fn what_an_interface_that_is_down_did_not_take_is_not_sent_later() {
    let Some(network) = Network::make() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let Some((mut a, mut b)) = two_ends(&network, "10.77.0.1:0", "10.77.0.2:0", mode) else { return };
        network.ip(Side::A, "link set va down");
        // More than there is room for.
        for _ in 0..300 {
            let refused = a.send(b"lost", None).unwrap_err();
            assert!(matches!(refused, SendError::Refused { errno: libc::ENETDOWN } | SendError::Full), "{refused}");
        }
        network.ip(Side::A, "link set va up");
        let began = Instant::now();
        let received = loop {
            let _ = a.send(b"sent", None);
            if b.wait(monotonic_ns() + 10_000_000).unwrap() {
                if let Some(taken) = take(&mut b) {
                    break taken;
                }
            }
            assert!(began.elapsed() < Duration::from_secs(5), "nothing is sent any more");
        };
        assert_eq!(received.payload, b"sent");
        while let Some(taken) = take(&mut b) {
            assert_eq!(taken.payload, b"sent");
        }
    }
}

#[test]
fn a_wait_ends_at_its_deadline_and_when_the_interface_is_gone() {
    let Some(network) = Network::make() else { return };
    let Some(mut b) = open(&network, Side::B, udp("10.77.0.2:0", None), Mode::Native) else { return };
    let deadline = monotonic_ns() + 10_000_000;
    assert!(!b.wait(deadline).unwrap());
    assert!(monotonic_ns() >= deadline);
    network.ip(Side::B, "link delete vb");
    assert_eq!(b.wait(monotonic_ns() + 10_000_000).unwrap_err().errno, libc::ENETDOWN);
}

#[test]
fn opening_fails_with_what_where_and_the_remedy() {
    let Some(network) = Network::make() else { return };
    if open(&network, Side::A, link(None), Mode::Generic).is_none() {
        return;
    }
    let error = |plan: &XdpPlan| try_open(&network, Side::A, plan).unwrap_err();
    let partner = |text: &str| Some(text.parse().unwrap());
    let flow = |flow| XdpPlan::new("va", flow);
    assert!(matches!(error(&XdpPlan::new("vb", link(None))), OpenError::NoInterface { .. }));
    let nobody = error(&flow(udp("10.77.0.1:0", partner("10.77.0.77:1")))).to_string();
    assert!(nobody.starts_with("nobody answers for 10.77.0.77"), "{nobody}");
    let no_route = error(&flow(udp("10.77.0.1:0", partner("192.0.2.1:1")))).to_string();
    assert!(no_route.starts_with("no route to 192.0.2.1"), "{no_route}");
    let own = error(&flow(udp("10.77.0.1:0", partner("10.77.0.1:1")))).to_string();
    assert!(own.starts_with("packets to 10.77.0.1 leave by 'lo' and not by 'va'"), "{own}");
    assert!(matches!(error(&flow(udp("10.77.0.9:0", None))), OpenError::AddressMissing { .. }));
    assert!(matches!(error(&flow(udp("10.77.0.1:0", partner("[fd77::2]:1")))), OpenError::Mismatch { .. }));
    let holder = network.at(Side::A, || UdpSocket::bind("10.77.0.1:0")).unwrap();
    let in_use = error(&flow(udp(&holder.local_addr().unwrap().to_string(), None)));
    assert!(matches!(in_use, OpenError::AddressInUse { .. }), "{in_use}");
    let slots = error(&XdpPlan { receive_slots: 100, ..flow(link(None)) }).to_string();
    assert!(slots.contains("a power of two"), "{slots}");
    let mut alone = try_open(&network, Side::A, &flow(udp("10.77.0.1:0", None))).unwrap();
    assert_eq!(alone.send(&[1], None), Err(SendError::NoPartner));
    drop(alone);
    network.ip(Side::A, "link set va down");
    assert!(matches!(error(&flow(link(None))), OpenError::InterfaceDown { .. }));
    network.ip(Side::A, "address flush dev va");
    network.ip(Side::A, "link set va up");
    let no_address = error(&flow(udp("0.0.0.0:0", None))).to_string();
    assert!(no_address.contains("has no address"), "{no_address}");
}
