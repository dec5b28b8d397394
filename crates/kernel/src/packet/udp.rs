//! Through the network stack: UDP over IPv4 and IPv6.
//!
//! Unless one asks for it the socket is not connected, so that packets of others are received too, and can be counted.
//! A payload larger than the MTU is cut into fragments by the stack; its stamps are those of the first.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};

use super::address::RawAddress;
use super::error::{OpenError, ReceiveError, SendError};
use super::options::{self, SocketOptions, failed, set};
use super::socket::MeasuredSocket;
use super::stamping::{self, Stamps};
use super::{Counters, Launch, PacketEndpoint, Received, SentStamp, Waited};

/// The largest payload of a datagram: 65,535 less the headers of UDP and, for version 4, of IP.
const MOST_BYTES_V4: usize = 65_507;
const MOST_BYTES_V6: usize = 65_527;

/// How an end of UDP is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpPlan {
    /// Where it receives; port 0 lets the kernel choose one. A link-local address needs its scope.
    pub local: SocketAddr,
    /// To whom it sends; can be set later by [`UdpEndpoint::set_partner`].
    pub partner: Option<SocketAddr>,
    /// Whether the socket is connected to its partner: the kernel looks the route up once and not for each packet, and
    /// lets no other's packets through, which then cannot be counted.
    pub connects: bool,
    /// The one interface that packets come and go by; otherwise the routes decide.
    pub interface: Option<String>,
    /// Which stamps to take.
    pub stamps: Stamps,
    /// The rest.
    pub options: SocketOptions,
}

impl UdpPlan {
    /// Receives on an address, with the stamps that every machine has.
    #[must_use]
    pub fn new(local: SocketAddr) -> Self {
        Self {
            local,
            partner: None,
            connects: false,
            interface: None,
            stamps: Stamps::SOFTWARE,
            options: SocketOptions::default(),
        }
    }
}

/// A socket of UDP.
#[derive(Debug)]
pub struct UdpEndpoint {
    socket: MeasuredSocket,
    local: SocketAddr,
    partner: Option<RawAddress>,
    connects: bool,
}

impl UdpEndpoint {
    /// Opens the socket, and waits until the kernel stamps what it receives.
    ///
    /// # Errors
    /// Where the address is in use or not of this machine, an interface is missing, or a right or a kernel is.
    pub fn open(plan: &UdpPlan) -> Result<Self, OpenError> {
        let family = if plan.local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        let socket =
            options::open(family, libc::SOCK_DGRAM, 0).map_err(|error| failed("open a socket of UDP", error))?;
        let file = socket.as_fd();
        // What routers and hosts answer to packets that they cannot deliver, and queues that are full.
        if family == libc::AF_INET {
            set(file, libc::SOL_IP, libc::IP_RECVERR, &1)
        } else {
            set(file, libc::SOL_IPV6, libc::IPV6_V6ONLY, &1)
                .and_then(|()| set(file, libc::SOL_IPV6, libc::IPV6_RECVERR, &1))
        }
        .map_err(|error| failed("have errors of packets reported (IP_RECVERR)", error))?;
        if let Some(interface) = &plan.interface {
            options::bind_to_device(file, interface)?;
        }
        plan.options.apply(file, family)?;
        // Before it is bound, so that no packet comes with another time.
        let numbers = stamping::enable(file, plan.stamps)?;
        let local = options::bind(&socket, plan.local)?;
        let socket = MeasuredSocket::new(socket, numbers, plan.options.launch.is_some());
        let mut end = Self { socket, local, partner: None, connects: plan.connects };
        if let Some(partner) = plan.partner {
            end.set_partner(partner)?;
        }
        Ok(end)
    }

    /// Where it receives.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// To whom it sends from now on.
    ///
    /// # Errors
    /// Where it is of the other version of IP, or a link-local address without its scope, or where the socket is connected
    /// and no route leads there.
    pub fn set_partner(&mut self, partner: SocketAddr) -> Result<(), OpenError> {
        if partner.is_ipv4() != self.local.is_ipv4() {
            return Err(OpenError::Mismatch { local: self.local, partner });
        }
        if options::lacks_scope(partner) {
            return Err(OpenError::NoScope { address: partner.ip() });
        }
        let partner = RawAddress::from(partner);
        if self.connects {
            self.local = options::connect(self.socket.file(), &partner)?.unwrap_or(self.local);
        }
        self.partner = Some(partner);
        Ok(())
    }

    /// Room for received packets that nobody has taken yet, as the kernel granted it (bytes).
    #[must_use]
    pub fn receive_buffer_bytes(&self) -> u32 {
        options::receive_buffer_bytes(self.socket.file())
    }

    /// The socket, to be waited for together with others.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.socket.file()
    }
}

impl PacketEndpoint for UdpEndpoint {
    #[inline]
    fn send(&mut self, payload: &[u8], launch: Option<Launch>) -> Result<(), SendError> {
        let Some(partner) = &self.partner else { return Err(SendError::NoPartner) };
        let most_bytes = largest_payload(self.local);
        if payload.len() > most_bytes {
            return Err(SendError::TooLarge { bytes: payload.len(), most_bytes });
        }
        let to = if self.connects { None } else { Some(partner) };
        self.socket.send(to, &[], payload, launch, most_bytes)
    }

    #[inline]
    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        self.socket.receive(|received, _| Some(take(received)))
    }

    #[inline]
    fn wait(&mut self, deadline_ns: i64) -> Result<bool, ReceiveError> {
        self.socket.wait(deadline_ns)
    }

    #[inline]
    fn wait_for(&mut self, rest_ns: i64) -> Result<Waited, ReceiveError> {
        self.socket.wait_for(rest_ns)
    }

    #[inline]
    fn sent_stamp(&mut self) -> Option<SentStamp> {
        self.socket.sent_stamp()
    }

    fn counters(&mut self) -> Counters {
        self.socket.counters()
    }

    fn largest_payload(&self) -> usize {
        largest_payload(self.local)
    }

    fn rehearsal(&self) -> Option<Self> {
        let address: IpAddr =
            if self.local.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        let plan = UdpPlan { connects: self.connects, ..UdpPlan::new((address, 0).into()) };
        let mut end = Self::open(&plan).ok()?;
        end.set_partner(end.local).ok()?;
        Some(end)
    }
}

const fn largest_payload(local: SocketAddr) -> usize {
    if local.is_ipv4() { MOST_BYTES_V4 } else { MOST_BYTES_V6 }
}
