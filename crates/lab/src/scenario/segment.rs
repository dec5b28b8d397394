//! Ethernet segments of a scenario: their nodes, and the impairment of their links. Pure.

use std::collections::HashSet;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Node, bad_name, is_name};
use crate::guest::Interface;
use crate::switch::{Impairment, MAX_PORTS};

/// Longest name of a segment (bytes). It becomes the name of an interface in each node: `IFNAMSIZ` of
/// `include/uapi/linux/if.h`, less the closing NUL.
const MAX_SEGMENT_NAME: usize = 15;
/// Largest number of segments: the number of a segment is one byte of a MAC address.
const MAX_SEGMENTS: usize = 255;

/// An Ethernet segment: one of the lab's switches, which connects two or more nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Segment {
    /// Name, unique in the lab, also of the nodes' interfaces to it (at most 15 letters, digits and dashes).
    pub name: String,
    /// Seed that decides which frames are dropped, duplicated, delayed and reordered (default 0): the same seed and the
    /// same frames give the same result.
    #[serde(default)]
    pub seed: u64,
    /// The links to its nodes (2 to 64).
    pub port: Vec<SegmentPort>,
}

/// The link between a segment and one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SegmentPort {
    /// Name of the node.
    pub node: String,
    /// IPv4 address of the node's interface, with prefix length (`10.0.0.1/24`); default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// File for a capture of this link in both directions: pcap with nanoseconds of the host's CLOCK_REALTIME,
    /// complete when the lab has ended. Relative to the folder where the command runs; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<PathBuf>,
    /// Impairment of frames from the node.
    #[serde(default)]
    pub from_guest: Impairment,
    /// Impairment of frames to the node.
    #[serde(default)]
    pub to_guest: Impairment,
}

/// An IPv4 address with the prefix length of its network (1 to 32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Address {
    address: Ipv4Addr,
    prefix: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not an address with prefix length: write for example 10.0.0.1/24");
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        if !(1..=32).contains(&prefix) {
            return Err(format!("'{text}' has a prefix of {prefix} bits: 1 to 32 are possible"));
        }
        Ok(Self { address: address.parse().map_err(|_| wrong())?, prefix })
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

/// Why the segments are invalid in a lab of these nodes; `None` if they are valid.
pub(super) fn out_of_bounds(segments: &[Segment], nodes: &[Node]) -> Option<String> {
    if segments.len() > MAX_SEGMENTS {
        return Some(format!("it has {} segments: at most {MAX_SEGMENTS} are possible", segments.len()));
    }
    for (place, segment) in segments.iter().enumerate() {
        let name = &segment.name;
        if !is_name(name) {
            return Some(bad_name(name));
        }
        if name.len() > MAX_SEGMENT_NAME || name == "lo" {
            return Some(format!(
                "segment {name} cannot be the name of an interface: 'lo' is taken, and a name has at most {MAX_SEGMENT_NAME} letters"
            ));
        }
        if segments[..place].iter().any(|other| other.name == *name) {
            return Some(format!("two segments are named {name}"));
        }
        if let Some(what) = ports_out_of_bounds(segment, nodes) {
            return Some(format!("segment {name}: {what}"));
        }
    }
    None
}

fn ports_out_of_bounds(segment: &Segment, nodes: &[Node]) -> Option<String> {
    let ports = segment.port.len();
    if !(2..=MAX_PORTS).contains(&ports) {
        return Some(format!(
            "it has {ports} ports: it must have 2 to {MAX_PORTS}, one [[segment.port]] for each node"
        ));
    }
    let (mut seen, mut addresses) = (HashSet::new(), HashSet::new());
    for port in &segment.port {
        let name = &port.node;
        if nodes.iter().all(|node| node.name != *name) {
            return Some(format!("a port is for node {name}, which the lab does not have"));
        }
        if !seen.insert(name) {
            return Some(format!("node {name} has two ports"));
        }
        if let Some(address) = port.address.filter(|address| !addresses.insert(address.address)) {
            return Some(format!("two nodes have the address {}", address.address));
        }
    }
    None
}

/// The network interfaces of the node with index `place`, in the order of the segments.
pub(super) fn interfaces(segments: &[Segment], nodes: &[Node], place: usize) -> Vec<Interface> {
    let Some(node) = nodes.get(place) else { return Vec::new() };
    let on_it = |(number, segment): (usize, &Segment)| {
        let port = segment.port.iter().find(|port| port.node == node.name)?;
        Some(Interface {
            name: segment.name.clone(),
            mac: mac(number + 1, place + 1),
            address: port.address.map(|address| address.to_string()),
        })
    };
    segments.iter().enumerate().filter_map(on_it).collect()
}

