//! A ptp4l whose truth is stated: it answers what a test wants, and passes raw time stamps on.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of today, and lengths of a few bytes"
)]

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::{eventually, run};

const OWN: [u8; 8] = *b"own\xff\xfeclk";
pub(crate) const MASTER: [u8; 8] = *b"gm1\xff\xfeclk";
pub(crate) const OTHER_MASTER: [u8; 8] = *b"gm2\xff\xfeclk";
/// The management message that asks for the state of the port.
const PORT_DATA_SET: u16 = 0x2004;
/// How long a message is on its way (ns).
const DELAY_NS: i64 = 20_000;

pub(crate) fn realtime_ns() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// What it does, changed while it runs.
#[derive(Default)]
pub(crate) struct Script {
    /// By how much this clock is ahead of the master's (ns), and how much longer messages from there take.
    pub(crate) offset_ns: AtomicI64,
    pub(crate) asymmetry_ns: AtomicI64,
    pub(crate) other_master: AtomicBool,
    /// What the grand master states: its clock class (0 for 248), flags of its time, steps removed; and whether it is silent.
    pub(crate) class: AtomicI64,
    pub(crate) flags: AtomicI64,
    pub(crate) is_silent: AtomicBool,
    pub(crate) never_locks: AtomicBool,
    /// Whether it answers all but the question for its port's state, which tells its clock.
    pub(crate) hides_clock: AtomicBool,
    pub(crate) listens: AtomicBool,
    pub(crate) ends: AtomicBool,
    /// How often it was asked for its port's state, which a run does four times a second.
    pub(crate) looks: AtomicU64,
}

impl Script {
    /// Waits until it was asked so often since now, or will not be any more: a run can begin seconds after its program.
    pub(crate) fn until_asked(&self, looks: u64, run_ended: &AtomicBool) {
        let until = self.looks.load(Ordering::Relaxed) + looks;
        eventually("the questions of a run", || {
            self.looks.load(Ordering::Relaxed) >= until || run_ended.load(Ordering::Relaxed)
        });
    }
}

