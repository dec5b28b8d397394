//! Socket addresses between Rust's form and the kernel's.

use std::mem::{MaybeUninit, offset_of};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Who sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The address and port of its IP and UDP headers.
    Internet(SocketAddr),
    /// The hardware address of its Ethernet header.
    Link([u8; 6]),
    /// The kernel named nobody.
    Unknown,
}

/// Who sent a packet, as it was learned: whoever measures seldom asks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// In the kernel's form.
    Raw(&'a RawAddress),
    /// As the headers of the packet say.
    Read(Origin),
}

impl Source<'_> {
    pub(super) fn origin(self) -> Origin {
        match self {
            Self::Raw(raw) => {
                let link = || raw.to_link().map(Origin::Link);
                raw.to_internet().map(Origin::Internet).or_else(link).unwrap_or(Origin::Unknown)
            }
            Self::Read(origin) => origin,
        }
    }
}

/// An address in the kernel's form, as long as it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    /// Room for the kernel to write an address to.
    pub(super) const fn empty() -> Self {
        // SAFETY: all zeros is a value of this structure of integers: an address of no family.
        let storage = unsafe { MaybeUninit::<libc::sockaddr_storage>::zeroed().assume_init() };
        Self { storage, length: SIZE }
    }

    /// Forgets whom it names: the kernel need not name anybody in it.
    #[inline]
    pub(super) const fn forget(&mut self) {
        // `AF_UNSPEC`.
        self.storage.ss_family = 0;
    }

    pub(super) const fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    pub(super) const fn as_mut_ptr(&mut self) -> *mut libc::sockaddr {
        (&raw mut self.storage).cast()
    }

    pub(super) const fn length(&self) -> libc::socklen_t {
        self.length
    }

    pub(super) const fn length_mut(&mut self) -> &mut libc::socklen_t {
        &mut self.length
    }

    /// The address in Rust's form; `None` where it is of another family.
    pub(super) fn to_internet(self) -> Option<SocketAddr> {
        match libc::c_int::from(self.storage.ss_family) {
            libc::AF_INET => {
                let raw = self.read::<libc::sockaddr_in>();
                let address = Ipv4Addr::from(u32::from_be(raw.sin_addr.s_addr));
                Some(SocketAddrV4::new(address, u16::from_be(raw.sin_port)).into())
            }
            libc::AF_INET6 => {
                let raw = self.read::<libc::sockaddr_in6>();
                let address = Ipv6Addr::from(raw.sin6_addr.s6_addr);
                let port = u16::from_be(raw.sin6_port);
                Some(SocketAddrV6::new(address, port, u32::from_be(raw.sin6_flowinfo), raw.sin6_scope_id).into())
            }
            _ => None,
        }
    }

    /// The hardware address of 6 bytes; `None` where it is of another family or length.
    pub(super) fn to_link(self) -> Option<[u8; 6]> {
        if libc::c_int::from(self.storage.ss_family) != libc::AF_PACKET {
            return None;
        }
        let raw = self.read::<libc::sockaddr_ll>();
        (raw.sll_halen == 6).then(|| raw.sll_addr[..6].try_into().unwrap_or_default())
    }

    /// What kind of packet an `AF_PACKET` address came with.
    pub(super) fn link_kind(&self) -> u8 {
        self.read::<libc::sockaddr_ll>().sll_pkttype
    }

    fn read<T: Address>(&self) -> T {
        // SAFETY: `Address` promises a structure of integers that is no longer than the storage, which is aligned for all
        // of them and initialized as a whole.
        unsafe { (&raw const self.storage).cast::<T>().read() }
    }

    fn write<T: Address>(raw: T) -> Self {
        let mut address = Self::empty();
        // SAFETY: as for `read`.
        unsafe { (&raw mut address.storage).cast::<T>().write(raw) };
        address.length = socket_length(size_of::<T>());
        address
    }
}

/// Room for an address of any family (bytes).
pub(super) const SIZE: libc::socklen_t = socket_length(size_of::<libc::sockaddr_storage>());

/// A length in the kernel's type.
#[expect(clippy::cast_possible_truncation, reason = "sizes of structures and buffers of at most 64 KiB")]
pub(super) const fn socket_length(bytes: usize) -> libc::socklen_t {
    bytes as libc::socklen_t
}

/// An address structure of integers alone, no longer than `sockaddr_storage`.
trait Address: Copy {}
impl Address for libc::sockaddr_in {}
impl Address for libc::sockaddr_in6 {}
impl Address for libc::sockaddr_ll {}

impl From<SocketAddr> for RawAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(address) => Self::write(libc::sockaddr_in {
                sin_family: family(libc::AF_INET),
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(address) => Self::write(libc::sockaddr_in6 {
                sin6_family: family(libc::AF_INET6),
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo().to_be(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            }),
        }
    }
}

/// A packet for another node, and one that this machine sends: `PACKET_OTHERHOST`, `PACKET_OUTGOING`,
/// include/uapi/linux/if_packet.h.
pub(super) const KIND_FOR_OTHERS: u8 = 3;
pub(super) const KIND_OUTGOING: u8 = 4;

/// An address of `AF_PACKET` to bind to: an interface and an EtherType.
pub(super) fn link_address(index: u32, ethertype: u16) -> RawAddress {
    RawAddress::write(libc::sockaddr_ll {
        sll_family: family(libc::AF_PACKET),
        sll_protocol: ethertype.to_be(),
        sll_ifindex: libc::c_int::try_from(index).unwrap_or(0),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "families are small positive numbers")]
const fn family(number: libc::c_int) -> libc::sa_family_t {
    number as libc::sa_family_t
}

const _: () =
    assert!(offset_of!(libc::sockaddr_storage, ss_family) == 0 && offset_of!(libc::sockaddr_ll, sll_addr) == 12);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_way_to_the_kernel_s_form_and_back() {
        for text in ["192.0.2.7:4660", "[2001:db8::1]:1", "[fe80::1%7]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(RawAddress::from(address).to_internet(), Some(address), "{text}");
            assert_eq!(RawAddress::from(address).to_link(), None);
        }
        let link = RawAddress::write(libc::sockaddr_ll {
            sll_halen: 6,
            sll_pkttype: KIND_OUTGOING,
            sll_addr: [2, 0, 0, 0, 0, 9, 0, 0],
            ..link_address(3, 0x88b5).read()
        });
        assert_eq!((link.to_link(), link.to_internet(), link.link_kind()), (Some([2, 0, 0, 0, 0, 9]), None, 4));
        assert_eq!(link_address(3, 0x88b5).to_link(), None);
        assert_eq!(RawAddress::empty().to_internet(), None);
        assert_eq!(RawAddress::empty().to_link(), None);
    }

    #[test]
    fn the_port_stands_in_network_order() {
        let raw = RawAddress::from("127.0.0.1:258".parse::<SocketAddr>().unwrap());
        // SAFETY: the storage is initialized and longer than four bytes.
        let bytes = unsafe { raw.as_ptr().cast::<[u8; 4]>().read() };
        assert_eq!(bytes[2..], [1, 2]);
        assert_eq!(raw.length(), 16);
    }
}
