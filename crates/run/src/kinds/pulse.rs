//! Nodes that act at ordered times: this one orders, or acts.

use std::net::SocketAddr;

use kernel::sched::Policy;
use measure::Machine;
use measure::packet::{Ends, NodeThreads, PacketError, Role, Setup, wants_half};
use measure::pulse::{self as measured, ActSetup, NodeLink, OpenOutput, ServerSetup};
use packet::dialog::{Endpoints, Message};
use record::{HardwareMode, Live, PulseRequest, Record, RunEnd};
use units::CpuSet;

use super::About;
use super::packet::say_why;
use crate::error::RunError;
use crate::partner::{Acts, Connected, Part};
use crate::prepared::Beside;
use crate::surroundings::Surroundings;

#[derive(Debug)]
pub(super) struct Planned {
    request: PulseRequest,
    part: Part,
    housekeeping: CpuSet,
}

impl Planned {
    pub(super) fn new(request: PulseRequest, part: Option<&Part>, machine: &Machine) -> Result<Self, RunError> {
        let part = part.cloned().unwrap_or_else(|| Part::asking(&request.packets(), None));
        let threads = NodeThreads { cpu: part.cpu, sched_priority: part.sched_priority };
        measured::check(&request, part.role, threads, machine).map_err(RunError::usage)?;
        Ok(Self { request, part, housekeeping: machine.housekeeping(&machine.isolated) })
    }

    fn threads(&self) -> NodeThreads {
        NodeThreads { cpu: self.part.cpu, sched_priority: self.part.sched_priority }
    }

    /// This node orders: all others are connected.
    fn order(self, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, mut partners, .. } = beside;
        let Some(node) = partners.first().map(|partner| partner.node) else {
            return Err(RunError::usage("orders go to other nodes, and none is connected"));
        };
        let setup = ServerSetup {
            request: &self.request,
            threads: self.threads(),
            node,
            machine: surroundings.machine,
            context,
            stop,
            sink,
        };
        let packets = self.request.packets();
        let wants_half = wants_half(sink, self.request.end);
        let mut agreed = Vec::new();
        for number in 0..partners.len() {
            let one = agree_with(&mut partners, number, |(local, reaches)| {
                let ends = Ends::open(&packets, Role::Initiator, HardwareMode::Off, local, reaches)?;
                let endpoints = ends.endpoints(node, wants_half);
                Ok((ends, endpoints))
            });
            match one {
                Ok(one) => agreed.push(one),
                Err(error) => {
                    // Those that are ready are told why nothing comes.
                    partners.iter_mut().take(number).for_each(|other| say(other, &error));
                    return Err(error);
                }
            }
        }
        let names = agreed.iter().map(|(_, endpoints)| &*endpoints.node);
        if let Err(error) = distinct(node, names) {
            partners.iter_mut().for_each(|other| say(other, &error));
            return Err(error);
        }
        let links = partners.into_iter().zip(agreed).map(|(Connected { session, partner, .. }, (ends, endpoints))| {
            NodeLink { session, ends, endpoints, dialog: partner.dialog() }
        });
        let links = links.collect();
        watch.begins();
        measured::order(&setup, links, &mut |so_far: &Live| watch.live(so_far)).map_err(RunError::failed)
    }

    /// This node acts.
    fn act(self, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, partners, .. } = beside;
        let Some(Connected { node, addresses: (local, reaches), session, partner }) = partners.into_iter().next()
        else {
            return Err(RunError::usage("a node acts when a server orders it, and none is connected"));
        };
        let Some(acts) = &self.part.acts else {
            return Err(RunError::usage("it is not said what this node switches when it is ordered to"));
        };
        let packets = self.request.packets();
        let opened = Ends::open(&packets, Role::Partner, HardwareMode::Off, local, reaches)
            .map_err(PacketError::from)
            .and_then(|ends| Ok((ends, open(acts).map_err(|error| PacketError::Failed(error.to_string()))?)));
        let (ends, output) = opened.map_err(|error| {
            say_why(partner.dialog(), &error);
            RunError::failed(error)
        })?;
        let setup = Setup {
            request: &packets,
            role: Role::Partner,
            threads: self.threads(),
            session,
            node,
            machine: surroundings.machine,
            context,
            stop,
            sink,
            explain: None,
        };
        let server = partner.agree(ends.endpoints(node, false), &mut || {}).map_err(RunError::failed)?;
        watch.begins();
        let act = ActSetup { request: &self.request, flow: acts.flow, output };
        let dialog = partner.dialog();
        measured::act(&setup, act, ends, &server, dialog, &mut |so_far: &Live| watch.live(so_far)).map_err(|error| {
            say_why(dialog, &error);
            RunError::failed(error)
        })
    }
}

fn open(acts: &Acts) -> Result<OpenOutput, measured::OutputError> {
    acts.output.as_ref().map_or_else(|| Ok(OpenOutput::nothing()), OpenOutput::open)
}

