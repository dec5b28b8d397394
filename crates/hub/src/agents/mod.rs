//! The agents' port: what nodes send, verified, into the store.

mod body;
mod listen;
mod refusal;

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use farm::monitor::{
    CertificateStep, CommonBody, EnrolledBody, EnrolmentBody, Envelope, HubKey, MOST_BATCH_BYTES, MarkBody, PlacesBody,
    Purpose, Refused, ReturnBody,
};
use farm::stream::{Common, ContentHash, NodeKey, StreamId};
use serde::Serialize;
use store::{Adopting, Arriving, BatchError, Committed, Enrolling, Node, Read, ReadyBatch, SecretHash};
use tokio::task::spawn_blocking;

use crate::apart::{Event, Line};
use crate::clock::now_wall_ns;
use crate::door::{Room, Visitor};
use crate::hub::Hub;
use crate::keys::{hexadecimal, is_signed};
use crate::programs::NotHandedOut;
use body::{Message, Received, Signed};
use refusal::Refusal;

/// What a hub says of itself to everybody.
#[derive(Debug, Serialize)]
struct HubBody {
    /// Its public key.
    hub: String,
    /// Its life.
    epoch: u64,
    /// Version of its program.
    version: &'static str,
    /// The certificates that it has changed to: a node follows them before it trusts the connection.
    certificates: Vec<CertificateStep>,
}

/// The most places of one question: more than a spool of 16 MiB has pieces.
const MOST_PLACES: usize = 65_536;

/// The routes of the agents' port.
pub fn routes(hub: Arc<Hub>) -> Router {
    Router::new()
        .route("/v1/hub", get(describe))
        .route("/v1/program/{architecture}", get(program))
        .route("/v1/enrol", post(enrol))
        .route("/v1/return", post(return_here))
        .route("/v1/batch", post(batch))
        .route("/v1/places", post(places))
        .route("/v1/listen", post(listen::listen))
        .fallback(no_route)
        .method_not_allowed_fallback(no_route)
        // Bodies are bounded where they are read.
        .layer(DefaultBodyLimit::disable())
        .with_state(hub)
}

async fn describe(State(hub): State<Arc<Hub>>) -> Response {
    let hub = HubBody {
        hub: hub.keys.hub().to_string(),
        epoch: hub.epoch,
        version: env!("CARGO_PKG_VERSION"),
        certificates: hub.newsroom.news().certificates,
    };
    Json(hub).into_response()
}

/// A program for a machine that has none.
async fn program(State(hub): State<Arc<Hub>>, Path(architecture): Path<String>) -> Response {
    let programs = Arc::clone(&hub.programs);
    let opened = spawn_blocking(move || programs.open(&architecture)).await;
    match opened.unwrap_or(Err(NotHandedOut::Busy)) {
        Ok((length, pieces)) => {
            let head = [(CONTENT_TYPE, "application/octet-stream".to_owned()), (CONTENT_LENGTH, length.to_string())];
            (head, Body::from_stream(pieces)).into_response()
        }
        Err(NotHandedOut::Busy) => Refusal::busy("many fetch a program just now").into_response(),
        Err(NotHandedOut::None) => {
            let why = "the hub has no program for such a machine: give it one ('punctual-hub program FILE')";
            Refusal::new(StatusCode::NOT_FOUND, Refused::Malformed, why).into_response()
        }
    }
}

async fn no_route() -> Response {
    let why = "agents ask for GET /v1/hub and /v1/program, and POST /v1/enrol, /v1/return, /v1/batch, /v1/places and /v1/listen; pages are \
               on the people's port";
    Refusal::new(StatusCode::NOT_FOUND, Refused::Malformed, why).into_response()
}

