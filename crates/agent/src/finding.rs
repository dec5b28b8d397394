//! Finds the hub: at one of its addresses, by one of its certificates.

use peer::Endpoint;

use crate::http::HttpError;
use crate::hub::{AboutHub, HubConnection, HubError, address_text, tls_with_anybody};
use crate::known_hub::KnownHub;

/// Connects at one of the addresses of a hub, beginning with one of them; `at` is the one that answered. Where another certificate is
/// shown than the node knows, it is looked whether those that it knows lead to it.
///
/// # Errors
/// Where none of them answers as the hub; the error is that of the last.
pub(crate) fn connect(hub: &KnownHub, at: &mut usize) -> Result<HubConnection, HubError> {
    let endpoints = hub.endpoints();
    let mut refused = HubError::Unreadable { address: String::new(), what: "no address is known".to_owned() };
    for turn in 0..endpoints.len() {
        let now = at.wrapping_add(turn) % endpoints.len();
        let mut opened = HubConnection::open(&endpoints[now], &hub.config());
        if opened.as_ref().err().is_some_and(is_other_certificate) && follows(hub, &endpoints[now]) {
            opened = HubConnection::open(&endpoints[now], &hub.config());
        }
        match opened {
            Ok(connection) => {
                *at = now;
                return Ok(connection);
            }
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Asks whoever answers there which certificates the hub has changed to; whether those that the node knows led to others.
fn follows(hub: &KnownHub, endpoint: &Endpoint) -> bool {
    let about = || -> Result<AboutHub, HubError> {
        let failed = |error| HubError::Http { address: address_text(endpoint), error };
        HubConnection::open(endpoint, &tls_with_anybody().map_err(failed)?)?.get("/v1/hub")
    };
    about().is_ok_and(|about| hub.follow(&about.certificates).unwrap_or(false))
}

/// Whether a connection was refused for the other end's certificate: the hub may have changed it.
fn is_other_certificate(error: &HubError) -> bool {
    matches!(error, HubError::Http { error: HttpError::Tls(rustls::Error::InvalidCertificate(_)), .. })
}
