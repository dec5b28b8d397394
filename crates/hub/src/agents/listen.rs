//! A node proves that a connection is its own, and waits for news.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use farm::monitor::{ListenBody, Purpose, Refused, ToldBody};
use farm::stream::{ContentHash, NodeKey};
use store::Read;

use super::body::{self, Message, Received};
use super::refusal::Refusal;
use super::{check_enrolled, signed};
use crate::door::Visitor;
use crate::hub::Hub;

/// What was asked, by whom.
struct Asked {
    node: NodeKey,
    connection: ContentHash,
    knows: Option<ContentHash>,
    at_most: Duration,
}

pub(super) async fn listen(
    State(hub): State<Arc<Hub>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<Response, Refusal> {
    let received = body::receive(&hub.limits, &visitor, request).await?;
    let (looking, own) = (Arc::clone(&hub), visitor.own_value);
    let asked = hub.for_agents.read(move |store| read(received, own, &looking, store)).await??;
    visitor.is_of(asked.node);
    let news = hub.newsroom.wait(asked.knows, asked.at_most).await;
    // It may have been revoked meanwhile.
    let Asked { node, connection, .. } = asked;
    hub.for_agents.read(move |store| check_enrolled(store, node)).await??;
    signed(&hub, Purpose::Told, node, &ToldBody { connection, epoch: hub.epoch, news })
}

fn read(received: Received, own: Option<ContentHash>, hub: &Hub, store: &dyn Read) -> Result<Asked, Refusal> {
    let message = received.verified(Purpose::Listen, hub.keys.hub())?;
    let node = message.node;
    check_enrolled(store, node)?;
    // It is short, and never compressed.
    let Message { text, room: _room } = message.unopened();
    let asked: ListenBody = serde_json::from_slice(&text).map_err(|error| Refusal::malformed(&error))?;
    if own != Some(asked.connection) {
        let why = "this was signed for another connection than the one that it came over";
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, Refused::NotSigned, why));
    }
    Ok(Asked { node, connection: asked.connection, knows: asked.knows, at_most: Duration::from_secs(asked.for_s) })
}
