//! Which way packets to an address take: the interface, the source address and the next hop's hardware address.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use super::error::LookupError;
use super::netlink::{Answer, Netlink, internet_address, u16_at, u32_at};

const GET_ROUTE: u16 = 26;
/// `struct rtmsg`, include/uapi/linux/rtnetlink.h.
const ROUTE_BYTES: usize = 12;
const ROUTE_TO: u16 = 1;
const ROUTE_BY: u16 = 4;
const ROUTE_GATEWAY: u16 = 5;
const ROUTE_SOURCE: u16 = 7;
/// A gateway of the other version of IP: its family and its address.
const ROUTE_VIA: u16 = 18;
const KIND_UNICAST: u8 = 1;
const KIND_LOCAL: u8 = 2;
const GET_NEIGHBOR: u16 = 30;
/// `struct ndmsg`, include/uapi/linux/neighbor.h.
const NEIGHBOR_BYTES: usize = 12;
const NEIGHBOR_ADDRESS: u16 = 1;
const NEIGHBOR_MAC: u16 = 2;
/// Reachable, stale, delayed, probed, without resolution, permanent: in all of them the hardware address is known.
const NEIGHBOR_KNOWN: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;
/// The service that throws away what it gets (RFC 863).
const DISCARD_PORT: u16 = 9;

/// The way that packets to an address take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The number of the interface that they leave by.
    pub interface_index: u32,
    /// The address that they come from, unless the sender chose one.
    pub source: Option<IpAddr>,
    /// The router that they go to first; `None` where the address is on the interface's own network.
    pub gateway: Option<IpAddr>,
    /// Whether the address is one of this machine's own, so that packets never leave it.
    pub is_local: bool,
}

impl Route {
    /// Looks up the way to an address; a link-local one takes its scope.
    ///
    /// # Errors
    /// [`LookupError::NoRoute`] where there is none.
    pub fn to(to: SocketAddr) -> Result<Self, LookupError> {
        let no_route = |error: io::Error| match error.raw_os_error() {
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EINVAL) => {
                LookupError::NoRoute { to: to.ip() }
            }
            _ => LookupError::Failed { action: "look up a route", error },
        };
        let mut netlink = Netlink::open().map_err(no_route)?;
        let (family, octets, scope) = parts(to);
        let mut fixed = [0; ROUTE_BYTES];
        fixed[0] = family;
        fixed[1] = u8::try_from(octets.len() * 8).unwrap_or(0);
        let scope = scope.to_ne_bytes();
        let attributes = [(ROUTE_TO, &*octets), (ROUTE_BY, &scope[..])];
        // The second part only where there is a scope.
        let attributes = if scope == [0; 4] { &attributes[..1] } else { &attributes[..] };
        let answer = netlink.ask(GET_ROUTE, &fixed, attributes).map_err(no_route)?;
        Self::parse(&answer).ok_or(LookupError::NoRoute { to: to.ip() })
    }

    fn parse(answer: &Answer) -> Option<Self> {
        let kind = *answer.body.get(7)?;
        let address = |kind| answer.attribute(ROUTE_BYTES, kind).and_then(internet_address);
        let via = answer.attribute(ROUTE_BYTES, ROUTE_VIA).and_then(|value| internet_address(value.get(2..)?));
        // Others are refusals: blackhole, unreachable, prohibit; or go to many.
        (kind == KIND_UNICAST || kind == KIND_LOCAL).then_some(())?;
        Some(Self {
            interface_index: answer.attribute(ROUTE_BYTES, ROUTE_BY).and_then(|value| u32_at(value, 0))?,
            source: address(ROUTE_SOURCE),
            gateway: address(ROUTE_GATEWAY).or(via),
            is_local: kind == KIND_LOCAL,
        })
    }
}

