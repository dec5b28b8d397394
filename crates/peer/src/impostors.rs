//! Tests with partners that speak TLS as this program does, and then lie.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farm::frame::{self, Frame, HEARTBEAT, MOST_BEFORE_TRUST};
use farm::{Answer, Knock, Proof, Refusal};
use kernel::wait::Readable;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Connection, ServerConfig, ServerConnection};

use crate::wire::Wire;
use crate::{ConnectError, Identity, Listener, Settings, TurnedAway, connect, tls};

const PATIENCE: Duration = Duration::from_secs(30);

/// Moves bytes until something is so, or the connection ends.
fn run_until(wire: &mut Wire, is_so: impl Fn(&Wire) -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so(wire) && wire.end().is_none() {
        assert!(Instant::now() < until, "nothing happens");
        wire.fill();
        wire.flush();
        let mut ready = Readable::or_writable([(wire.as_fd(), wire.wants_write())]);
        ready.wait(50_000_000).unwrap();
    }
}

/// A client that has the certificate right, up to the end of TLS's handshake.
fn shake_hands(address: SocketAddr, token: &farm::Token) -> Wire {
    shake_hands_over(TcpStream::connect(address).unwrap(), token)
}

fn shake_hands_over(socket: TcpStream, token: &farm::Token) -> Wire {
    socket.set_nonblocking(true).unwrap();
    let mut wire = Wire::new(socket, Connection::Client(tls::client(token).unwrap()), MOST_BEFORE_TRUST);
    run_until(&mut wire, |wire| !wire.tls().is_handshaking());
    wire
}

/// What a listener does with a client that sends these bytes after the handshake of TLS, until it ends the connection.
fn send_after_handshake(bytes: impl FnOnce(&Wire) -> Vec<u8> + Send) -> (Option<Answer>, TurnedAway) {
    let mut listener = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap();
    let (address, token) = (listener.address(), listener.token().clone());
    std::thread::scope(|scope| {
        let client = scope.spawn(move || {
            let mut wire = shake_hands(address, &token);
            let bytes = bytes(&wire);
            wire.queue(bytes);
            run_until(&mut wire, |_| false);
            match wire.next_frame() {
                Some(Frame::Content(content)) => Some(frame::decode(&content).unwrap()),
                _ => None,
            }
        });
        let nobody = listener.accept(&|| client.is_finished()).unwrap();
        assert!(nobody.is_none(), "it was let in");
        (client.join().unwrap(), listener.turned_away())
    })
}

#[test]
fn a_frame_that_is_too_long_for_a_stranger_ends_the_connection_by_its_header() {
    let length = u32::try_from(MOST_BEFORE_TRUST + 1).unwrap().to_be_bytes();
    let (answer, turned_away) = send_after_handshake(|_| [&[frame::VERSION][..], &length].concat());
    assert_eq!((answer, turned_away.garbled, turned_away.total()), (None, 1, 1));
}

#[test]
fn strangers_that_send_heartbeats_or_other_json_are_turned_away() {
    let (answer, turned_away) = send_after_handshake(|_| HEARTBEAT.repeat(10_000));
    assert_eq!((answer, turned_away.garbled, turned_away.total()), (None, 1, 1));
    let (answer, turned_away) = send_after_handshake(|_| frame::encode("let me in", MOST_BEFORE_TRUST).unwrap());
    assert_eq!((answer, turned_away.garbled, turned_away.total()), (None, 1, 1));
}

#[test]
fn the_proof_of_one_session_is_worthless_in_another() {
    let mut listener = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap();
    let (address, token) = (listener.address(), listener.token().clone());
    let hello = Settings::default().hello;
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            // Both sessions are with the same listener, and the secret is the right one.
            let other = shake_hands(address, &token);
            let proof = tls::prove(other.tls(), token.secret()).unwrap();
            let mut wire = shake_hands(address, &token);
            wire.queue(frame::encode(&Knock { hello, proof }, MOST_BEFORE_TRUST).unwrap());
            run_until(&mut wire, Wire::has_frame);
            let Some(Frame::Content(content)) = wire.next_frame() else { panic!("no answer: {:?}", wire.end()) };
            frame::decode::<Answer>(&content).unwrap()
        });
        assert!(listener.accept(&|| client.is_finished()).unwrap().is_none());
        assert_eq!(client.join().unwrap(), Answer::Refused { refusal: Refusal::WrongSecret });
    });
    assert_eq!(listener.turned_away().wrong_secret, 1);
}

#[test]
fn a_proof_of_nothing_is_refused() {
    let hello = Settings::default().hello;
    let knock = Knock { hello, proof: Proof([0; 32]) };
    let (answer, turned_away) = send_after_handshake(move |_| frame::encode(&knock, MOST_BEFORE_TRUST).unwrap());
    assert_eq!(answer, Some(Answer::Refused { refusal: Refusal::WrongSecret }));
    assert_eq!((turned_away.wrong_secret, turned_away.total()), (1, 1));
}

/// Shows one certificate, and signs with the key of another.
#[derive(Debug)]
struct Stolen(Arc<CertifiedKey>);

impl ResolvesServerCert for Stolen {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Serves one connection with a TLS configuration, and whatever follows the handshake.
fn serve_once(config: Arc<ServerConfig>, then: impl FnOnce(&mut Wire) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut wire = Wire::new(socket, Connection::Server(ServerConnection::new(config).unwrap()), MOST_BEFORE_TRUST);
        run_until(&mut wire, |wire| !wire.tls().is_handshaking());
        then(&mut wire);
        run_until(&mut wire, |_| false);
    });
    address
}

