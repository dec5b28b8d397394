//! Which frames of a link are impaired: all, or those of one flow.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// EtherTypes (<https://www.iana.org/assignments/ieee-802-numbers>).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const PTP: u16 = 0x88f7;
/// The IP protocol number of UDP.
const UDP: u8 = 17;
/// UDP ports of PTP: event messages, and general ones (IEEE 1588-2019, annex C).
const PTP_PORTS: [u16; 2] = [319, 320];

/// The types of PTP messages by the lower half of their first byte (IEEE 1588-2019, table 36).
const PTP_MESSAGES: [(&str, u8); 10] = [
    ("sync", 0),
    ("delay-req", 1),
    ("pdelay-req", 2),
    ("pdelay-resp", 3),
    ("follow-up", 8),
    ("delay-resp", 9),
    ("pdelay-resp-follow-up", 10),
    ("announce", 11),
    ("signaling", 12),
    ("management", 13),
];

/// A flow: the frames to which an impairment applies.
///
/// In a file: `only = "udp/319"`, `only = "ethertype/0x88f7"`, `only = "ptp/sync"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Flow {
    /// UDP datagrams over IPv4 or IPv6 from or to this port. Of a datagram in fragments, only the first has ports.
    Udp(u16),
    /// Frames of this EtherType, behind a VLAN tag too.
    EtherType(u16),
    /// PTP messages of this type (the lower half of the first byte), over Ethernet or UDP.
    Ptp(u8),
}

/// Why a text names no flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no flow: write udp/PORT, ethertype/0xNNNN or ptp/TYPE with one of sync, delay-req, pdelay-req, pdelay-resp, \
     follow-up, delay-resp, pdelay-resp-follow-up, announce, signaling and management"
)]
pub struct FlowError(String);