/// The hardware address that packets to `to` are sent to on an interface, which is asked for (ARP, neighbor discovery) if
/// the kernel does not know it; waits `patience` at most for that.
///
/// # Errors
/// [`LookupError::NoNeighbor`] where nobody answers.
pub fn resolve_neighbor(interface_index: u32, to: IpAddr, patience: Duration) -> Result<[u8; 6], LookupError> {
    let began = Instant::now();
    loop {
        if let Some(mac) = known_neighbor(interface_index, to)? {
            return Ok(mac);
        }
        if began.elapsed() > patience {
            return Err(LookupError::NoNeighbor { address: to });
        }
        // Any packet makes the kernel ask. Where it may not be sent, the kernel may still learn the address otherwise.
        let _ = provoke(interface_index, to);
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn provoke(interface_index: u32, to: IpAddr) -> io::Result<usize> {
    let (any, to): (SocketAddr, SocketAddr) = match to {
        IpAddr::V4(to) => (([0; 4], 0).into(), (to, DISCARD_PORT).into()),
        IpAddr::V6(to) => {
            let scope = if to.is_unicast_link_local() { interface_index } else { 0 };
            (([0_u16; 8], 0).into(), std::net::SocketAddrV6::new(to, DISCARD_PORT, 0, scope).into())
        }
    };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    // `SO_BINDTOIFINDEX`, since Linux 5.0: where it is unknown the routes decide.
    let _ = super::options::set(socket.as_fd(), libc::SOL_SOCKET, 62, &interface_index);
    socket.send_to(&[], to)
}

fn known_neighbor(interface_index: u32, to: IpAddr) -> Result<Option<[u8; 6]>, LookupError> {
    let failed = |error| LookupError::Failed { action: "read the neighbor table", error };
    let mut netlink = Netlink::open().map_err(failed)?;
    let mut fixed = [0; NEIGHBOR_BYTES];
    fixed[0] = parts(SocketAddr::new(to, 0)).0;
    let answers = netlink.dump(GET_NEIGHBOR, &fixed).map_err(failed)?;
    Ok(answers.iter().find_map(|answer| parse_neighbor(answer, interface_index, to)))
}

fn parse_neighbor(answer: &Answer, interface_index: u32, to: IpAddr) -> Option<[u8; 6]> {
    let is_of_interface = u32_at(&answer.body, 4)? == interface_index;
    let is_known = u16_at(&answer.body, 8)? & NEIGHBOR_KNOWN != 0;
    let address = answer.attribute(NEIGHBOR_BYTES, NEIGHBOR_ADDRESS).and_then(internet_address)?;
    if !(is_of_interface && is_known && address == to) {
        return None;
    }
    answer.attribute(NEIGHBOR_BYTES, NEIGHBOR_MAC)?.try_into().ok()
}

/// The family, the address and the scope as netlink takes them.
fn parts(address: SocketAddr) -> (u8, Vec<u8>, u32) {
    let family = |number: libc::c_int| u8::try_from(number).unwrap_or(0);
    match address {
        SocketAddr::V4(address) => (family(libc::AF_INET), address.ip().octets().to_vec(), 0),
        SocketAddr::V6(address) => (family(libc::AF_INET6), address.ip().octets().to_vec(), address.scope_id()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::netlink::tests::attribute;
    use super::*;

    #[test]
    fn a_route_by_a_router_of_the_other_version_is_read() {
        let mut body = vec![0; ROUTE_BYTES];
        body[7] = KIND_UNICAST;
        let mut via = 10_u16.to_ne_bytes().to_vec();
        via.extend_from_slice(&[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        body.extend([attribute(ROUTE_BY, &3_u32.to_ne_bytes()), attribute(ROUTE_VIA, &via)].concat());
        let route = Route::parse(&Answer { body: body.clone() }).unwrap();
        assert_eq!((route.interface_index, route.is_local), (3, false));
        assert_eq!((route.gateway, route.source), (Some("fe80::1".parse().unwrap()), None));
        // A blackhole is no way.
        body[7] = 6;
        assert_eq!(Route::parse(&Answer { body }), None);
    }

    #[test]
    fn a_neighbor_counts_only_with_a_known_address_on_that_interface() {
        let neighbor = |index: u32, state: u16| {
            let mut body = vec![0; NEIGHBOR_BYTES];
            body[4..8].copy_from_slice(&index.to_ne_bytes());
            body[8..10].copy_from_slice(&state.to_ne_bytes());
            let address = attribute(NEIGHBOR_ADDRESS, &[10, 0, 0, 2]);
            body.extend([address, attribute(NEIGHBOR_MAC, &[2, 0, 0, 0, 0, 2])].concat());
            parse_neighbor(&Answer { body }, 3, "10.0.0.2".parse().unwrap())
        };
        assert_eq!(neighbor(3, 0x02), Some([2, 0, 0, 0, 0, 2]));
        // Incomplete, failed, or of another interface.
        assert_eq!([neighbor(3, 0x01), neighbor(3, 0x20), neighbor(4, 0x02)], [None; 3]);
    }
}
