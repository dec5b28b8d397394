//! Where a node is enrolled: the hub's key and certificates, which the node trusts.

use farm::monitor::HubKey;
use farm::stream::{ContentHash, NodeKey};
use peer::{AddressError, Endpoint};
use serde::{Deserialize, Serialize};

/// The port of a hub for nodes, where none is named.
pub const DEFAULT_HUB_PORT: u16 = 5378;

/// Where this node is enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Enrolment {
    /// The hub's addresses as the node's user named them, each HOST:PORT.
    pub addresses: Vec<String>,
    /// Others that the hub has told of, each HOST or HOST:PORT: they are tried first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub announced: Vec<String>,
    /// The hub's key, in hexadecimal digits.
    pub hub: NodeKey,
    /// SHA-256 of its certificate, and of the one that it will use next.
    pub certificates: Vec<ContentHash>,
    /// What the node is called there.
    pub name: String,
    /// The hub's life in which it was enrolled.
    pub epoch: u64,
    /// What the hub signed: shown to a hub that was restored to before it.
    pub signed: String,
}

impl Enrolment {
    /// The hub's key.
    #[must_use]
    pub const fn hub_key(&self) -> HubKey {
        HubKey(self.hub.0)
    }

    /// The hub's addresses, each once, in the order in which they are tried.
    ///
    /// # Errors
    /// Where one is none.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, AddressError> {
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for address in self.announced.iter().chain(&self.addresses) {
            let mut endpoint = Endpoint::parse(address)?;
            endpoint.port = endpoint.port.or(Some(DEFAULT_HUB_PORT));
            if !endpoints.contains(&endpoint) {
                endpoints.push(endpoint);
            }
        }
        Ok(endpoints)
    }

    /// SHA-256 of the certificates that it may have.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<[u8; 32]> {
        self.certificates.iter().map(|certificate| certificate.0).collect()
    }
}