/// A MAC address that is equal at each boot and readable in a capture: QEMU's locally administered prefix, then the
/// numbers of segment and node in the scenario, both from 1 on. Segment 0 is the way to the host.
pub(super) fn mac(segment: usize, node: usize) -> String {
    // Parsing a scenario has checked that both fit.
    let byte = |number| u8::try_from(number).unwrap_or(u8::MAX);
    format!("52:54:00:00:{:02x}:{:02x}", byte(segment), byte(node))
}

#[cfg(test)]
mod tests {
    use units::Ns;

    use crate::scenario::Scenario;

    const NODES: &str = "name = \"x\"\nabout = \"\"\n[[node]]\nname = \"a\"\nkernel = \"6.12-rt\"\n\
        [[node]]\nname = \"b\"\nkernel = \"6.12-rt\"\n[[node]]\nname = \"c\"\nkernel = \"6.12-rt\"\n";

    fn with(text: &str) -> Result<Scenario, String> {
        Scenario::parse(&format!("{NODES}{text}")).map_err(|error| error.to_string())
    }

    #[test]
    fn three_nodes_share_a_segment_and_two_of_them_another() {
        let scenario = with(
            "[[segment]]\nname = \"lan\"\n\
            port = [{ node = \"a\", address = \"10.0.0.1/24\" }, { node = \"b\" }, { node = \"c\" }]\n\
            [[segment]]\nname = \"wan\"\nseed = 7\n\
            [[segment.port]]\nnode = \"c\"\nfrom-guest = { delay = \"2ms\", drop = 0.1 }\n\
            [[segment.port]]\nnode = \"a\"\naddress = \"10.0.1.1/24\"\n",
        )
        .unwrap();
        assert_eq!(scenario.segment[1].port[0].from_guest.delay, Ns::from_ms(2));
        let described = |place| -> Vec<String> {
            let interfaces = scenario.interfaces(place).into_iter();
            interfaces.map(|at| format!("{} {} {}", at.name, at.mac, at.address.unwrap_or_default())).collect()
        };
        assert_eq!(described(0), ["lan 52:54:00:00:01:01 10.0.0.1/24", "wan 52:54:00:00:02:01 10.0.1.1/24"]);
        assert_eq!(described(1), ["lan 52:54:00:00:01:02 "]);
        assert_eq!(described(2), ["lan 52:54:00:00:01:03 ", "wan 52:54:00:00:02:03 "]);
    }

    #[test]
    fn errors_of_a_segment_name_the_bound() {
        let check = |text: &str, part: &str| {
            let error = with(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        let lan = "[[segment]]\nname = \"lan\"\n";
        let both = "port = [{ node = \"a\" }, { node = \"b\" }]\n";
        check(&format!("{lan}port = [{{ node = \"a\" }}]\n"), "segment lan: it has 1 ports: it must have 2 to 64");
        check(
            &format!("{lan}port = [{{ node = \"a\" }}, {{ node = \"z\" }}]\n"),
            "node z, which the lab does not have",
        );
        check(&format!("{lan}port = [{{ node = \"a\" }}, {{ node = \"a\" }}]\n"), "node a has two ports");
        check(&format!("{lan}{both}{lan}{both}"), "two segments are named lan");
        check(&format!("[[segment]]\nname = \"lo\"\n{both}"), "'lo' is taken");
        check(&format!("[[segment]]\nname = \"sixteen-letters-\"\n{both}"), "at most 15 letters");
        let two = |a: &str, b: &str| {
            format!("{lan}port = [{{ node = \"a\", address = \"{a}\" }}, {{ node = \"b\", address = \"{b}\" }}]\n")
        };
        check(&two("10.0.0.1/24", "10.0.0.1/16"), "two nodes have the address 10.0.0.1");
        check(&two("10.0.0.1/24", "10.0.0.2"), "'10.0.0.2' is not an address with prefix length");
        check(&two("10.0.0.1/33", "10.0.0.2/24"), "33 bits: 1 to 32");
        check(&format!("{lan}port = [{{ node = \"a\", to-guest.drop = 2 }}, {{ node = \"b\" }}]\n"), "drop is 2");
        check(&format!("{lan}{both}sed = 1\n"), "unknown field `sed`");
    }
}
