//! Strangers on the port: garbage, silence, floods, and one that belongs there.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{PATIENCE, Server, wait_until};
use farm::{Secret, Token};
use peer::{ConnectError, Listener, Settings, connect};

/// More than may be pending.
const MANY: usize = 200;

fn greet(server: &Server) {
    let mut channel = connect("127.0.0.1", server.port, &server.token, PATIENCE).unwrap();
    channel.send("genuine").unwrap();
    assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("genuine"));
    channel.close(PATIENCE).unwrap();
}

#[test]
fn who_connects_and_says_nothing_keeps_nobody_out() {
    let server = Server::echo("127.0.0.1", Settings::default());
    let silent: Vec<TcpStream> = (0..MANY).map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    greet(&server);
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.too_slow), (1, 0));
    assert!(turned_away.displaced >= 1, "{turned_away:?}");
    drop(silent);
}

#[test]
fn who_says_nothing_in_time_is_turned_away() {
    let settings = Settings { handshake: Duration::from_millis(100), ..Settings::default() };
    let server = Server::echo("127.0.0.1", settings);
    let mut silent = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    // A beginning of TLS, and then nothing.
    silent.write_all(&[0x16, 3, 1]).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server ends it.
    assert!(!matches!(silent.read(&mut [0; 16]), Ok(1..)));
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.too_slow, turned_away.total()), (0, 1, 1));
}

#[test]
fn garbage_is_survived_and_counted() {
    let garbage: [Vec<u8>; 6] = [
        b"GET / HTTP/1.1\r\nHost: lime2\r\n\r\n".to_vec(),
        vec![0xff; 100_000],
        vec![0; 100_000],
        // A TLS record of the greatest length, full of nothing.
        [vec![0x16, 3, 1, 0x40, 0], vec![0x41; 0x4000]].concat(),
        // A client's hello whose inner length is a lie.
        [vec![0x16, 3, 1, 0, 64, 1, 0xff, 0xff, 0xff, 3, 3], vec![7; 64]].concat(),
        // A fatal alert first.
        vec![0x15, 3, 3, 0, 2, 2, 40],
    ];
    let server = Server::echo("127.0.0.1", Settings::default());
    for bytes in &garbage {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        // The server may end the connection meanwhile.
        let _ = socket.write_all(bytes);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    }
    greet(&server);
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.garbled, turned_away.total()), (1, 6, 6), "{turned_away:?}");
}

#[test]
fn many_with_wrong_secrets_do_not_keep_the_right_one_out() {
    const WRONG: usize = 24;
    let server = Server::echo("127.0.0.1", Settings::default());
    let wrong = Token::new(*server.token.fingerprint(), Secret::new([7; 32]));
    std::thread::scope(|scope| {
        for _ in 0..WRONG {
            scope.spawn(|| {
                let error = connect("127.0.0.1", server.port, &wrong, PATIENCE).unwrap_err();
                assert!(matches!(error, ConnectError::WrongSecret { .. }), "{error}");
            });
        }
        scope.spawn(|| greet(&server));
    });
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.wrong_secret, turned_away.total()), (1, 24, 24));
}

#[test]
fn while_one_is_served_another_with_the_token_learns_so() {
    let mut listener = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap();
    let (port, token) = (listener.address().port(), listener.token().clone());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| connect("127.0.0.1", port, &token, PATIENCE).unwrap());
        let mut served = listener.accept(&|| false).unwrap().unwrap();
        let second = scope.spawn(|| connect("127.0.0.1", port, &token, PATIENCE).unwrap_err());
        wait_until("a refusal", || {
            listener.refuse_others().unwrap();
            served.keep_alive().unwrap();
            second.is_finished()
        });
        let error = second.join().unwrap();
        assert!(matches!(error, ConnectError::Busy { .. }), "{error}");
        assert_eq!((listener.turned_away().busy, listener.turned_away().total()), (1, 1));
        // The first one is served as before.
        let mut first = first.join().unwrap();
        first.send(&7).unwrap();
        assert_eq!(served.receive::<u32>(PATIENCE).unwrap(), Some(7));
    });
}