#[test]
fn who_has_seen_the_certificate_but_lacks_its_key_is_not_believed() {
    let (genuine, thief) = (Identity::new().unwrap(), Identity::new().unwrap());
    let key = rustls::crypto::ring::sign::any_supported_type(&thief.key()).unwrap();
    let stolen = Stolen(Arc::new(CertifiedKey::new(vec![genuine.certificate()], key)));
    let mut config = ServerConfig::clone(&tls::server_config(&thief).unwrap());
    config.cert_resolver = Arc::new(stolen);
    let address = serve_once(Arc::new(config), |_| {});
    let error = connect("127.0.0.1", address.port(), genuine.token(), PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::NotPunctual { .. }), "{error}");
    assert!(error.to_string().contains("BadSignature"), "{error}");
}

#[test]
fn a_tls_service_of_another_kind_is_distinguished_from_another_run() {
    let (other, wanted) = (Identity::new().unwrap(), Identity::new().unwrap());
    let mut config = ServerConfig::clone(&tls::server_config(&other).unwrap());
    config.alpn_protocols = Vec::new();
    let address = serve_once(Arc::new(config), |_| {});
    let error = connect("127.0.0.1", address.port(), wanted.token(), PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::NotPunctual { .. }), "{error}");
}

#[test]
fn answers_that_make_no_sense_are_errors() {
    let hello = Settings::default().hello;
    let answers: [(Vec<u8>, &str); 5] = [
        (HEARTBEAT.to_vec(), "answered with a heartbeat"),
        (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), "a frame of version 72"),
        (frame::encode(&7, MOST_BEFORE_TRUST).unwrap(), "cannot be read"),
        (
            frame::encode(&Answer::Welcome { hello: hello.clone(), version: 9 }, MOST_BEFORE_TRUST).unwrap(),
            "that was not agreed upon",
        ),
        (
            frame::encode(&Answer::Refused { refusal: Refusal::OtherVersion { hello } }, MOST_BEFORE_TRUST).unwrap(),
            "a protocol version that it speaks",
        ),
    ];
    for (answer, expected) in answers {
        let identity = Identity::new().unwrap();
        let address = serve_once(tls::server_config(&identity).unwrap(), |wire| wire.queue(answer));
        let error = connect("127.0.0.1", address.port(), identity.token(), PATIENCE).unwrap_err();
        assert!(matches!(error, ConnectError::NotPunctual { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_refusal_for_a_reason_of_a_later_version_is_an_end() {
    let identity = Identity::new().unwrap();
    let later = serde_json::json!({"answer": "refused", "refusal": {"reason": "full-moon"}});
    let frame = frame::encode(&later, MOST_BEFORE_TRUST).unwrap();
    let address = serve_once(tls::server_config(&identity).unwrap(), |wire| wire.queue(frame));
    let error = connect("127.0.0.1", address.port(), identity.token(), PATIENCE).unwrap_err();
    assert!(error.to_string().contains("a reason that only a newer program knows"), "{error}");
}

/// More than may be pending.
const MANY: u64 = 200;

/// Opens connections that say nothing, and lets the listener take them.
fn open_silent(listener: &mut Listener, to: SocketAddr, count: u64) -> Vec<TcpStream> {
    let mut silent = Vec::new();
    for _ in 0..count {
        silent.push(TcpStream::connect(to).unwrap());
        // Before the kernel's own queue is full.
        listener.refuse_others().unwrap();
    }
    silent
}

/// A connection that is known to be pending greets, and is let in.
fn greets_late(mut listener: Listener, socket: TcpStream) {
    let token = listener.token().clone();
    std::thread::scope(|scope| {
        let client = scope.spawn(move || {
            let mut wire = shake_hands_over(socket, &token);
            let proof = tls::prove(wire.tls(), token.secret()).unwrap();
            let knock = Knock { hello: Settings::default().hello, proof };
            wire.queue(frame::encode(&knock, MOST_BEFORE_TRUST).unwrap());
            run_until(&mut wire, Wire::has_frame);
            matches!(wire.next_frame(), Some(Frame::Content(content)) if frame::decode::<Answer>(&content).is_ok())
        });
        let channel = listener.accept(&|| client.is_finished()).unwrap();
        assert!(client.join().unwrap() && channel.is_some(), "{:?}", listener.turned_away());
    });
}

#[test]
fn a_host_that_opens_many_connections_displaces_its_own() {
    let mut listener = Listener::bind_to_free_port("*", Settings::default()).unwrap();
    let port = listener.address().port();
    // Two addresses are two hosts here. The oldest connection of all is of the one that has few.
    let early = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let silent = open_silent(&mut listener, SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port)), MANY);
    assert!(listener.turned_away().displaced >= MANY - 64, "{:?}", listener.turned_away());
    greets_late(listener, early);
    drop(silent);
}

#[test]
fn of_one_host_s_connections_the_oldest_is_displaced() {
    let mut listener = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap();
    let address = listener.address();
    let older = open_silent(&mut listener, address, MANY);
    let late = TcpStream::connect(address).unwrap();
    let newer = open_silent(&mut listener, address, 30);
    greets_late(listener, late);
    drop((older, newer));
}
