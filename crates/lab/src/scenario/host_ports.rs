//! The way from a node to single ports of the host, by QEMU's user-mode network. Pure.

use super::{Node, Segment};
use crate::guest::Interface;

/// The name of the interface in the node.
pub const HOST_INTERFACE: &str = "host";
/// Where the node finds the host's ports. The network is one that documentation alone uses (RFC 5737), so that no segment has it by
/// accident.
pub const HOST_ADDRESS: &str = "192.0.2.4";
/// The network of QEMU's side.
const NETWORK: &str = "192.0.2.0/24";
/// The node's own address in it.
const NODE_ADDRESS: &str = "192.0.2.15/24";
/// Largest number of ports of one node.
const MAX_PORTS: usize = 16;

/// Why the ports of some node are invalid; `None` if they are valid.
pub(super) fn out_of_bounds(nodes: &[Node], segments: &[Segment]) -> Option<String> {
    for Node { name, host_ports, .. } in nodes {
        if host_ports.len() > MAX_PORTS {
            return Some(format!("node {name} has {} host-ports: at most {MAX_PORTS} are possible", host_ports.len()));
        }
        if host_ports.contains(&0) {
            return Some(format!("node {name} has 0 among its host-ports: a port is 1 to 65535"));
        }
    }
    let has_ways = nodes.iter().any(|node| !node.host_ports.is_empty());
    (has_ways && segments.iter().any(|segment| segment.name == HOST_INTERFACE)).then(|| {
        format!("a segment is named {HOST_INTERFACE}, as is the interface of nodes with host-ports: rename the segment")
    })
}

/// The interface of a node that reaches ports of the host; `None` for one that reaches none.
pub(super) fn interface(node: &Node, mac: String) -> Option<Interface> {
    (!node.host_ports.is_empty()).then(|| Interface {
        name: HOST_INTERFACE.to_owned(),
        mac,
        address: Some(NODE_ADDRESS.to_owned()),
    })
}

/// QEMU's `-netdev` for a node that reaches these ports of the host (invocation.texi, "user"). With `restrict` the guest reaches
/// nothing but what is forwarded, and QEMU starts `relay`, with the port as its last word, for each connection to it.
pub(crate) fn netdev(id: &str, ports: &[u16], relay: &str) -> String {
    let mut argument = format!("user,id={id},net={NETWORK},restrict=on,ipv6=off");
    for port in ports {
        argument.push_str(&format!(",guestfwd=tcp:{HOST_ADDRESS}:{port}-cmd:{relay} {port}"));
    }
    argument
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    const NODE: &str = "name = \"x\"\nabout = \"\"\n[[node]]\nname = \"a\"\nkernel = \"6.12-rt\"\n";

    #[test]
    fn a_node_has_an_interface_for_the_ports_of_the_host_that_it_names() {
        let scenario = Scenario::parse(&format!("{NODE}host-ports = [5378, 80]\n")).unwrap();
        let interfaces = scenario.interfaces(0);
        let described: Vec<_> = interfaces.iter().map(|at| (at.name.as_str(), at.mac.as_str())).collect();
        assert_eq!(described, [("host", "52:54:00:00:00:01")]);
        assert!(Scenario::parse(NODE).unwrap().interfaces(0).is_empty());
        let argument = super::netdev("net0", &scenario.node[0].host_ports, "/p __relay");
        assert!(argument.contains("restrict=on") && !argument.contains("hostfwd"), "{argument}");
        let ways: Vec<&str> = argument.split(",guestfwd=").skip(1).collect();
        assert_eq!(ways, ["tcp:192.0.2.4:5378-cmd:/p __relay 5378", "tcp:192.0.2.4:80-cmd:/p __relay 80"]);
    }

    #[test]
    fn errors_of_host_ports_name_the_bound() {
        let check = |text: &str, part: &str| {
            let error = Scenario::parse(&format!("{NODE}{text}")).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check("host-ports = [0]\n", "1 to 65535");
        check("host-ports = [65536]\n", "65536");
        check(&format!("host-ports = {:?}\n", (1..=17).collect::<Vec<u16>>()), "at most 16");
        let segment = "[[node]]\nname = \"b\"\nkernel = \"6.12-rt\"\n[[segment]]\nname = \"host\"\n\
            port = [{ node = \"a\" }, { node = \"b\" }]\n";
        check(&format!("host-ports = [1]\n{segment}"), "rename the segment");
        assert!(Scenario::parse(&format!("{NODE}{segment}")).is_ok());
    }
}
