//! Who is let in and who is not, over real sockets on the loopback.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use crate::support::{PATIENCE, Server};
use farm::{NeedsUpdate, Protocols, Secret, Token};
use peer::{BindError, ConnectError, Listener, Settings, connect, connect_with};

fn speaking(lowest: u32, highest: u32) -> Settings {
    let mut settings = Settings::default();
    settings.hello.protocol = Protocols::new(lowest, highest).unwrap();
    settings.hello.host = format!("speaks-{lowest}-{highest}");
    settings
}

/// A token with one bit of the secret changed.
fn with_another_secret(token: &Token) -> Token {
    let mut secret = *token.secret().bytes();
    secret[31] ^= 1;
    Token::new(*token.fingerprint(), Secret::new(secret))
}

#[test]
fn two_programs_talk_over_ipv4_and_ipv6_and_by_name() {
    for (bind, host) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("127.0.0.1", "localhost"), ("*", "127.0.0.1")] {
        let server = Server::echo(bind, Settings::default());
        let mut channel = connect(host, server.port, &server.token, PATIENCE).unwrap();
        assert_eq!(channel.partner().version, 1);
        assert_eq!(channel.interface().as_deref(), Some("lo"));
        assert_eq!(channel.partner().hello, Settings::default().hello);
        channel.send("hello").unwrap();
        assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("hello"));
        channel.close(PATIENCE).unwrap();
        let (served, turned_away) = server.stop();
        assert_eq!((served, turned_away.total()), (1, 0), "{bind}");
    }
}

#[test]
fn what_both_ends_say_of_their_addresses_is_the_same_on_a_socket_of_both_families_too() {
    for (bind, host) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("*", "127.0.0.1"), ("*", "::1")] {
        let server = Server::start(bind, Settings::default(), |mut channel| {
            let ends = (channel.local_address().unwrap(), channel.partner().address);
            channel.send(&ends).unwrap();
            channel.close(PATIENCE).unwrap();
        });
        let mut channel = connect(host, server.port, &server.token, PATIENCE).unwrap();
        let ends = (channel.partner().address, channel.local_address().unwrap());
        assert_eq!(channel.receive(PATIENCE).unwrap(), Some(ends), "{bind} {host}");
        channel.close(PATIENCE).unwrap();
        server.stop();
    }
}

#[test]
fn both_ends_derive_the_same_key_for_a_purpose_and_another_one_for_another() {
    let server = Server::start("127.0.0.1", Settings::default(), |mut channel| {
        let keys = (channel.shared_key("packets").unwrap(), channel.shared_key("pulses").unwrap());
        channel.send(&keys).unwrap();
        channel.close(PATIENCE).unwrap();
    });
    let keys_of_a_session = || {
        let mut channel = connect("127.0.0.1", server.port, &server.token, PATIENCE).unwrap();
        let keys = (channel.shared_key("packets").unwrap(), channel.shared_key("pulses").unwrap());
        assert_eq!(channel.receive(PATIENCE).unwrap(), Some(keys));
        channel.close(PATIENCE).unwrap();
        keys
    };
    let (first, second) = (keys_of_a_session(), keys_of_a_session());
    assert!(first.0 != first.1 && first.0 != second.0);
    server.stop();
}

#[test]
fn a_wrong_secret_is_refused_and_counted() {
    let server = Server::echo("127.0.0.1", Settings::default());
    let error = connect("127.0.0.1", server.port, &with_another_secret(&server.token), PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::WrongSecret { .. }), "{error}");
    assert!(error.to_string().contains("copy it anew"), "{error}");
    connect("127.0.0.1", server.port, &server.token, PATIENCE).unwrap();
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.wrong_secret, turned_away.total()), (1, 1, 1));
}

