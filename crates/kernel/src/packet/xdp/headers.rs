//! Frames as they go over the wire: Ethernet, a VLAN tag if one is wanted, and IP with UDP or an EtherType of its own.
//! Nobody else builds or checks them here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ops::Range;

use super::super::address::Origin;

const ETHERNET_BYTES: usize = 14;
const TAG_BYTES: usize = 4;
const V4_BYTES: usize = 20;
const V6_BYTES: usize = 40;
const UDP_BYTES: usize = 8;
pub(super) const MOST_HEADER_BYTES: usize = ETHERNET_BYTES + TAG_BYTES + V6_BYTES + UDP_BYTES;
pub(super) const TAGGED: u16 = 0x8100;
pub(super) const V4: u16 = 0x0800;
pub(super) const V6: u16 = 0x86dd;
pub(super) const UDP: u8 = 17;
/// Version 4, and a header of 5 words: none of its options.
pub(super) const V4_WITHOUT_OPTIONS: u8 = 0x45;
const HOP_LIMIT: u8 = 64;
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// The headers of frames to one partner.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    bytes: [u8; MOST_HEADER_BYTES],
    length: usize,
    inner: Inner,
}

/// What follows after Ethernet, with the sums of what does not change from frame to frame.
#[derive(Clone, Copy, Debug)]
enum Inner {
    V4 { at: usize, header_sum: u64, pseudo_sum: u64 },
    V6 { at: usize, pseudo_sum: u64 },
    Other,
}

/// Both hardware addresses of a frame, and its tag control information.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ethernet {
    pub(super) destination: [u8; 6],
    pub(super) source: [u8; 6],
    pub(super) tag: Option<u16>,
}

impl Ethernet {
    fn write(self, bytes: &mut [u8; MOST_HEADER_BYTES], ethertype: u16) -> usize {
        bytes[..6].copy_from_slice(&self.destination);
        bytes[6..12].copy_from_slice(&self.source);
        let mut at = 12;
        if let Some(tag) = self.tag {
            bytes[12..14].copy_from_slice(&TAGGED.to_be_bytes());
            bytes[14..16].copy_from_slice(&tag.to_be_bytes());
            at += TAG_BYTES;
        }
        bytes[at..at + 2].copy_from_slice(&ethertype.to_be_bytes());
        at + 2
    }
}

impl Headers {
    /// Frames of an EtherType.
    pub(super) fn link(ethernet: Ethernet, ethertype: u16) -> Self {
        let mut bytes = [0; MOST_HEADER_BYTES];
        let length = ethernet.write(&mut bytes, ethertype);
        Self { bytes, length, inner: Inner::Other }
    }

    /// Frames of UDP; `None` where the addresses are of different versions of IP.
    pub(super) fn udp(ethernet: Ethernet, from: SocketAddr, to: SocketAddr, dscp: u8) -> Option<Self> {
        let mut bytes = [0; MOST_HEADER_BYTES];
        let traffic_class = dscp << 2;
        let (at, inner) = match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let at = ethernet.write(&mut bytes, V4);
                let header = &mut bytes[at..at + V4_BYTES];
                (header[0], header[1]) = (V4_WITHOUT_OPTIONS, traffic_class);
                // A packet that is never cut needs no identification (RFC 6864).
                header[6..8].copy_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
                (header[8], header[9]) = (HOP_LIMIT, UDP);
                header[12..16].copy_from_slice(&from.octets());
                header[16..20].copy_from_slice(&to.octets());
                let inner =
                    Inner::V4 { at, header_sum: sum(header), pseudo_sum: sum(&header[12..20]) + word(u16::from(UDP)) };
                (at + V4_BYTES, inner)
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let at = ethernet.write(&mut bytes, V6);
                let header = &mut bytes[at..at + V6_BYTES];
                (header[0], header[1]) = (0x60 | traffic_class >> 4, traffic_class << 4);
                (header[6], header[7]) = (UDP, HOP_LIMIT);
                header[8..24].copy_from_slice(&from.octets());
                header[24..40].copy_from_slice(&to.octets());
                (at + V6_BYTES, Inner::V6 { at, pseudo_sum: sum(&header[8..40]) + word(u16::from(UDP)) })
            }
            _ => return None,
        };
        bytes[at..at + 2].copy_from_slice(&from.port().to_be_bytes());
        bytes[at + 2..at + 4].copy_from_slice(&to.port().to_be_bytes());
        Some(Self { bytes, length: at + UDP_BYTES, inner })
    }

    /// Writes a whole frame; its length, or `None` where it does not fit.
    #[inline]
    pub(super) fn write(&self, frame: &mut [u8], payload: &[u8]) -> Option<usize> {
        let length = self.length + payload.len();
        let frame = frame.get_mut(..length)?;
        frame[..self.length].copy_from_slice(&self.bytes[..self.length]);
        frame[self.length..].copy_from_slice(payload);
        let udp_bytes = u16::try_from(UDP_BYTES + payload.len()).ok()?;
        let (udp_at, pseudo_sum) = match self.inner {
            Inner::Other => return Some(length),
            Inner::V4 { at, header_sum, pseudo_sum } => {
                let total = u16::try_from(V4_BYTES).ok()?.checked_add(udp_bytes)?;
                frame[at + 2..at + 4].copy_from_slice(&total.to_be_bytes());
                let checksum = !fold(header_sum + word(total));
                frame[at + 10..at + 12].copy_from_slice(&checksum.to_ne_bytes());
                (at + V4_BYTES, pseudo_sum)
            }
            Inner::V6 { at, pseudo_sum } => {
                frame[at + 4..at + 6].copy_from_slice(&udp_bytes.to_be_bytes());
                (at + V6_BYTES, pseudo_sum)
            }
        };
        frame[udp_at + 4..udp_at + 6].copy_from_slice(&udp_bytes.to_be_bytes());
        let checksum = !fold(pseudo_sum + word(udp_bytes) + sum(&frame[udp_at..]));
        // All zeros would say that there is none (RFC 768).
        let checksum = if checksum == 0 { u16::MAX } else { checksum };
        frame[udp_at + 6..udp_at + 8].copy_from_slice(&checksum.to_ne_bytes());
        Some(length)
    }
}

