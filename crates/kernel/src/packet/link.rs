//! Right above the interface, without IP: Ethernet frames of one EtherType (`AF_PACKET`, packet(7)).
//!
//! The interface never becomes promiscuous, and neither frames for other nodes nor our own outgoing ones are received.
//! Ethernet has no length of a payload: where the driver pads frames to 60 bytes, a payload below 46 bytes (42 with a
//! VLAN tag) arrives with zeros behind it.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use super::address::{KIND_FOR_OTHERS, KIND_OUTGOING, RawAddress, link_address};
use super::error::{OpenError, ReceiveError, SendError};
use super::interface::Interface;
use super::options::{self, SocketOptions, failed, set};
use super::socket::MeasuredSocket;
use super::stamping::{self, Stamps};
use super::{Counters, Launch, PacketEndpoint, Received, SentStamp, Waited};

/// IEEE 802's EtherType for local experiments, which nothing else on a network takes.
pub const LOCAL_EXPERIMENT: u16 = 0x88b5;
/// EtherTypes begin here; below, the field is a length (IEEE 802.3).
const LEAST_ETHERTYPE: u16 = 0x0600;
const TAGGED: u16 = 0x8100;
/// Any EtherType: `ETH_P_ALL`.
const ANY: u16 = 3;
/// No EtherType: such a socket receives nothing, and the kernel reads what it sends from the frame's header.
const NONE: u16 = 0;
const HEADER_BYTES: usize = 14;
const TAGGED_HEADER_BYTES: usize = 18;
/// Options of `SOL_PACKET`, include/uapi/linux/if_packet.h.
const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_QDISC_BYPASS: libc::c_int = 20;

/// A VLAN tag (IEEE 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// The VLAN (1 to 4094; 0 for a tag that only carries a priority).
    pub id: u16,
    /// The priority code point (0 to 7).
    pub priority: u8,
}

impl VlanTag {
    /// The tag control information.
    ///
    /// # Errors
    /// Where a part is out of its range.
    pub(super) fn control(self) -> Result<u16, OpenError> {
        if self.id > 4_094 {
            return Err(OpenError::OutOfRange {
                what: "VLAN",
                value: self.id.into(),
                range: "0 to 4094 (IEEE 802.1Q)",
            });
        }
        if self.priority > 7 {
            let value = self.priority.into();
            return Err(OpenError::OutOfRange { what: "VLAN priority", value, range: "0 to 7 (IEEE 802.1Q)" });
        }
        Ok(u16::from(self.priority) << 13 | self.id)
    }
}

/// How an end on the link layer is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// Name of the interface, such as `eth0`.
    pub interface: String,
    /// What tells its frames from others (0x0600 to 0xffff).
    pub ethertype: u16,
    /// To whom it sends; can be set later by [`LinkEndpoint::set_partner`].
    pub partner: Option<[u8; 6]>,
    /// The tag that its frames get. With one, tagged frames are received with theirs, which takes a look at each frame of
    /// the interface; without one, the kernel takes tags off unseen. Where the hardware throws frames of unknown VLANs
    /// away, a VLAN interface (`ip link add link … type vlan`) is to be used instead.
    pub vlan: Option<VlanTag>,
    /// Whether frames are received at all: an end that only sends costs those beside it nothing then.
    pub receives: bool,
    /// Whether frames go around the queueing discipline (`PACKET_QDISC_BYPASS`), which then honors no launch time.
    pub bypass_qdisc: bool,
    /// Which stamps to take.
    pub stamps: Stamps,
    /// The rest.
    pub options: SocketOptions,
}

impl LinkPlan {
    /// Frames for local experiments on an interface, with the stamps that every machine has.
    #[must_use]
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            ethertype: LOCAL_EXPERIMENT,
            partner: None,
            vlan: None,
            receives: true,
            bypass_qdisc: false,
            stamps: Stamps::SOFTWARE,
            options: SocketOptions::default(),
        }
    }
}