#[test]
fn a_token_of_another_run_is_recognized_by_both_sides() {
    let (stale, server) = (Listener::bind("127.0.0.1:0"), Server::echo("127.0.0.1", Settings::default()));
    assert!(matches!(stale, Err(BindError::Address(_))), "port 0 is none");
    let stale = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap().token().clone();
    let error = connect("127.0.0.1", server.port, &stale, PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::OtherCertificate { .. }), "{error}");
    assert!(error.to_string().contains("belongs to another run of 'punctual listen'"), "{error}");
    // The certificate is right, so whoever has only seen that gets no further.
    let half = Token::new(*server.token.fingerprint(), stale.secret().clone());
    assert!(matches!(
        connect("127.0.0.1", server.port, &half, PATIENCE).unwrap_err(),
        ConnectError::WrongSecret { .. }
    ));
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.other_token, turned_away.wrong_secret, turned_away.total()), (0, 1, 1, 2));
}

#[test]
fn the_newest_common_version_is_spoken_and_none_is_refused_on_both_sides() {
    let server = Server::echo("127.0.0.1", speaking(2, 4));
    let channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, speaking(1, 3)).unwrap();
    assert_eq!(channel.partner().version, 3);
    channel.close(PATIENCE).unwrap();
    for (own, needs_update) in [(speaking(1, 1), NeedsUpdate::Ours), (speaking(5, 6), NeedsUpdate::Theirs)] {
        let newer = if needs_update == NeedsUpdate::Ours { own.hello.host.clone() } else { "speaks-2-4".to_owned() };
        let error = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, own).unwrap_err();
        let ConnectError::Version { mismatch, .. } = &error else { panic!("{error}") };
        assert_eq!(mismatch.needs_update, needs_update);
        assert!(error.to_string().ends_with(&format!("install a newer punctual on {newer}")), "{error}");
    }
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.other_version, turned_away.total()), (1, 2, 2));
}

#[test]
fn no_error_has_the_secret_in_it() {
    let server = Server::echo("127.0.0.1", Settings::default());
    let wrong = with_another_secret(&server.token);
    let secret = wrong.reveal().split("::").nth(1).unwrap().to_owned();
    let error = connect("127.0.0.1", server.port, &wrong, PATIENCE).unwrap_err();
    assert!(!format!("{error} {error:?}").contains(&secret[..8]), "{error:?}");
    let mut listener = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap();
    let secret = listener.token().reveal().split("::").nth(1).unwrap().to_owned();
    assert!(!format!("{listener:?} {:?}", listener.token()).contains(&secret[..8]));
    assert!(listener.accept(&|| true).unwrap().is_none());
    server.stop();
}

