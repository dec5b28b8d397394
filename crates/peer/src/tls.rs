//! TLS 1.3 as this program uses it: known by a fingerprint, without names, dates, authorities, resumption or early data.

use std::sync::Arc;
use std::time::Duration;

use farm::monitor::SIGNATURE_BYTES;
use farm::{FINGERPRINT_BYTES, PROOF_BYTES, Proof, Secret, Token};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, UnparsedPublicKey};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256;
use rustls::crypto::ring::kx_group::X25519;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::crypto::{
    CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, WebPkiSupportedAlgorithms, verify_tls13_signature,
};
use rustls::pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, PrivateKeyDer, ServerName, SignatureVerificationAlgorithm,
    UnixTime, alg_id,
};
use rustls::server::{NoServerSessionStorage, ParsedCertificate};
use rustls::sign::SigningKey;
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error, ServerConfig,
    SignatureScheme,
};

use crate::Identity;
use crate::identity::fingerprint;

/// The protocol's name in TLS (ALPN): by it both sides recognize a punctual.
pub(crate) const PROTOCOL_NAME: &[u8] = b"punctual";
/// The label of the value that a proof is made of (RFC 8446, section 7.5).
const PROOF_LABEL: &[u8] = b"EXPORTER-punctual-proof";
/// The label of keys that partners derive for packets of their own.
const KEY_LABEL: &[u8] = b"EXPORTER-punctual-key";

/// TLS asks for the time of day, and nothing here depends on it: a node's clock may be years off. It always gets this.
#[derive(Debug)]
struct NoClock;

impl TimeProvider for NoClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::ZERO))
    }
}

/// One algorithm of each kind, since both ends are this program: X25519, ChaCha20-Poly1305 with SHA-256 (fast also on boards
/// without instructions for AES), Ed25519. What the others would add to the program is more than all of the rest here.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![TLS13_CHACHA20_POLY1305_SHA256],
        kx_groups: vec![X25519],
        signature_verification_algorithms: SIGNATURES,
        secure_random: &Ring,
        key_provider: &Ring,
    })
}

const SIGNATURES: WebPkiSupportedAlgorithms =
    WebPkiSupportedAlgorithms { all: &[&Ed25519], mapping: &[(SignatureScheme::ED25519, &[&Ed25519])] };

/// The random numbers and private keys of the library `ring`.
#[derive(Debug)]
struct Ring;

impl SecureRandom for Ring {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        SystemRandom::new().fill(bytes).map_err(|_| GetRandomFailed)
    }
}

impl KeyProvider for Ring {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        match key {
            PrivateKeyDer::Pkcs8(key) => any_eddsa_type(&key),
            _ => Err(Error::General("a private key in another form than PKCS #8".to_owned())),
        }
    }
}

/// Signatures by Ed25519 (RFC 8032).
#[derive(Debug)]
struct Ed25519;

impl SignatureVerificationAlgorithm for Ed25519 {
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let key = UnparsedPublicKey::new(&ED25519, public_key);
        key.verify(message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ED25519
    }
}

/// How the listening side speaks TLS.
pub(crate) fn server_config(identity: &Identity) -> Result<Arc<ServerConfig>, Error> {
    let mut config = ServerConfig::builder_with_details(provider(), Arc::new(NoClock))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate()], identity.key())?;
    config.alpn_protocols = vec![PROTOCOL_NAME.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// How a client speaks TLS 1.3 with whoever has one of these certificates, each known by its SHA-256, under the name of a protocol
/// (ALPN). The certificates' keys are of Ed25519.
///
/// # Errors
/// Where the library refuses.
pub fn client_config(fingerprints: &[[u8; FINGERPRINT_BYTES]], protocol: &[u8]) -> Result<Arc<ClientConfig>, Error> {
    config_of(Wanted::Fingerprints(fingerprints.to_vec()), protocol)
}

/// How a client speaks TLS 1.3 with anybody: for what proves itself by its signatures, and for nothing else.
///
/// # Errors
/// Where the library refuses.
pub fn client_config_for_anybody(protocol: &[u8]) -> Result<Arc<ClientConfig>, Error> {
    config_of(Wanted::Anybody, protocol)
}

fn config_of(wanted: Wanted, protocol: &[u8]) -> Result<Arc<ClientConfig>, Error> {
    let provider = provider();
    let verifier = Fingerprint { wanted, provider: Arc::clone(&provider) };
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(NoClock))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

/// The connecting side of a TLS session with whoever has the token's certificate.
pub(crate) fn client(token: &Token) -> Result<ClientConnection, Error> {
    let config = client_config(&[*token.fingerprint()], PROTOCOL_NAME)?;
    // The name is not looked at; it has to be one.
    let name = ServerName::try_from("punctual").map_err(|error| Error::General(error.to_string()))?;
    ClientConnection::new(config, name)
}

/// Whose certificate is accepted.
#[derive(Debug)]
enum Wanted {
    /// Those with these fingerprints.
    Fingerprints(Vec<[u8; FINGERPRINT_BYTES]>),
    /// Anybody's.
    Anybody,
}

/// Accepts some certificates, by their fingerprints, and from their holders alone.
#[derive(Debug)]
struct Fingerprint {
    wanted: Wanted,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Fingerprint {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.wanted {
            Wanted::Fingerprints(wanted) if !wanted.contains(&fingerprint(end_entity)) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            Wanted::Fingerprints(_) | Wanted::Anybody => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken here".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // The certificate is public: without this, whoever has seen it could pretend to be its holder.
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether the key of a certificate (X.509 in DER, its key of Ed25519) has signed a message. Nothing else of the certificate is looked
/// at: whoever asks knows it by its fingerprint.
#[must_use]
pub fn has_certificate_signed(certificate: &[u8], message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
    /// The key information of an Ed25519 key before its 32 bytes (RFC 8410, section 4).
    const ED25519_BEFORE: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let certificate = CertificateDer::from(certificate);
    let Ok(parsed) = ParsedCertificate::try_from(&certificate) else { return false };
    let information = parsed.subject_public_key_info();
    let key = information.as_ref().strip_prefix(&ED25519_BEFORE).filter(|key| key.len() == 32);
    key.is_some_and(|key| UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok())
}

/// The proof that the sender has the secret, for this TLS session alone.
pub(crate) fn prove(tls: &Connection, secret: &Secret) -> Result<Proof, Error> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.bytes());
    let tag = hmac::sign(&key, &session_value(tls)?);
    let mut proof = [0; PROOF_BYTES];
    for (byte, from) in proof.iter_mut().zip(tag.as_ref()) {
        *byte = *from;
    }
    Ok(Proof(proof))
}

/// Whether a proof is of this TLS session and of the secret. It takes the same time for every wrong one.
pub(crate) fn is_proved(tls: &Connection, secret: &Secret, proof: &Proof) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.bytes());
    session_value(tls).is_ok_and(|value| hmac::verify(&key, &value, &proof.0).is_ok())
}

fn session_value(tls: &Connection) -> Result<[u8; 32], Error> {
    tls.export_keying_material([0; 32], PROOF_LABEL, None)
}

/// A key that both ends of a session derive alike, and nobody else can.
pub(crate) fn shared_key(tls: &Connection, purpose: &str) -> Result<[u8; 32], Error> {
    tls.export_keying_material([0; 32], KEY_LABEL, Some(purpose.as_bytes()))
}
