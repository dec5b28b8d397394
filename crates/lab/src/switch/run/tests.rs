use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use units::Ns;

use super::*;
use crate::switch::{Impairment, MAX_OUTLET_FRAMES, PortConfig};

/// Longer than any healthy machine needs; only a broken switch takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

struct Guest {
    socket: UnixDatagram,
    switch: PathBuf,
}

impl Guest {
    fn send(&self, frame: &[u8]) {
        self.socket.send_to(frame, &self.switch).unwrap();
    }

    fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; MAX_FRAME_BYTES];
        let length = self.socket.recv(&mut buffer).unwrap();
        buffer.truncate(length);
        buffer
    }
}

fn config(folder: &TempDir, ports: usize) -> SwitchConfig {
    let path = |name: &str, port: usize| folder.path().join(format!("{name}{port}"));
    let port = |port| PortConfig {
        local: path("switch", port),
        remote: path("guest", port),
        capture: Some(path("capture", port)),
        ..PortConfig::default()
    };
    SwitchConfig { seed: 1, port: (0..ports).map(port).collect() }
}

fn guest(config: &SwitchConfig, port: usize) -> Guest {
    let PortConfig { local, remote, .. } = &config.port[port];
    let socket = UnixDatagram::bind(remote).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    Guest { socket, switch: local.clone() }
}

/// Runs the switch in parallel to `scene`, and stops it however the scene ends.
fn beside<T>(config: &SwitchConfig, scene: impl FnOnce() -> T) -> (T, SwitchOutcome) {
    beside_with_orders(config, |_| scene())
}

fn beside_with_orders<T>(
    config: &SwitchConfig,
    scene: impl FnOnce(&mpsc::Sender<SwitchOrder>) -> T,
) -> (T, SwitchOutcome) {
    struct Stop(Arc<AtomicBool>);
    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let switch = BoundSwitch::bind(config.clone()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let (orders, taken) = mpsc::channel();
    let running = thread::spawn(move || switch.run(&seen, &taken));
    let result = {
        let _stop = Stop(stop);
        scene(&orders)
    };
    (result, running.join().unwrap().unwrap())
}

const TO_ALL: &[u8] = b"\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x01\x88\xf7 to all";
const TO_ONE: &[u8] = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xf7 to one";

/// The frames of a capture file: time (ns) and content.
fn read_capture(path: &Path) -> Vec<(i64, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut frames) = (24, Vec::new());
    while at < bytes.len() {
        let length = usize::try_from(u32_at(at + 8)).unwrap();
        let time_ns = i64::from(u32_at(at)) * 1_000_000_000 + i64::from(u32_at(at + 4));
        frames.push((time_ns, bytes[at + 16..at + 16 + length].to_vec()));
        at += 16 + length;
    }
    frames
}

#[test]
fn frames_pass_through_sockets_and_are_counted_and_captured() {
    let folder = TempDir::new().unwrap();
    let config = config(&folder, 3);
    let guests: Vec<Guest> = (0..3).map(|port| guest(&config, port)).collect();
    let ((), outcome) = beside(&config, || {
        guests[0].send(TO_ALL);
        assert_eq!((guests[1].receive(), guests[2].receive()), (TO_ALL.to_vec(), TO_ALL.to_vec()));
        guests[1].send(TO_ONE);
        assert_eq!(guests[0].receive(), TO_ONE);
        guests[1].send(b"short");
        // The short frame is ahead of this one on the same link, so it has been counted when this one arrives.
        guests[1].send(TO_ALL);
        assert_eq!((guests[0].receive(), guests[2].receive()), (TO_ALL.to_vec(), TO_ALL.to_vec()));
    });
    let counted = |port: &PortOutcome| (port.counters.received, port.counters.odd_length, port.sent);
    assert_eq!(outcome.ports.iter().map(counted).collect::<Vec<_>>(), [(1, 0, 2), (3, 1, 1), (0, 0, 2)]);
    assert!(outcome.ports.iter().all(|port| port.refused + port.absent == 0 && port.capture_error.is_none()));
    let captured = |port: usize| read_capture(config.port[port].capture.as_ref().unwrap());
    assert_eq!(captured(0).iter().map(|frame| &frame.1[..]).collect::<Vec<_>>(), [TO_ALL, TO_ONE, TO_ALL]);
    assert_eq!(captured(1).len(), 4);
    assert!(captured(0)[0].0 <= captured(1)[0].0, "forwarded after its arrival");
    let wall_ns = now_ns(ClockId::Realtime.into());
    let ago_ns = wall_ns - captured(0)[0].0;
    assert!((0..600_000_000_000).contains(&ago_ns), "the clock of the logic analyzer: {ago_ns} ns ago");
    assert_eq!(outcome.config, config);
    assert!(!config.port[0].local.exists(), "the sockets are removed");
}

