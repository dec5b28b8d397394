//! Messages both ways, and partners that go silent, stop or die.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::io::{BufRead as _, BufReader};
use std::os::fd::AsRawFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, Server};
use kernel::process::Signal;
use peer::{Channel, ChannelError, Listener, Settings, connect, connect_with};

/// The port and the token for a partner that runs as a process of its own.
const PORT: &str = "PEER_TEST_PORT";
const TOKEN_FILE: &str = "PEER_TEST_TOKEN_FILE";

/// Nothing is given up while a busy machine lets a thread wait.
fn patient() -> Settings {
    Settings { silence: PATIENCE, ..Settings::default() }
}

fn impatient() -> Settings {
    Settings { silence: Duration::from_secs(1), ..Settings::default() }
}

#[test]
fn both_sides_send_much_at_once_and_nothing_waits_for_the_other() {
    const BYTES: usize = 20 * 1024 * 1024;
    let much = || "x".repeat(BYTES);
    let server = Server::start("127.0.0.1", patient(), move |mut channel| {
        channel.send(&much()).unwrap();
        let received: String = channel.receive(PATIENCE).unwrap().unwrap();
        assert_eq!(received.len(), BYTES);
        channel.send("all of it came").unwrap();
        channel.close(PATIENCE).unwrap();
    });
    let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, patient()).unwrap();
    channel.send(&much()).unwrap();
    let received: String = channel.receive(PATIENCE).unwrap().unwrap();
    assert!(received.len() == BYTES && received.bytes().all(|byte| byte == b'x'));
    assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("all of it came"));
    channel.close(PATIENCE).unwrap();
    server.stop();
}

#[test]
fn what_is_never_fetched_is_bounded() {
    let bounded = Settings { unfetched_bytes: 100_000, ..patient() };
    let server = Server::start("127.0.0.1", patient(), |mut channel| {
        // The partner ends the connection while it is being flooded.
        while channel.send(&"y".repeat(50_000)).is_ok() {}
    });
    let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, bounded).unwrap();
    let until = Instant::now() + PATIENCE;
    let error = loop {
        assert!(Instant::now() < until, "more and more is kept");
        if let Err(error) = channel.keep_alive() {
            break error;
        }
    };
    let ChannelError::Unfetched { bytes, most: 100_000, .. } = error else { panic!("{error}") };
    assert!(bytes < 1_000_000, "{bytes}");
    // What had come is there all the same.
    assert_eq!(channel.receive::<String>(PATIENCE).unwrap().unwrap().len(), 50_000);
    drop(channel);
    server.stop();
}

#[test]
fn a_partner_that_sends_faster_than_its_messages_are_fetched_waits() {
    let bounded = Settings { unfetched_bytes: 100_000, ..patient() };
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let server = Server::start("127.0.0.1", patient(), move |mut channel| {
        while channel.send(&"y".repeat(50_000)).is_ok() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, bounded).unwrap();
    for _ in 0..300 {
        assert_eq!(channel.receive::<String>(PATIENCE).unwrap().unwrap().len(), 50_000);
    }
    // What is not fetched lies in the sockets' own room, or here: a read of 256 KiB for each message would be 78 MB.
    let unfetched = sent.load(Ordering::Relaxed).saturating_sub(300) * 50_000;
    assert!(unfetched < 30_000_000, "{unfetched}");
    drop(channel);
    server.stop();
}

#[test]
fn a_message_that_is_too_long_or_of_another_type_costs_nothing_but_itself() {
    let server = Server::echo("127.0.0.1", patient());
    let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, patient()).unwrap();
    let error = channel.send(&"z".repeat(64 * 1024 * 1024)).unwrap_err().to_string();
    assert!(error.contains("a message of 67108866 bytes, and at most 67108864 are allowed"), "{error}");
    channel.send("one").unwrap();
    channel.send("two").unwrap();
    let error = channel.receive::<u32>(PATIENCE).unwrap_err();
    assert!(matches!(error, ChannelError::Message { .. }), "{error}");
    assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("two"));
    channel.close(PATIENCE).unwrap();
    server.stop();
}

#[test]
fn nothing_to_receive_is_none_in_time_and_the_descriptor_shows_what_comes() {
    let server = Server::echo("127.0.0.1", patient());
    let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, patient()).unwrap();
    assert!(channel.as_raw_fd() >= 0);
    assert_eq!(channel.receive::<String>(Duration::ZERO).unwrap(), None);
    let begun = Instant::now();
    assert_eq!(channel.receive::<String>(Duration::from_millis(30)).unwrap(), None);
    assert!(begun.elapsed() >= Duration::from_millis(30));
    channel.send("one").unwrap();
    channel.send("two").unwrap();
    let mut received: Vec<String> = Vec::new();
    while received.len() < 2 {
        if !channel.has_received() {
            let mut ready = kernel::wait::Readable::new([std::os::fd::AsFd::as_fd(&channel)]);
            ready.wait(channel.next_due().as_nanos().try_into().unwrap()).unwrap();
        }
        received.extend(channel.receive::<String>(Duration::ZERO).unwrap());
    }
    assert_eq!(received, ["one", "two"]);
    channel.close(PATIENCE).unwrap();
    server.stop();
}

#[test]
fn partners_that_have_nothing_to_say_stay_connected() {
    // Much longer than the silence that is allowed.
    let settings = || Settings { heartbeat: Duration::from_millis(50), ..impatient() };
    let server = Server::start("127.0.0.1", settings(), |mut channel| {
        assert_eq!(channel.receive::<String>(Duration::from_secs(3)).unwrap(), None);
        channel.send("still here").unwrap();
        channel.close(PATIENCE).unwrap();
    });
    let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, settings()).unwrap();
    assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("still here"));
    channel.close(PATIENCE).unwrap();
    server.stop();
}

