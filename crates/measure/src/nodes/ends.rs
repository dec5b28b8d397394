//! Opens what packets are sent and received with, and names it to the partner.

use std::net::SocketAddr;

use kernel::packet::interface::Interface;
use kernel::packet::link::{LinkEndpoint, LinkPlan, VlanTag};
use kernel::packet::qdisc::Qdisc;
use kernel::packet::route::Route;
use kernel::packet::udp::{UdpEndpoint, UdpPlan};
use kernel::packet::xdp::{Flow, XdpEndpoint, XdpPlan};
use kernel::packet::{LookupError, OpenError, PacketEndpoint, SocketOptions, Stamps};
use packet::dialog::Endpoints;
use record::{HardwareMode, PacketPath, PacketRequest};

use super::hardware::{Hardware, HardwareError, StampedDirections};
use super::launch::{LaunchError, Launcher};
use super::plan::Role;

/// Room for received packets (bytes): 0.1 s of 50,000 small ones a second, with what the kernel adds to each.
const RECEIVE_BUFFER_BYTES: u32 = 8 << 20;

/// Received frames that can wait in each queue: 80 ms of 50,000 a second.
const XDP_SLOTS: u32 = 4_096;

/// The kernel's stamps that are wanted: when the driver takes a packet, and when the stack gets it.
const STAMPS: Stamps = Stamps { queued: false, stack: true, hardware: false };

/// Interfaces that hand packets on to others, whose disciplines may hold them back.
pub(crate) const HANDING_ON: [&str; 6] = ["bond", "bridge", "team", "macvlan", "macvtap", "ipvlan"];

/// Why a node's ends cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum EndsError {
    /// The kernel or the interface refuses.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The route or the interface to the partner cannot be found.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A packet does not fit.
    #[error(
        "a payload of {bytes} bytes does not fit into a frame of {interface}: at most {most} (its MTU); use a smaller --size, or --path udp, which fragments"
    )]
    TooLarge {
        /// The payload.
        bytes: u32,
        /// The interface.
        interface: String,
        /// The largest payload.
        most: usize,
    },
    /// Launch times would change nothing, or be the end of all packets.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Nothing that this program sends leaves the node, not even the connection.
    #[error(
        "no packet without a launch time leaves this node through {interface}: its queueing discipline is etf alone, which drops \
         them, also those of the connection and the answers to ARP; put etf below mqprio, taprio or prio, for the packets with a \
         launch time, or remove it ('tc qdisc del dev {interface} root')"
    )]
    DropsAll {
        /// The interface, or the one below a VLAN.
        interface: String,
    },
    /// Stamps of the interface that were asked for cannot be had.
    #[error(transparent)]
    Hardware(#[from] HardwareError),
    /// Gates of taprio that never open for the packets.
    #[error(
        "no packet of priority {priority} leaves this node through {interface}: taprio puts it into traffic class {class}, whose \
         gate is never open in its cycle{connection}; open it for a part of the cycle ('tc qdisc show dev {interface}' shows it)"
    )]
    ClosedGate {
        /// Name of the interface with the gates.
        interface: String,
        /// Their priority.
        priority: u32,
        /// Their traffic class.
        class: u8,
        /// What else that means, as a part of the sentence.
        connection: &'static str,
    },
    /// Nothing lies between the two nodes.
    #[error("the partner is reached within this machine's own network stack, without a link: use --path udp")]
    Local,
    /// The partner did not say what is needed to reach it.
    #[error("the partner did not state {0}")]
    Unstated(&'static str),
}

/// The ends of one path: where packets come to, and what they are sent with. Two of each, since each belongs to one thread.
pub(crate) enum Data {
    Udp {
        receiver: Box<UdpEndpoint>,
        sender: Box<UdpEndpoint>,
    },
    Link {
        receiver: Box<LinkEndpoint>,
        sender: Box<LinkEndpoint>,
    },
    /// Both halves at once: an interface takes one program.
    Xdp(Box<XdpEndpoint>),
}