/// What is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveFilter {
    /// Datagrams of UDP to an address and port of ours; the number of the interface, for link-local senders.
    Udp(SocketAddr, u32),
    /// Frames of an EtherType.
    Link(u16),
}

impl ReceiveFilter {
    /// How many bytes of a packet stand before its payload, beyond the header of Ethernet.
    pub(super) const fn internet_bytes(self) -> usize {
        match self {
            Self::Udp(SocketAddr::V4(_), _) => V4_BYTES + UDP_BYTES,
            Self::Udp(SocketAddr::V6(_), _) => V6_BYTES + UDP_BYTES,
            Self::Link(_) => 0,
        }
    }
}

/// What a frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Where its payload lies.
    pub(super) payload: Range<usize>,
    pub(super) from: Origin,
    pub(super) vlan_tag: Option<u16>,
}

/// Checks a received frame; `None` where it is damaged, cut, or not what was wanted.
#[inline]
pub(super) fn parse(frame: &[u8], wanted: ReceiveFilter) -> Option<Parsed> {
    let mut ethertype = u16_at(frame, 12)?;
    let (mut at, mut vlan_tag) = (ETHERNET_BYTES, None);
    if ethertype == TAGGED {
        vlan_tag = Some(u16_at(frame, 14)?);
        ethertype = u16_at(frame, 16)?;
        at += TAG_BYTES;
    }
    match wanted {
        ReceiveFilter::Link(ours) => {
            let source = frame.get(6..12)?.try_into().ok()?;
            (ethertype == ours && at <= frame.len()).then_some(Parsed {
                payload: at..frame.len(),
                from: Origin::Link(source),
                vlan_tag,
            })
        }
        ReceiveFilter::Udp(SocketAddr::V4(local), _) if ethertype == V4 => {
            let header = frame.get(at..at + V4_BYTES)?;
            let total = usize::from(u16_at(header, 2)?);
            let is_sound = header[0] == V4_WITHOUT_OPTIONS
                && header[9] == UDP
                && u16_at(header, 6)? & 0x3fff == 0
                && fold(sum(header)) == u16::MAX
                && header[16..20] == local.ip().octets();
            let udp = frame.get(at + V4_BYTES..at.checked_add(total)?).filter(|_| is_sound)?;
            let pseudo_sum = sum(&header[12..20]) + word(u16::from(UDP));
            let (port, payload) = parse_udp(udp, local.port(), pseudo_sum, at + V4_BYTES, true)?;
            let source = Ipv4Addr::from(<[u8; 4]>::try_from(&header[12..16]).ok()?);
            Some(Parsed { payload, from: Origin::Internet((source, port).into()), vlan_tag })
        }
        ReceiveFilter::Udp(SocketAddr::V6(local), interface_index) if ethertype == V6 => {
            let header = frame.get(at..at + V6_BYTES)?;
            let length = usize::from(u16_at(header, 4)?);
            let is_sound = header[0] >> 4 == 6 && header[6] == UDP && header[24..40] == local.ip().octets();
            let udp_at = at + V6_BYTES;
            let udp = frame.get(udp_at..udp_at + length).filter(|_| is_sound)?;
            let pseudo_sum = sum(&header[8..40]) + word(u16::from(UDP));
            let (port, payload) = parse_udp(udp, local.port(), pseudo_sum, udp_at, false)?;
            let source = Ipv6Addr::from(<[u8; 16]>::try_from(&header[8..24]).ok()?);
            let scope = if source.is_unicast_link_local() { interface_index } else { 0 };
            let from = SocketAddrV6::new(source, port, 0, scope);
            Some(Parsed { payload, from: Origin::Internet(from.into()), vlan_tag })
        }
        ReceiveFilter::Udp(..) => None,
    }
}

