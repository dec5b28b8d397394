//! What is to be known of a network interface before packets are measured on it.

use std::io;
use std::net::IpAddr;

use super::error::LookupError;
use super::netlink::{Answer, Attributes, Netlink, internet_address, text, u16_at, u32_at};
use crate::ethtool::{Ethtool, TsInfo};

const GET_LINK: u16 = 18;
const GET_ADDRESS: u16 = 22;
/// `struct ifinfomsg` and `struct ifaddrmsg`, include/uapi/linux/rtnetlink.h and if_addr.h.
const LINK_BYTES: usize = 16;
const ADDRESS_BYTES: usize = 8;
const IS_UP: u32 = 1;
const HAS_CARRIER: u32 = 1 << 16;
/// Attributes of a link, include/uapi/linux/if_link.h.
const LINK_MAC: u16 = 1;
const LINK_NAME: u16 = 3;
const LINK_MTU: u16 = 4;
const LINK_LOWER: u16 = 5;
const LINK_INFO: u16 = 18;
const LINK_NUM_RX_QUEUES: u16 = 32;
const LINK_XDP: u16 = 43;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VLAN_ID: u16 = 1;
const XDP_ATTACHED: u16 = 2;
const XDP_PROGRAM: u16 = 4;
/// Which ways a program of XDP is attached, by `IFLA_XDP_ATTACHED`: none, native, generic, by the hardware, several.
const XDP_ATTACHED_NONE: u8 = 0;
const ADDRESS: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
/// Not usable yet, since another node may have it (IPv6): `IFA_F_TENTATIVE`.
const ADDRESS_TENTATIVE: u8 = 0x40;

/// A network interface of this namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's number.
    pub index: u32,
    /// Its present name.
    pub name: String,
    /// Its hardware address; `None` where it has none of 6 bytes.
    pub mac: Option<[u8; 6]>,
    /// The largest packet without its Ethernet header (bytes).
    pub mtu_bytes: u32,
    /// Whether it was started.
    pub is_up: bool,
    /// Whether its cable is plugged in, or its peer is up.
    pub has_carrier: bool,
    /// What kind of virtual interface it is (`veth`, `vlan`, `bridge`, …); `None` for hardware.
    pub kind: Option<String>,
    /// Its place on another interface, if it is a VLAN.
    pub vlan: Option<Vlan>,
    /// Its addresses that can be used, link-local ones included.
    pub addresses: Vec<AddressOfInterface>,
    /// Receive queues in use.
    pub rx_queue_count: u32,
    /// The driver's name, if it states one.
    pub driver: Option<String>,
    /// The number of a program of XDP that is attached to it.
    pub xdp_program: Option<u32>,
    /// What can be stamped, if the driver states it.
    pub stamping: Option<TsInfo>,
    /// Which stamps its hardware is configured for at present, if it states that.
    pub hardware_stamping: Option<HardwareStamping>,
}

/// The place of a VLAN interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// The number of the interface that carries it.
    pub lower_index: u32,
    /// Its VLAN (1 to 4094).
    pub id: u16,
}

/// One address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressOfInterface {
    /// The address.
    pub address: IpAddr,
    /// How many of its bits name the network.
    pub prefix_bits: u8,
}

/// What hardware stamps are taken, by `SIOCGHWTSTAMP` (include/uapi/linux/net_tstamp.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardwareStamping {
    /// Sent packets that ask for it.
    pub sends: bool,
    /// Which of the received packets.
    pub receives: ReceivedStamped,
}

/// Which received packets the hardware stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivedStamped {
    /// None (`HWTSTAMP_FILTER_NONE`).
    None,
    /// Some: those of PTP, or of NTP.
    Some,
    /// All (`HWTSTAMP_FILTER_ALL`).
    All,
}

impl HardwareStamping {
    /// The interface stamps no packet, sent or received.
    pub const OFF: Self = Self { sends: false, receives: ReceivedStamped::None };

    /// As flags, `HWTSTAMP_TX_*` and `HWTSTAMP_FILTER_*` say it (include/uapi/linux/net_tstamp.h).
    #[must_use]
    pub const fn from_config([_, sends, receives]: [i32; 3]) -> Self {
        let receives = match receives {
            0 => ReceivedStamped::None,
            1 => ReceivedStamped::All,
            _ => ReceivedStamped::Some,
        };
        Self { sends: sends > 0, receives }
    }
}