/// Opens this node's ends for one of its partners and agrees with it; the others are kept waiting meanwhile.
fn agree_with(
    partners: &mut [Connected<'_>],
    number: usize,
    open: impl FnOnce((SocketAddr, SocketAddr)) -> Result<(Ends, Endpoints), PacketError>,
) -> Result<(Ends, Endpoints), RunError> {
    let (before, from) = partners.split_at_mut(number);
    let Some((one, behind)) = from.split_first_mut() else {
        return Err(RunError::usage("there is no such partner"));
    };
    let (ends, own) = open(one.addresses).map_err(RunError::failed)?;
    let mut meanwhile = || before.iter_mut().chain(behind.iter_mut()).for_each(|other| other.partner.keep_alive());
    let endpoints = one.partner.agree(own, &mut meanwhile).map_err(RunError::failed)?;
    Ok((ends, endpoints))
}

/// Tells a partner why the run does not take place; one that is gone does not hear it.
fn say(to: &mut Connected<'_>, why: &RunError) {
    let _ = to.partner.dialog().say(&Message::Refused { why: why.to_string() });
}

/// Whether the nodes of a run can be told apart by their names.
fn distinct<'a>(own: &'a str, nodes: impl Iterator<Item = &'a str>) -> Result<(), RunError> {
    let mut names: Vec<&str> = nodes.chain([own]).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(RunError::failed(format!(
            "two nodes of this run are called {}: give them different host names, or say who they are with 'punctual listen --name'",
            pair[0]
        ))),
        None => Ok(()),
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        About {
            measured: CpuSet::new(),
            housekeeping: self.housekeeping.clone(),
            policy: self.part.sched_priority.map(Policy::Fifo),
            length_ns: match self.request.end {
                RunEnd::After(length) => Some(length.unsigned()),
                RunEnd::Samples(_) | RunEnd::WhenTold => None,
            },
            heading: String::new(),
            hands_on: true,
            tells_turns: false,
            no_load: Some("orders are sent without a load of their own; start it beside"),
            measures_cost_first: false,
        }
    }

    fn measure(self: Box<Self>, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        match self.part.role {
            Role::Initiator => self.order(surroundings, beside),
            Role::Partner => self.act(surroundings, beside),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use measure::packet::{Dialog, PartnerGone};
    use packet::header::Session;

    use super::*;
    use crate::partner::Partner;

    /// Looks at the others three times before it answers, and counts how often it was looked at itself.
    #[derive(Default)]
    struct Slow {
        kept_alive: u32,
        said: Vec<Message>,
    }

    impl Dialog for Slow {
        fn say(&mut self, message: &Message) -> Result<(), PartnerGone> {
            self.said.push(message.clone());
            Ok(())
        }

        fn offer(&mut self, message: &Message) -> Result<bool, PartnerGone> {
            self.say(message).map(|()| true)
        }

        fn hear(&mut self, _: std::time::Duration) -> Result<Option<Message>, PartnerGone> {
            Ok(None)
        }
    }

    impl Partner for Slow {
        fn dialog(&mut self) -> &mut dyn Dialog {
            self
        }

        fn agree(
            &mut self,
            own: Endpoints,
            meanwhile: &mut dyn FnMut(),
        ) -> Result<Endpoints, Box<dyn std::error::Error + Send + Sync>> {
            (0..3).for_each(|_| meanwhile());
            Ok(own)
        }

        fn keep_alive(&mut self) {
            self.kept_alive += 1;
        }
    }

    #[test]
    fn while_one_node_is_asked_the_others_are_kept_waiting() {
        let mut nodes: Vec<Slow> = (0..3).map(|_| Slow::default()).collect();
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let session = Session { number: 1, key: [1; 16] };
        let connected = |partner| Connected { node: "here", addresses: (local, local), session, partner };
        let mut partners: Vec<Connected<'_>> =
            nodes.iter_mut().map(|node| connected(node as &mut dyn Partner)).collect();
        let packets = PulseRequest::default().packets();
        let agreed = agree_with(&mut partners, 1, |(local, reaches)| {
            let ends = Ends::open(&packets, Role::Initiator, HardwareMode::Off, local, reaches)?;
            let endpoints = ends.endpoints("there", false);
            Ok((ends, endpoints))
        });
        assert_eq!(agreed.map(|(_, endpoints)| endpoints.node).ok(), Some("there".to_owned()));
        let refused = RunError::failed(std::io::Error::other("no reason"));
        partners.iter_mut().take(1).for_each(|other| say(other, &refused));
        drop(partners);
        assert_eq!(nodes.iter().map(|node| node.kept_alive).collect::<Vec<_>>(), [3, 0, 3]);
        assert_eq!(nodes[0].said, [Message::Refused { why: refused.to_string() }]);
    }
}
