//! What becomes of orders that others send, double or forge, and of the clocks that nodes act by.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::net::UdpSocket;
use std::time::Duration;

use packet::header::{Header, Purpose};
use packet::stamps::EarlierStamps;
use pulse::order::{LEAST_BYTES, Order};
use record::{ActsBy, OrderCounts, Record};

use crate::orders::{request, run, session};

fn orders(record: &Record) -> Vec<OrderCounts> {
    record.pulses().unwrap().nodes.iter().map(|node| node.orders).collect()
}

/// Whether each order is counted once.
fn are_counted(orders: &OrderCounts, scheduled: u64) -> bool {
    let OrderCounts { skipped, acted, lost, too_late, refused, dropped, unknown, .. } = *orders;
    orders.scheduled == scheduled && skipped + acted + lost + too_late + refused + dropped + unknown == scheduled
}

#[test]
fn both_clocks_lead_to_the_same_counts_and_no_act_is_early() {
    for by in [ActsBy::Service, ActsBy::Exchange] {
        let (server, nodes) = run(&request(|request| request.by = by), 2, |_| ());
        assert_eq!(server.nodes.iter().count(), 3);
        for (flow, (orders, node)) in orders(&server).iter().zip(&nodes).enumerate() {
            assert!(are_counted(orders, 150) && orders.unknown == 0, "{by:?}: {orders:?}");
            assert_eq!(node.pulses().unwrap().nodes[0].orders, *orders, "node {flow} says the same");
        }
        for series in server.series.iter().filter(|series| series.name == "ordered_to_acted") {
            assert!(series.below_zero.is_none() && series.judged);
        }
    }
}

#[test]
fn what_somebody_else_sends_is_counted_apart_and_carried_out_by_nobody() {
    let (server, _) = run(&request(|request| request.end = record::RunEnd::Samples(400)), 1, |pairs| {
        std::thread::sleep(Duration::from_millis(300));
        let port = pairs[0].1.data_port.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        let packet = |sequence: u64, key_of: u8| {
            let mut bytes = [0; LEAST_BYTES];
            let header = Header {
                purpose: Purpose::Measured,
                flow: 0,
                sequence,
                sent_before: sequence,
                sent_ns: 0,
                earlier: EarlierStamps::default(),
            };
            let act_at_ns = i64::try_from(now()).unwrap() + 20_000_000;
            let mut theirs = session(0);
            theirs.key = session(key_of).key;
            let order = Order { act_at_ns, until_ns: act_at_ns + 1_000_000 };
            header.write_with(&theirs, Some(order.words()), &mut bytes);
            bytes
        };
        for number in 0..50 {
            // Nothing of it, the right number with a wrong key, and the first order once more: with the right key, as a recording.
            socket.send_to(b"hello", ("127.0.0.1", port)).unwrap();
            socket.send_to(&packet(5_000 + number, 9), ("127.0.0.1", port)).unwrap();
            socket.send_to(&packet(0, 0), ("127.0.0.1", port)).unwrap();
        }
    });
    let counts = orders(&server)[0];
    assert!(are_counted(&counts, 400) && counts.acted <= 400 && counts.unknown == 0, "{counts:?}");
    let flow = &server.packets().unwrap().flows[0];
    assert_eq!((flow.foreign, flow.forged), (50, 50), "{flow:?}");
    assert_eq!(flow.doubled, 50, "{flow:?}");
    let acted = server.series.iter().find(|series| series.name == "ordered_to_acted").unwrap();
    assert_eq!(acted.taken(), counts.acted, "a copy is not carried out");
}
