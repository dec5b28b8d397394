//! A guest within the keeper: its QEMU, its port, and the clients that are served one after the other.

use std::fs;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::place::Lab;
use super::port::{PERIOD, Port};
use super::power::{Power, Supply};
use crate::console::end_of_console;
use crate::guest::protocol::{Ended, Frame, Hello, Kind, Restart, Run, is_time_limit};
use crate::tool::ToolError;

/// How long a guest may take from power-on until its agent answers, with a kernel loaded by QEMU or from its disk.
const BOOT_PATIENCE: Duration = Duration::from_secs(90);
const DISK_BOOT_PATIENCE: Duration = Duration::from_secs(300);
/// How long a client may take to send its request.
const ASK_PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for QEMU's end once the guest's agent is gone; QEMU stays if only the agent has ended.
const END_PATIENCE: Duration = Duration::from_secs(2);
/// The command that reboots an installed system.
const REBOOT: [&str; 2] = ["systemctl", "reboot"];
/// A client that waits longer than this gets a message.
const SILENCE: Duration = Duration::from_secs(1);

/// A running guest.
pub(super) struct Guest {
    lab: Lab,
    name: String,
    has_disk: bool,
    power: Power,
    port: Port,
    /// Boot id of the last boot whose agent answered.
    boot_id: String,
    stop: Arc<AtomicBool>,
}