/// What a node sends and receives with, opened, and known to nobody yet.
pub struct Ends {
    pub(crate) clock: UdpEndpoint,
    pub(crate) data: Data,
    pub(super) hardware: Option<Hardware>,
    /// What keeps the packets until their launch time, where this node sends and they have one.
    pub(crate) launcher: Option<Launcher>,
    reaches: SocketAddr,
    way: String,
}

impl Ends {
    /// Opens them at the address by which this node reaches its partner at `reaches`: those of their connection. Which stamps of
    /// its interface a node wants is its own choice, `stamps`.
    ///
    /// # Errors
    /// Where the kernel or the interface cannot do what is asked.
    pub fn open(
        request: &PacketRequest,
        role: Role,
        stamps: HardwareMode,
        local: SocketAddr,
        reaches: SocketAddr,
    ) -> Result<Self, EndsError> {
        let priority = request.priority.unwrap_or(0);
        let mut launcher = None;
        if role.sends(request.direction) {
            check_gate(reaches, priority)?;
            launcher = request.launch_time.map(|_| Launcher::find(reaches, priority)).transpose()?;
        }
        let at = at_port(local, 0);
        let wanted =
            StampedDirections { sends: role.sends(request.direction), receives: role.other().sends(request.direction) };
        let hardware = Hardware::find(stamps, request.path, reaches, wanted)?;
        let stamps = |hardware| Stamps { hardware, ..STAMPS };
        let received_stamps = stamps(hardware.as_ref().is_some_and(Hardware::stamps_received));
        let sent_stamps = stamps(hardware.as_ref().is_some_and(Hardware::stamps_sent));
        let plain = |stamps| UdpPlan { stamps, ..UdpPlan::new(at) };
        let clock = UdpEndpoint::open(&plain(STAMPS))?;
        let launch = launcher.map(Launcher::clock);
        let sending =
            SocketOptions { priority: request.priority, dscp: request.dscp, launch, ..SocketOptions::default() };
        let receiving = SocketOptions { receive_buffer_bytes: Some(RECEIVE_BUFFER_BYTES), ..SocketOptions::default() };
        let (data, way) = match request.path {
            PacketPath::Udp => {
                let receiver = UdpEndpoint::open(&UdpPlan { options: receiving, ..plain(received_stamps) })?;
                // Connected, so that the route is looked up once.
                let sender = UdpEndpoint::open(&UdpPlan { options: sending, connects: true, ..plain(sent_stamps) })?;
                let version = if at.is_ipv4() { 4 } else { 6 };
                (Data::Udp { receiver: receiver.into(), sender: sender.into() }, format!("UDP over IPv{version}"))
            }
            PacketPath::L2 => {
                let interface = interface_to(reaches)?;
                let vlan = request.vlan.map(|id| VlanTag { id, priority: 0 });
                let plain = |options, stamps| LinkPlan { vlan, stamps, options, ..LinkPlan::new(&interface) };
                let receiver = LinkEndpoint::open(&plain(receiving, received_stamps))?;
                let sender = LinkEndpoint::open(&LinkPlan { receives: false, ..plain(sending, sent_stamps) })?;
                let most = sender.largest_payload();
                if usize::try_from(request.size).is_ok_and(|bytes| bytes > most) {
                    return Err(EndsError::TooLarge { bytes: request.size, interface, most });
                }
                let way = match request.vlan {
                    Some(id) => format!("AF_PACKET on {interface}, VLAN {id}"),
                    None => format!("AF_PACKET on {interface}"),
                };
                (Data::Link { receiver: receiver.into(), sender: sender.into() }, way)
            }
            PacketPath::Xdp => {
                let interface = interface_to(reaches)?;
                let flow = Flow::Udp { local: at, partner: None };
                let dscp = request.dscp.unwrap_or(0);
                let plan = XdpPlan { dscp, receive_slots: XDP_SLOTS, ..XdpPlan::new(&interface, flow) };
                let end = XdpEndpoint::open(&plan)?;
                let most = end.largest_payload();
                if usize::try_from(request.size).is_ok_and(|bytes| bytes > most) {
                    return Err(EndsError::TooLarge { bytes: request.size, interface, most });
                }
                let queues =
                    if end.queue_count() > 1 { format!(", {} queues", end.queue_count()) } else { String::new() };
                let way = format!("AF_XDP on {interface}, {}{queues}", end.mode().name());
                (Data::Xdp(end.into()), way)
            }
        };
        Ok(Self { clock, data, hardware, launcher, reaches, way })
    }

