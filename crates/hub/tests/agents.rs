//! What nodes send.

use farm::monitor::{CommonBody, EnrolledBody, MarkBody, PlacesBody, Purpose};
use hub::keys::hexadecimal;
use store::{Change, Read as _, Store as _};

use crate::support::{TestHub, TestNode, by, now_ns};

#[test]
fn a_node_is_enrolled_by_a_token_and_what_it_sends_is_committed_once() {
    let mut hub = TestHub::start();
    let described = hub.connect().ask("GET /v1/hub", b"").unwrap().json();
    assert_eq!((described["hub"].as_str(), described["epoch"].as_u64()), (Some(&*hub.key().to_string()), Some(1)));
    let (mut node, token) = (TestNode::new(), hub.token(None));
    let enrolled = node.enrolled_as(&hub, &token, "lime2");
    let next_certificate = Some(hexadecimal(hub.running().hub.keys.next));
    assert_eq!(enrolled, EnrolledBody { node: node.key(), name: "lime2".to_owned(), epoch: 1, next_certificate });
    assert_eq!(node.enrolled_as(&hub, &token, "lime2"), enrolled, "the same key gets the same answer again");
    node.begin("lime2");
    node.interval(&[9_000, 41_800], Some("timer interrupt"));
    let message = node.batch(hub.key());
    let first = node.send(&hub);
    assert_eq!((first.stream, first.sequence, first.epoch), (node.stream, 3, 1));
    assert!(node.spool.batch(10).is_none(), "the mark fits the node's own chain");
    // A copy of it that comes later, over a connection that is kept.
    let mut connection = hub.connect();
    for _ in 0..2 {
        let again: MarkBody = connection.post("/v1/batch", &message).signed(Purpose::Mark, hub.key());
        assert_eq!(again, first);
    }
    assert_eq!(hub.store().fleet(now_ns()).unwrap()[0].maxima_ns, [Some(41_800)]);
    // What was acknowledged is there after a start.
    hub.restart();
    let again: MarkBody = hub.connect().post("/v1/batch", &message).signed(Purpose::Mark, hub.key());
    assert_eq!(again, first);
}

#[test]
fn a_compressed_batch_is_taken_like_any_other() {
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write as _;
    let hub = TestHub::start();
    let mut node = hub.enrolled("lime2");
    node.begin("lime2");
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::fast());
    let plain = node.batch(hub.key());
    // Behind the first line.
    let text = plain.splitn(2, |byte| *byte == b'\n').nth(1).unwrap();
    compressed.write_all(text).unwrap();
    let message = node.signed(Purpose::Batch, hub.key(), compressed.finish().unwrap());
    assert!(message.len() < plain.len());
    let mark: MarkBody = hub.connect().post("/v1/batch", &message).signed(Purpose::Mark, hub.key());
    assert_eq!(mark.sequence, 2);
}

#[test]
fn who_is_not_enrolled_was_revoked_or_did_not_sign_is_refused_and_told_why() {
    let hub = TestHub::start();
    let mut node = hub.enrolled("lime2");
    node.begin("lime2");
    let send = |message: &[u8]| hub.connect().post("/v1/batch", message).refused();
    let refused = |status: u16, word: &str| (status, word.to_owned());
    let message = node.batch(hub.key());
    let mut changed = message.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(send(&changed), refused(401, "not-signed"));
    assert_eq!(send(&node.batch(farm::monitor::HubKey([7; 32]))), refused(401, "not-signed"));
    assert_eq!(send(b"hello"), refused(400, "malformed"));
    assert_eq!(send(&node.signed(Purpose::Batch, hub.key(), b"{}".to_vec())), refused(400, "malformed"));
    assert_eq!(send(&node.signed(Purpose::Places, hub.key(), b"{}".to_vec())), refused(400, "malformed"));
    let mut stranger = TestNode::new();
    stranger.begin("stranger");
    assert_eq!(send(&stranger.batch(hub.key())), refused(403, "not-enrolled"));
    hub.store().change_node(node.key(), &Change::Revoked, &by()).unwrap();
    assert_eq!(send(&message), refused(403, "revoked"));
    let asked =
        serde_json::to_vec(&PlacesBody { stream: node.stream, places: node.spool.places(node.stream) }).unwrap();
    let asked = node.signed(Purpose::Places, hub.key(), asked);
    assert_eq!(hub.connect().post("/v1/places", &asked).refused(), refused(403, "revoked"));
    assert!(hub.store().fleet(now_ns()).unwrap().is_empty());
}

#[test]
fn a_token_enrols_one_node_and_a_node_is_enrolled_once() {
    let hub = TestHub::start();
    let token = hub.token(Some("by-the-door"));
    let (node, other) = (TestNode::new(), TestNode::new());
    let refused = |status: u16, word: &str| (status, word.to_owned());
    assert_eq!(node.enrolled_as(&hub, &token, "lime2").name, "by-the-door");
    assert_eq!(other.enrol(&hub, &token, "lime2").refused(), refused(403, "token"));
    assert_eq!(other.enrol(&hub, &"0".repeat(64), "lime2").refused(), refused(403, "token"));
    assert_eq!(other.enrol(&hub, "secret", "lime2").refused(), refused(403, "token"));
    assert_eq!(node.enrol(&hub, &hub.token(None), "lime2").refused(), refused(409, "already-enrolled"));
    for name in ["../../etc/passwd", "a\u{1b}[2J", "", &"x".repeat(300)] {
        assert_eq!(other.enrol(&hub, &hub.token(None), name).refused(), refused(400, "malformed"), "{name:?}");
    }
    // Markup is a name like any other; pages show it as text.
    assert_eq!(other.enrolled_as(&hub, &hub.token(None), "<b>a").name, "<b>a");
}

#[test]
fn the_last_place_that_both_have_is_told() {
    let hub = TestHub::start();
    let mut node = hub.enrolled("lime2");
    node.begin("lime2");
    let mark = node.send(&hub);
    node.interval(&[1_000], None);
    let places = |node: &TestNode, places| {
        let body = serde_json::to_vec(&PlacesBody { stream: node.stream, places }).unwrap();
        let message = node.signed(Purpose::Places, hub.key(), body);
        hub.connect().post("/v1/places", &message).signed::<CommonBody>(Purpose::Common, hub.key()).sequence
    };
    assert_eq!(places(&node, node.spool.places(node.stream)), mark.sequence);
    assert_eq!(places(&node, vec![(9, mark.hash), (2, farm::stream::Place([1; 16]))]), 0);
}
