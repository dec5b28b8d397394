//! Where a node is enrolled: the hub's key and certificates, which the node trusts.

use farm::monitor::HubKey;
use farm::stream::{ContentHash, NodeKey};
use peer::{AddressError, Endpoint};
use serde::{Deserialize, Serialize};

/// Where this node is enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Enrolment {
    /// The hub's addresses, each HOST:PORT.
    pub addresses: Vec<String>,
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

    /// The hub's addresses.
    ///
    /// # Errors
    /// Where one is none.
    pub fn endpoints(&self) -> Result<Vec<Endpoint>, AddressError> {
        self.addresses.iter().map(|address| Endpoint::parse(address)).collect()
    }

    /// SHA-256 of the certificates that it may have.
    #[must_use]
    pub fn fingerprints(&self) -> Vec<[u8; 32]> {
        self.certificates.iter().map(|certificate| certificate.0).collect()
    }
}
