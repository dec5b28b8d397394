//! Opening: which mode works, what stands in the way, where packets to the partner go.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use units::ClockId;

use super::super::error::LookupError;
use super::super::link::{VlanTag, check_ethertype};
use super::super::options::{self, failed};
use super::super::route::{Route, resolve_neighbor};
use super::abi::HEADROOM_BYTES;
use super::headers::{Ethernet, Headers, MOST_HEADER_BYTES, ReceiveFilter};
use super::program::{self, SocketMap};
use super::queue::{self, QueueError, QueuePlan, ReceiveQueue, SendQueue};
use super::{Attachment, Flow, Interface, Mode, OpenError, RefusedMode, XdpEndpoint, XdpPlan, XdpReceiver, XdpSender};
use crate::clock::KernelClock;

/// The header of Ethernet with a tag.
const ETHERNET_BYTES: usize = 18;
const SMALL_CHUNK_BYTES: usize = 2_048;
const LARGE_CHUNK_BYTES: usize = 4_096;
/// Drivers restart an interface when a program is attached; links of 1000BASE-T take some 3 s to come up again.
const CARRIER_PATIENCE: Duration = Duration::from_secs(10);
/// A program leaves with the last copy of its file, which a child of this process may have until it runs its own program.
const LEAVING_PATIENCE: Duration = Duration::from_millis(500);
const NEIGHBOR_PATIENCE: Duration = Duration::from_secs(3);

/// The largest packet without its Ethernet header: the kernel gives each frame one chunk, of a page at most.
pub(super) fn most_packet_bytes(interface: &Interface) -> usize {
    let of_chunk = LARGE_CHUNK_BYTES - HEADROOM_BYTES - ETHERNET_BYTES;
    usize::try_from(interface.mtu_bytes).unwrap_or(usize::MAX).min(of_chunk)
}

fn chunk_bytes(interface: &Interface) -> usize {
    let needed = most_packet_bytes(interface) + HEADROOM_BYTES + MOST_HEADER_BYTES;
    if needed <= SMALL_CHUNK_BYTES { SMALL_CHUNK_BYTES } else { LARGE_CHUNK_BYTES }
}

impl XdpEndpoint {
    /// Opens sockets on all receive queues of the interface, in the first mode that works, and attaches the program.
    ///
    /// Attaching in a better mode than generic may take the interface down for some seconds; that is waited for.
    ///
    /// # Errors
    /// Where no mode works, somebody else's program is there already ([`OpenError::ForeignXdp`]; it is left alone), the
    /// interface, an address or a right is missing (CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF), or the partner does not answer.
    pub fn open(plan: &XdpPlan) -> Result<Self, OpenError> {
        check(plan)?;
        let interface = refuse_foreign(&plan.interface)?;
        if interface.mac.is_none() {
            return Err(OpenError::NoEthernet { interface: interface.name });
        }
        if !interface.is_up {
            return Err(OpenError::InterfaceDown { interface: interface.name });
        }
        let (wanted, port) = reserve(plan, &interface)?;
        let mut refused = Vec::new();
        for &mode in &plan.modes {
            match bring_up(plan, &interface, wanted, mode) {
                Ok(Up { attachment, queues, sending }) => {
                    await_carrier(&interface);
                    let attachment = Arc::new(Attachment { _port: port, ..attachment });
                    let sender = XdpSender {
                        queue: sending,
                        headers: None,
                        most_bytes: most_packet_bytes(&interface).saturating_sub(wanted.internet_bytes()),
                        _attachment: Arc::clone(&attachment),
                    };
                    let receiver = XdpReceiver {
                        polled: queues.iter().map(polled).collect(),
                        queues,
                        wanted,
                        next: 0,
                        damaged: 0,
                        is_busy_polling: plan.busy_poll.is_some(),
                        monotonic: KernelClock::from(ClockId::Monotonic),
                        _attachment: attachment,
                    };
                    let mut end = Self { sender, receiver, interface, plan: plan.clone(), mode, refused };
                    match plan.flow {
                        Flow::Udp { partner: Some(partner), .. } => end.set_partner(partner)?,
                        Flow::Link { partner: Some(partner), .. } => end.set_partner_mac(partner)?,
                        Flow::Udp { partner: None, .. } | Flow::Link { partner: None, .. } => {}
                    }
                    return Ok(end);
                }
                Err(Failure::Mode(reason)) => refused.push(RefusedMode { mode, reason }),
                Err(Failure::All(error)) => return Err(error),
            }
        }
        // A program that came between is the likeliest reason.
        refuse_foreign(&plan.interface)?;
        Err(OpenError::NoXdpMode { interface: interface.name, refused })
    }