impl Flow {
    /// Whether a frame belongs to the flow.
    #[must_use]
    pub fn has(self, frame: &[u8]) -> bool {
        let Some((ether_type, payload)) = payload(frame) else { return false };
        match self {
            Self::EtherType(wanted) => ether_type == wanted,
            Self::Udp(port) => udp(ether_type, payload).is_some_and(|(ports, _)| ports.contains(&port)),
            Self::Ptp(wanted) => {
                let message = if ether_type == PTP {
                    Some(payload)
                } else {
                    let over_udp = udp(ether_type, payload);
                    over_udp.filter(|([_, to], _)| PTP_PORTS.contains(to)).map(|(_, message)| message)
                };
                message.and_then(|message| message.first()).is_some_and(|first| first & 0x0f == wanted)
            }
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// EtherType and payload of a frame, behind a VLAN tag if it has one.
fn payload(frame: &[u8]) -> Option<(u16, &[u8])> {
    match u16_at(frame, 12)? {
        VLAN => Some((u16_at(frame, 16)?, frame.get(18..)?)),
        ether_type => Some((ether_type, frame.get(14..)?)),
    }
}

/// Both ports and the data of a UDP datagram.
fn udp(ether_type: u16, packet: &[u8]) -> Option<([u16; 2], &[u8])> {
    let datagram = match ether_type {
        IPV4 => {
            let header_bytes = usize::from(packet.first()? & 0x0f) * 4;
            let is_later_fragment = u16_at(packet, 6)? & 0x1fff != 0;
            if *packet.get(9)? != UDP || is_later_fragment {
                return None;
            }
            packet.get(header_bytes..)?
        }
        // Extension headers are not followed: PTP and NTP have none.
        IPV6 if *packet.get(6)? == UDP => packet.get(40..)?,
        _ => return None,
    };
    Some(([u16_at(datagram, 0)?, u16_at(datagram, 2)?], datagram.get(8..)?))
}

impl FromStr for Flow {
    type Err = FlowError;

    fn from_str(text: &str) -> Result<Self, FlowError> {
        let wrong = || FlowError(text.to_owned());
        let (kind, value) = text.split_once('/').ok_or_else(wrong)?;
        match kind {
            "udp" => value.parse().map(Self::Udp).map_err(|_| wrong()),
            "ethertype" => {
                let digits = value.strip_prefix("0x").ok_or_else(wrong)?;
                u16::from_str_radix(digits, 16).map(Self::EtherType).map_err(|_| wrong())
            }
            "ptp" => {
                let found = PTP_MESSAGES.iter().find(|(name, _)| *name == value);
                found.map(|(_, number)| Self::Ptp(*number)).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Flow {
    /// The form that [`FromStr`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(port) => write!(f, "udp/{port}"),
            Self::EtherType(number) => write!(f, "ethertype/0x{number:04x}"),
            Self::Ptp(number) => {
                let name = PTP_MESSAGES.iter().find(|(_, known)| known == number).map_or("?", |(name, _)| name);
                write!(f, "ptp/{name}")
            }
        }
    }
}

impl TryFrom<String> for Flow {
    type Error = FlowError;

    fn try_from(text: String) -> Result<Self, FlowError> {
        text.parse()
    }
}

impl From<Flow> for String {
    fn from(flow: Flow) -> Self {
        flow.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
        [&[0x01, 0x1b, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 1], &ether_type.to_be_bytes()[..], payload].concat()
    }

    fn udp_datagram(from: u16, to: u16, data: &[u8]) -> Vec<u8> {
        [&from.to_be_bytes()[..], &to.to_be_bytes(), &[0, 0, 0, 0], data].concat()
    }

    fn ipv4(fragment: u16, datagram: &[u8]) -> Vec<u8> {
        let mut header = vec![0x46, 0, 0, 0, 0, 0, 0, 0, 64, UDP];
        header[6..8].copy_from_slice(&fragment.to_be_bytes());
        // 24 bytes: with an option.
        header.resize(24, 0);
        ethernet(IPV4, &[header, datagram.to_vec()].concat())
    }

    fn ipv6(datagram: &[u8]) -> Vec<u8> {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, UDP];
        header.resize(40, 0);
        ethernet(IPV6, &[header, datagram.to_vec()].concat())
    }

    fn flow(text: &str) -> Flow {
        text.parse().unwrap()
    }

    #[test]
    fn each_flow_has_its_frames_and_no_others() {
        let sync = ipv4(0, &udp_datagram(319, 319, &[0x10, 2]));
        let delay_req = ipv6(&udp_datagram(319, 319, &[0x01, 2]));
        let follow_up = ethernet(PTP, &[0x08, 2]);
        let ntp = ipv4(0, &udp_datagram(40_000, 123, &[0x23]));
        let tagged = ethernet(VLAN, &[&[0, 5], &PTP.to_be_bytes()[..], &[0x00]].concat());
        let all = [&sync, &delay_req, &follow_up, &ntp, &tagged];
        let has = |text: &str| all.map(|frame| flow(text).has(frame));
        assert_eq!(has("udp/319"), [true, true, false, false, false]);
        assert_eq!(has("udp/123"), [false, false, false, true, false]);
        assert_eq!(has("udp/40000"), [false, false, false, true, false]);
        assert_eq!(has("ethertype/0x88f7"), [false, false, true, false, true]);
        assert_eq!(has("ethertype/0x0800"), [true, false, false, true, false]);
        assert_eq!(has("ptp/sync"), [true, false, false, false, true]);
        assert_eq!(has("ptp/delay-req"), [false, true, false, false, false]);
        assert_eq!(has("ptp/follow-up"), [false, false, true, false, false]);
        // NTP's first byte looks like a pdelay-resp.
        assert_eq!(has("ptp/pdelay-resp"), [false; 5]);
        // A later fragment has data where the ports would be; a fragmented datagram's first part has ports.
        assert!(!flow("udp/319").has(&ipv4(1, &udp_datagram(319, 319, &[0]))));
        assert!(flow("udp/319").has(&ipv4(0x2000, &udp_datagram(319, 319, &[0]))));
    }

    #[test]
    fn a_printed_flow_can_be_parsed_and_errors_name_the_forms() {
        for text in ["udp/319", "ethertype/0x88f7", "ptp/sync", "ptp/pdelay-resp-follow-up"] {
            assert_eq!(flow(text).to_string(), text);
        }
        for text in ["", "udp", "udp/70000", "ethertype/88f7", "ethertype/0x123456", "ptp/syncs", "tcp/80"] {
            let error = text.parse::<Flow>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' is no flow: write udp/PORT")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_frames_do_not_panic(frame in proptest::collection::vec(any::<u8>(), 0..80), number in any::<u16>()) {
            for flow in [Flow::Udp(number), Flow::EtherType(number), Flow::Ptp(3)] {
                let _ = flow.has(&frame);
            }
        }
    }
}