/// The sender's port, and where the payload lies.
#[inline]
fn parse_udp(
    udp: &[u8],
    local_port: u16,
    pseudo_sum: u64,
    at: usize,
    may_lack_checksum: bool,
) -> Option<(u16, Range<usize>)> {
    let length = u16_at(udp, 4)?;
    let udp = udp.get(..usize::from(length)).filter(|udp| udp.len() >= UDP_BYTES)?;
    let checksum = u16::from_ne_bytes([udp[6], udp[7]]);
    let pseudo_sum = pseudo_sum + word(length);
    // A packet that never left the machine comes with a checksum that the hardware would have completed: it holds the sum
    // of the pseudo header alone.
    let is_right = (checksum == 0 && may_lack_checksum)
        || fold(pseudo_sum + sum(udp)) == u16::MAX
        || (checksum != 0 && checksum == fold(pseudo_sum));
    if !is_right || u16_at(udp, 2)? != local_port {
        return None;
    }
    Some((u16_at(udp, 0)?, at + UDP_BYTES..at + udp.len()))
}

/// Two bytes in network order.
#[inline]
fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(offset..offset + 2)?.try_into().ok()?))
}

/// A number as it stands in a packet, for the sum.
#[inline]
fn word(number: u16) -> u64 {
    u64::from(u16::from_ne_bytes(number.to_be_bytes()))
}

/// The sum of 16-bit words in the machine's order, not folded yet: the order of bytes does not matter to it (RFC 1071).
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let mut total = 0_u64;
    let mut fours = bytes.chunks_exact(4);
    for four in &mut fours {
        total += u64::from(u32::from_ne_bytes([four[0], four[1], four[2], four[3]]));
    }
    let rest = fours.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    total + u64::from(u32::from_ne_bytes(last))
}