impl Interface {
    /// Reads one by its name.
    ///
    /// # Errors
    /// Where there is none of this name in this network namespace.
    pub fn read(name: &str) -> Result<Self, LookupError> {
        let missing = || LookupError::NoInterface { interface: name.to_owned() };
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(['\0', '/']) {
            return Err(missing());
        }
        let mut netlink = Netlink::open().map_err(failed)?;
        let padded = [name.as_bytes(), &[0]].concat();
        let answer = match netlink.ask(GET_LINK, &[0; LINK_BYTES], &[(LINK_NAME, &padded)]) {
            Ok(answer) => answer,
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Err(missing()),
            Err(error) => return Err(failed(error)),
        };
        Self::complete(&mut netlink, &answer)
    }

    /// Reads one by the kernel's number.
    ///
    /// # Errors
    /// Where there is none of this number in this network namespace.
    pub fn read_by_index(index: u32) -> Result<Self, LookupError> {
        let mut netlink = Netlink::open().map_err(failed)?;
        let mut fixed = [0; LINK_BYTES];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        let answer = match netlink.ask(GET_LINK, &fixed, &[]) {
            Ok(answer) => answer,
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                return Err(LookupError::NoInterface { interface: format!("number {index}") });
            }
            Err(error) => return Err(failed(error)),
        };
        Self::complete(&mut netlink, &answer)
    }

    /// The first address that packets to `to` can come from: of its version of IP, and link-local if it is.
    #[must_use]
    pub fn source_for(&self, to: IpAddr) -> Option<IpAddr> {
        let fits = |own: &IpAddr| match (own, to) {
            (IpAddr::V4(_), IpAddr::V4(_)) => true,
            (IpAddr::V6(own), IpAddr::V6(to)) => own.is_unicast_link_local() == to.is_unicast_link_local(),
            _ => false,
        };
        self.addresses.iter().map(|own| own.address).find(fits)
    }

    fn complete(netlink: &mut Netlink, answer: &Answer) -> Result<Self, LookupError> {
        let mut interface =
            Self::parse(answer).ok_or_else(|| failed(io::Error::other("the kernel's answer is damaged")))?;
        interface.addresses = addresses(netlink, interface.index).map_err(failed)?;
        let Ok(ethtool) = Ethtool::open() else { return Ok(interface) };
        let name = &interface.name;
        interface.driver = ethtool.driver(name).ok();
        interface.stamping = ethtool.ts_info(name).ok();
        interface.hardware_stamping = ethtool.hardware_stamping(name).ok().map(HardwareStamping::from_config);
        if let Ok(channels) = ethtool.channels(name) {
            interface.rx_queue_count = (channels.rx_count + channels.combined_count).max(1);
        }
        Ok(interface)
    }

    fn parse(answer: &Answer) -> Option<Self> {
        let (index, flags) = (u32_at(&answer.body, 4)?, u32_at(&answer.body, 8)?);
        let number = |kind| answer.attribute(LINK_BYTES, kind).and_then(|value| u32_at(value, 0));
        let info = answer.attribute(LINK_BYTES, LINK_INFO).unwrap_or_default();
        let of_info = |kind| Attributes::nested(info).find(|(found, _)| *found == kind).map(|(_, value)| value);
        let kind = of_info(INFO_KIND).map(text);
        let vlan_id = of_info(INFO_DATA)
            .filter(|_| kind.as_deref() == Some("vlan"))
            .and_then(|data| Attributes::nested(data).find(|(found, _)| *found == VLAN_ID))
            .and_then(|(_, value)| u16_at(value, 0));
        let xdp = answer.attribute(LINK_BYTES, LINK_XDP).unwrap_or_default();
        let of_xdp = |kind| Attributes::nested(xdp).find(|(found, _)| *found == kind).map(|(_, value)| value);
        let is_attached = of_xdp(XDP_ATTACHED).is_some_and(|value| value.first() != Some(&XDP_ATTACHED_NONE));
        Some(Self {
            index,
            name: text(answer.attribute(LINK_BYTES, LINK_NAME)?),
            mac: answer.attribute(LINK_BYTES, LINK_MAC).and_then(|mac| mac.try_into().ok()),
            mtu_bytes: number(LINK_MTU)?,
            is_up: flags & IS_UP != 0,
            has_carrier: flags & HAS_CARRIER != 0,
            kind,
            vlan: vlan_id.zip(number(LINK_LOWER)).map(|(id, lower_index)| Vlan { lower_index, id }),
            addresses: Vec::new(),
            rx_queue_count: number(LINK_NUM_RX_QUEUES).unwrap_or(1).max(1),
            driver: None,
            // Several ways at once are told without the number of one.
            xdp_program: is_attached.then(|| of_xdp(XDP_PROGRAM).and_then(|value| u32_at(value, 0)).unwrap_or(0)),
            stamping: None,
            hardware_stamping: None,
        })
    }
}

