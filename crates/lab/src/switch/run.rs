//! Runs the switch with sockets, the host's clock and capture files.

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

/// How long the switch sleeps at most without a frame before it checks for orders (ns).
const STOP_CHECK_NS: i64 = 20_000_000;

/// How soon sending to a guest that did not read is retried (ns): the kernel signals room in a queue only to connected
/// sockets.
const RETRY_NS: i64 = 200_000;

/// How many frames are read from one port before the others get their turn: a flood from one guest must not block them.
const TURN_FRAMES: usize = 16;

/// Why the switch could not start, or failed.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The configuration is out of bounds.
    #[error("the configuration of the switch is invalid: {0}")]
    Config(#[from] SwitchConfigError),
    /// A socket cannot be created, or another process listens on it.
    #[error("the switch cannot bind its socket '{}': {source}", path.display())]
    Bind {
        /// `local` of the port.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A capture file cannot be created.
    #[error("the switch cannot write its capture '{}': {source}", path.display())]
    Capture {
        /// `capture` of the port.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Waiting for frames failed.
    #[error("the switch cannot wait for frames: {0}")]
    Wait(io::Error),
    /// A guest's frames cannot be read.
    #[error("the switch cannot read from its socket '{}': {source}", path.display())]
    Receive {
        /// `local` of the port.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Sending to a guest failed for another reason than a full or missing socket.
    #[error("the switch cannot send to the guest's socket '{}': {source}", path.display())]
    Send {
        /// `remote` of the port.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

type CaptureFile = Capture<BufWriter<File>>;

/// The outcome of a switch, for the record of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchOutcome {
    /// The configuration in the end, with the seed.
    pub config: SwitchConfig,
    /// Counters of each port, in the order of the configuration.
    pub ports: Vec<PortOutcome>,
}

/// A request to a running switch: an optional change of a link, and a report after it.
#[derive(Debug)]
pub struct SwitchOrder {
    /// The change; `None` only asks for a report.
    pub change: Option<LinkChange>,
    /// Receives the counters so far; frames that wait for a guest to read are not yet counted at its port.
    pub answer: mpsc::Sender<SwitchOutcome>,
}

/// A change of a link from now on. Frames in transit keep their delivery, and later frames do not overtake them because
/// of the change.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkChange {
    /// Index of the port in the configuration; an unknown one changes nothing.
    pub port: usize,
    /// New impairment from the guest to the switch; `None`: unchanged.
    pub from_guest: Option<Impairment>,
    /// New impairment from the switch to the guest; `None`: unchanged.
    pub to_guest: Option<Impairment>,
}

/// A switch with its sockets created, so that guests can be started.
#[derive(Debug)]
pub struct BoundSwitch {
    config: SwitchConfig,
    switch: Switch,
    sockets: Vec<BoundSocket>,
    captures: Vec<Option<CaptureFile>>,
    /// From the times of the frames to those in the captures: CLOCK_REALTIME, which the logic analyzer has too, so that
    /// all that the host witnesses of its guests is on one clock (ns).
    wall_ahead_ns: i64,
    outlets: Vec<Outlet>,
}

impl BoundSwitch {
    /// Creates the sockets and the capture files. A socket that a killed switch left behind is replaced.
    ///
    /// # Errors
    /// If the configuration is out of bounds, or a socket or file cannot be created.
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
        Ok(Self { config, switch, sockets, captures, wall_ahead_ns: wall_ahead_ns(), outlets })
    }

    /// Forwards frames and executes `orders` until `stop` is set, then removes the sockets. Frames still in transit are
    /// counted as waiting.
    ///
    /// Sets the calling thread's timer slack to the minimum, since a late frame is a wrong delay: run it in a separate
    /// thread.
    ///
    /// # Errors
    /// If waiting, receiving or sending fails unexpectedly.
    pub fn run(
        mut self,
        stop: &AtomicBool,
        orders: &mpsc::Receiver<SwitchOrder>,
    ) -> Result<SwitchOutcome, SwitchError> {
        kernel::sched::set_least_timer_slack();
        let sockets = std::mem::take(&mut self.sockets);
        let mut readable = Readable::new(sockets.iter().map(|bound| bound.socket.as_fd()));
        // One byte more than the longest frame, so that longer ones are detected.
        let mut buffer = vec![0; MAX_FRAME_BYTES + 1];
        while !stop.load(Ordering::Relaxed) {
            readable.wait(self.wait_ns()).map_err(SwitchError::Wait)?;
            self.pass_on(readable.ready(), &sockets, &mut buffer)?;
            for SwitchOrder { change, answer } in orders.try_iter() {
                // Frames that were sent before the order pass under the old settings.
                self.pass_on(0..sockets.len(), &sockets, &mut buffer)?;
                if let Some(change) = change {
                    self.change(change);
                }
                // The client may be gone.
                let _ = answer.send(self.report());
            }
        }
        Ok(self.outcome())
    }

    /// Receives from these ports, and sends what is due on all ports.
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
        let port_outcome = |(outlet, counters): (&Outlet, _)| PortOutcome { counters, ..outlet.outcome.clone() };
        let ports = self.outlets.iter().zip(self.switch.counters()).map(port_outcome).collect();
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
            let wall_ns = at_ns.saturating_add(self.wall_ahead_ns);
            capture(&mut self.captures[port], &mut self.outlets[port].outcome, wall_ns, frame);
        }
        Ok(())
    }

    fn send(&mut self, port: usize, from: &BoundSocket) -> Result<(), SwitchError> {
        let to = &self.config.port[port].remote;
        let file = &mut self.captures[port];
        let wall_ahead_ns = self.wall_ahead_ns;
        let sent = |outcome: &mut PortOutcome, at_ns: i64, frame: &[u8]| {
            capture(file, outcome, at_ns.saturating_add(wall_ahead_ns), frame);
        };
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

/// Adds a frame to a capture. An error such as a full disk ends the capture but not the guests' network.
fn capture(file: &mut Option<CaptureFile>, outcome: &mut PortOutcome, at_ns: i64, frame: &[u8]) {
    if let Some(Err(error)) = file.as_mut().map(|file| file.add(at_ns, frame)) {
        outcome.capture_error = Some(error.to_string());
        *file = None;
    }
}

/// CLOCK_MONOTONIC of the host (ns): the common clock for the frames of all guests.
fn host_ns() -> i64 {
    now_ns(ClockId::Monotonic.into())
}

/// How far the host's CLOCK_REALTIME is ahead of its CLOCK_MONOTONIC (ns), by the narrowest of some readings. Both have
/// the same rate, also while the host's clock is being corrected, so this changes only when that clock is set.
fn wall_ahead_ns() -> i64 {
    let read = || {
        let before_ns = host_ns();
        let wall_ns = now_ns(ClockId::Realtime.into());
        let width_ns = host_ns() - before_ns;
        (width_ns, wall_ns - before_ns - width_ns / 2)
    };
    (0..10).map(|_| read()).min().map_or(0, |(_, ahead_ns)| ahead_ns)
}

/// A socket with its path, which is removed on drop.
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
        // It may have been removed already, together with its folder.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a path is a socket whose owner is gone. Files of other kinds are never removed.
fn nobody_listens(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let answer = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    is_socket && answer.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests;