    /// To whom datagrams are sent from now on: looks the way up, and asks for the next hop's hardware address.
    ///
    /// # Errors
    /// Where no route leads there, or by another interface, or nobody answers on the local network; or where this end is
    /// for an EtherType.
    pub fn set_partner(&mut self, partner: SocketAddr) -> Result<(), OpenError> {
        let ReceiveFilter::Udp(local, _) = self.receiver.wanted else {
            return Err(failed(
                "send to an address of IP from an end of an EtherType",
                io::ErrorKind::InvalidInput.into(),
            ));
        };
        if local.is_ipv4() != partner.is_ipv4() {
            return Err(OpenError::Mismatch { local, partner });
        }
        if options::lacks_scope(partner) {
            return Err(OpenError::NoScope { address: partner.ip() });
        }
        let route = Route::to(partner)?;
        self.check_way(partner.ip(), &route)?;
        let next_hop = route.gateway.unwrap_or(partner.ip());
        let destination = resolve_neighbor(route.interface_index, next_hop, NEIGHBOR_PATIENCE)?;
        let ethernet = self.ethernet(destination)?;
        self.sender.headers = Headers::udp(ethernet, local, partner, self.plan.dscp);
        Ok(())
    }

    /// To whom frames are sent from now on.
    ///
    /// # Errors
    /// Where this end is for datagrams.
    pub fn set_partner_mac(&mut self, partner: [u8; 6]) -> Result<(), OpenError> {
        let ReceiveFilter::Link(ethertype) = self.receiver.wanted else {
            return Err(failed("send to a hardware address from an end of UDP", io::ErrorKind::InvalidInput.into()));
        };
        self.sender.headers = Some(Headers::link(self.ethernet(partner)?, ethertype));
        Ok(())
    }

    fn ethernet(&self, destination: [u8; 6]) -> Result<Ethernet, OpenError> {
        let tag = self.plan.vlan.map(VlanTag::control).transpose()?;
        Ok(Ethernet { destination, source: self.interface.mac.unwrap_or_default(), tag })
    }

    /// Whether packets to the partner leave by our interface, or by the VLAN on it whose tag ours get.
    fn check_way(&self, to: IpAddr, route: &Route) -> Result<(), OpenError> {
        if route.interface_index == self.interface.index {
            return Ok(());
        }
        let by = Interface::read_by_index(route.interface_index)?;
        let is_our_vlan = by.vlan.is_some_and(|vlan| {
            vlan.lower_index == self.interface.index && self.plan.vlan.is_some_and(|tag| tag.id == vlan.id)
        });
        if is_our_vlan {
            return Ok(());
        }
        Err(OpenError::OtherWay { to, by: by.name, interface: self.interface.name.clone() })
    }
}

fn check(plan: &XdpPlan) -> Result<(), OpenError> {
    plan.vlan.map(VlanTag::control).transpose()?;
    if plan.dscp > 63 {
        let value = plan.dscp.into();
        return Err(OpenError::OutOfRange { what: "DSCP", value, range: "0 to 63 (RFC 2474)" });
    }
    if !plan.receive_slots.is_power_of_two() || !(64..=32_768).contains(&plan.receive_slots) {
        let value = plan.receive_slots.into();
        return Err(OpenError::OutOfRange {
            what: "the number of receive slots",
            value,
            range: "a power of two, 64 to 32768",
        });
    }
    match plan.flow {
        Flow::Link { ethertype, .. } => check_ethertype(ethertype),
        Flow::Udp { local, .. } if options::lacks_scope(local) => Err(OpenError::NoScope { address: local.ip() }),
        Flow::Udp { .. } => Ok(()),
    }
}

