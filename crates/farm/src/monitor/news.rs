//! What a hub tells its nodes of itself: where else they find it, and which certificates follow on the one that they know.
//!
//! A node asks for it over a connection that it proves to be its own, and the hub answers when there is something new.

use serde::{Deserialize, Serialize};

use crate::stream::{ContentHash, bytes_of_hexadecimal, hexadecimal};

use super::{HubKey, SIGNATURE_BYTES};

/// The label of the value of a connection that a node signs (RFC 8446, section 7.5): nobody else's connection has the same.
pub const NODE_LABEL: &[u8] = b"EXPORTER-punctual-node";
/// The most addresses that are told.
pub const MOST_ADDRESSES: usize = 8;
/// The most steps that are told, the latest: an answer has 64 KiB at most. A node that was off for more of them is enrolled anew.
pub const MOST_STEPS: usize = 48;

/// A node proves that a connection is its own, and asks for news.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ListenBody {
    /// The connection's own value ([`NODE_LABEL`], with the hub's key for a context), which both ends derive.
    pub connection: ContentHash,
    /// What the node was told last, [`News::hash`]; absent where it was told nothing yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knows: Option<ContentHash>,
    /// How long it waits for news (s); 0 to be answered at once.
    pub for_s: u64,
    /// Version of the program that sends it.
    #[serde(default)]
    pub version: String,
}

/// A hub's answer: the news, or that there are none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToldBody {
    /// The value of the connection that it is told over.
    pub connection: ContentHash,
    /// The hub's life.
    pub epoch: u64,
    /// What is new; absent where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub news: Option<News>,
}

/// What a hub tells its nodes of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct News {
    /// Where nodes find it, each HOST or HOST:PORT, beside the addresses that their users named.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// The certificates that it has changed to, in that order.
    #[serde(default)]
    pub certificates: Vec<CertificateStep>,
}

impl News {
    /// What names them.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        let mut text = String::new();
        for address in &self.addresses {
            text.push_str(address);
            text.push('\n');
        }
        for step in &self.certificates {
            text.push('\n');
            text.push_str(&step.next.to_string());
        }
        ContentHash::of(&text)
    }
}

/// A certificate that a hub has changed to, and the one that comes after it, announced by the former's key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CertificateStep {
    /// The certificate (X.509 in DER), in hexadecimal digits.
    pub certificate: String,
    /// SHA-256 of the certificate that comes after it.
    pub next: ContentHash,
    /// Over [`CertificateStep::signed`], by the certificate's key (Ed25519), in hexadecimal digits.
    pub signature: String,
}

impl CertificateStep {
    /// A step to a certificate; `sign` signs by its key.
    pub fn new(
        certificate: &[u8],
        hub: HubKey,
        next: ContentHash,
        sign: impl FnOnce(&[u8]) -> [u8; SIGNATURE_BYTES],
    ) -> Self {
        let signature = hexadecimal(&sign(&Self::signed(hub, next)));
        Self { certificate: hexadecimal(certificate), next, signature }
    }

    /// What is signed: good for this hub and this announcement alone.
    #[must_use]
    pub fn signed(hub: HubKey, next: ContentHash) -> Vec<u8> {
        [b"punctual certificate 1\0".as_slice(), &hub.0, &next.0].concat()
    }

    /// The certificate, and its signature; `None` where they are no such bytes.
    fn parts(&self) -> Option<(Vec<u8>, [u8; SIGNATURE_BYTES])> {
        let signature = bytes_of_hexadecimal(&self.signature).ok()?.try_into().ok()?;
        Some((bytes_of_hexadecimal(&self.certificate).ok()?, signature))
    }
}

/// The certificates that a node takes a hub by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCertificates {
    /// SHA-256 of the one that the hub has, as far as the node knows.
    pub present: ContentHash,
    /// SHA-256 of the one that comes after it. Its key is kept apart until then.
    pub next: Option<ContentHash>,
}

