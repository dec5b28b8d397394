//! One-way delays of each path between two network namespaces, as a first look; `measure packet` measures them properly.
//!
//! `cargo run --release -p punctual-kernel --example one_way -- [PACKETS]`, as root. It takes a veth pair of its own, which
//! is gone afterwards, and real-time priority, which it gives up for most of each period.

#![allow(unsafe_code, clippy::unwrap_used, reason = "an example shows what fails by failing; namespaces")]

#[path = "../tests/two_namespaces/mod.rs"]
mod two_namespaces;

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::packet::link::{LinkEndpoint, LinkPlan};
use kernel::packet::udp::{UdpEndpoint, UdpPlan};
use kernel::packet::xdp::{Flow, Mode, XdpEndpoint, XdpPlan};
use kernel::packet::{PacketEndpoint, Stamps};
use kernel::sched::{self, Policy};
use two_namespaces::{Network, Side};
use units::ClockId;

const PERIOD_NS: i64 = 500_000;
/// Where in a period a receiver that spins begins to, after a packet.
const SLEEP_NS: i64 = 350_000;
const PAYLOAD_BYTES: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receive {
    Blocking,
    Spinning,
}

/// Sends `packets` on a schedule; delays from the program that sends to the one that receives (ns).
fn measure(
    mut a: impl PacketEndpoint + Send,
    mut b: impl PacketEndpoint + Send,
    packets: usize,
    receive: Receive,
) -> Vec<i64> {
    let monotonic = KernelClock::from(ClockId::Monotonic);
    let start_ns = now_ns(monotonic) + 20_000_000;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin(0);
            let mut schedule = Schedule::at_ns(start_ns);
            let mut payload = [0_u8; PAYLOAD_BYTES];
            for _ in 0..packets {
                let _ = sleep_until(monotonic, &schedule);
                payload[..8].copy_from_slice(&now_ns(monotonic).to_ne_bytes());
                let _ = a.send(&payload, None);
                while a.sent_stamp().is_some() {}
                schedule.advance(PERIOD_NS);
            }
        });
        let receiver = scope.spawn(move || {
            pin(1);
            let mut delays = Vec::with_capacity(packets);
            let end_ns = start_ns + i64::try_from(packets).unwrap() * PERIOD_NS + 100_000_000;
            while delays.len() < packets && now_ns(monotonic) < end_ns {
                if receive == Receive::Blocking && !b.wait(end_ns).unwrap() {
                    break;
                }
                let delay = b.receive(|got| {
                    now_ns(monotonic) - i64::from_ne_bytes(got.payload.get(..8).unwrap().try_into().unwrap())
                });
                if let Some(delay_ns) = delay.unwrap() {
                    delays.push(delay_ns);
                    if receive == Receive::Spinning {
                        let _ = sleep_until(monotonic, &Schedule::at_ns(now_ns(monotonic) - delay_ns + SLEEP_NS));
                    }
                }
            }
            delays
        });
        receiver.join().unwrap()
    })
}

fn pin(place: usize) {
    let cpus: Vec<_> = sched::affinity_of(0).unwrap().iter().collect();
    sched::set_affinity(0, &[cpus[place % cpus.len()]].into_iter().collect()).unwrap();
    if sched::set_policy(Policy::Fifo(90)).is_err() {
        eprintln!("without real-time priority");
    }
}

fn show(path: &str, receive: Receive, packets: usize, mut delays: Vec<i64>) {
    delays.sort_unstable();
    let at = |part: usize| delays.get(delays.len() * part / 100).map_or(0, |ns| ns / 10);
    let us = |tens: i64| format!("{}.{:02}", tens / 100, tens % 100);
    println!(
        "{path:<24} {receive:<9?} min {:>7} us  p50 {:>7}  p90 {:>7}  p99 {:>7}  {} of {packets} received",
        us(at(0)),
        us(at(50)),
        us(at(90)),
        us(at(99)),
        delays.len()
    );
}

fn udp(network: &Network, stamps: Stamps) -> (UdpEndpoint, UdpEndpoint) {
    let open = |side: Side| {
        let local = format!("{}:0", side.v4()).parse().unwrap();
        network.at(side, || UdpEndpoint::open(&UdpPlan { stamps, ..UdpPlan::new(local) })).unwrap()
    };
    let (mut a, b) = (open(Side::A), open(Side::B));
    a.set_partner(b.local()).unwrap();
    (a, b)
}

fn link(network: &Network, stamps: Stamps) -> (LinkEndpoint, LinkEndpoint) {
    let open = |side: Side, partner: Side| {
        let plan = LinkPlan { partner: Some(partner.mac()), stamps, ..LinkPlan::new(side.interface()) };
        network.at(side, || LinkEndpoint::open(&plan)).unwrap()
    };
    (open(Side::A, Side::B), open(Side::B, Side::A))
}

fn xdp(network: &Network, mode: Mode) -> (XdpEndpoint, XdpEndpoint) {
    let open = |side: Side, partner| {
        let flow = Flow::Udp { local: "0.0.0.0:0".parse().unwrap(), partner };
        let plan = XdpPlan { modes: vec![mode], ..XdpPlan::new(side.interface(), flow) };
        network.at(side, || XdpEndpoint::open(&plan)).unwrap()
    };
    let b = open(Side::B, None);
    (open(Side::A, b.local()), b)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let packets = words.first().and_then(|word| word.parse().ok()).unwrap_or(4_000);
    let only = words.get(1).map(String::as_str);
    let network = Network::make().expect("it takes root");
    for receive in [Receive::Blocking, Receive::Spinning] {
        let wanted = |path: &str| only.is_none_or(|only| path.starts_with(only));
        // The stamps have their price, which is a part of what is measured with them.
        let stack = Stamps { stack: true, ..Stamps::default() };
        for (name, stamps) in [(" without stamps", Stamps::default()), (" stack", stack), ("", Stamps::SOFTWARE)] {
            if wanted("udp") {
                let (a, b) = udp(&network, stamps);
                show(&format!("udp{name}"), receive, packets, measure(a, b, packets, receive));
            }
            if wanted("link") {
                let (a, b) = link(&network, stamps);
                show(&format!("link{name}"), receive, packets, measure(a, b, packets, receive));
            }
        }
        for mode in [Mode::Generic, Mode::Native] {
            if wanted("xdp") {
                let (a, b) = xdp(&network, mode);
                show(&format!("xdp {}", mode.name()), receive, packets, measure(a, b, packets, receive));
            }
        }
        if wanted("mixed") {
            // Through the stack on one side, past it on the other.
            let flow = Flow::Udp { local: "0.0.0.0:0".parse().unwrap(), partner: None };
            let plan = XdpPlan { modes: vec![Mode::Native], ..XdpPlan::new("vb", flow) };
            let b = network.at(Side::B, || XdpEndpoint::open(&plan)).unwrap();
            let (mut a, _) = udp(&network, Stamps::SOFTWARE);
            a.set_partner(b.local().unwrap()).unwrap();
            show("mixed udp to xdp native", receive, packets, measure(a, b, packets, receive));
        }
    }
}
