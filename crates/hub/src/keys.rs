//! What a hub is known by: its own key, which signs marks, and the certificates of its port, the present one and the next one.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use farm::monitor::{CertificateStep, Envelope, HubKey, Purpose, SIGNATURE_BYTES};
use farm::stream::NodeKey;
use farm::{FINGERPRINT_BYTES, SECRET_BYTES, Secret};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SignatureAlgorithm};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ParsedCertificate;

use crate::apart::APART;
use crate::certificates::{self, NEXT, NEXT_KEY, PRESENT, STEPS, make_certificate};
use crate::folder::{self, Folder};

pub use crate::certificates::KeyError;

/// The hub's own key.
const HUB_KEY: &str = "hub.key";
/// The certificate of the people's port.
const PEOPLE_CERTIFICATE: [&str; 2] = ["people.certificate", "people.key"];
/// Files that a backup has with the store: what nodes know the hub by, and what its ports speak with. The key of the next certificate is
/// kept apart on purpose: a thief of a backup does not have it.
pub(crate) const BACKED_UP: &[&str] =
    &[HUB_KEY, PRESENT[0], PRESENT[1], NEXT, PEOPLE_CERTIFICATE[0], PEOPLE_CERTIFICATE[1], STEPS];

/// A certificate with its key.
pub struct Certificate {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Certificate {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }

    /// SHA-256 of its public key (its SubjectPublicKeyInfo), in base64: as curl pins it. `None` where the certificate is none.
    #[must_use]
    pub fn pin(&self) -> Option<String> {
        let parsed = ParsedCertificate::try_from(&self.certificate).ok()?;
        Some(BASE64_STANDARD.encode(sha256(parsed.subject_public_key_info().as_ref())))
    }

    /// SHA-256 of the certificate.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; FINGERPRINT_BYTES] {
        sha256(&self.certificate)
    }
}

/// What a hub is known by.
pub struct Keys {
    own: Ed25519KeyPair,
    /// The certificate of the agents' port.
    pub agents: Certificate,
    /// SHA-256 of the certificate that the agents' port will use next.
    pub next: [u8; FINGERPRINT_BYTES],
    /// The steps from certificate to certificate that led to the present one.
    pub steps: Vec<CertificateStep>,
    /// The certificate of the people's port. Browsers know no Ed25519.
    pub people: Certificate,
}

impl Keys {
    /// Reads the keys of a folder; makes them where it has none and no store.
    ///
    /// # Errors
    /// Where one of them is missing or cannot be used, or they cannot be made.
    pub fn load_or_make(folder: &Folder) -> Result<Self, KeyError> {
        let own = match (folder::read(&folder.join(HUB_KEY))?, folder.store().exists()) {
            (Some(key), _) => key,
            (None, true) => {
                let there = folder.store().display().to_string();
                return Err(KeyError::Missing { missing: HUB_KEY.to_owned(), there });
            }
            (None, false) => {
                let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::NoRandomness)?;
                folder::write_new(&folder.join(HUB_KEY), key.as_ref())?;
                key.as_ref().to_vec()
            }
        };
        let own = Ed25519KeyPair::from_pkcs8(&own).map_err(|_| KeyError::NoKey(HUB_KEY.to_owned()))?;
        certificates::complete(folder)?;
        let agents = certificate(folder, PRESENT, &PKCS_ED25519)?;
        let next = match folder::read(&folder.join(NEXT))? {
            Some(certificate) => sha256(&certificate),
            None => {
                let key_folder = folder.below(APART)?;
                let (certificate, key) = make_certificate(&PKCS_ED25519)?;
                let key_file = key_folder.join(NEXT_KEY);
                // Left by a start that was killed before it wrote the certificate: nobody knows it.
                let _ = std::fs::remove_file(&key_file);
                folder::write_new(&key_file, &key)?;
                folder::write_new(&folder.join(NEXT), &certificate)?;
                sha256(&certificate)
            }
        };
        certificates::begin(folder)?;
        let people = certificate(folder, PEOPLE_CERTIFICATE, &PKCS_ECDSA_P256_SHA256)?;
        Ok(Self { own, agents, next, steps: certificates::steps(folder)?, people })
    }

    /// The hub's public key.
    #[must_use]
    pub fn hub(&self) -> HubKey {
        let mut key = [0; 32];
        key.copy_from_slice(self.own.public_key().as_ref());
        HubKey(key)
    }

    /// A signed message to a node.
    #[must_use]
    pub fn sign(&self, purpose: Purpose, node: NodeKey, message: Vec<u8>) -> Envelope {
        Envelope::sign(purpose, node, self.hub(), message, |bytes| {
            let mut signature = [0; SIGNATURE_BYTES];
            signature.copy_from_slice(self.own.sign(bytes).as_ref());
            signature
        })
    }
}