#[test]
fn a_delay_is_kept_by_the_clock_of_the_host() {
    let folder = TempDir::new().unwrap();
    let mut config = config(&folder, 2);
    config.port[0].from_guest = Impairment { delay: Ns::from_ms(3), ..Impairment::default() };
    config.port[1].to_guest = Impairment { delay: Ns::from_ms(4), ..Impairment::default() };
    let guests = [guest(&config, 0), guest(&config, 1)];
    let (took_ns, outcome) = beside(&config, || {
        let before_ns = host_ns();
        guests[0].send(TO_ALL);
        guests[1].receive();
        host_ns() - before_ns
    });
    assert!(took_ns >= 7_000_000, "{took_ns}");
    let captured_ns = |port: usize| read_capture(config.port[port].capture.as_ref().unwrap())[0].0;
    let port = &outcome.ports[1];
    let late_ns = i64::try_from(port.late_max_ns).unwrap();
    assert_eq!(captured_ns(1) - captured_ns(0), 7_000_000 + late_ns, "what is not delay is reported as lateness");
    assert_eq!(port.late_total_ns, port.late_max_ns);
}

#[test]
fn a_link_is_changed_and_reported_while_the_switch_runs() {
    let folder = TempDir::new().unwrap();
    let config = config(&folder, 2);
    let guests = [guest(&config, 0), guest(&config, 1)];
    let (reports, outcome) = beside_with_orders(&config, |orders| {
        let ask = |change| {
            let (answer, report) = mpsc::channel();
            orders.send(SwitchOrder { change, answer }).unwrap();
            report.recv_timeout(PATIENCE).unwrap()
        };
        guests[0].send(TO_ALL);
        guests[1].receive();
        let lossy = Impairment { drop: 1.0, ..Impairment::default() };
        let cut = ask(Some(LinkChange { port: 1, from_guest: None, to_guest: Some(lossy) }));
        guests[0].send(TO_ALL);
        // This frame follows on another link: the lost one has been counted when it arrives.
        guests[1].send(TO_ONE);
        guests[0].receive();
        let whole = Some(Impairment::default());
        let healed = ask(Some(LinkChange { port: 1, from_guest: None, to_guest: whole }));
        guests[0].send(TO_ALL);
        guests[1].receive();
        ask(Some(LinkChange { port: 7, from_guest: None, to_guest: None }));
        [cut, healed]
    });
    let dropped = |outcome: &SwitchOutcome| outcome.ports[1].counters.to_guest.dropped;
    assert_eq!((dropped(&reports[0]), dropped(&reports[1]), dropped(&outcome)), (0, 1, 1));
    assert_eq!(reports[0].config.port[1].to_guest.drop.to_bits(), 1.0_f64.to_bits());
    assert_eq!((reports[0].ports[1].sent, outcome.ports[1].sent), (1, 2));
    assert_eq!(outcome.config, config, "the configuration in the end");
}

#[test]
fn a_guest_that_is_absent_or_does_not_read_is_counted() {
    let folder = TempDir::new().unwrap();
    let config = config(&folder, 3);
    let (sender, silent) = (guest(&config, 0), guest(&config, 1));
    // More than can wait for a guest, in the outlet and in the kernel (by default 10 or 512, net/unix/af_unix.c).
    let sent = MAX_OUTLET_FRAMES + 1_000;
    let (_, outcome) = beside(&config, || {
        for _ in 0..sent {
            sender.send(TO_ALL);
        }
        // The sender's frames are processed in order: this arrives when all before it went through.
        silent.send(TO_ONE);
        sender.receive()
    });
    let [_, silent_port, absent_port] = &outcome.ports[..] else { panic!("three ports") };
    assert!(silent_port.refused > 0 && silent_port.sent > 0);
    for port in [silent_port, absent_port] {
        assert_eq!(port.counters.to_guest.left, port.sent + port.refused + port.absent);
    }
    assert_eq!((absent_port.sent, absent_port.absent), (0, outcome.ports[0].counters.received));
}

#[test]
fn an_abandoned_socket_is_replaced_and_one_in_use_is_not() {
    let folder = TempDir::new().unwrap();
    let config = config(&folder, 2);
    // Rust does not remove the file when it closes the socket; a killed switch does not either.
    drop(UnixDatagram::bind(&config.port[0].local).unwrap());
    let living = BoundSwitch::bind(config.clone()).unwrap();
    let error = BoundSwitch::bind(config.clone()).unwrap_err().to_string();
    assert!(error.contains("cannot bind its socket") && error.contains("switch0"), "{error}");
    assert!(config.port[0].local.exists(), "the second one removed nothing");
    drop(living);
    std::fs::write(&config.port[0].local, "another file").unwrap();
    BoundSwitch::bind(config.clone()).unwrap_err();
    assert!(config.port[0].local.exists());
}