fn addresses(netlink: &mut Netlink, index: u32) -> io::Result<Vec<AddressOfInterface>> {
    let mut fixed = [0; ADDRESS_BYTES];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    Ok(netlink.dump(GET_ADDRESS, &fixed)?.iter().filter_map(|answer| parse_address(answer, index)).collect())
}

fn parse_address(answer: &Answer, index: u32) -> Option<AddressOfInterface> {
    let (prefix_bits, flags) = (*answer.body.get(1)?, *answer.body.get(2)?);
    if u32_at(&answer.body, 4)? != index || flags & ADDRESS_TENTATIVE != 0 {
        return None;
    }
    // Of a point-to-point link the first is the partner's.
    let own = answer.attribute(ADDRESS_BYTES, ADDRESS_LOCAL).or_else(|| answer.attribute(ADDRESS_BYTES, ADDRESS))?;
    Some(AddressOfInterface { address: internet_address(own)?, prefix_bits })
}

fn failed(error: io::Error) -> LookupError {
    LookupError::Failed { action: "read the network interfaces", error }
}

#[cfg(test)]
mod tests {
    use super::super::netlink::tests::attribute;
    use super::*;

    fn link(flags: u32, attributes: &[Vec<u8>]) -> Answer {
        let mut body = vec![0; LINK_BYTES];
        body[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        body[8..12].copy_from_slice(&flags.to_ne_bytes());
        body.extend(attributes.concat());
        Answer { body }
    }

    #[test]
    fn a_vlan_interface_names_what_carries_it() {
        let data = attribute(INFO_DATA, &attribute(VLAN_ID, &5_u16.to_ne_bytes()));
        let info = [attribute(INFO_KIND, b"vlan\0"), data].concat();
        let answer = link(
            IS_UP | HAS_CARRIER,
            &[
                attribute(LINK_NAME, b"eth0.5\0"),
                attribute(LINK_MAC, &[2, 0, 0, 0, 0, 1]),
                attribute(LINK_MTU, &1_500_u32.to_ne_bytes()),
                attribute(LINK_LOWER, &2_u32.to_ne_bytes()),
                attribute(LINK_INFO, &info),
                attribute(LINK_NUM_RX_QUEUES, &4_u32.to_ne_bytes()),
                attribute(LINK_XDP, &attribute(XDP_ATTACHED, &[0])),
            ],
        );
        let interface = Interface::parse(&answer).unwrap();
        assert_eq!((interface.index, &*interface.name, interface.mtu_bytes), (7, "eth0.5", 1_500));
        assert_eq!(interface.vlan, Some(Vlan { lower_index: 2, id: 5 }));
        assert_eq!((interface.mac, interface.rx_queue_count), (Some([2, 0, 0, 0, 0, 1]), 4));
        assert!(interface.is_up && interface.has_carrier && interface.xdp_program.is_none());
    }

    #[test]
    fn a_program_of_xdp_is_seen_and_a_down_interface_is_down() {
        let xdp = [attribute(XDP_ATTACHED, &[1]), attribute(XDP_PROGRAM, &42_u32.to_ne_bytes())].concat();
        let name = attribute(LINK_NAME, b"eth1\0");
        let mtu = attribute(LINK_MTU, &9_000_u32.to_ne_bytes());
        let interface = Interface::parse(&link(0, &[name.clone(), mtu, attribute(LINK_XDP, &xdp)])).unwrap();
        assert!(!interface.is_up && !interface.has_carrier);
        assert_eq!((interface.xdp_program, interface.kind), (Some(42), None));
        assert_eq!(Interface::parse(&link(0, &[name])), None, "without an MTU it is no link");
    }

    #[test]
    fn what_the_hardware_stamps_is_read_as_the_kernel_s_numbers_say_it() {
        assert_eq!(HardwareStamping::from_config([0; 3]), HardwareStamping::OFF);
        let all = HardwareStamping { sends: true, receives: ReceivedStamped::All };
        assert_eq!(HardwareStamping::from_config([0, 1, 1]), all);
        // ptp4l's own: PTP over any transport (HWTSTAMP_FILTER_PTP_V2_EVENT).
        assert_eq!(
            HardwareStamping::from_config([0, 1, 12]),
            HardwareStamping { receives: ReceivedStamped::Some, ..all }
        );
    }

    #[test]
    fn this_machine_s_loopback_is_read_by_name_and_by_number() {
        let lo = Interface::read("lo").unwrap();
        assert_eq!((&*lo.name, lo.vlan, lo.xdp_program), ("lo", None, None));
        assert_eq!(Interface::read_by_index(lo.index).unwrap(), lo);
        for name in ["", "none0", "a/b", "longer-than-names-are"] {
            let missing = Interface::read(name).unwrap_err();
            assert!(matches!(&missing, LookupError::NoInterface { interface } if interface == name), "{missing}");
        }
    }
}
