//! A server and nodes that act, in one process, over the loopback interface. All have the same clock.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::net::SocketAddr;
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
}

fn gone() -> PartnerGone {
    PartnerGone("the other side hung up".to_owned())
}

impl Dialog for Talk {
    fn say(&mut self, message: &Message) -> Result<(), PartnerGone> {
        self.say.send(message.clone()).map_err(|_| gone())
    }

    fn offer(&mut self, message: &Message) -> Result<bool, PartnerGone> {
        self.say(message).map(|()| true)
    }

    fn hear(&mut self, within: Duration) -> Result<Option<Message>, PartnerGone> {
        match self.hear.recv_timeout(within) {
            Ok(message) => Ok(Some(message)),
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
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (machine, context, stop) = (Machine::read(), RunContext::default(), Stop::new());
    let threads = NodeThreads { cpu: None, sched_priority: None };
    let packets = request.packets();
    let open = |role| Ends::open(&packets, role, HardwareMode::Off, local, local).unwrap();
    let names: Vec<String> = (0..nodes).map(|flow| format!("n{flow}")).collect();
    let (mut at_server, mut at_nodes, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for (flow, name) in (0..nodes).zip(&names) {
        let ((say_server, hear_node), (say_node, hear_server)) = (channel(), channel());
        let (of_server, of_node) = (open(Role::Initiator), open(Role::Partner));
        let ends = (of_server.endpoints("server", false), of_node.endpoints(name, false));
        pairs.push(ends.clone());
        at_server.push((of_server, ends.1, Talk { say: say_server, hear: hear_server }, flow));
        at_nodes.push((of_node, ends.0, Talk { say: say_node, hear: hear_node }, flow, name));
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
        (record, acting.into_iter().map(|node| node.join().unwrap()).collect())
    })
}
