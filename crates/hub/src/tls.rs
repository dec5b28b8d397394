//! TLS as the hub's ports speak it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;

use crate::keys::Certificate;

/// TLS 1.3 alone, with a certificate that is known by its fingerprint. No session is resumed: nothing of one stays here.
///
/// # Errors
/// Where the key is not the certificate's.
pub fn config(certificate: &Certificate) -> Result<Arc<ServerConfig>, rustls::Error> {
    with(vec![certificate.certificate.clone()], certificate.key())
}

/// The same with a certificate and a key of the user's own, as PEM.
///
/// # Errors
/// Where they cannot be read, or are none.
pub fn config_of_files(certificate: &Path, key: &Path) -> io::Result<Arc<ServerConfig>> {
    let named = |path: &Path, error: &dyn std::fmt::Display| io::Error::other(format!("{}: {error}", path.display()));
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| named(certificate, &error))?;
    let key_of = PrivateKeyDer::from_pem_file(key).map_err(|error| named(key, &error))?;
    with(chain, key_of).map_err(|error| named(certificate, &error))
}

fn with(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
