//! How a token becomes an enrolment.

use farm::Token;
use farm::monitor::{EnrolledBody, EnrolmentBody, HubKey, Purpose};
use farm::stream::ContentHash;
use peer::{AddressError, Endpoint};

use crate::enrolment::Enrolment;
use crate::hub::{AboutHub, HubConnection, HubError, address_text, tls};
use crate::state::{State, StateError};

/// Why a node was not enrolled.
#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    /// No address was named, or a text is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No address was named.
    #[error("no address of the hub is named: HOST[:PORT], as 'punctual-hub enrol' prints it")]
    NoAddress,
    /// The node's own folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// What the hub, or the way to it, refused.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The library of TLS.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The hub enrolled another node.
    #[error("the hub has enrolled another node in this one's place: nothing was kept")]
    OtherNode,
}

/// Enrols this node at the hub that made the token: over a connection to whoever has the certificate that it names. A node that is
/// enrolled there gets the same answer again.
///
/// # Errors
/// Where none of the addresses answers, the hub refuses, or the enrolment cannot be kept.
pub fn enrol(state: &State, addresses: &[String], token: &Token, host: &str) -> Result<Enrolment, EnrolError> {
    let endpoints: Vec<Endpoint> = addresses.iter().map(|text| Endpoint::parse(text)).collect::<Result<_, _>>()?;
    let identity = state.identity_or_new()?;
    let config = tls(&[*token.fingerprint()]).map_err(|error| EnrolError::Tls(error.to_string()))?;
    let mut refused = EnrolError::NoAddress;
    let mut opened = None;
    for endpoint in &endpoints {
        match HubConnection::open(endpoint, &config) {
            Ok(connection) => {
                opened = Some(connection);
                break;
            }
            Err(error) => refused = error.into(),
        }
    }
    let mut connection = opened.ok_or(refused)?;
    let about: AboutHub = connection.get("/v1/hub")?;
    if let Some(earlier) = state.enrolment()?.filter(|earlier| earlier.hub != about.hub) {
        return Err(StateError::Enrolled { hub: earlier.addresses.join(", ") }.into());
    }
    let hub = HubKey(about.hub.0);
    let message = EnrolmentBody {
        secret: ContentHash(*token.secret().bytes()).to_string(),
        name: host.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let purposes = (Purpose::Enrolment, Purpose::Enrolled);
    let (signed, answer) = connection.ask_signed("/v1/enrol", purposes, &message, (&identity, hub))?;
    let enrolled: EnrolledBody = connection.read(&answer)?;
    if enrolled.node != identity.public() {
        return Err(EnrolError::OtherNode);
    }
    let next = enrolled.next_certificate.as_deref().and_then(|text| text.parse().ok());
    let enrolment = Enrolment {
        addresses: endpoints.iter().map(address_text).collect(),
        announced: Vec::new(),
        hub: about.hub,
        certificates: std::iter::once(ContentHash(*token.fingerprint())).chain(next).collect(),
        name: units::printable::line(&enrolled.name).into_owned(),
        epoch: enrolled.epoch,
        signed: String::from_utf8_lossy(&signed).into_owned(),
    };
    state.keep_enrolment(&enrolment)?;
    Ok(enrolment)
}
