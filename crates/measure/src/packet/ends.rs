//! Opens what packets are sent and received with, and names it to the partner.

use std::net::SocketAddr;

use kernel::packet::udp::{UdpEnd, UdpPlan};
use kernel::packet::{LaunchClock, OpenError, SocketOptions, Stamps};
use packet::dialog::Endpoints;
use record::{PacketPath, PacketRequest};
use units::ClockId;

/// Room for received packets (bytes): 0.1 s of 50,000 small ones a second, with what the kernel adds to each.
const RECEIVE_BUFFER_BYTES: u32 = 8 << 20;

/// The kernel's stamps that are wanted: when the driver takes a packet, and when the stack gets it.
const STAMPS: Stamps = Stamps { queued: false, stack: true, hardware: false };

/// What a node sends and receives with, opened, and known to nobody yet.
pub struct Ends {
    pub(super) clock: UdpEnd,
    /// Where packets come to.
    pub(super) receiver: UdpEnd,
    /// What packets are sent with: another one, since each belongs to one thread.
    pub(super) sender: Option<UdpEnd>,
    local: SocketAddr,
}

impl Ends {
    /// Opens them at the address by which this node reaches its partner: that of their connection. Only this node's own
    /// choices are taken from the request.
    ///
    /// # Errors
    /// Where the kernel or the interface cannot do what is asked.
    pub fn open(request: &PacketRequest, local: SocketAddr) -> Result<Self, OpenError> {
        let at = {
            let mut at = local;
            at.set_port(0);
            at
        };
        let plain = |at| UdpPlan { stamps: STAMPS, ..UdpPlan::new(at) };
        let clock = UdpEnd::open(&plain(at))?;
        if request.path != PacketPath::Udp {
            return Err(OpenError::OutOfRange { what: "path", value: 0, range: "udp" });
        }
        let receiver = UdpEnd::open(&UdpPlan {
            options: SocketOptions { receive_buffer_bytes: Some(RECEIVE_BUFFER_BYTES), ..SocketOptions::default() },
            ..plain(at)
        })?;
        let sender = UdpEnd::open(&UdpPlan {
            options: SocketOptions {
                priority: request.priority,
                dscp: request.dscp,
                launch: request.launch_time.map(|_| LaunchClock { clock: ClockId::Tai, is_deadline: false }),
                ..SocketOptions::default()
            },
            ..plain(at)
        })?;
        Ok(Self { clock, receiver, sender: Some(sender), local })
    }

    /// What the partner has to know.
    #[must_use]
    pub fn endpoints(&self, node: &str) -> Endpoints {
        Endpoints {
            node: node.to_owned(),
            address: self.local.ip(),
            clock_port: self.clock.local().port(),
            data_port: Some(self.receiver.local().port()),
            hardware_address: None,
        }
    }

    /// The way that packets take through this system, in words.
    pub(super) fn in_words(&self) -> String {
        if self.local.is_ipv4() { "UDP over IPv4".to_owned() } else { "UDP over IPv6".to_owned() }
    }
}

/// The partner's port at the address by which this node reaches it, with the scope that it has here.
pub(super) const fn at_port(partner: SocketAddr, port: u16) -> SocketAddr {
    let mut address = partner;
    address.set_port(port);
    address
}