impl KnownCertificates {
    /// What a node knows after these steps. Only the next certificate's key announces another one: whoever has stolen the present
    /// one's, or the hub's own, leads nobody away. `is_signed` says whether a certificate's key has signed bytes.
    #[must_use]
    pub fn after(
        self,
        hub: HubKey,
        steps: &[CertificateStep],
        is_signed: impl Fn(&[u8], &[u8], &[u8; SIGNATURE_BYTES]) -> bool,
    ) -> Self {
        let mut known = self;
        for step in steps.iter().take(MOST_STEPS) {
            let Some((certificate, signature)) = step.parts() else { continue };
            let hash = ContentHash::of_bytes(&certificate);
            let is_next = known.next == Some(hash);
            if is_next && is_signed(&certificate, &CertificateStep::signed(hub, step.next), &signature) {
                known = Self { present: hash, next: Some(step.next) };
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HUB: HubKey = HubKey([9; 32]);

    /// A certificate of the tests is its number; whoever knows it can sign by its key.
    fn sign(certificate: &[u8], bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        use sha2::{Digest as _, Sha512};
        Sha512::new().chain_update(certificate).chain_update(bytes).finalize().into()
    }

    fn is_signed(certificate: &[u8], bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        sign(certificate, bytes) == *signature
    }

    fn hash(certificate: u8) -> ContentHash {
        ContentHash::of_bytes(&[certificate])
    }

    /// A step to a certificate that announces another, signed by a key.
    fn step(to: u8, next: u8, by: u8) -> CertificateStep {
        CertificateStep::new(&[to], HUB, hash(next), |bytes| sign(&[by], bytes))
    }

    fn known(present: u8) -> KnownCertificates {
        KnownCertificates { present: hash(present), next: Some(hash(present + 1)) }
    }

    #[test]
    fn a_node_that_was_off_for_long_follows_and_one_that_knows_no_next_stays() {
        let all: Vec<_> = (1..10).map(|to| step(to, to + 1, to)).collect();
        for present in 0..9 {
            assert_eq!(known(present).after(HUB, &all, is_signed), known(9));
        }
        assert_eq!(known(0).after(HUB, &all[..3], is_signed), known(3));
        // A step is missing, or of another hub, or announces what its key did not sign.
        assert_eq!(known(0).after(HUB, &all[1..], is_signed), known(0));
        assert_eq!(known(0).after(HubKey([8; 32]), &all, is_signed), known(0));
        let mut changed = all.clone();
        changed[2].next = hash(77);
        assert_eq!(known(0).after(HUB, &changed, is_signed), known(2));
        let bare = KnownCertificates { next: None, ..known(0) };
        assert_eq!(bare.after(HUB, &all, is_signed), bare);
    }

    #[test]
    fn news_are_named_by_all_that_they_say() {
        let of = |addresses: &[&str], steps: &[CertificateStep]| {
            let addresses = addresses.iter().map(ToString::to_string).collect();
            News { addresses, certificates: steps.to_vec() }.hash()
        };
        let all = [
            of(&[], &[]),
            of(&["a"], &[]),
            of(&["a", "b"], &[]),
            of(&["b", "a"], &[]),
            of(&["ab"], &[]),
            of(&["a"], &[step(1, 2, 1)]),
            of(&["a"], &[step(1, 3, 1)]),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    proptest! {
        /// A thief has the keys of the certificates up to the present one, and says whatever he likes, mixed with what the hub said.
        #[test]
        fn who_lacks_the_next_key_leads_nobody_away(
            present in 0_u8..6,
            said in proptest::collection::vec((any::<bool>(), 0_u8..8, 0_u8..40, 0_u8..8), 0..30),
        ) {
            let steps: Vec<_> = said
                .into_iter()
                .map(|(is_honest, to, next, by)| {
                    if is_honest { step(to, to + 1, to) } else { step(to, next, by.min(present)) }
                })
                .collect();
            let after = known(present).after(HUB, &steps, is_signed);
            prop_assert!((present..9).any(|at| after == known(at)), "{after:?}");
        }
    }
}