async fn enrol(
    State(hub): State<Arc<Hub>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<Response, Refusal> {
    let received = body::receive(&hub.limits, &visitor, request).await?;
    let key = hub.keys.hub();
    let asked = hub.for_agents.read(move |_| read_enrolment(received, key)).await??;
    let (token, at_wall_ns) = (ContentHash(asked.secret.0), asked.at_wall_ns);
    let enrolled = hub.writer.enrol(asked).await??;
    answer_enrolled(&hub, enrolled, Some(token), at_wall_ns).await
}

/// A node that this hub has enrolled and does not remember: it was restored to before that.
async fn return_here(
    State(hub): State<Arc<Hub>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<Response, Refusal> {
    let received = body::receive(&hub.limits, &visitor, request).await?;
    let (key, epoch) = (hub.keys.hub(), hub.epoch);
    let asked = hub.for_agents.read(move |_| read_return(received, key, epoch)).await??;
    let at_wall_ns = asked.at_wall_ns;
    let enrolled = hub.writer.adopt(asked).await??;
    answer_enrolled(&hub, enrolled, None, at_wall_ns).await
}

/// Looks at what the hub itself has signed; it says which node it is of.
fn read_return(received: Received, hub: HubKey, epoch: u64) -> Result<Adopting, Refusal> {
    let message = received.verified(Purpose::Return, hub)?;
    let node = message.node;
    // The hub does not know this one.
    let Message { text, room: _room } = message.unopened();
    let asked: ReturnBody = serde_json::from_slice(&text).map_err(|error| Refusal::malformed(&error))?;
    let envelope = Envelope::from_bytes(asked.enrolment.as_bytes(), Purpose::Enrolled)?;
    let enrolled = envelope.verify(hub, is_signed)?;
    let enrolled: EnrolledBody = serde_json::from_slice(enrolled).map_err(|error| Refusal::malformed(&error))?;
    if envelope.node != node || enrolled.node != node {
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, Refused::NotSigned, "this is another node's enrolment"));
    }
    if enrolled.epoch > epoch {
        let why = format!(
            "a later life of this hub (epoch {}) has enrolled this node, and this is an old one (epoch {epoch})",
            enrolled.epoch
        );
        terminal::output::warning(&format!("{why}: it was restored elsewhere; stop this one"));
        return Err(Refusal::new(StatusCode::CONFLICT, Refused::OldHub, &why));
    }
    Ok(Adopting { node, name: enrolled.name, at_wall_ns: now_wall_ns() })
}

/// What a node keeps that is enrolled. It is in the log kept apart by then, where it is new.
async fn answer_enrolled(
    hub: &Arc<Hub>,
    enrolled: Node,
    token_sha256: Option<ContentHash>,
    at_wall_ns: i64,
) -> Result<Response, Refusal> {
    let (node, name) = (enrolled.key, enrolled.name);
    if enrolled.enrolled_wall_ns == at_wall_ns {
        let (apart, name) = (hub.apart.clone(), name.clone());
        let line = Line { at_wall_ns, event: Event::Enrolled { node, name, token_sha256 } };
        let logged = spawn_blocking(move || apart.append(&[line])).await;
        if let Ok(Err(error)) = logged {
            // The node is enrolled all the same; it shows what it gets now to a hub that does not remember it.
            terminal::output::warning(&error.to_string());
        }
    }
    let next_certificate = Some(hexadecimal(hub.keys.next));
    let body = EnrolledBody { node, name, epoch: hub.epoch, next_certificate };
    signed(hub, Purpose::Enrolled, node, &body)
}

fn read_enrolment(received: Received, hub: HubKey) -> Result<Enrolling, Refusal> {
    let message = received.verified(Purpose::Enrolment, hub)?;
    let node = message.node;
    // Anybody can sign this one.
    let Message { text, room: _room } = message.unopened();
    let asked: EnrolmentBody = serde_json::from_slice(&text).map_err(|error| Refusal::malformed(&error))?;
    // As 32 bytes it has the form of a key.
    let secret: NodeKey = asked.secret.parse().map_err(|_| {
        let why = "the secret of a token is 64 hexadecimal digits: give the token that 'punctual-hub enrol' printed";
        Refusal::new(StatusCode::FORBIDDEN, Refused::Token, why)
    })?;
    let secret = SecretHash::of(&secret.0);
    Ok(Enrolling { node, secret, name: asked.name, version: asked.version, at_wall_ns: now_wall_ns() })
}

