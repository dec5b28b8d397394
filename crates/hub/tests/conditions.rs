//! Bad input and bad conditions.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use farm::monitor::{MOST_BATCH_BYTES, Purpose};
use flate2::{Compression, write::ZlibEncoder};
use hub::limits::Limits;

use crate::support::{Answer, Client, TestHub, TestNode, client, now_ns};
use store::Read as _;

#[test]
fn what_is_too_large_is_refused_by_its_head_and_a_bomb_when_it_has_grown_too_large() {
    let hub = TestHub::start();
    let head = |more: &str| format!("POST /v1/batch HTTP/1.1\r\nHost: hub\r\n{more}\r\n\r\n");
    let status = |head: String, body: &[u8]| hub.connect().send(head.as_bytes(), body).unwrap().status;
    assert_eq!(status(head("Content-Length: 2147483648"), b""), 413);
    assert_eq!(status(head(&format!("Content-Length: {}", MOST_BATCH_BYTES + 513)), b""), 413);
    assert_eq!(status(head("Transfer-Encoding: chunked"), b"0\r\n\r\n"), 411);
    assert_eq!(status(head("Content-Encoding: deflate\r\nContent-Length: 1"), b"x"), 415);
    let mut bomb = ZlibEncoder::new(Vec::new(), Compression::best());
    for _ in 0..256 {
        bomb.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let sent = |message: &[u8]| status(head(&format!("Content-Length: {}", message.len())), message);
    assert_eq!(sent(&bomb), 400, "it is no envelope, and nobody looks inside");
    // Signed by a key that nobody knows: refused before it is decompressed.
    let stranger = TestNode::new();
    assert_eq!(sent(&stranger.signed(Purpose::Batch, hub.key(), bomb.clone())), 403);
    assert_eq!(sent(&stranger.signed(Purpose::Enrolment, hub.key(), bomb.clone())), 400);
    let node = hub.enrolled("lime2");
    assert_eq!(sent(&node.signed(Purpose::Batch, hub.key(), bomb)), 413);
    assert_eq!(sent(&node.signed(Purpose::Batch, hub.key(), b"xyz".to_vec())), 400);
    for path in ["GET /", "GET /v1/batch", "PUT /v1/enrol", "GET /../../etc/passwd", "GET /v1/%2e%2e/hub"] {
        assert_eq!(hub.connect().ask(path, b"").unwrap().status, 404, "{path}");
    }
}

/// How long it takes until the other end ends a connection, from before it was made: the other end's time may begin long before
/// this thread goes on.
fn until_closed(connection: &mut impl std::io::Read, began: Instant) -> Duration {
    let mut buffer = [0; 4_096];
    // A reset ends it too.
    while connection.read(&mut buffer).is_ok_and(|count| count > 0) {}
    began.elapsed()
}

fn soon() -> Limits {
    let short = Duration::from_secs(1);
    Limits { handshake: short, first_request: short, head: short, body: short, ..Limits::default() }
}

#[test]
fn who_is_slow_in_the_handshake_the_head_the_body_or_between_requests_is_let_go() {
    let hub = TestHub::start_with(soon(), false);
    let is_in_time = |took: Duration| took >= Duration::from_millis(900) && took < Duration::from_secs(10);
    // Nothing, and half of a handshake.
    for hello in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let began = Instant::now();
        let mut socket = TcpStream::connect(hub.running().agents).unwrap();
        socket.write_all(hello).unwrap();
        assert!(is_in_time(until_closed(&mut socket, began)), "handshake");
    }
    // Nothing after the handshake, half of a head, a head and half of a body.
    for sent in
        ["POST /v1/batch HTTP/1.1\r\nHost: h", "POST /v1/batch HTTP/1.1\r\nHost: hub\r\nContent-Length: 9\r\n\r\nhalf"]
    {
        let began = Instant::now();
        let mut connection = hub.connect();
        connection.tls.write_all(sent.as_bytes()).unwrap();
        connection.tls.flush().unwrap();
        assert!(is_in_time(until_closed(&mut connection.tls, began)), "{sent}");
    }
    // Nothing after the first request.
    let began = Instant::now();
    let mut connection = hub.connect();
    assert_eq!(connection.ask("GET /v1/hub", b"").unwrap().status, 200);
    assert!(is_in_time(until_closed(&mut connection.tls, began)), "idle");
    // The first head has a time of its own.
    let first = Limits { head: Duration::from_secs(60), ..soon() };
    let hub_of_patience = TestHub::start_with(first, false);
    let began = Instant::now();
    assert!(is_in_time(until_closed(&mut shaken(&hub_of_patience).tls, began)), "first request");
    // The people's port has the same limits.
    let began = Instant::now();
    let mut socket = TcpStream::connect(hub.running().people).unwrap();
    socket.write_all(b"GET / HT").unwrap();
    assert!(is_in_time(until_closed(&mut socket, began)), "people");
}

/// A connection after its handshake, and before any request.
fn shaken(hub: &TestHub) -> Client {
    let mut connection = hub.connect();
    while connection.tls.conn.is_handshaking() {
        connection.tls.conn.complete_io(&mut connection.tls.sock).unwrap();
    }
    connection
}

#[test]
fn a_body_that_stops_is_answered_by_its_time_out() {
    let hub = TestHub::start_with(soon(), false);
    let mut connection = hub.connect();
    connection.tls.write_all(b"POST /v1/batch HTTP/1.1\r\nHost: hub\r\nContent-Length: 9\r\n\r\nhalf").unwrap();
    connection.tls.flush().unwrap();
    assert_eq!(Answer::read(&mut connection.tls).unwrap().status, 408);
}

