//! Finds PTP and NTP messages in captured frames: Ethernet with VLAN tags, Linux cooked captures, raw IP.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::file::Frame;

/// UDP port of event messages of PTP (IEEE 1588-2019, annexes C and D).
const PTP_EVENT: u16 = 319;
/// UDP port of the other messages of PTP.
const PTP_GENERAL: u16 = 320;
/// UDP port of NTP (RFC 5905).
const NTP: u16 = 123;
/// EtherType of PTP (IEEE 1588-2019, annex E).
const ETHERTYPE_PTP: u16 = 0x88f7;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// EtherTypes of VLAN tags (IEEE 802.1Q, 802.1ad, and what was used before).
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// Tags in a row; more are in no network.
const MOST_TAGS: usize = 4;
/// Headers of IPv6 in a row.
const MOST_EXTENSIONS: usize = 8;
const UDP: u8 = 17;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried<'a> {
    /// A message of PTP.
    Ptp(&'a [u8]),
    /// A message of NTP, with its sender and its receiver.
    Ntp {
        /// Who sent it.
        from: SocketAddr,
        /// Who it was sent to.
        to: SocketAddr,
        /// The message.
        message: &'a [u8],
    },
    /// Something else.
    Other,
    /// It begins as one of them, and its end was not captured.
    Cut,
    /// The link type is not known.
    UnknownLink,
}

/// What a frame carries, and whether this machine sent it: of Linux cooked captures the frame itself says it.
#[must_use]
pub fn carried<'a>(frame: &Frame<'a>) -> (Carried<'a>, Option<bool>) {
    let bytes = frame.bytes;
    let short = if frame.is_cut { Carried::Cut } else { Carried::Other };
    let (found, is_outgoing) = match frame.link_type {
        1 => (ethernet(bytes), None),
        113 => (u16_at(bytes, 14).and_then(|kind| network(kind, bytes.get(16..)?)), cooked(u16_at(bytes, 0))),
        276 => (
            u16_at(bytes, 0).and_then(|kind| network(kind, bytes.get(20..)?)),
            cooked(bytes.get(10).map(|kind| u16::from(*kind))),
        ),
        12 | 14 | 101 | 228 | 229 => (raw(bytes), None),
        _ => return (Carried::UnknownLink, frame.is_outgoing),
    };
    (found.unwrap_or(short), is_outgoing.or(frame.is_outgoing))
}

/// The direction in a cooked header (if_packet.h, `sll_pkttype`): 4 is outgoing; 3 is for another machine, and was received.
const fn cooked(kind: Option<u16>) -> Option<bool> {
    match kind {
        Some(4) => Some(true),
        Some(0..=3) => Some(false),
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes))
}

/// `None`, here and below: the frame ends too early.
fn ethernet(bytes: &[u8]) -> Option<Carried<'_>> {
    network(u16_at(bytes, 12)?, bytes.get(14..)?)
}

fn network(kind: u16, bytes: &[u8]) -> Option<Carried<'_>> {
    let (mut kind, mut bytes) = (kind, bytes);
    for _ in 0..MOST_TAGS {
        if !ETHERTYPES_VLAN.contains(&kind) {
            break;
        }
        (kind, bytes) = (u16_at(bytes, 2)?, bytes.get(4..)?);
    }
    match kind {
        ETHERTYPE_PTP => Some(Carried::Ptp(bytes)),
        ETHERTYPE_IPV4 => ipv4(bytes),
        ETHERTYPE_IPV6 => ipv6(bytes),
        _ => Some(Carried::Other),
    }
}

fn raw(bytes: &[u8]) -> Option<Carried<'_>> {
    match bytes.first()? >> 4 {
        4 => ipv4(bytes),
        6 => ipv6(bytes),
        _ => Some(Carried::Other),
    }
}

fn ipv4(bytes: &[u8]) -> Option<Carried<'_>> {
    let first = *bytes.first()?;
    let header = usize::from(first & 0xf) * 4;
    if first >> 4 != 4 || header < 20 {
        return Some(Carried::Other);
    }
    let fragment = u16_at(bytes, 6)?;
    // Neither protocol sends messages that need fragments: one that is a part has no whole message.
    if *bytes.get(9)? != UDP || fragment & 0x3fff != 0 {
        return Some(Carried::Other);
    }
    let address = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|bytes| IpAddr::V4(Ipv4Addr::from(*bytes)));
    let (from, to) = (address(12)?, address(16)?);
    udp(bytes.get(header..)?, from, to)
}