    /// What the partner has to know.
    #[must_use]
    pub fn endpoints(&self, node: &str, wants_half: bool) -> Endpoints {
        let (data_port, hardware_address) = match &self.data {
            Data::Udp { receiver, .. } => (Some(receiver.local().port()), None),
            Data::Link { receiver, .. } => (None, receiver.interface().mac),
            Data::Xdp(end) => (end.local().map(|local| local.port()), None),
        };
        Endpoints {
            node: node.to_owned(),
            clock_port: self.clock.local().port(),
            data_port,
            hardware_address,
            hardware_stamps: self.hardware.as_ref().is_some_and(Hardware::stamps_sent),
            wants_half,
        }
    }

    /// Sets to whom is sent.
    pub(crate) fn aim(&mut self, partner: &Endpoints) -> Result<(), EndsError> {
        match &mut self.data {
            Data::Udp { receiver, sender } => {
                let port = partner.data_port.ok_or(EndsError::Unstated("the port of its packets"))?;
                receiver.set_partner(at_port(self.reaches, port))?;
                sender.set_partner(at_port(self.reaches, port))?;
            }
            Data::Link { receiver, sender } => {
                let address = partner.hardware_address.ok_or(EndsError::Unstated("its hardware address"))?;
                receiver.set_partner(address);
                sender.set_partner(address);
            }
            Data::Xdp(end) => {
                let port = partner.data_port.ok_or(EndsError::Unstated("the port of its packets"))?;
                end.set_partner(at_port(self.reaches, port))?;
            }
        }
        Ok(())
    }

    /// The way that packets take through this system, in words.
    pub(crate) fn in_words(&self) -> String {
        self.way.clone()
    }

    /// Where the partner's end of the clocks' exchange is reached.
    pub(crate) fn clock_of(&self, partner: &Endpoints) -> SocketAddr {
        at_port(self.reaches, partner.clock_port)
    }
}

/// The interface by which a node is reached.
fn interface_to(reaches: SocketAddr) -> Result<String, EndsError> {
    let route = Route::to(reaches)?;
    if route.is_local {
        return Err(EndsError::Local);
    }
    Ok(Interface::read_by_index(route.interface_index)?.name)
}

/// Whether the gates of taprio ever open for packets of a priority to a node; what cannot be read is no fault.
fn check_gate(reaches: SocketAddr, priority: u32) -> Result<(), EndsError> {
    let Ok(interface) = Route::to(reaches).and_then(|route| Interface::read_by_index(route.interface_index)) else {
        return Ok(());
    };
    closed_gate(&interface, priority, "").map_or(Ok(()), Err)
}

fn closed_gate(interface: &Interface, priority: u32, connection: &'static str) -> Option<EndsError> {
    // A tag is a header of the same packet.
    let indices = [Some(interface.index), interface.vlan.map(|vlan| vlan.lower_index)];
    let disciplines = indices.into_iter().flatten().filter_map(|index| Qdisc::read(index).ok()).flatten();
    let class = disciplines.filter_map(|one| one.closed_class(priority)).next()?;
    Some(EndsError::ClosedGate { interface: interface.name.clone(), priority, class, connection })
}

/// What a gate that is closed to packets without a priority means beside these.
const CLOSED_TO_ALL: &str =
    " (the connection has this priority too, and so has PTP where ptp4l's socket_priority does not say otherwise)";

/// Checks that the connection to a node can be made, as far as this node's queueing disciplines show.
///
/// # Errors
/// [`EndsError::DropsAll`], [`EndsError::ClosedGate`]. What cannot be read is left to the connection, which fails with the reason.
pub fn check_way(reaches: SocketAddr) -> Result<(), EndsError> {
    let Ok(route) = Route::to(reaches) else { return Ok(()) };
    if route.is_local {
        return Ok(());
    }
    Interface::read_by_index(route.interface_index).map_or(Ok(()), |interface| check_whether_it_drops_all(&interface))
}