#[test]
fn two_hundred_half_open_handshakes_keep_no_honest_node_out() {
    // Strangers stay for long, and an honest node on a busy machine is not too slow.
    let (handshake, first_request) = (Duration::from_secs(60), Duration::from_secs(60));
    let hub = TestHub::start_with(Limits { unknown_of_host: 64, handshake, first_request, ..Limits::default() }, false);
    let mut node = hub.enrolled("honest");
    // Half of a real handshake each, so that the hub waits for the rest.
    let half_open: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut hello = Vec::new();
            client([0; 32]).write_tls(&mut hello).unwrap();
            let mut socket = TcpStream::connect(hub.running().agents).unwrap();
            socket.write_all(&hello[..hello.len() / 2]).unwrap();
            socket
        })
        .collect();
    node.begin("honest");
    for sequence in 3..8 {
        node.interval(&[9_000], None);
        // Long before the hub gives the strangers up by their time.
        let began = Instant::now();
        assert_eq!(node.send(&hub).sequence, sequence);
        assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    }
    drop(half_open);
}

#[test]
fn connections_of_nodes_that_are_known_do_not_count_among_strangers() {
    let hub = TestHub::start_with(Limits { unknown_of_host: 3, ..Limits::default() }, false);
    let nodes: Vec<_> = (0..8).map(|number| hub.enrolled(&format!("node-{number}"))).collect();
    let known: Vec<_> = nodes
        .iter()
        .map(|node| {
            let mut connection = hub.connect();
            let own = connection.own_value(hub.key());
            assert_eq!(node.listen(&hub, &mut connection, own, None).status, 200);
            connection
        })
        .collect();
    // What a node has signed for one of its connections makes no other one its own.
    let own = hub.connect().own_value(hub.key());
    let mut other = hub.connect();
    assert_eq!(nodes[0].listen(&hub, &mut other, own, None).refused(), (401, "not-signed".to_owned()));
    drop(other);
    // Strangers past their handshake are not pushed out, and so the fourth is turned away.
    let mut strangers: Vec<_> = (0..3)
        .map(|_| {
            let mut connection = hub.connect();
            assert_eq!(connection.ask("GET /v1/hub", b"").unwrap().status, 200);
            connection
        })
        .collect();
    let mut turned_away = TcpStream::connect(hub.running().agents).unwrap();
    turned_away.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert!(!matches!(turned_away.read(&mut [0; 1]), Ok(1..)));
    assert_eq!(strangers[0].ask("GET /v1/hub", b"").unwrap().status, 200);
    drop(known);
}

#[test]
fn many_nodes_at_once_are_all_committed() {
    let hub = TestHub::start();
    let mut nodes: Vec<_> = (0..16).map(|number| hub.enrolled(&format!("node-{number}"))).collect();
    std::thread::scope(|scope| {
        for node in &mut nodes {
            let hub = &hub;
            scope.spawn(move || {
                node.begin("node");
                for _ in 0..5 {
                    node.interval(&[1_000, 2_000], None);
                    node.send(hub);
                }
            });
        }
    });
    let rows = hub.store().fleet(now_ns()).unwrap();
    assert_eq!(rows.len(), 16);
    assert!(rows.iter().all(|row| row.maxima_ns == [Some(2_000); 5]), "{rows:?}");
}

#[test]
fn a_node_whose_messages_are_opened_in_vain_too_often_waits_and_others_do_not() {
    let hub = TestHub::start_with(Limits { refused_bytes_of_node: 1_000, ..Limits::default() }, false);
    let (mut hostile, mut honest) = (hub.enrolled("hostile"), hub.enrolled("honest"));
    let send = |node: &TestNode, purpose, path: &str, text: Vec<u8>| {
        hub.connect().post(path, &node.signed(purpose, hub.key(), text)).refused()
    };
    let refused = |status: u16, word: &str| (status, word.to_owned());
    let nonsense = || vec![b'{'; 499];
    // What is refused before it is opened is nobody's cost.
    assert_eq!(send(&TestNode::new(), Purpose::Batch, "/v1/batch", nonsense()), refused(403, "not-enrolled"));
    assert_eq!(send(&hostile, Purpose::Batch, "/v1/batch", nonsense()), refused(400, "malformed"));
    assert_eq!(send(&hostile, Purpose::Places, "/v1/places", nonsense()), refused(400, "malformed"));
    // A batch that reads well, and does not begin where its stream does, is refused by the store.
    hostile.begin("hostile");
    let batch = hostile.spool.batch(10).unwrap();
    let base = farm::stream::Base { sequence: 0, place: farm::stream::Place([1; 16]), branch_of: None };
    let items =
        vec![farm::stream::Item { before: base.place, body: farm::stream::Body::Emptied, ..batch.items[0].clone() }];
    let body = farm::monitor::BatchBody { stream: batch.stream, base, items, version: String::new(), sent: None };
    let body = serde_json::to_vec(&body).unwrap();
    assert_eq!(send(&hostile, Purpose::Batch, "/v1/batch", body.clone()), refused(400, "malformed"));
    assert_eq!(send(&hostile, Purpose::Batch, "/v1/batch", body), refused(429, "quota"));
    assert_eq!(send(&hostile, Purpose::Places, "/v1/places", nonsense()), refused(429, "quota"));
    assert_eq!(hub.connect().post("/v1/batch", &hostile.batch(hub.key())).refused(), refused(429, "quota"));
    honest.begin("honest");
    assert_eq!(honest.send(&hub).sequence, 2);
    // One that would become too large costs as much as it may become.
    let mut bomb = ZlibEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![b'x'; MOST_BATCH_BYTES + 1]).unwrap();
    assert_eq!(send(&honest, Purpose::Batch, "/v1/batch", bomb.finish().unwrap()).0, 413);
    assert_eq!(send(&honest, Purpose::Batch, "/v1/batch", nonsense()), refused(429, "quota"));
}
