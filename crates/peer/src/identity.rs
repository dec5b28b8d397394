//! The certificate for the occasion: made when a program begins to listen, held in memory, gone with it.

use farm::{SECRET_BYTES, Secret, Token};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A private key with its certificate, and the secret that a partner has to prove.
///
/// The certificate's dates are 1975 and 4096, and nobody looks at them: the fingerprint alone counts.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
    token: Token,
}

/// Why no identity can be made.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The kernel gave no random bytes.
    #[error("the kernel gives no random bytes (getrandom): wait until it has started, then try again")]
    NoRandomness,
    /// The library failed.
    #[error("no certificate could be made: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl Identity {
    /// A new key, certificate and secret.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn new() -> Result<Self, IdentityError> {
        let key = KeyPair::generate_for(&PKCS_ED25519)?;
        let certificate = CertificateParams::new(["punctual".to_owned()])?.self_signed(&key)?;
        let certificate = certificate.der().clone();
        let mut secret = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut secret).map_err(|_| IdentityError::NoRandomness)?;
        let token = Token::new(fingerprint(&certificate), Secret::new(secret));
        Ok(Self { certificate, key: PrivatePkcs8KeyDer::from(key.serialize_der()), token })
    }

    /// The token for those who may connect.
    #[must_use]
    pub const fn token(&self) -> &Token {
        &self.token
    }

    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("token", &self.token).finish_non_exhaustive()
    }
}

/// SHA-256 of a certificate in DER.
pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; farm::FINGERPRINT_BYTES] {
    let digest = digest::digest(&digest::SHA256, certificate);
    let mut bytes = [0; farm::FINGERPRINT_BYTES];
    for (byte, from) in bytes.iter_mut().zip(digest.as_ref()) {
        *byte = *from;
    }
    bytes
}