async fn batch(
    State(hub): State<Arc<Hub>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<Response, Refusal> {
    let began = Instant::now();
    let received = body::receive(&hub.limits, &visitor, request).await?;
    // What is received now was sent no longer ago than the head of the request needed to come, and the body since then.
    let round_trip = visitor.handshake.saturating_add(began.elapsed());
    let received_wall_ns = now_wall_ns();
    let looking = Arc::clone(&hub);
    let ReceivedBatch { node, stream, ready: batch, bytes, room: _room } =
        hub.for_agents.read(move |store| read_batch(received, &looking, store)).await??;
    let round_trip_ns = u64::try_from(round_trip.as_nanos()).unwrap_or(u64::MAX);
    let taken = hub.writer.batch(Arriving { node, batch, received_wall_ns, round_trip_ns }).await?;
    if taken.as_ref().is_err_and(|refused| !matches!(refused, BatchError::Store(_))) {
        hub.spent.add(node, bytes, received_wall_ns);
    }
    let committed = taken?;
    let Committed { sequence, hash, lacks, .. } = committed;
    let mark = MarkBody { stream, sequence, hash, epoch: hub.epoch, lacks };
    signed(&hub, Purpose::Mark, node, &mark)
}

/// A batch that waits to be written.
struct ReceivedBatch {
    node: NodeKey,
    stream: StreamId,
    ready: ReadyBatch,
    /// Bytes of its text.
    bytes: usize,
    room: Room,
}

/// Its entries are looked at last: that is the most expensive part, and only for nodes that are enrolled.
fn read_batch(received: Received, hub: &Hub, store: &dyn Read) -> Result<ReceivedBatch, Refusal> {
    let signed = received.verified(Purpose::Batch, hub.keys.hub())?;
    let node = signed.node;
    check_enrolled(store, node)?;
    let ((bytes, ready), room) = opened(signed, hub, |text| {
        let ready = ReadyBatch::from_json(text).map_err(|error| Refusal::malformed(&error))?;
        Ok((text.len(), ready))
    })?;
    Ok(ReceivedBatch { node, stream: ready.stream(), ready, bytes, room })
}

/// Opens an enrolled node's message and reads its text, unless as much of this node was opened in vain as may be in a day.
fn opened<T>(signed: Signed, hub: &Hub, read: impl FnOnce(&[u8]) -> Result<T, Refusal>) -> Result<(T, Room), Refusal> {
    let (node, now_wall_ns) = (signed.node, now_wall_ns());
    hub.spent.check(node, hub.limits.refused_bytes_of_node, now_wall_ns)?;
    let Message { text, room } = signed.opened().inspect_err(|refusal| {
        // What has no room now is sent again; what cannot be decompressed may have become as large as is allowed.
        if !refusal.is_busy() {
            hub.spent.add(node, MOST_BATCH_BYTES, now_wall_ns);
        }
    })?;
    let read = read(&text).inspect_err(|refusal| {
        if !refusal.is_busy() {
            hub.spent.add(node, text.len(), now_wall_ns);
        }
    })?;
    Ok((read, room))
}

async fn places(
    State(hub): State<Arc<Hub>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<Response, Refusal> {
    let received = body::receive(&hub.limits, &visitor, request).await?;
    let looking = Arc::clone(&hub);
    let (node, stream, found) = hub.for_agents.read(move |store| read_places(received, &looking, store)).await??;
    let common = CommonBody { stream, sequence: found.sequence, end: found.end, of: found.of, epoch: hub.epoch };
    signed(&hub, Purpose::Common, node, &common)
}

fn read_places(received: Received, hub: &Hub, store: &dyn Read) -> Result<(NodeKey, StreamId, Common), Refusal> {
    let signed = received.verified(Purpose::Places, hub.keys.hub())?;
    let node = signed.node;
    check_enrolled(store, node)?;
    let (asked, _room) = opened(signed, hub, |text| {
        let asked: PlacesBody = serde_json::from_slice(text).map_err(|error| Refusal::malformed(&error))?;
        let found = asked.places.len();
        if found > MOST_PLACES {
            return Err(Refusal::malformed(&format!("{found} places, and at most {MOST_PLACES} are allowed")));
        }
        Ok(asked)
    })?;
    let common = store.common(node, asked.stream, &asked.places).map_err(|error| Refusal::of_store(&error))?;
    Ok((node, asked.stream, common))
}

/// Refuses who is not enrolled.
fn check_enrolled(store: &dyn Read, node: NodeKey) -> Result<(), Refusal> {
    match store.node(node).map_err(|error| Refusal::of_store(&error))? {
        None => Err(BatchError::NotEnrolled.into()),
        Some(node) if node.revoked_wall_ns.is_some() => Err(BatchError::Revoked.into()),
        Some(_) => Ok(()),
    }
}

/// An answer in an envelope that the hub signs.
fn signed(hub: &Hub, purpose: Purpose, node: NodeKey, body: &impl Serialize) -> Result<Response, Refusal> {
    let message = serde_json::to_vec(body).map_err(|error| Refusal::malformed(&error))?;
    let envelope = hub.keys.sign(purpose, node, message);
    Ok(([(CONTENT_TYPE, "application/octet-stream")], envelope.to_bytes()).into_response())
}