/// A certificate of the folder, which is made where it is not there.
fn certificate(
    folder: &Folder,
    [name, key_name]: [&str; 2],
    algorithm: &'static SignatureAlgorithm,
) -> Result<Certificate, KeyError> {
    let (key_file, file) = (folder.join(key_name), folder.join(name));
    let (certificate, key) = match (folder::read(&file)?, folder::read(&key_file)?) {
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => {
            return Err(KeyError::Missing { missing: key_name.to_owned(), there: name.to_owned() });
        }
        (None, _) => {
            let (certificate, key) = make_certificate(algorithm)?;
            // Left by a start that was killed before it wrote the certificate: nobody knows it.
            let _ = std::fs::remove_file(&key_file);
            folder::write_new(&key_file, &key)?;
            folder::write_new(&file, &certificate)?;
            (certificate, key)
        }
    };
    Ok(Certificate { certificate: CertificateDer::from(certificate), key: PrivatePkcs8KeyDer::from(key) })
}

/// Whether a node's key has signed bytes.
#[must_use]
pub fn is_signed(key: &[u8; 32], bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
    UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok()
}

/// A new secret of 256 random bits.
///
/// # Errors
/// Where the kernel gives none.
pub fn new_secret() -> Result<Secret, KeyError> {
    let mut secret = [0; SECRET_BYTES];
    SystemRandom::new().fill(&mut secret).map_err(|_| KeyError::NoRandomness)?;
    Ok(Secret::new(secret))
}

/// A random number.
///
/// # Errors
/// Where the kernel gives none.
pub(crate) fn random() -> Result<u64, KeyError> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::NoRandomness)?;
    Ok(u64::from_le_bytes(bytes))
}

/// SHA-256 of bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// 32 bytes as hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: [u8; 32]) -> String {
    NodeKey(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_is_the_same_after_each_start_and_a_lost_key_is_not_made_anew() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("hub")).unwrap();
        let first = Keys::load_or_make(&folder).unwrap();
        let again = Keys::load_or_make(&folder).unwrap();
        let all = |keys: &Keys| (keys.hub(), keys.agents.fingerprint(), keys.next, keys.people.fingerprint());
        assert_eq!(all(&first), all(&again));
        let different =
            std::collections::BTreeSet::from([first.agents.fingerprint(), first.next, first.people.fingerprint()]);
        assert_eq!(different.len(), 3);
        let message = first.sign(Purpose::Mark, NodeKey([1; 32]), b"mark".to_vec());
        assert_eq!(message.verify(first.hub(), is_signed).unwrap(), b"mark");
        // The next certificate's key may lie elsewhere.
        std::fs::remove_dir_all(folder.join(APART)).unwrap();
        assert_eq!(all(&Keys::load_or_make(&folder).unwrap()), all(&first));
        std::fs::remove_file(folder.join("agents.key")).unwrap();
        assert!(matches!(Keys::load_or_make(&folder), Err(KeyError::Missing { .. })));
        std::fs::write(folder.store(), b"").unwrap();
        std::fs::remove_file(folder.join(HUB_KEY)).unwrap();
        assert!(matches!(Keys::load_or_make(&folder), Err(KeyError::Missing { .. })));
    }
}