/// A ptp4l with software time stamps that is told what is true.
pub(crate) struct Ptp4l {
    folder: TempDir,
    pub(crate) script: Arc<Script>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Ptp4l {
    fn drop(&mut self) {
        self.script.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Ptp4l {
    pub(crate) fn start(offset_ns: i64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = Arc::new(Script { offset_ns: AtomicI64::new(offset_ns), ..Script::default() });
        let socket = UnixDatagram::bind(folder.path().join("management")).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (events, of) = (folder.path().join("events"), Arc::clone(&script));
        let thread = std::thread::spawn(move || serve(&socket, &events, &of));
        Self { folder, script, thread: Some(thread) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program, following it for a minute.
    pub(crate) fn follow_in_background(&self, more: &[&str]) -> std::process::Child {
        crate::support::punctual(&["measure", "sync", "--source", "ptp", "--time", "60s", "--ptp-socket"])
            .arg(self.path("management"))
            .arg("--ptp-events")
            .arg(self.path("events"))
            .args(more)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    }

    /// The program, following it with its raw time stamps.
    pub(crate) fn follow(&self, more: &[&str]) -> Output {
        let (management, events) = (self.path("management"), self.path("events"));
        let mut words =
            vec!["measure", "sync", "--source", "ptp", "--json", "--ptp-socket", management.to_str().unwrap()];
        words.extend(["--ptp-events", events.to_str().unwrap()]);
        words.extend(more);
        run(&words)
    }
}

fn serve(socket: &UnixDatagram, events: &Path, script: &Script) {
    let mut buffer = [0; 256];
    let mut sequence = 0_u16;
    let (mut ingress_ns, mut next_ns) = (realtime_ns(), 0);
    while !script.ends.load(Ordering::Relaxed) {
        if let Ok((length, address)) = socket.recv_from(&mut buffer) {
            let id = u16::from_be_bytes([buffer[52], buffer[53]]);
            assert_eq!((length, buffer[0]), (54, 0x0d), "a question without data");
            script.looks.fetch_add(u64::from(id == PORT_DATA_SET), Ordering::Relaxed);
            let is_hidden = id == PORT_DATA_SET && script.hides_clock.load(Ordering::Relaxed);
            if is_hidden || script.is_silent.load(Ordering::Relaxed) {
                continue;
            }
            if let (Some(mut answer), Some(path)) = (answer(id, script, ingress_ns), address.as_pathname()) {
                // As ptp4l: an answer has the number of its question.
                answer[30..32].copy_from_slice(&buffer[30..32]);
                let _ = socket.send_to(&answer, path);
            }
        }
        if realtime_ns() >= next_ns && !script.listens.load(Ordering::Relaxed) {
            next_ns = realtime_ns() + 100_000_000;
            sequence = sequence.wrapping_add(1);
            ingress_ns = realtime_ns();
            let (offset_ns, more_ns) =
                (script.offset_ns.load(Ordering::Relaxed), script.asymmetry_ns.load(Ordering::Relaxed));
            let (t2_ns, t3_ns) = (realtime_ns(), realtime_ns());
            let (t1_ns, t4_ns) = (t2_ns - offset_ns - DELAY_NS - more_ns, t3_ns - offset_ns + DELAY_NS);
            let _ = socket.send_to(&sync_record(sequence, t1_ns, t2_ns), events);
            let _ = socket.send_to(&delay_record(sequence, t3_ns, t4_ns), events);
        }
    }
}

/// IEEE 1588-2019, 13.3: header of a message from port 1 of this clock.
pub(crate) fn header(kind: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![kind, 2];
    bytes.extend((length as u16).to_be_bytes());
    bytes.extend([0; 16]);
    bytes.extend(OWN);
    bytes.extend([0, 1, 0, 0, 4, 0x7f]);
    bytes
}

fn answer(id: u16, script: &Script, ingress_ns: i64) -> Option<Vec<u8>> {
    let master = if script.other_master.load(Ordering::Relaxed) { OTHER_MASTER } else { MASTER };
    let listens = script.listens.load(Ordering::Relaxed);
    let port = [&OWN[..], &[0, 1]].concat();
    let port_state = if script.never_locks.load(Ordering::Relaxed) { 8 } else { 9 };
    let class = match script.class.load(Ordering::Relaxed) {
        0 => 248,
        class => class as u8,
    };
    let data: Vec<u8> = match id {
        // PORT_PROPERTIES_NP: port, state, software stamps, "eth9".
        0xc004 => [&port[..], &[9, 0, 4], b"eth9", &[0]].concat(),
        // Port, SLAVE or LISTENING, and what is not looked at.
        PORT_DATA_SET => [&port[..], &[if listens { 4 } else { port_state }, 0], &[0; 8], &[0, 3, 0, 1, 0, 2]].concat(),
        // PARENT_DATA_SET.
        0x2002 => [&master[..], &[0, 1], &[0; 8], &[128, class, 254, 255, 255], &[128], &master].concat(),
        // CURRENT_DATA_SET: one step, offset, delay.
        0x2001 => [&[0, 1][..], &[0; 8], &((DELAY_NS << 16).to_be_bytes())].concat(),
        // TIME_PROPERTIES_DATA_SET: 37 s, an arbitrary time scale.
        0x2003 => vec![0, 37, script.flags.load(Ordering::Relaxed) as u8, 0xa0],
        // TIME_STATUS_NP.
        0xc000 => {
            let offset_ns = script.offset_ns.load(Ordering::Relaxed);
            let head = [offset_ns.to_be_bytes(), ingress_ns.to_be_bytes()].concat();
            [&head[..], &[0; 22], &i32::from(!listens).to_be_bytes(), &master].concat()
        }
        _ => return None,
    };
    let tlv = 2 + data.len();
    let mut bytes = header(0x0d, 34 + 14 + 4 + tlv);
    bytes.extend([0xff; 10]);
    bytes.extend([0, 0, 2, 0, 0, 1]);
    bytes.extend((tlv as u16).to_be_bytes());
    bytes.extend(id.to_be_bytes());
    bytes.extend(data);
    Some(bytes)
}

fn stamp(ns: i64) -> Vec<u8> {
    let (seconds, within) = ((ns / 1_000_000_000) as u64, (ns % 1_000_000_000) as u32);
    [&seconds.to_be_bytes()[2..], &within.to_be_bytes()].concat()
}

fn signaling(tlv_type: u16, record: &[u8]) -> Vec<u8> {
    let value = [&MASTER[..], &[0, 1], record].concat();
    let mut bytes = header(0x0c, 34 + 10 + 4 + value.len());
    bytes.extend([0xff; 10]);
    bytes.extend(tlv_type.to_be_bytes());
    bytes.extend((value.len() as u16).to_be_bytes());
    bytes.extend(value);
    bytes
}

pub(crate) fn sync_record(sequence: u16, t1_ns: i64, t2_ns: i64) -> Vec<u8> {
    let record = [&sequence.to_be_bytes()[..], &stamp(t1_ns), &[0; 8], &[0; 4], &stamp(t2_ns)].concat();
    signaling(0x8004, &record)
}

fn delay_record(sequence: u16, t3_ns: i64, t4_ns: i64) -> Vec<u8> {
    let record = [&sequence.to_be_bytes()[..], &stamp(t3_ns), &[0; 8], &stamp(t4_ns)].concat();
    signaling(0x7f00, &record)
}