/// A socket on the link layer.
#[derive(Debug)]
pub struct LinkEndpoint {
    socket: MeasuredSocket,
    interface: Interface,
    /// The header of the next frame: destination, source, tag if any, EtherType.
    header: [u8; TAGGED_HEADER_BYTES],
    header_bytes: usize,
    has_partner: bool,
}

impl LinkEndpoint {
    /// Opens the socket, and waits until the kernel stamps what it receives.
    ///
    /// # Errors
    /// Where the interface is missing, down, or no Ethernet, a value is out of range, or a right is missing (CAP_NET_RAW).
    pub fn open(plan: &LinkPlan) -> Result<Self, OpenError> {
        check_ethertype(plan.ethertype)?;
        let control = plan.vlan.map(VlanTag::control).transpose()?;
        let interface = Interface::read(&plan.interface)?;
        let mac = interface.mac.ok_or_else(|| OpenError::NoEthernet { interface: interface.name.clone() })?;
        if !interface.is_up {
            return Err(OpenError::InterfaceDown { interface: interface.name });
        }
        if plan.options.dscp.is_some() {
            return Err(OpenError::Unsupported {
                action: "set a DSCP on the link layer",
                needs: "it is a field of IP; a VLAN tag has a priority instead",
                error: io::ErrorKind::Unsupported.into(),
            });
        }
        // Nothing is received before it is bound, since no EtherType is named here.
        let socket = options::open(libc::AF_PACKET, libc::SOCK_RAW, 0).map_err(|error| {
            OpenError::refused("open a socket on the link layer (AF_PACKET)", "CAP_NET_RAW", "CONFIG_PACKET", error)
        })?;
        let file = socket.as_fd();
        plan.options.apply(file, libc::AF_PACKET)?;
        if plan.bypass_qdisc {
            set(file, libc::SOL_PACKET, PACKET_QDISC_BYPASS, &1)
                .map_err(|error| failed("go around the queueing discipline (PACKET_QDISC_BYPASS)", error))?;
        }
        set(file, libc::SOL_PACKET, PACKET_AUXDATA, &1)
            .map_err(|error| failed("have VLAN tags reported (PACKET_AUXDATA)", error))?;
        let numbers = stamping::enable(file, plan.stamps)?;
        // Handlers of one EtherType get frames after the kernel took their tag off; those of any get it beside the frame.
        let ethertype = if !plan.receives {
            NONE
        } else if control.is_some() {
            filter_by_ethertype(file, plan.ethertype)?;
            ANY
        } else {
            plan.ethertype
        };
        bind(&socket, interface.index, ethertype)?;
        let mut header = [0; TAGGED_HEADER_BYTES];
        header[6..12].copy_from_slice(&mac);
        let header_bytes = match control {
            Some(control) => {
                header[12..14].copy_from_slice(&TAGGED.to_be_bytes());
                header[14..16].copy_from_slice(&control.to_be_bytes());
                header[16..18].copy_from_slice(&plan.ethertype.to_be_bytes());
                TAGGED_HEADER_BYTES
            }
            None => {
                header[12..14].copy_from_slice(&plan.ethertype.to_be_bytes());
                HEADER_BYTES
            }
        };
        let socket = MeasuredSocket::new(socket, numbers, plan.options.launch.is_some());
        let mut end = Self { socket, interface, header, header_bytes, has_partner: false };
        if let Some(partner) = plan.partner {
            end.set_partner(partner);
        }
        Ok(end)
    }

    /// The interface as it was when the end was opened.
    #[must_use]
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// To whom it sends from now on.
    pub fn set_partner(&mut self, partner: [u8; 6]) {
        self.header[..6].copy_from_slice(&partner);
        self.has_partner = true;
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

    fn most_bytes(&self) -> usize {
        usize::try_from(self.interface.mtu_bytes).unwrap_or(usize::MAX)
    }
}

impl PacketEndpoint for LinkEndpoint {
    #[inline]
    fn send(&mut self, payload: &[u8], launch: Option<Launch>) -> Result<(), SendError> {
        if !self.has_partner {
            return Err(SendError::NoPartner);
        }
        // The kernel judges the size by the MTU that the interface has now.
        let most_bytes = self.most_bytes();
        self.socket.send(None, &self.header[..self.header_bytes], payload, launch, most_bytes)
    }

