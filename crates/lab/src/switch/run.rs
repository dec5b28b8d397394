//! The shell around the switch: sockets, the host's clock, capture files.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use kernel::clock::now_ns;
use kernel::wait::Readable;
use serde::{Deserialize, Serialize};
use units::ClockId;

use super::capture::Capture;
use super::config::{SwitchConfig, SwitchConfigError};
use super::impairment::Impairment;
use super::outlet::{Outlet, PortOutcome};
use super::state::{MAX_FRAME_BYTES, Switch};

/// How long an order to stop may go unnoticed while no frame passes (ns).
const STOP_CHECK_NS: i64 = 20_000_000;

/// How soon a guest that did not read is tried again (ns): the kernel tells nobody when a queue has room once more,
/// save those who are connected to it.
const RETRY_NS: i64 = 200_000;

/// Frames that are taken from one port before the others have their turn: a guest that floods must not stop them.
const TURN_FRAMES: usize = 16;

/// Why the switch could not begin, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// Out of its bounds.
    #[error("the switch cannot be made: {0}")]
    Config(#[from] SwitchConfigError),
    /// A socket that somebody listens at, or that cannot be made.
    #[error("the switch cannot bind its socket '{}': {source}", path.display())]
    Bind {
        /// `local` of a port.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A capture file that cannot be begun.
    #[error("the switch cannot write its capture '{}': {source}", path.display())]
    Capture {
        /// `capture` of a port.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The wait for frames failed.
    #[error("the switch cannot wait for frames: {0}")]
    Wait(io::Error),
    /// A guest's frames cannot be read.
    #[error("the switch cannot read from its socket '{}': {source}", path.display())]
    Receive {
        /// `local` of a port.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A guest's socket answers otherwise than by being full or absent.
    #[error("the switch cannot send to the guest's socket '{}': {source}", path.display())]
    Send {
        /// `remote` of a port.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

type CaptureFile = Capture<BufWriter<File>>;

/// What a switch did, for the record of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchOutcome {
    /// As it was asked for, with the seed.
    pub config: SwitchConfig,
    /// What was counted, in the order of the ports.
    pub ports: Vec<PortOutcome>,
}

/// What a running switch is asked for: a change of a link where there is one, and a report after it.
#[derive(Debug)]
pub struct SwitchOrder {
    /// The link that changes.
    pub change: Option<LinkChange>,
    /// Takes what was counted so far; frames that wait for a guest to read are in no count of its port yet.
    pub answer: mpsc::Sender<SwitchOutcome>,
}

/// From now on a link is like this; a frame that is under way keeps its fate, and none overtakes it for that.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkChange {
    /// The port's place in the configuration; one that is not there changes nothing.
    pub port: usize,
    /// From the guest to the switch, where that changes.
    pub from_guest: Option<Impairment>,
    /// From the switch to the guest, where that changes.
    pub to_guest: Option<Impairment>,
}

/// A switch whose sockets are there, so that guests can be started.
#[derive(Debug)]
pub struct BoundSwitch {
    config: SwitchConfig,
    switch: Switch,
    sockets: Vec<BoundSocket>,
    captures: Vec<Option<CaptureFile>>,
    outlets: Vec<Outlet>,
}

impl BoundSwitch {
    /// Makes the sockets and begins the capture files. A socket that a killed switch left behind is replaced.
    ///
    /// # Errors
    /// Where the configuration is out of bounds, or a file cannot be made.
    pub fn bind(config: SwitchConfig) -> Result<Self, SwitchError> {
        let switch = Switch::new(&config)?;
        let mut sockets = Vec::new();
        let mut captures = Vec::new();
        for port in &config.port {
            let path = &port.local;
            let bound = BoundSocket::bind(path).map_err(|source| SwitchError::Bind { path: path.clone(), source })?;
            sockets.push(bound);
            let begin = |path: &PathBuf| {
                Capture::create(path).map_err(|source| SwitchError::Capture { path: path.clone(), source })
            };
            captures.push(port.capture.as_ref().map(begin).transpose()?);
        }
        let outlets = sockets.iter().map(|_| Outlet::default()).collect();
        Ok(Self { config, switch, sockets, captures, outlets })
    }

    /// Forwards frames until `stop` is set, and removes the sockets; does what `orders` bring meanwhile. Frames that
    /// are still under way are counted as waiting.
    ///
    /// Sets the calling thread's timer slack to its least, since a late frame is a wrong delay: give it a thread of
    /// its own.
    ///
    /// # Errors
    /// Where the kernel refuses what it has no reason to refuse.
    pub fn run(
        mut self,
        stop: &AtomicBool,
        orders: &mpsc::Receiver<SwitchOrder>,
    ) -> Result<SwitchOutcome, SwitchError> {
        kernel::sched::set_least_timer_slack();
        let sockets = std::mem::take(&mut self.sockets);
        let mut readable = Readable::new(sockets.iter().map(|bound| bound.socket.as_fd()));
        // One byte more than a frame may have, so that a longer one shows.
        let mut buffer = vec![0; MAX_FRAME_BYTES + 1];
        while !stop.load(Ordering::Relaxed) {
            readable.wait(self.wait_ns()).map_err(SwitchError::Wait)?;
            self.pass_on(readable.ready(), &sockets, &mut buffer)?;
            for SwitchOrder { change, answer } in orders.try_iter() {
                // What was sent before the order was given passes as the link was.
                self.pass_on(0..sockets.len(), &sockets, &mut buffer)?;
                if let Some(change) = change {
                    self.change(change);
                }
                // Whoever asked may be gone.
                let _ = answer.send(self.report());
            }
        }
        Ok(self.outcome())
    }

    /// Takes what has come at these ports, and sends what is due at any.
    fn pass_on(
        &mut self,
        from: impl Iterator<Item = usize>,
        sockets: &[BoundSocket],
        buffer: &mut [u8],
    ) -> Result<(), SwitchError> {
        for port in from {
            self.receive(port, &sockets[port], buffer)?;
        }
        for delivery in self.switch.due(host_ns()) {
            self.outlets[delivery.port].add(delivery);
        }
        for (port, from) in sockets.iter().enumerate() {
            self.send(port, from)?;
        }
        Ok(())
    }

    fn change(&mut self, change: LinkChange) {
        let Some(port) = self.config.port.get_mut(change.port) else { return };
        port.from_guest = change.from_guest.unwrap_or_else(|| port.from_guest.clone());
        port.to_guest = change.to_guest.unwrap_or_else(|| port.to_guest.clone());
        self.switch.set_link(change.port, port.from_guest.clone(), port.to_guest.clone());
    }

    fn report(&self) -> SwitchOutcome {
        let of_port = |(outlet, counters): (&Outlet, _)| PortOutcome { counters, ..outlet.outcome.clone() };
        let ports = self.outlets.iter().zip(self.switch.counters()).map(of_port).collect();
        SwitchOutcome { config: self.config.clone(), ports }
    }

    fn wait_ns(&self) -> i64 {
        let longest_ns = if self.outlets.iter().any(Outlet::is_waiting) { RETRY_NS } else { STOP_CHECK_NS };
        self.switch.next_due_ns().map_or(longest_ns, |due_ns| due_ns.saturating_sub(host_ns()).min(longest_ns))
    }

    fn receive(&mut self, port: usize, from: &BoundSocket, buffer: &mut [u8]) -> Result<(), SwitchError> {
        for _ in 0..TURN_FRAMES {
            let length = match from.socket.recv(buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(source) => return Err(SwitchError::Receive { path: from.path.clone(), source }),
            };
            let (frame, at_ns) = (&buffer[..length], host_ns());
            self.switch.arrived(port, frame, at_ns);
            capture(&mut self.captures[port], &mut self.outlets[port].outcome, at_ns, frame);
        }
        Ok(())
    }

    fn send(&mut self, port: usize, from: &BoundSocket) -> Result<(), SwitchError> {
        let to = &self.config.port[port].remote;
        let file = &mut self.captures[port];
        let sent = |outcome: &mut PortOutcome, at_ns, frame: &[u8]| capture(file, outcome, at_ns, frame);
        self.outlets[port]
            .flush(host_ns, |frame| from.socket.send_to(frame, to), sent)
            .map_err(|source| SwitchError::Send { path: to.clone(), source })
    }

    fn outcome(self) -> SwitchOutcome {
        let finish = |((outlet, counters), file): ((Outlet, _), Option<CaptureFile>)| {
            let mut outcome = PortOutcome { counters, ..outlet.finish() };
            if let Some(Err(error)) = file.map(Capture::finish) {
                outcome.capture_error = Some(error.to_string());
            }
            outcome
        };
        let ports = self.outlets.into_iter().zip(self.switch.counters()).zip(self.captures).map(finish).collect();
        SwitchOutcome { config: self.config, ports }
    }
}

/// A full disk ends the capture, not the network of the guests.
fn capture(file: &mut Option<CaptureFile>, outcome: &mut PortOutcome, at_ns: i64, frame: &[u8]) {
    if let Some(Err(error)) = file.as_mut().map(|file| file.add(at_ns, frame)) {
        outcome.capture_error = Some(error.to_string());
        *file = None;
    }
}

/// CLOCK_MONOTONIC, the one clock that all guests' frames are seen by (ns).
fn host_ns() -> i64 {
    now_ns(ClockId::Monotonic.into())
}

/// A socket with a path, which goes when it goes.
#[derive(Debug)]
struct BoundSocket {
    socket: UnixDatagram,
    path: PathBuf,
}

impl BoundSocket {
    fn bind(path: &Path) -> io::Result<Self> {
        let socket = match UnixDatagram::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && nobody_listens(path) => {
                std::fs::remove_file(path)?;
                UnixDatagram::bind(path)?
            }
            result => result?,
        };
        let bound = Self { socket, path: path.to_owned() };
        bound.socket.set_nonblocking(true)?;
        Ok(bound)
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        // It may be gone already, with the folder that it stood in.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a path is a socket whose owner is gone; a file of another kind is never ours to remove.
fn nobody_listens(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let answer = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    is_socket && answer.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests;