/// Somebody else's program stays where it is. One of ours may be of a process that just ended, and goes within moments.
fn refuse_foreign(name: &str) -> Result<Interface, OpenError> {
    let began = Instant::now();
    loop {
        let interface = Interface::read(name)?;
        let Some(id) = interface.xdp_program else { return Ok(interface) };
        let name = program::name_of(id);
        let may_be_leaving = match &name {
            Ok(name) => name == program::NAME,
            Err(error) => error.raw_os_error() == Some(libc::ENOENT),
        };
        if !may_be_leaving || began.elapsed() > LEAVING_PATIENCE {
            let name = name.unwrap_or_else(|_| "of unknown name".to_owned());
            return Err(OpenError::ForeignXdp { interface: interface.name, id, name });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Attaches the program. One of ours that was attached in another mode may still be leaving.
fn attach(program: &OwnedFd, interface: &Interface, flags: u32) -> io::Result<OwnedFd> {
    let began = Instant::now();
    loop {
        match program::attach(program, interface.index, flags) {
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
                    && began.elapsed() < LEAVING_PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

/// What is to be received, and for datagrams a socket of the stack's that holds the port and takes nothing.
fn reserve(plan: &XdpPlan, interface: &Interface) -> Result<(ReceiveFilter, Option<OwnedFd>), OpenError> {
    let (local, partner) = match plan.flow {
        Flow::Link { ethertype, .. } => return Ok((ReceiveFilter::Link(ethertype), None)),
        Flow::Udp { local, partner } => (local, partner),
    };
    let address = if local.ip().is_unspecified() {
        let of_partner = partner.and_then(|partner| interface.source_for(partner.ip()));
        of_partner
            .or_else(|| interface.source_for(local.ip()))
            .ok_or_else(|| OpenError::NoAddress { interface: interface.name.clone() })?
    } else {
        local.ip()
    };
    let mut local = SocketAddr::new(address, local.port());
    if let (SocketAddr::V6(local), IpAddr::V6(address)) = (&mut local, address) {
        if address.is_unicast_link_local() {
            local.set_scope_id(interface.index);
        }
    }
    let family = if local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let socket = options::open(family, libc::SOCK_DGRAM, 0).map_err(|error| failed("open a socket of UDP", error))?;
    // "Return 0": of each packet nothing is kept.
    options::attach_filter(socket.as_fd(), &mut [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }])
        .map_err(|error| failed("reserve a port (SO_ATTACH_FILTER)", error))?;
    let local = options::bind(&socket, local)?;
    Ok((ReceiveFilter::Udp(local, interface.index), Some(socket)))
}

/// All that belongs to a mode that works.
struct Up {
    /// Still without the port.
    attachment: Attachment,
    queues: Vec<ReceiveQueue>,
    sending: SendQueue,
}

/// Why a mode does not work: another one may, or none does.
enum Failure {
    Mode(String),
    All(OpenError),
}

fn bring_up(plan: &XdpPlan, interface: &Interface, wanted: ReceiveFilter, mode: Mode) -> Result<Up, Failure> {
    let all = |action| {
        move |error| {
            let needs = "it takes Linux 5.9 with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS";
            Failure::All(OpenError::refused(action, "CAP_BPF and CAP_NET_ADMIN", needs, error))
        }
    };
    let map = SocketMap::new(interface.rx_queue_count).map_err(all("make a map for sockets (XSKMAP)"))?;
    let program = program::load(&map, wanted).map_err(|refused| {
        let error = if refused.log.is_empty() {
            refused.error
        } else {
            io::Error::new(refused.error.kind(), format!("{} ({})", refused.error, refused.log))
        };
        all("load a program of XDP")(error)
    })?;
    let flags = if mode == Mode::Generic { program::GENERIC } else { program::NATIVE };
    let link = attach(&program, interface, flags).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => all("attach a program of XDP")(error),
        _ => Failure::Mode(format!("the program is not attached: {error}")),
    })?;
    let (mut queues, mut sending) = (Vec::new(), None);
    for queue in 0..interface.rx_queue_count {
        let opened = queue::open(QueuePlan {
            interface_index: interface.index,
            queue,
            chunk_bytes: chunk_bytes(interface),
            receive_slots: plan.receive_slots,
            is_zero_copy: mode == Mode::ZeroCopy,
            sends: queue == 0,
            busy_poll: plan.busy_poll,
        });
        let (receiving, sending_half) = opened.map_err(|error| match error {
            QueueError::Open(error) => Failure::All(error),
            QueueError::Bind(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                Failure::Mode(format!("queue {queue} is in use by another program's socket of AF_XDP"))
            }
            QueueError::Bind(error) => Failure::Mode(format!("queue {queue} is not bound: {error}")),
        })?;
        map.set(queue, receiving.socket()).map_err(all("hand a socket to the program"))?;
        queues.push(receiving);
        sending = sending.or(sending_half);
    }
    let Some(sending) = sending else { return Err(Failure::Mode("the interface has no queue".to_owned())) };
    let attachment = Attachment { _link: link, _program: program, _map: map, _port: None };
    Ok(Up { attachment, queues, sending })
}

fn polled(queue: &ReceiveQueue) -> PollFd<'static> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: the receiving half holds this in a field that goes before the queue, which holds the descriptor open until
    // then.
    let file = unsafe { BorrowedFd::borrow_raw(queue.socket().as_raw_fd()) };
    PollFd::from_borrowed_fd(file, PollFlags::IN)
}

/// Waits until an interface that had a carrier before has it again.
fn await_carrier(before: &Interface) {
    let began = Instant::now();
    let is_back = || match Interface::read_by_index(before.index) {
        Ok(now) => now.has_carrier,
        Err(LookupError::NoInterface { .. }) => true,
        Err(_) => false,
    };
    while before.has_carrier && !is_back() && began.elapsed() < CARRIER_PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
}