    #[inline]
    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        self.socket.receive(|frame, from| {
            let is_for_us = !matches!(from.link_kind(), KIND_FOR_OTHERS | KIND_OUTGOING);
            let payload = frame.payload.get(HEADER_BYTES..).filter(|_| is_for_us)?;
            Some(take(Received { payload, ..frame }))
        })
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
        self.most_bytes()
    }

    fn rehearsal(&self) -> Option<Self> {
        let mut end = Self::open(&LinkPlan::new("lo")).ok()?;
        end.set_partner(end.interface.mac?);
        Some(end)
    }
}

/// Whether a number is one of an EtherType.
pub(super) fn check_ethertype(ethertype: u16) -> Result<(), OpenError> {
    if ethertype >= LEAST_ETHERTYPE {
        return Ok(());
    }
    let value = ethertype.into();
    Err(OpenError::OutOfRange { what: "EtherType", value, range: "1536 (0x0600) to 65535 (0xffff)" })
}

fn bind(socket: &OwnedFd, index: u32, ethertype: u16) -> Result<(), OpenError> {
    let address: RawAddress = link_address(index, ethertype);
    // SAFETY: the address is valid for reads of its length for the length of the call.
    if unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr(), address.length()) } == 0 {
        Ok(())
    } else {
        Err(failed("bind a socket to the interface", io::Error::last_os_error()))
    }
}

/// Lets received frames of an EtherType through, whether they are tagged or not, and nothing that we send ourselves
/// (include/uapi/linux/filter.h).
fn filter_by_ethertype(socket: BorrowedFd<'_>, ethertype: u16) -> Result<(), OpenError> {
    /// Loads a word, jumps if it equals, returns.
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    /// Words that describe the packet, beyond its bytes: `SKF_AD_OFF`, `SKF_AD_PROTOCOL`, `SKF_AD_PKTTYPE`.
    const DESCRIPTION: u32 = 0xffff_f000;
    const PROTOCOL: u32 = DESCRIPTION;
    const PACKET_KIND: u32 = DESCRIPTION + 4;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(LOAD, 0, 0, PROTOCOL),
        step(IF_EQUAL, 0, 3, ethertype.into()),
        step(LOAD, 0, 0, PACKET_KIND),
        step(IF_EQUAL, 1, 0, KIND_OUTGOING.into()),
        step(RETURN, 0, 0, u32::MAX),
        step(RETURN, 0, 0, 0),
    ];
    options::attach_filter(socket, &mut steps).map_err(|error| failed("receive by EtherType (SO_ATTACH_FILTER)", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_holds_priority_and_vlan() {
        assert_eq!(VlanTag { id: 5, priority: 3 }.control().unwrap(), 0x6005);
        let error = |id, priority| VlanTag { id, priority }.control().unwrap_err().to_string();
        assert_eq!(error(4_095, 0), "VLAN 4095 is out of range: 0 to 4094 (IEEE 802.1Q)");
        assert_eq!(error(1, 8), "VLAN priority 8 is out of range: 0 to 7 (IEEE 802.1Q)");
    }

    #[test]
    fn what_is_no_ethertype_or_no_ethernet_is_refused() {
        let low = LinkEndpoint::open(&LinkPlan { ethertype: 0x05ff, ..LinkPlan::new("lo") }).unwrap_err().to_string();
        assert!(low.starts_with("EtherType 1535 is out of range"), "{low}");
        let missing = LinkEndpoint::open(&LinkPlan::new("none0")).unwrap_err();
        assert!(matches!(missing, OpenError::NoInterface { interface } if interface == "none0"));
    }
}