#[test]
fn a_partner_that_closes_in_order_is_distinguished_from_one_that_breaks_off() {
    let server = Server::start("127.0.0.1", patient(), |mut channel| {
        channel.send("last words").unwrap();
        let in_order: bool = channel.receive(PATIENCE).unwrap().unwrap();
        if in_order {
            channel.close(PATIENCE).unwrap();
        }
    });
    for in_order in [true, false] {
        let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, patient()).unwrap();
        channel.send(&in_order).unwrap();
        assert_eq!(channel.receive::<String>(PATIENCE).unwrap().as_deref(), Some("last words"));
        let error = channel.receive::<String>(PATIENCE).unwrap_err();
        assert_eq!(matches!(error, ChannelError::Closed { .. }), in_order, "{error}");
        assert_eq!(matches!(error, ChannelError::Lost { .. }), !in_order, "{error}");
        assert!(error.to_string().contains("punctual 0.1.0 on ") && error.to_string().contains("127.0.0.1"), "{error}");
        assert_eq!(channel.receive::<String>(PATIENCE).unwrap_err(), error, "it stays so");
        assert!(channel.send("too late").is_err());
    }
    server.stop();
}

/// What the partner of the tests below does, in a process of its own: three messages, then it waits for the end.
#[test]
fn as_a_partner() {
    let (Ok(port), Ok(file)) = (std::env::var(PORT), std::env::var(TOKEN_FILE)) else { return };
    let token = peer::read_token(file.as_ref()).unwrap();
    let mut channel = connect("127.0.0.1", port.parse().unwrap(), &token, PATIENCE).unwrap();
    for number in 1..=3 {
        channel.send(&number).unwrap();
    }
    println!("sent");
    // Until it is ended or its parent has gone.
    while channel.receive::<String>(PATIENCE).is_ok() {}
}

/// Starts a partner, waits until it has sent its messages, and returns it with the channel to it.
fn partner() -> (Child, Channel) {
    let mut listener = Listener::bind_to_free_port("127.0.0.1", Settings::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    listener.write_token(&file).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "channel::as_a_partner", "--nocapture"])
        .env(PORT, listener.address().port().to_string())
        .env(TOKEN_FILE, &file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let channel = listener.accept(&|| false).unwrap().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap().contains("sent")), "the partner has not sent anything");
    (child, channel)
}

/// The messages that came before the error, and the error.
fn receive_all(channel: &mut Channel) -> (Vec<u32>, ChannelError) {
    let mut received = Vec::new();
    loop {
        match channel.receive::<u32>(PATIENCE) {
            Ok(Some(number)) => received.push(number),
            Ok(None) => panic!("neither a message nor an error"),
            Err(error) => return (received, error),
        }
    }
}

#[test]
fn a_killed_partner_is_noticed_at_once_and_what_it_sent_is_there() {
    let (mut child, mut channel) = partner();
    child.kill().unwrap();
    child.wait().unwrap();
    let (received, error) = receive_all(&mut channel);
    assert_eq!(received, [1, 2, 3]);
    // By the end of its connection, and not by its silence.
    assert!(matches!(error, ChannelError::Lost { .. }), "{error}");
    assert!(error.to_string().contains("was ended or killed"), "{error}");
}

#[test]
fn a_killed_partner_s_messages_survive_what_is_sent_to_it() {
    let (mut child, mut channel) = partner();
    child.kill().unwrap();
    child.wait().unwrap();
    // Sending to the dead is answered with a reset.
    while channel.send("are you there?").is_ok() {}
    let (received, _) = receive_all(&mut channel);
    assert_eq!(received, [1, 2, 3]);
}

#[test]
fn a_stopped_partner_is_noticed_by_its_silence_and_what_it_sent_is_there() {
    let (mut child, mut channel) = partner();
    kernel::process::signal(child.id(), Signal::Stop).unwrap();
    let (received, error) = receive_all(&mut channel);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(received, [1, 2, 3]);
    let ChannelError::Silent { silence, .. } = error else { panic!("{error}") };
    assert!(silence >= Settings::default().silence, "{silence:?}");
    assert!(error.to_string().contains("that program is stopped, its machine is down"), "{error}");
}

#[test]
fn much_to_send_to_a_stopped_partner_does_not_wait_for_ever() {
    let (mut child, mut channel) = partner();
    kernel::process::signal(child.id(), Signal::Stop).unwrap();
    let error = channel.send(&"x".repeat(20 * 1024 * 1024)).unwrap_err();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(error, ChannelError::Silent { .. }), "{error}");
    assert_eq!(receive_all(&mut channel).0, [1, 2, 3]);
}

#[test]
fn a_program_that_was_away_itself_does_not_blame_its_partner() {
    let settings = || Settings { heartbeat: Duration::from_millis(20), ..impatient() };
    let server = Server::start("127.0.0.1", patient_but_beating(), |mut channel| {
        assert_eq!(channel.receive::<bool>(PATIENCE).unwrap(), Some(true));
        channel.close(PATIENCE).unwrap();
    });
    let mut channel = connect_with("127.0.0.1", server.port, &server.token, PATIENCE, settings()).unwrap();
    // As if it had been stopped: longer than the silence that it allows its partner.
    std::thread::sleep(2 * settings().silence);
    assert_eq!(channel.receive::<bool>(Duration::ZERO).unwrap(), None);
    channel.send(&true).unwrap();
    channel.close(PATIENCE).unwrap();
    server.stop();
}

fn patient_but_beating() -> Settings {
    Settings { heartbeat: Duration::from_millis(20), ..patient() }
}