/// Passes bytes on between a client and a server, and returns what the client sent.
fn record(to: u16, run: impl FnOnce(u16)) -> Vec<u8> {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = proxy.local_addr().unwrap().port();
    let recorder = std::thread::spawn(move || {
        let (mut client, _) = proxy.accept().unwrap();
        let mut server = TcpStream::connect(("127.0.0.1", to)).unwrap();
        let (mut back_from, mut back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let back = std::thread::spawn(move || {
            // Either side may end first.
            let _ = std::io::copy(&mut back_from, &mut back_to);
            let _ = back_to.shutdown(Shutdown::Both);
        });
        let (mut recorded, mut chunk) = (Vec::new(), [0; 4096]);
        while let Ok(bytes @ 1..) = client.read(&mut chunk) {
            recorded.extend_from_slice(&chunk[..bytes]);
            if server.write_all(&chunk[..bytes]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Write);
        back.join().unwrap();
        recorded
    });
    run(port);
    recorder.join().unwrap()
}

#[test]
fn a_recorded_session_that_is_sent_again_is_refused() {
    let server = Server::echo("127.0.0.1", Settings::default());
    let recorded = record(server.port, |port| {
        let mut channel = connect("127.0.0.1", port, &server.token, PATIENCE).unwrap();
        channel.send("switch it on").unwrap();
        assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("switch it on"));
        channel.close(PATIENCE).unwrap();
    });
    assert!(recorded.len() > 200, "{} bytes were recorded", recorded.len());
    let secret = server.token.reveal().split("::").nth(1).unwrap().to_owned();
    assert!(!recorded.windows(64).any(|piece| piece == secret.as_bytes()), "the secret is not sent");
    let mut replay = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    replay.write_all(&recorded).unwrap();
    // The server ends the connection by itself, with whatever it said before.
    replay.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    match replay.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    let (served, turned_away) = server.stop();
    assert_eq!((served, turned_away.garbled, turned_away.total()), (1, 1, 1));
}

#[test]
fn what_is_no_punctual_is_said_to_be_none() {
    let answers: [(&[u8], &str); 3] = [
        (b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", "does not speak TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak TLS"),
        // A fatal TLS alert: protocol_version.
        (&[0x15, 3, 3, 0, 2, 2, 70], "ProtocolVersion"),
    ];
    let token = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap().token().clone();
    for (answer, expected) in answers {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = other.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = other.accept().unwrap();
            socket.write_all(answer).unwrap();
            // Until the client has read it and gone.
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let error = connect("127.0.0.1", port, &token, PATIENCE).unwrap_err();
        assert!(matches!(error, ConnectError::NotPunctual { .. }), "{error}");
        assert!(
            error.to_string().contains(expected) && error.to_string().contains("compare address and port"),
            "{error}"
        );
        server.join().unwrap();
    }
}

#[test]
fn nobody_there_a_silent_service_and_an_early_end_have_their_own_errors() {
    let token = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap().token().clone();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let error = connect("127.0.0.1", port, &token, Duration::from_millis(200)).unwrap_err();
    assert!(matches!(error, ConnectError::NoGreeting { .. }), "{error}");
    let early = std::thread::spawn(move || {
        // The one from before, then the one that ends at once.
        let _ = other.accept().unwrap();
        let (socket, _) = other.accept().unwrap();
        let mut hello = [0; 100];
        (&socket).read_exact(&mut hello).unwrap();
    });
    let error = connect("127.0.0.1", port, &token, PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::Ended { .. }), "{error}");
    early.join().unwrap();
    let error = connect("127.0.0.1", port, &token, PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::Refused { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "nothing listens on 127.0.0.1:{port}: start 'punctual listen' on that node, and compare address and \
             port with what it printed"
        )
    );
    for (host, expected) in [
        ("no-such-host.invalid", "no address is known for 'no-such-host.invalid'"),
        ("fe80::1", "add this machine's interface, as in fe80::1%eth0"),
        ("fe80::1%no-such-if", "has no interface 'no-such-if'"),
        ("-s", "neither an address nor a host name"),
    ] {
        let error = connect(host, port, &token, PATIENCE).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn what_cannot_be_listened_on_is_refused_with_the_remedy() {
    let taken = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap();
    let port = taken.address().port();
    for (address, expected) in [
        (format!("127.0.0.1:{port}"), format!("port {port} of 127.0.0.1 is in use")),
        (format!("127.0.0.1:{port}"), format!("--on 127.0.0.1:{}", port.wrapping_add(1))),
        (format!("*:{port}"), format!("port {port} of this machine is in use")),
        // Addresses for documentation, which no machine has.
        ("192.0.2.1".to_owned(), "192.0.2.1:5377 is not an address of this machine".to_owned()),
        ("[2001:db8::1]:4000".to_owned(), "[2001:db8::1]:4000 is not an address of this machine".to_owned()),
        ("127.0.0.1:99999".to_owned(), "'99999' in '127.0.0.1:99999' is no port".to_owned()),
        ("[::1".to_owned(), "unpaired bracket".to_owned()),
    ] {
        let error = Listener::bind(&address).unwrap_err().to_string();
        assert!(error.contains(&expected), "{address}: {error}");
    }
}

#[test]
fn the_line_for_the_other_side_has_an_address_and_the_token() {
    for (host, begin) in
        [("127.0.0.1", "punctual packet send --to 127.0.0.1:"), ("::1", "punctual packet send --to '[::1]:")]
    {
        let listener = Listener::bind_to_free_port(host, Settings::default()).unwrap();
        let line = listener.one_line_for_the_other_side();
        assert!(line.starts_with(begin), "{line}");
        assert!(line.ends_with(&format!(" --token {}", listener.token().reveal())), "{line}");
    }
    let everywhere = Listener::bind_to_free_port("*", Settings::default()).unwrap();
    let at = everywhere.reachable_at();
    assert!(
        at.ends_with(&format!(":{}", everywhere.address().port()))
            && !at.starts_with("0.0.0.0")
            && !at.starts_with("[::]"),
        "{at}"
    );
}