/// As [`check_way`], for who answers from an address; from all addresses of this machine where it is none in particular.
///
/// # Errors
/// As [`check_way`].
pub fn check_ways_from(local: SocketAddr) -> Result<(), EndsError> {
    let local = local.ip().to_canonical();
    let mut names: Vec<String> = kernel::interface::addresses()
        .unwrap_or_default()
        .into_iter()
        .filter(|one| !one.is_loopback && (local.is_unspecified() || one.address == local))
        .map(|one| one.interface)
        .collect();
    names.sort_unstable();
    names.dedup();
    names.iter().filter_map(|name| Interface::read(name).ok()).try_for_each(|one| check_whether_it_drops_all(&one))
}

fn check_whether_it_drops_all(interface: &Interface) -> Result<(), EndsError> {
    let drops = |index| Qdisc::read(index).is_ok_and(|disciplines| drops_all(&disciplines));
    if drops(interface.index) {
        return Err(EndsError::DropsAll { interface: interface.name.clone() });
    }
    if let Some(closed) = closed_gate(interface, 0, CLOSED_TO_ALL) {
        return Err(closed);
    }
    match interface.vlan.map(|vlan| vlan.lower_index).filter(|lower| drops(*lower)) {
        Some(lower) => {
            let interface = kernel::interface::name(lower).unwrap_or_else(|_| format!("number {lower}"));
            Err(EndsError::DropsAll { interface })
        }
        None => Ok(()),
    }
}

/// Whether etf takes every packet of an interface: it stands at the root, or in each queue of one with several.
fn drops_all(disciplines: &[Qdisc]) -> bool {
    let is_etf = |one: &&Qdisc| one.kind == "etf";
    match disciplines.iter().find(|one| one.parent == Qdisc::ROOT) {
        Some(root) if root.kind == "mq" => {
            let mut below = disciplines.iter().filter(|one| one.parent != Qdisc::ROOT).peekable();
            below.peek().is_some() && below.all(|one| is_etf(&one))
        }
        root => root.is_some_and(|root| is_etf(&root)),
    }
}

/// The partner's port at the address by which this node reaches it, with the scope that it has here.
fn at_port(partner: SocketAddr, port: u16) -> SocketAddr {
    let mut address = partner;
    address.set_port(port);
    address
}

#[cfg(test)]
mod tests {
    use kernel::packet::qdisc::QdiscDetail;

    use super::*;

    #[test]
    fn etf_that_takes_every_packet_is_told_from_one_that_takes_some() {
        let of = |kind: &str, parent| Qdisc { kind: kind.to_owned(), handle: 0, parent, detail: QdiscDetail::Other };
        let (root, first, second) = (Qdisc::ROOT, 0x8001_0001, 0x8001_0002);
        for (disciplines, expected) in [
            (vec![], false),
            (vec![of("fq_codel", root)], false),
            (vec![of("etf", root)], true),
            (vec![of("mq", root)], false),
            (vec![of("mq", root), of("etf", first), of("fq_codel", second)], false),
            (vec![of("mq", root), of("etf", first), of("etf", second)], true),
            // A priority, or a filter, decides what comes there.
            (vec![of("mqprio", root), of("etf", first), of("etf", second)], false),
            (vec![of("prio", root), of("etf", first)], false),
        ] {
            assert_eq!(drops_all(&disciplines), expected, "{disciplines:?}");
        }
        let words = EndsError::DropsAll { interface: "eth7".to_owned() }.to_string();
        assert!(words.contains("eth7") && words.contains("etf alone"), "{words}");
    }

    #[test]
    fn a_closed_gate_is_named_with_what_else_it_keeps() {
        let of = |connection| {
            EndsError::ClosedGate { interface: "eth7".to_owned(), priority: 0, class: 3, connection }.to_string()
        };
        let words = of(CLOSED_TO_ALL);
        for expected in ["priority 0", "eth7", "traffic class 3", "so has PTP", "tc qdisc show dev eth7"] {
            assert!(words.contains(expected), "{expected}: {words}");
        }
        assert!(!of("").contains("PTP"));
    }
}
