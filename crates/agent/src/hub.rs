//! What a node asks of its hub, and whose answers it believes.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use farm::monitor::{
    BatchBody, CertificateStep, CommonBody, EnrolledBody, Envelope, EnvelopeError, HubKey, ListenBody, MarkBody,
    NODE_LABEL, PlacesBody, Purpose, Refused, RefusedBody, ReturnBody, SentAt, ToldBody,
};
use farm::stream::{ContentHash, NodeKey, Place, StreamId};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use peer::Endpoint;
use rustls::ClientConfig;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use units::ClockId;

use crate::enrolment::DEFAULT_HUB_PORT;
use crate::facts::boot;
use crate::http::{Answer, Connection, HttpError};
use crate::key::{NodeIdentity, is_signed};

/// How long connecting, and each exchange, may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Messages of enrolled nodes from this length on are compressed before they are signed (bytes). A hub decompresses nobody else's.
const COMPRESSED_FROM: usize = 1_024;
/// The name of the protocol in TLS (ALPN).
const PROTOCOL_NAME: &[u8] = b"http/1.1";

/// Why a hub did not take a message.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// It cannot be reached, or another program answers there.
    #[error("cannot talk to the hub at {address}: {error}")]
    Http {
        /// The hub's address, as it was given.
        address: String,
        /// What went wrong.
        error: HttpError,
    },
    /// The hub took nothing of the message.
    #[error("the hub at {address} refuses: {why}")]
    Refused {
        /// The hub's address, as it was given.
        address: String,
        /// Why, for this program.
        refused: Option<Refused>,
        /// Why, for people.
        why: String,
    },
    /// The answer was not signed by the hub that this node is enrolled at.
    #[error("the answer of {address} is not this node's hub's: {error}")]
    Untrusted {
        /// The hub's address, as it was given.
        address: String,
        /// What is wrong with it.
        error: EnvelopeError,
    },
    /// The answer is signed and cannot be read.
    #[error("the answer of the hub at {address} cannot be read: {what}")]
    Unreadable {
        /// The hub's address, as it was given.
        address: String,
        /// What is wrong with it.
        what: String,
    },
}

fn deflated(message: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(message)?;
    encoder.finish()
}

impl HubError {
    /// Why the hub refuses, where it does.
    #[must_use]
    pub const fn refused(&self) -> Option<Refused> {
        match self {
            Self::Refused { refused, .. } => *refused,
            _ => None,
        }
    }
}

/// The hub's address as people write it.
pub(crate) fn address_text(endpoint: &Endpoint) -> String {
    let port = endpoint.port.unwrap_or(DEFAULT_HUB_PORT);
    if endpoint.host.contains(':') {
        format!("[{}]:{port}", endpoint.host)
    } else {
        format!("{}:{port}", endpoint.host)
    }
}

/// What answers at a hub's address before anybody trusts it.
#[derive(Deserialize)]
pub(crate) struct AboutHub {
    pub(crate) hub: NodeKey,
    /// The certificates that it says it has changed to.
    #[serde(default)]
    pub(crate) certificates: Vec<CertificateStep>,
}

/// A connection to a hub, at one of its addresses.
pub(crate) struct HubConnection {
    connection: Connection,
    address: String,
}

/// How to speak TLS with anybody, for what proves itself by its signatures.
pub(crate) fn tls_with_anybody() -> Result<Arc<ClientConfig>, HttpError> {
    Ok(peer::client_config_for_anybody(PROTOCOL_NAME)?)
}

/// How to speak TLS with whoever has one of these certificates.
pub(crate) fn tls(fingerprints: &[[u8; 32]]) -> Result<Arc<ClientConfig>, HttpError> {
    Ok(peer::client_config(fingerprints, PROTOCOL_NAME)?)
}

impl HubConnection {
    pub(crate) fn open(endpoint: &Endpoint, config: &Arc<ClientConfig>) -> Result<Self, HubError> {
        let address = address_text(endpoint);
        let port = endpoint.port.unwrap_or(DEFAULT_HUB_PORT);
        match Connection::open((&endpoint.host, port), config, PATIENCE) {
            Ok(connection) => Ok(Self { connection, address }),
            Err(error) => Err(HubError::Http { address, error }),
        }
    }

    /// Proves that this connection is the node's own, and waits for news at most so long.
    pub(crate) fn listen(
        &mut self,
        knows: Option<ContentHash>,
        at_most: Duration,
        (node, hub): (&NodeIdentity, HubKey),
    ) -> Result<ToldBody, HubError> {
        let own = self.connection.own_value(NODE_LABEL, &hub.0).map_err(|error| self.http(error))?;
        let connection = ContentHash(own);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let message = ListenBody { connection, knows, for_s: at_most.as_secs(), version };
        self.connection.wait_for(at_most + PATIENCE);
        let told: Result<ToldBody, HubError> =
            self.ask("/v1/listen", (Purpose::Listen, Purpose::Told), &message, (node, hub));
        self.connection.wait_for(PATIENCE);
        let told = told?;
        if told.connection != connection {
            return Err(self.unreadable("news of another connection"));
        }
        Ok(told)
    }