impl Guest {
    /// Powers a guest on with the command line of its QEMU; one with a disk can be rebooted. The calling thread must
    /// live as long as the guest.
    pub(super) fn start(
        lab: &Lab,
        name: &str,
        command: Command,
        has_disk: bool,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, ToolError> {
        let port = Port::new(lab.folder.join(format!("{name}.port")));
        let supply = Supply { command, log: log_path(lab, name) };
        let power = if has_disk {
            Power::on_with_reboots(supply, lab.folder.join(format!("{name}.monitor")), port.cut())?
        } else {
            Power::on(&supply)?
        };
        let (lab, name, stop) = (lab.clone(), name.to_owned(), Arc::clone(stop));
        Ok(Self { lab, name, has_disk, power, port, boot_id: String::new(), stop })
    }

    /// The control of its power.
    pub(super) fn power(&self) -> Power {
        self.power.clone()
    }

    /// Waits until its agent answers for the first time, after a power-on at `began`.
    pub(super) fn first_hello(&mut self, began: Instant) -> Result<Hello, String> {
        let patience = if self.has_disk { DISK_BOOT_PATIENCE } else { BOOT_PATIENCE };
        self.hello(began, patience, &mut |_| {})
    }

    /// Waits until its agent answers; `waiting` is called with the time waited so far.
    fn hello(
        &mut self,
        began: Instant,
        patience: Duration,
        waiting: &mut dyn FnMut(Duration),
    ) -> Result<Hello, String> {
        let Self { lab, name, power, port, stop, .. } = self;
        let hello = port.hello(&mut || {
            waiting(began.elapsed());
            if stop.load(Ordering::Acquire) {
                return Some("stopped before it was up".to_owned());
            }
            if let Some(status) = power.ended() {
                let errors = fs::read_to_string(log_path(lab, name)).unwrap_or_default();
                return Some(format!("QEMU ended ({status}){}{}", error_text(&errors), console(lab, name)));
            }
            let is_late = began.elapsed() > patience;
            is_late.then(|| format!("no answer within {} s{}", patience.as_secs(), console(lab, name)))
        })?;
        self.boot_id.clone_from(&hello.boot_id);
        Ok(hello)
    }

    /// Serves clients on a socket of the keeper, one at a time. While it serves one, it is counted in `at_work`.
    pub(super) fn serve(mut self, at_work: Arc<AtomicU32>) -> io::Result<()> {
        let listener = UnixListener::bind(self.lab.socket_path(&self.name))?;
        thread::Builder::new().name(format!("lab-{}", self.name)).spawn(move || {
            for client in listener.incoming().flatten() {
                // The next client waits until this one is done; a port that fails for good ends the service.
                at_work.fetch_add(1, Ordering::AcqRel);
                let served = self.one_client(&client);
                at_work.fetch_sub(1, Ordering::AcqRel);
                let _ = client.shutdown(Shutdown::Both);
                if served.is_err() && !self.has_disk {
                    break;
                }
            }
        })?;
        Ok(())
    }

    fn one_client(&mut self, client: &UnixStream) -> io::Result<()> {
        let mut from_client = client.try_clone()?;
        // A silent client must not block the port.
        from_client.set_read_timeout(Some(ASK_PATIENCE))?;
        let Ok(Some(order)) = Frame::read(&mut from_client) else { return Ok(()) };
        from_client.set_read_timeout(None)?;
        match order.kind {
            Kind::Run => self.run(&order, client),
            Kind::Restart => {
                let outcome = order.parse().map_err(|error| error.to_string()).and_then(|order| self.restart(order));
                let answer = match outcome {
                    Ok(hello) => Frame::json(Kind::Hello, &hello)?,
                    Err(why) => Frame::json(Kind::Ended, &Ended::NotStarted(why))?,
                };
                answer.write(&mut client.try_clone()?)
            }
            _ => Ok(()),
        }
    }

    /// Runs a program, if necessary after waiting for the guest to come up again.
    fn run(&mut self, order: &Frame, client: &UnixStream) -> io::Result<()> {
        let mut to_client = client.try_clone()?;
        if self.port.stream().is_none() {
            if !self.has_disk {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut has_notified = false;
            let mut waiting = |since: Duration| {
                if since > SILENCE && !has_notified {
                    has_notified = true;
                    let why = b"the machine is starting; waiting for it".to_vec();
                    // If the client is gone, that is noticed when its program starts.
                    let _ = Frame { kind: Kind::Waiting, content: why }.write(&mut to_client);
                }
            };
            if let Err(why) = self.hello(Instant::now(), DISK_BOOT_PATIENCE, &mut waiting) {
                return Frame::json(Kind::Ended, &Ended::NotStarted(why))?.write(&mut to_client);
            }
        }
        let Some(port) = self.port.stream() else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let outcome = forward(order, port, client);
        if outcome.is_err() {
            self.port.close();
            self.wait_for_end_of_qemu();
            let why = format!("the machine went down, or its agent ended{}", console(&self.lab, &self.name));
            // If the client is gone, nobody needs the answer.
            let _ = Frame::json(Kind::Ended, &Ended::Lost(why))?.write(&mut to_client);
        }
        outcome
    }

    /// If the machine goes down for good, QEMU ends some milliseconds after the port. Only then is the console
    /// complete, and the keeper knows that it has to be kept.
    fn wait_for_end_of_qemu(&self) {
        let began = Instant::now();
        while !self.has_disk && self.power.ended().is_none() && began.elapsed() < END_PATIENCE {
            thread::sleep(PERIOD);
        }
    }

    /// Reboots the machine and waits until its agent answers.
    fn restart(&mut self, order: Restart) -> Result<Hello, String> {
        let Restart { power_cut, within_s } = order;
        if !self.has_disk {
            return Err("it has no disk, so it would lose everything in a reboot".to_owned());
        }
        let patience = Duration::from_secs(within_s);
        let began = Instant::now();
        let before = if power_cut {
            self.power.cut();
            self.port.close();
            self.boot_id.clone()
        } else {
            if self.port.stream().is_none() {
                self.hello(began, patience, &mut |_| {})?;
            }
            let run = Run { arguments: REBOOT.map(str::to_owned).to_vec(), environment: [].into() };
            let asked = Frame::json(Kind::Run, &run).map_err(|error| error.to_string())?;
            if let Some(port) = self.port.stream() {
                // If the port has just closed, the machine is going down already.
                let _ = asked.write(port);
            }
            self.boot_id.clone()
        };
        loop {
            self.wait_until_down(began, patience)?;
            let hello = self.hello(began, patience, &mut |_| {})?;
            // With the same boot id only the agent was restarted.
            if hello.boot_id != before {
                return Ok(hello);
            }
        }
    }

    /// Waits until the machine has gone down after a reboot request.
    fn wait_until_down(&mut self, began: Instant, patience: Duration) -> Result<(), String> {
        let text = |error: io::Error| error.to_string();
        let (lab, name) = (&self.lab, &self.name);
        let Some(port) = self.port.stream() else { return Ok(()) };
        port.set_read_timeout(Some(PERIOD)).map_err(text)?;
        let mut errors = Vec::new();
        let outcome = loop {
            match Frame::read(port) {
                Ok(Some(Frame { kind: Kind::Error, content })) => errors.extend(content),
                Ok(Some(frame)) if frame.kind == Kind::Ended => match frame.parse::<Ended>().map_err(text)? {
                    // The machine goes down from now on, or going down killed the command.
                    Ended::Code(0) | Ended::Signal(_) => {}
                    other => {
                        let errors = String::from_utf8_lossy(&errors);
                        break Err(format!("{} failed ({other:?}): {}", REBOOT.join(" "), errors.trim()));
                    }
                },
                Ok(Some(_)) => {}
                Err(error) if is_time_limit(&error) => {}
                Ok(None) | Err(_) => break Ok(()),
            }
            if began.elapsed() > patience || self.stop.load(Ordering::Acquire) {
                break Err(format!("it did not go down within {} s{}", patience.as_secs(), console(lab, name)));
            }
        };
        match outcome {
            // Close the stream: it may still contain data of the old boot.
            Ok(()) => self.port.close(),
            Err(_) => port.set_read_timeout(None).map_err(text)?,
        }
        outcome
    }
}

fn log_path(lab: &Lab, name: &str) -> std::path::PathBuf {
    lab.folder.join(format!("{name}.qemu"))
}

fn error_text(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// The end of a guest's console.
fn console(lab: &Lab, name: &str) -> String {
    end_of_console(&lab.folder.join(format!("{name}.console")))
}

/// Forwards frames until the program has ended; if the client goes away, the program is killed.
fn forward(run: &Frame, port: &mut UnixStream, client: &UnixStream) -> io::Result<()> {
    let mut from_client = client.try_clone()?;
    let mut to_guest = port.try_clone()?;
    run.write(&mut to_guest)?;
    let ended = Arc::new(AtomicBool::new(false));
    let has_ended = Arc::clone(&ended);
    let reading = thread::Builder::new().name("lab-client".to_owned()).spawn(move || {
        while let Ok(Some(frame)) = Frame::read(&mut from_client) {
            if frame.write(&mut to_guest).is_err() {
                return;
            }
        }
        // The client went away first: kill its program. What an ended program left running on purpose stays.
        if !has_ended.load(Ordering::Acquire) {
            let _ = Frame { kind: Kind::Kill, content: Vec::new() }.write(&mut to_guest);
        }
    })?;
    let mut to_client = client.try_clone()?;
    while let Some(frame) = Frame::read(port)? {
        let is_last = frame.kind == Kind::Ended;
        if is_last {
            ended.store(true, Ordering::Release);
        }
        // Even if the client is gone, wait for the end of its program.
        let _ = frame.write(&mut to_client);
        if is_last {
            // An error means that the client has closed it already.
            let _ = client.shutdown(Shutdown::Both);
            let _ = reading.join();
            return Ok(());
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
