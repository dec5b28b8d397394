//! Who is let in and who is not, over real sockets on the loopback.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::time::Duration;

use peer::{Listener, Settings, connect};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn two_programs_talk_over_ipv4_and_ipv6() {
    for host in ["127.0.0.1", "::1"] {
        let mut listener = Listener::bind_to_free_port(host, Settings::default()).unwrap();
        let (port, token) = (listener.address().port(), listener.token().clone());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut channel = listener.accept(&|| false).unwrap().unwrap();
                let asked: Option<String> = channel.receive(PATIENCE).unwrap();
                channel.send(&(asked.unwrap() + "!")).unwrap();
                channel.close(PATIENCE).unwrap();
            });
            let mut channel = connect(host, port, &token, PATIENCE).unwrap();
            assert_eq!(channel.partner().version, 1);
            channel.send("hello").unwrap();
            assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("hello!"));
            let error = channel.receive::<String>(PATIENCE).unwrap_err();
            assert!(error.to_string().ends_with("has ended the connection"), "{error}");
        });
    }
}