/// The sum in 16 bits, with its carries.
#[inline]
fn fold(total: u64) -> u16 {
    let total = (total >> 32) + (total & 0xffff_ffff);
    let total = (total >> 32) + (total & 0xffff_ffff);
    let total = (total >> 16) + (total & 0xffff);
    let total = (total >> 16) + (total & 0xffff);
    // What is below 2^16 now.
    u16::try_from(total).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETHERNET: Ethernet = Ethernet { destination: [2; 6], source: [4; 6], tag: None };

    fn frame(ethernet: Ethernet, from: &str, to: &str, payload: &[u8]) -> Vec<u8> {
        let headers = Headers::udp(ethernet, from.parse().unwrap(), to.parse().unwrap(), 46).unwrap();
        let mut frame = vec![0xaa; 2_000];
        let length = headers.write(&mut frame, payload).unwrap();
        frame.truncate(length);
        frame
    }

    #[test]
    fn a_frame_of_version_4_is_that_of_the_standards() {
        let frame = frame(ETHERNET, "192.0.2.1:1000", "192.0.2.2:2000", b"hello");
        // Computed by hand with RFC 1071: the header's sum is complete, and that of UDP with its pseudo header.
        assert_eq!(frame[..14], [2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 0]);
        assert_eq!(frame[14..24], [0x45, 184, 0, 33, 0, 0, 0x40, 0, 64, 17]);
        assert_eq!(frame[26..34], [192, 0, 2, 1, 192, 0, 2, 2]);
        assert_eq!(frame[34..40], [3, 232, 7, 208, 0, 13]);
        let words = |bytes: &[u8]| -> u32 {
            let mut padded = bytes.to_vec();
            padded.resize(bytes.len().next_multiple_of(2), 0);
            padded.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum()
        };
        let folded = |total: u32| (total & 0xffff) + (total >> 16);
        assert_eq!(folded(folded(words(&frame[14..34]))), 0xffff);
        assert_eq!(folded(folded(words(&frame[26..34]) + 17 + 13 + words(&frame[34..]))), 0xffff);
    }

    #[test]
    fn what_was_built_is_what_is_parsed() {
        for (from, to) in [("192.0.2.1:1000", "192.0.2.2:2000"), ("[fe80::1]:1000", "[fe80::2]:2000")] {
            for tag in [None, Some(0x6005)] {
                for bytes in [0, 1, 2, 3, 64, 1_401] {
                    let payload: Vec<u8> = (0..bytes).map(|place| u8::try_from(place % 256).unwrap()).collect();
                    let frame = frame(Ethernet { tag, ..ETHERNET }, from, to, &payload);
                    let local: SocketAddr = to.parse().unwrap();
                    let parsed = parse(&frame, ReceiveFilter::Udp(local, 7)).unwrap();
                    assert_eq!(frame[parsed.payload.clone()], payload);
                    assert_eq!(parsed.vlan_tag, tag);
                    let mut expected: SocketAddr = from.parse().unwrap();
                    if let SocketAddr::V6(expected) = &mut expected {
                        expected.set_scope_id(7);
                    }
                    assert_eq!(parsed.from, Origin::Internet(expected));
                    // Padding of short frames behind the datagram is no part of it.
                    let padded = [frame.clone(), vec![0; 9]].concat();
                    assert_eq!(parse(&padded, ReceiveFilter::Udp(local, 7)), Some(parsed));
                    let other_port = SocketAddr::new(local.ip(), 2_001);
                    assert_eq!(parse(&frame, ReceiveFilter::Udp(other_port, 7)), None);
                }
            }
        }
    }

    #[test]
    fn each_flipped_bit_and_each_cut_is_seen() {
        for (from, to) in [("192.0.2.1:1000", "192.0.2.2:2000"), ("[2001:db8::1]:1000", "[2001:db8::2]:2000")] {
            let whole = frame(ETHERNET, from, to, b"sixteen bytes...");
            let wanted = ReceiveFilter::Udp(to.parse().unwrap(), 7);
            // Hardware addresses are checked by the hardware. Of version 6, priority, flow and hop limit by nobody.
            let unchecked = |at: usize| to.starts_with('[') && [14, 15, 16, 17, 21].contains(&at);
            for at in (12..whole.len()).filter(|&at| !unchecked(at)) {
                for bit in 0..8 {
                    let mut flipped = whole.clone();
                    flipped[at] ^= 1 << bit;
                    assert_eq!(parse(&flipped, wanted), None, "{to}, byte {at}, bit {bit}");
                }
            }
            for length in 0..whole.len() {
                assert_eq!(parse(&whole[..length], wanted), None, "{to}, {length} bytes");
            }
        }
    }

    #[test]
    fn a_checksum_that_the_hardware_would_have_completed_is_right() {
        let (from, to) = ("[2001:db8::1]:1000", "[2001:db8::2]:2000");
        let mut partial = frame(ETHERNET, from, to, b"payload");
        let pseudo_sum = sum(&partial[22..54]) + word(17) + word(15);
        partial[60..62].copy_from_slice(&fold(pseudo_sum).to_ne_bytes());
        let wanted = ReceiveFilter::Udp(to.parse().unwrap(), 7);
        assert!(parse(&partial, wanted).is_some());
        // None at all is allowed by version 4 alone.
        partial[60..62].copy_from_slice(&[0; 2]);
        assert_eq!(parse(&partial, wanted), None);
    }

    #[test]
    fn frames_of_an_ethertype_hold_what_follows() {
        let headers = Headers::link(Ethernet { tag: Some(5), ..ETHERNET }, 0x88b5);
        let mut frame = vec![0; 100];
        assert_eq!(headers.write(&mut frame, b"abc"), Some(21));
        frame.truncate(21);
        let parsed = parse(&frame, ReceiveFilter::Link(0x88b5)).unwrap();
        assert_eq!((parsed.payload, parsed.from, parsed.vlan_tag), (18..21, Origin::Link([4; 6]), Some(5)));
        assert_eq!(parse(&frame, ReceiveFilter::Link(0x88b6)), None);
        assert_eq!(headers.write(&mut [0; 20], b"abc"), None, "no room");
    }

    #[test]
    fn no_length_field_leads_beyond_the_frame() {
        for (from, to, fields) in
            [("192.0.2.1:1000", "192.0.2.2:2000", [16, 38]), ("[2001:db8::1]:1000", "[2001:db8::2]:2000", [18, 58])]
        {
            let whole = frame(ETHERNET, from, to, b"payload");
            let wanted = ReceiveFilter::Udp(to.parse().unwrap(), 7);
            let right = fields.map(|at| u16_at(&whole, at).unwrap());
            for length in 0..=u16::MAX {
                for (at, right) in fields.into_iter().zip(right) {
                    let mut changed = whole.clone();
                    changed[at..at + 2].copy_from_slice(&length.to_be_bytes());
                    assert_eq!(parse(&changed, wanted).is_some(), length == right, "{to}, byte {at}, {length}");
                }
            }
        }
    }
}
