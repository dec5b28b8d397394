//! The node's key: what the node is to its hub.

use farm::monitor::SIGNATURE_BYTES;
use farm::stream::{NODE_KEY_BYTES, NodeKey};
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// An Ed25519 key pair (RFC 8032).
pub struct NodeIdentity {
    pair: Ed25519KeyPair,
    public: NodeKey,
}

impl NodeIdentity {
    /// A new key, in the form that a file keeps it in (PKCS #8, RFC 5958); `None` where the kernel gives no random bytes.
    #[must_use]
    pub fn generate() -> Option<Vec<u8>> {
        Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).ok().map(|document| document.as_ref().to_vec())
    }

    /// The key that a file has; `None` where it is none.
    #[must_use]
    pub fn from_pkcs8(document: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(document).ok()?;
        let public: [u8; NODE_KEY_BYTES] = pair.public_key().as_ref().try_into().ok()?;
        Some(Self { pair, public: NodeKey(public) })
    }

    /// The public key.
    #[must_use]
    pub const fn public(&self) -> NodeKey {
        self.public
    }

    /// The signature of this node over bytes (Ed25519, RFC 8032).
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let mut signature = [0; SIGNATURE_BYTES];
        for (to, from) in signature.iter_mut().zip(self.pair.sign(bytes).as_ref()) {
            *to = *from;
        }
        signature
    }
}

impl std::fmt::Debug for NodeIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeIdentity").field("public", &self.public).finish_non_exhaustive()
    }
}

/// Whether the holder of a key has signed bytes.
pub(crate) fn is_signed(key: &[u8; NODE_KEY_BYTES], bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
    UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok()
}

/// Random numbers; `None` where the kernel gives none.
pub(crate) fn random() -> Option<u64> {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_signs_what_its_public_half_verifies() {
        let document = NodeIdentity::generate().unwrap();
        let identity = NodeIdentity::from_pkcs8(&document).unwrap();
        let signature = identity.sign(b"entries");
        assert!(is_signed(&identity.public().0, b"entries", &signature));
        assert!(!is_signed(&identity.public().0, b"entriez", &signature));
        assert!(NodeIdentity::from_pkcs8(&document[1..]).is_none());
    }
}
