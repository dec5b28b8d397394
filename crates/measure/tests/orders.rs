//! A server and nodes that act, in one process, over the loopback interface. All have the same clock.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use measure::packet::PartnerGone;
use measure::pulse::{ActSetup, Dialog, Ends, NodeLink, NodeThreads, OpenOutput, Role, ServerSetup, Setup, act, order};
use measure::{Machine, RunContext, Stop};
use packet::dialog::{Endpoints, Message};
use packet::header::Session;
use record::{HardwareMode, PulseRequest, Record, RunEnd};
use units::Ns;

/// The session of a node.
pub(crate) fn session(flow: u8) -> Session {
    Session { number: 0x1234_5678_9abc_def0 + u64::from(flow), key: [7 + flow; 16] }
}

/// One side of a conversation within this process.
struct Talk {
    say: Sender<Message>,
    hear: Receiver<Message>,
    /// How long it takes to say that it is ready, and to hand its half over.
    takes: Duration,
    /// What it says right after it is ready.
    adds: Option<Message>,
    /// How often it looked for a message since it had heard that the other one is ready, and had its half.
    looked_since: Arc<[AtomicUsize; 2]>,
    has_heard: [bool; 2],
}

impl Talk {
    fn new(say: Sender<Message>, hear: Receiver<Message>, takes: Duration) -> Self {
        Self { say, hear, takes, adds: None, looked_since: Arc::default(), has_heard: [false; 2] }
    }
}

fn gone() -> PartnerGone {
    PartnerGone("the other side hung up".to_owned())
}

impl Dialog for Talk {
    fn say(&mut self, message: &Message) -> Result<(), PartnerGone> {
        if matches!(message, Message::Begin | Message::Half { .. }) {
            std::thread::sleep(self.takes);
        }
        let added = if matches!(message, Message::Begin) { self.adds.take() } else { None };
        [message.clone()].into_iter().chain(added).try_for_each(|message| self.say.send(message).map_err(|_| gone()))
    }

    fn offer(&mut self, message: &Message) -> Result<bool, PartnerGone> {
        self.say(message).map(|()| true)
    }