    /// Whether another request may follow.
    pub(crate) const fn is_usable(&self) -> bool {
        self.connection.is_usable()
    }

    /// What answers there: JSON without a signature, for the first contact alone.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, HubError> {
        let answer = self.connection.get(path).map_err(|error| self.http(error))?;
        let body = self.accepted(answer)?;
        self.read(&body)
    }

    /// Sends entries: how far the hub has committed their stream.
    pub(crate) fn send(
        &mut self,
        batch: &BatchBody,
        (node, hub): (&NodeIdentity, HubKey),
    ) -> Result<MarkBody, HubError> {
        // Now, and not before the connection was there: the hub learns by it where this boot's times lie.
        let sent = SentAt { boot: boot(), at_ns: kernel::clock::now_ns(ClockId::Boottime.into()) };
        let batch = BatchBody { sent: Some(sent), ..batch.clone() };
        let mark: MarkBody = self.ask("/v1/batch", (Purpose::Batch, Purpose::Mark), &batch, (node, hub))?;
        if mark.stream != batch.stream {
            return Err(self.unreadable("a mark of another stream"));
        }
        Ok(mark)
    }

    /// Asks for the last of some places that the hub has too.
    pub(crate) fn common(
        &mut self,
        (stream, places): (StreamId, Vec<(u64, Place)>),
        (node, hub): (&NodeIdentity, HubKey),
    ) -> Result<CommonBody, HubError> {
        let message = PlacesBody { stream, places };
        let common: CommonBody = self.ask("/v1/places", (Purpose::Places, Purpose::Common), &message, (node, hub))?;
        if common.stream != stream {
            return Err(self.unreadable("an answer about another stream"));
        }
        Ok(common)
    }

    /// Shows the enrolment that the hub has signed: the one that it signs now, and its envelope as it came.
    pub(crate) fn return_to(
        &mut self,
        enrolment: &str,
        (node, hub): (&NodeIdentity, HubKey),
    ) -> Result<(EnrolledBody, Vec<u8>), HubError> {
        let message = ReturnBody { enrolment: enrolment.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let purposes = (Purpose::Return, Purpose::Enrolled);
        let (signed, answer) = self.ask_signed("/v1/return", purposes, &message, (node, hub))?;
        Ok((self.read(&answer)?, signed))
    }

    /// Sends a signed message, and reads the signed answer.
    fn ask<T: DeserializeOwned>(
        &mut self,
        path: &str,
        (sent, answered): (Purpose, Purpose),
        message: &impl Serialize,
        (node, hub): (&NodeIdentity, HubKey),
    ) -> Result<T, HubError> {
        let (_, message) = self.ask_signed(path, (sent, answered), message, (node, hub))?;
        self.read(&message)
    }

    /// The same, with the answer's envelope as it came.
    pub(crate) fn ask_signed(
        &mut self,
        path: &str,
        (sent, answered): (Purpose, Purpose),
        message: &impl Serialize,
        (node, hub): (&NodeIdentity, HubKey),
    ) -> Result<(Vec<u8>, Vec<u8>), HubError> {
        let message = serde_json::to_vec(message).map_err(|error| self.unreadable(&error.to_string()))?;
        let is_known = matches!(sent, Purpose::Batch | Purpose::Places);
        let message = if !is_known || message.len() < COMPRESSED_FROM {
            message
        } else {
            deflated(&message).map_err(|error| self.http(error.into()))?
        };
        let envelope = Envelope::sign(sent, node.public(), hub, message, |bytes| node.sign(bytes));
        let answer = self.connection.post(path, &envelope.to_bytes()).map_err(|error| self.http(error))?;
        let body = self.accepted(answer)?;
        let untrusted = |error| HubError::Untrusted { address: self.address.clone(), error };
        let envelope = Envelope::from_bytes(&body, answered).map_err(untrusted)?;
        if envelope.node != node.public() {
            return Err(untrusted(EnvelopeError::NotSigned));
        }
        let message = envelope.verify(hub, is_signed).map_err(untrusted)?.to_vec();
        Ok((body, message))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, message: &[u8]) -> Result<T, HubError> {
        serde_json::from_slice(message).map_err(|error| self.unreadable(&error.to_string()))
    }

    /// The body of an answer that says yes.
    fn accepted(&self, answer: Answer) -> Result<Vec<u8>, HubError> {
        if answer.status == 200 {
            return Ok(answer.body);
        }
        let address = self.address.clone();
        // Somebody else's words end at a terminal.
        let shown = |text: &str| units::printable::line(text).into_owned();
        Err(match serde_json::from_slice::<RefusedBody>(&answer.body) {
            Ok(body) => HubError::Refused { address, refused: Some(body.refused), why: shown(&body.why) },
            Err(_) => HubError::Refused { address, refused: None, why: format!("HTTP status {}", answer.status) },
        })
    }

    fn http(&self, error: HttpError) -> HubError {
        HubError::Http { address: self.address.clone(), error }
    }

    fn unreadable(&self, what: &str) -> HubError {
        HubError::Unreadable { address: self.address.clone(), what: units::printable::line(what).into_owned() }
    }
}