fn ipv6(bytes: &[u8]) -> Option<Carried<'_>> {
    if *bytes.first()? >> 4 != 6 {
        return Some(Carried::Other);
    }
    let address = |at: usize| bytes.get(at..)?.first_chunk::<16>().map(|bytes| IpAddr::V6(Ipv6Addr::from(*bytes)));
    let (from, to) = (address(8)?, address(24)?);
    let (mut next, mut rest) = (*bytes.get(6)?, bytes.get(40..)?);
    for _ in 0..MOST_EXTENSIONS {
        // Hop-by-hop options, routing and destination options say how long they are; anything else hides no UDP of ours.
        if !matches!(next, 0 | 43 | 60) {
            break;
        }
        let length = (usize::from(*rest.get(1)?) + 1) * 8;
        (next, rest) = (*rest.first()?, rest.get(length..)?);
    }
    if next == UDP { udp(rest, from, to) } else { Some(Carried::Other) }
}

fn udp(bytes: &[u8], from: IpAddr, to: IpAddr) -> Option<Carried<'_>> {
    let (source, destination, length) = (u16_at(bytes, 0)?, u16_at(bytes, 2)?, usize::from(u16_at(bytes, 4)?));
    let is_ptp = matches!(destination, PTP_EVENT | PTP_GENERAL);
    if !is_ptp && source != NTP && destination != NTP {
        return Some(Carried::Other);
    }
    if length < 8 {
        return Some(Carried::Other);
    }
    let message = bytes.get(8..length)?;
    Some(if is_ptp {
        Carried::Ptp(message)
    } else {
        Carried::Ntp { from: SocketAddr::new(from, source), to: SocketAddr::new(to, destination), message }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(link_type: u16, bytes: &[u8]) -> Frame<'_> {
        Frame { at_ns: Some(0), resolution_ns: 0, link_type, is_outgoing: None, is_cut: false, bytes }
    }

    fn udp_of(source: u16, destination: u16, message: &[u8]) -> Vec<u8> {
        let length = u16::try_from(message.len() + 8).unwrap();
        let mut bytes: Vec<u8> =
            [source, destination, length, 0].iter().flat_map(|value| value.to_be_bytes()).collect();
        bytes.extend(message);
        bytes
    }

    fn ipv4_of(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend(payload);
        bytes
    }

    fn with_head(head: &[u8], rest: &[u8]) -> Vec<u8> {
        [head, rest].concat()
    }

    #[test]
    fn messages_are_found_under_every_header() {
        let ptp = with_head(&[0; 12], &with_head(&[0x88, 0xf7], b"ptp"));
        assert_eq!(carried(&frame(1, &ptp)), (Carried::Ptp(b"ptp"), None));
        let tagged = with_head(&[0; 12], &with_head(&[0x81, 0, 0, 5, 0x81, 0, 0, 6, 0x88, 0xf7], b"ptp"));
        assert_eq!(carried(&frame(1, &tagged)).0, Carried::Ptp(b"ptp"));
        let packet = ipv4_of(&udp_of(5_000, 319, b"sync"));
        for link in [12, 101, 228] {
            assert_eq!(carried(&frame(link, &packet)).0, Carried::Ptp(b"sync"));
        }
        let mut six = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
        six.extend([1; 32]);
        // A hop-by-hop header before UDP.
        six.extend([17, 0, 0, 0, 0, 0, 0, 0]);
        six.extend(udp_of(5_000, 320, b"follow"));
        assert_eq!(carried(&frame(101, &six)).0, Carried::Ptp(b"follow"));
        // Linux cooked captures say which way a frame went.
        let cooked = with_head(&[0, 4, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], &packet);
        assert_eq!(carried(&frame(113, &cooked)), (Carried::Ptp(b"sync"), Some(true)));
        let mut second = vec![8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2];
        second.resize(20, 0);
        second.extend(&packet);
        assert_eq!(carried(&frame(276, &second)), (Carried::Ptp(b"sync"), Some(false)));
        let ntp = ipv4_of(&udp_of(40_000, 123, b"ntp"));
        let Carried::Ntp { from, to, message } = carried(&frame(101, &ntp)).0 else { panic!("no NTP") };
        assert_eq!(
            (from.to_string(), to.to_string(), message),
            ("10.0.0.1:40000".into(), "10.0.0.2:123".into(), &b"ntp"[..])
        );
    }

    #[test]
    fn what_is_cut_or_foreign_is_said_to_be() {
        let packet = ipv4_of(&udp_of(5_000, 319, b"sync"));
        for end in 0..packet.len() {
            let cut = Frame { is_cut: true, ..frame(101, &packet[..end]) };
            assert_eq!(carried(&cut).0, Carried::Cut, "{end}");
            assert_eq!(carried(&frame(101, &packet[..end])).0, Carried::Other, "{end}");
        }
        assert_eq!(carried(&frame(9_999, &packet)).0, Carried::UnknownLink);
        let mut fragment = packet.clone();
        fragment[6] = 0x20;
        assert_eq!(carried(&frame(101, &fragment)).0, Carried::Other);
        assert_eq!(carried(&frame(101, &ipv4_of(&udp_of(5_000, 80, b"web")))).0, Carried::Other);
    }
}