    fn hear(&mut self, within: Duration) -> Result<Option<Message>, PartnerGone> {
        for (looked, _) in self.looked_since.iter().zip(self.has_heard).filter(|(_, has_heard)| *has_heard) {
            looked.fetch_add(1, Ordering::Relaxed);
        }
        match self.hear.recv_timeout(within) {
            Ok(message) => {
                self.has_heard[0] |= matches!(message, Message::Begin);
                self.has_heard[1] |= matches!(message, Message::Half { .. });
                Ok(Some(message))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

/// A request for ordinary threads, which miss as little as this machine lets them.
pub(crate) fn request(change: impl FnOnce(&mut PulseRequest)) -> PulseRequest {
    let mut request = PulseRequest {
        interval: Ns::from_ms(2),
        lead: Ns::from_ms(30),
        end: RunEnd::Samples(150),
        tolerance: Ns::from_ms(900),
        sched_priority: None,
        sync: false,
        ..PulseRequest::default()
    };
    change(&mut request);
    request
}

/// The server's record and those of so many nodes; what the test did meanwhile with the endpoints of server and node of each pair.
pub(crate) fn run(
    request: &PulseRequest,
    nodes: u8,
    meanwhile: impl FnOnce(&[(Endpoints, Endpoints)]),
) -> (Record, Vec<Record>) {
    let (record, nodes, _) = run_slowly(request, &vec![(Duration::ZERO, None); nodes.into()], meanwhile);
    (record, nodes)
}

/// The same with nodes that take so long to say that they are ready, and to hand their halves over, and of which one may say something
/// more when it is ready; how often the server looked for a message of each since.
fn run_slowly(
    request: &PulseRequest,
    take: &[(Duration, Option<Message>)],
    meanwhile: impl FnOnce(&[(Endpoints, Endpoints)]),
) -> (Record, Vec<Record>, Vec<[usize; 2]>) {
    let nodes = u8::try_from(take.len()).unwrap();
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (machine, context, stop) = (Machine::read(), RunContext::default(), Stop::new());
    let threads = NodeThreads { cpu: None, sched_priority: None };
    let packets = request.packets();
    let open = |role| Ends::open(&packets, role, HardwareMode::Off, local, local).unwrap();
    let names: Vec<String> = (0..nodes).map(|flow| format!("n{flow}")).collect();
    let (mut at_server, mut at_nodes, mut pairs, mut looked) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ((flow, name), (takes, adds)) in (0..nodes).zip(&names).zip(take) {
        let ((say_server, hear_node), (say_node, hear_server)) = (channel(), channel());
        let (of_server, of_node) = (open(Role::Initiator), open(Role::Partner));
        let ends = (of_server.endpoints("server", false), of_node.endpoints(name, false));
        pairs.push(ends.clone());
        let at_this = Talk::new(say_server, hear_server, Duration::ZERO);
        looked.push(Arc::clone(&at_this.looked_since));
        at_server.push((of_server, ends.1, at_this, flow));
        let at_node = Talk { adds: adds.clone(), ..Talk::new(say_node, hear_node, *takes) };
        at_nodes.push((of_node, ends.0, at_node, flow, name));
    }
    std::thread::scope(|scope| {
        let (machine, context, stop, packets) = (&machine, &context, &stop, &packets);
        let acting: Vec<_> = at_nodes
            .into_iter()
            .map(|(ends, server, mut talk, flow, name)| {
                scope.spawn(move || {
                    let setup = Setup {
                        request: packets,
                        role: Role::Partner,
                        threads,
                        session: session(flow),
                        node: name,
                        machine,
                        context,
                        stop,
                        sink: None,
                        explain: None,
                    };
                    let acts = ActSetup { request, flow, output: OpenOutput::nothing() };
                    act(&setup, acts, ends, &server, &mut talk, &mut |_| {}).unwrap()
                })
            })
            .collect();
        let ordering = scope.spawn(move || {
            let setup = ServerSetup { request, threads, node: "server", machine, context, stop, sink: None };
            let mut at_server = at_server;
            let links = at_server
                .drain(..)
                .map(|(ends, endpoints, talk, flow)| (session(flow), ends, endpoints, talk))
                .collect::<Vec<_>>();
            let mut talks = Vec::new();
            let mut parts = Vec::new();
            for (session, ends, endpoints, talk) in links {
                talks.push(talk);
                parts.push((session, ends, endpoints));
            }
            let links = parts
                .into_iter()
                .zip(&mut talks)
                .map(|((session, ends, endpoints), dialog)| NodeLink { session, ends, endpoints, dialog })
                .collect();
            order(&setup, links, &mut |_| {}).unwrap()
        });
        meanwhile(&pairs);
        let record = ordering.join().unwrap();
        let looked = looked.iter().map(|looked| [0, 1].map(|which| looked[which].load(Ordering::Relaxed))).collect();
        (record, acting.into_iter().map(|node| node.join().unwrap()).collect(), looked)
    })
}

#[test]
fn a_node_that_waits_for_a_slower_one_hears_of_the_server_meanwhile() {
    let request = request(|request| request.end = RunEnd::Samples(50));
    let (record, _, looked) = run_slowly(&request, &[(Duration::ZERO, None), (Duration::from_secs(1), None)], |_| {});
    assert!(!record.validity.has(record::ReasonCode::PartnerLost), "{:?}", record.validity);
    // While the other one gets ready, and while it hands its half over: a connection says that it lives when it is looked at.
    let [ready, has_half] = looked[0];
    assert!(ready > 20 && has_half > 20, "{looked:?}");
}

#[test]
fn what_a_node_says_while_another_gets_ready_is_heard_once_it_is() {
    let early = Message::Half { record: "no record".to_owned() };
    let take = [(Duration::ZERO, Some(early)), (Duration::from_millis(300), None)];
    let (record, _, _) = run_slowly(&request(|_| {}), &take, |_| {});
    let reasons: Vec<&str> = record.validity.reasons().iter().map(|reason| &*reason.detail).collect();
    assert!(reasons.iter().any(|why| why.contains("n0: its half cannot be read")), "{reasons:?}");
}

#[test]
fn all_nodes_hear_why_a_server_cannot_begin() {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (machine, context, stop, request) = (Machine::read(), RunContext::default(), Stop::new(), request(|_| {}));
    let packets = request.packets();
    let open = |role| Ends::open(&packets, role, HardwareMode::Off, local, local).unwrap();
    let (mut talks, mut at_nodes, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for flow in 0..2 {
        let ((say, heard), (_other, hear)) = (channel(), channel());
        talks.push(Talk::new(say, hear, Duration::ZERO));
        at_nodes.push(heard);
        parts.push((open(Role::Initiator), open(Role::Partner).endpoints(&format!("n{flow}"), false), session(flow)));
    }
    let links = parts
        .into_iter()
        .zip(&mut talks)
        .map(|((ends, endpoints, session), dialog)| NodeLink { session, ends, endpoints, dialog })
        .collect();
    // A CPU that no machine has.
    let threads = NodeThreads { cpu: Some(100_000), sched_priority: None };
    let setup = ServerSetup {
        request: &request,
        threads,
        node: "server",
        machine: &machine,
        context: &context,
        stop: &stop,
        sink: None,
    };
    let error = order(&setup, links, &mut |_| {}).unwrap_err().to_string();
    for heard in at_nodes {
        assert_eq!(heard.try_iter().last(), Some(Message::Refused { why: error.clone() }));
    }
}
