//! Ethernet segments: which nodes share one, and how good their links to it are. Pure.

use std::collections::HashSet;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Node, bad_name, is_name};
use crate::guest::Interface;
use crate::switch::{Impairment, MAX_PORTS};

/// A segment's name is the name of an interface in each of its nodes, which has up to 15 bytes (`IFNAMSIZ` of
/// `include/uapi/linux/if.h`, less the closing zero).
const MAX_SEGMENT_NAME: usize = 15;
/// The number of a segment, and of a node, is one byte of a MAC address.
const MAX_SEGMENTS: usize = 255;

/// An Ethernet segment: a switch of the lab's own that joins two nodes or more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Segment {
    /// Its name, unique in the lab; the nodes' interfaces to it have the same (up to 15 letters, digits and dashes).
    pub name: String,
    /// Decides which frames are lost, doubled, late and overtaken: the same seed and the same frames have the same fate.
    #[serde(default)]
    pub seed: u64,
    /// Its nodes, 2 to 64.
    pub port: Vec<SegmentPort>,
}

/// One node on a segment, with the link between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SegmentPort {
    /// The node.
    pub node: String,
    /// Its address there, with the length of the network's prefix (`10.0.0.1/24`); none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// A file for what passes here, both ways, as pcap with nanoseconds of the host's CLOCK_MONOTONIC; whole when the
    /// lab has ended. From where the command runs; nowhere where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<PathBuf>,
    /// What happens to the frames that the node sends.
    #[serde(default)]
    pub from_guest: Impairment,
    /// What happens to the frames on their way to the node.
    #[serde(default)]
    pub to_guest: Impairment,
}

/// An IPv4 address with the length of its network's prefix (1 to 32).
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
        let wrong = || format!("'{text}' is no address of an interface: write for example 10.0.0.1/24");
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

/// What is wrong with the segments of a lab that has these nodes.
pub(super) fn out_of_bounds(segments: &[Segment], nodes: &[Node]) -> Option<String> {
    if segments.len() > MAX_SEGMENTS {
        return Some(format!("it has {} segments: up to {MAX_SEGMENTS} are possible", segments.len()));
    }
    for (place, segment) in segments.iter().enumerate() {
        let name = &segment.name;
        if !is_name(name) {
            return Some(bad_name(name));
        }
        if name.len() > MAX_SEGMENT_NAME || name == "lo" {
            return Some(format!(
                "segment {name} cannot be the name of an interface: 'lo' is taken, and it has up to {MAX_SEGMENT_NAME} letters"
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
        return Some(format!("it has {ports} of 2 to {MAX_PORTS} ports; each node on it is one [[segment.port]]"));
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

/// The network interfaces of the node at `place` of the lab, in the order of the segments.
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

/// The same at each start, and legible in a capture: segment and node by their numbers in the scenario, behind the
/// locally administered prefix that QEMU uses for its own.
fn mac(segment: usize, node: usize) -> String {
    // Both are bounded when a scenario is read.
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
        let told = |place| -> Vec<String> {
            let interfaces = scenario.interfaces(place).into_iter();
            interfaces.map(|at| format!("{} {} {}", at.name, at.mac, at.address.unwrap_or_default())).collect()
        };
        assert_eq!(told(0), ["lan 52:54:00:00:01:01 10.0.0.1/24", "wan 52:54:00:00:02:01 10.0.1.1/24"]);
        assert_eq!(told(1), ["lan 52:54:00:00:01:02 "]);
        assert_eq!(told(2), ["lan 52:54:00:00:01:03 ", "wan 52:54:00:00:02:03 "]);
    }

    #[test]
    fn what_is_wrong_with_a_segment_is_told_with_its_bound() {
        let check = |text: &str, part: &str| {
            let error = with(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        let lan = "[[segment]]\nname = \"lan\"\n";
        let both = "port = [{ node = \"a\" }, { node = \"b\" }]\n";
        check(&format!("{lan}port = [{{ node = \"a\" }}]\n"), "segment lan: it has 1 of 2 to 64 ports");
        check(
            &format!("{lan}port = [{{ node = \"a\" }}, {{ node = \"z\" }}]\n"),
            "node z, which the lab does not have",
        );
        check(&format!("{lan}port = [{{ node = \"a\" }}, {{ node = \"a\" }}]\n"), "node a has two ports");
        check(&format!("{lan}{both}{lan}{both}"), "two segments are named lan");
        check(&format!("[[segment]]\nname = \"lo\"\n{both}"), "'lo' is taken");
        check(&format!("[[segment]]\nname = \"sixteen-letters-\"\n{both}"), "up to 15 letters");
        let two = |a: &str, b: &str| {
            format!("{lan}port = [{{ node = \"a\", address = \"{a}\" }}, {{ node = \"b\", address = \"{b}\" }}]\n")
        };
        check(&two("10.0.0.1/24", "10.0.0.1/16"), "two nodes have the address 10.0.0.1");
        check(&two("10.0.0.1/24", "10.0.0.2"), "'10.0.0.2' is no address of an interface");
        check(&two("10.0.0.1/33", "10.0.0.2/24"), "33 bits: 1 to 32");
        check(&format!("{lan}port = [{{ node = \"a\", to-guest.drop = 2 }}, {{ node = \"b\" }}]\n"), "drop is 2");
        check(&format!("{lan}{both}sed = 1\n"), "unknown field `sed`");
    }
}
