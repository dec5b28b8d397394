//! The nodes that took part in a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Manifest, NodeClocks};

/// A machine that took part in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// The name used by series, worst samples and bursts: the host name, or one made unique in this run.
    pub name: String,
    /// The node's role in the run, from the table of kinds: `measured`.
    pub role: String,
    /// Clocks of the node.
    #[serde(default)]
    pub clocks: NodeClocks,
    /// What was requested of the node, what the kernel granted, and the conditions of the run.
    pub manifest: Manifest,
}

/// Name of a node without a host name.
const UNNAMED: &str = "node";

impl Node {
    /// The node of a run with a single node, named by its host name.
    #[must_use]
    pub fn alone(role: &str, manifest: Manifest) -> Self {
        let hostname = manifest.node.hostname.trim();
        let name = if hostname.is_empty() { UNNAMED } else { hostname }.to_owned();
        let clocks = NodeClocks {
            read: manifest.requested.clock.into_iter().map(units::ClockName::from).collect(),
            tai_less_utc_s: None,
        };
        Self { name, role: role.to_owned(), clocks, manifest }
    }
}

/// The nodes of a run: at least one, with unique names. The first is the leading node: offsets of intervals count from its
/// first schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Node>", into = "Vec<Node>")]
#[schemars(with = "Vec<Node>")]
pub struct Nodes {
    first: Node,
    others: Vec<Node>,
}

impl From<Node> for Nodes {
    fn from(first: Node) -> Self {
        Self { first, others: Vec::new() }
    }
}

impl From<Nodes> for Vec<Node> {
    fn from(nodes: Nodes) -> Self {
        std::iter::once(nodes.first).chain(nodes.others).collect()
    }
}

impl TryFrom<Vec<Node>> for Nodes {
    type Error = String;

    fn try_from(nodes: Vec<Node>) -> Result<Self, String> {
        for (at, node) in nodes.iter().enumerate() {
            if nodes[..at].iter().any(|other| other.name == node.name) {
                return Err(format!("two nodes of the run are called '{}'", node.name));
            }
        }
        let mut nodes = nodes.into_iter();
        let first = nodes.next().ok_or("no node took part in the run")?;
        Ok(Self { first, others: nodes.collect() })
    }
}

impl Nodes {
    /// The leading node.
    #[must_use]
    pub const fn first(&self) -> &Node {
        &self.first
    }

    /// The leading node, for changes.
    pub const fn first_mut(&mut self) -> &mut Node {
        &mut self.first
    }

    /// All nodes, the leading one first.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Whether one of the nodes has that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|node| node.name == name)
    }
}
