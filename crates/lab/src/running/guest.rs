//! A guest as the keeper holds it: its QEMU, its port, and the clients that it serves one after the other.

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

/// How long a guest may take from power to its agent's first word, with a kernel of QEMU's or from its disk.
const BOOT_PATIENCE: Duration = Duration::from_secs(90);
const DISK_BOOT_PATIENCE: Duration = Duration::from_secs(300);
/// How long a client may take to say what it wants.
const ASK_PATIENCE: Duration = Duration::from_secs(5);
/// How long a QEMU may take to end once its guest's agent is gone; where that alone has ended, it does not.
const END_PATIENCE: Duration = Duration::from_secs(2);
/// What an installed system is asked to reboot by.
const REBOOT: [&str; 2] = ["systemctl", "reboot"];
/// After which a client is told that it waits.
const SILENCE: Duration = Duration::from_secs(1);

/// One guest.
pub(super) struct Guest {
    lab: Lab,
    name: String,
    has_disk: bool,
    power: Power,
    port: Port,
    /// Of the start whose agent answered last.
    boot_id: String,
    stop: Arc<AtomicBool>,
}

impl Guest {
    /// Switches a guest on, by the command line of its QEMU; one with a disk can be started again. The calling thread
    /// must live as long as the guest shall.
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
            Power::on_and_on(supply, lab.folder.join(format!("{name}.monitor")), port.cut())?
        } else {
            Power::on(&supply)?
        };
        let (lab, name, stop) = (lab.clone(), name.to_owned(), Arc::clone(stop));
        Ok(Self { lab, name, has_disk, power, port, boot_id: String::new(), stop })
    }

    /// What switches it off.
    pub(super) fn power(&self) -> Power {
        self.power.clone()
    }

    /// Waits until its agent answers, after a power-on at `began`.
    pub(super) fn first_word(&mut self, began: Instant) -> Result<Hello, String> {
        let patience = if self.has_disk { DISK_BOOT_PATIENCE } else { BOOT_PATIENCE };
        self.hello(began, patience, &mut |_| {})
    }

    /// Waits until its agent answers; `waiting` is told for how long it has done so.
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
                let said = fs::read_to_string(log_path(lab, name)).unwrap_or_default();
                return Some(format!("QEMU ended ({status}){}{}", last_words(&said), console(lab, name)));
            }
            let is_late = began.elapsed() > patience;
            is_late.then(|| format!("no sign of life within {} s{}", patience.as_secs(), console(lab, name)))
        })?;
        self.boot_id.clone_from(&hello.boot_id);
        Ok(hello)
    }

    /// Serves its clients on a socket of the keeper's own, one at a time; meanwhile it counts among those `at_work`.
    pub(super) fn serve(mut self, at_work: Arc<AtomicU32>) -> io::Result<()> {
        let listener = UnixListener::bind(self.lab.socket_path(&self.name))?;
        thread::Builder::new().name(format!("lab-{}", self.name)).spawn(move || {
            for client in listener.incoming().flatten() {
                // The next client comes when this one's order has been done; a port that fails for good ends the service.
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
        // A client that asks for nothing must not hold the port.
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

    /// Has a program run, where need be after the guest has come up again.
    fn run(&mut self, order: &Frame, client: &UnixStream) -> io::Result<()> {
        let mut to_client = client.try_clone()?;
        if self.port.stream().is_none() {
            if !self.has_disk {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut told = false;
            let mut waiting = |since: Duration| {
                if since > SILENCE && !told {
                    told = true;
                    let why = b"the machine is starting; waiting for it".to_vec();
                    // A client that is gone is noticed when its program begins.
                    let _ = Frame { kind: Kind::Waiting, content: why }.write(&mut to_client);
                }
            };
            if let Err(why) = self.hello(Instant::now(), DISK_BOOT_PATIENCE, &mut waiting) {
                return Frame::json(Kind::Ended, &Ended::NotStarted(why))?.write(&mut to_client);
            }
        }
        let Some(port) = self.port.stream() else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let outcome = hand_through(order, port, client);
        if outcome.is_err() {
            self.port.close();
            self.wait_for_its_end();
            let why = format!("the machine went down, or its agent ended{}", console(&self.lab, &self.name));
            // One that is gone needs no answer.
            let _ = Frame::json(Kind::Ended, &Ended::Lost(why))?.write(&mut to_client);
        }
        outcome
    }

    /// Where the machine goes down for good, its QEMU ends some milliseconds after its port: its console is whole then,
    /// and the keeper knows that it is to be kept.
    fn wait_for_its_end(&self) {
        let began = Instant::now();
        while !self.has_disk && self.power.ended().is_none() && began.elapsed() < END_PATIENCE {
            thread::sleep(PERIOD);
        }
    }

    /// Starts the machine again and waits until its agent answers.
    fn restart(&mut self, order: Restart) -> Result<Hello, String> {
        let Restart { power_cut, within_s } = order;
        if !self.has_disk {
            return Err("it has no disk, so nothing of it would be there after a restart".to_owned());
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
                // One that has just ended is as good as one that will.
                let _ = asked.write(port);
            }
            self.boot_id.clone()
        };
        loop {
            self.goes_down(began, patience)?;
            let hello = self.hello(began, patience, &mut |_| {})?;
            // Else it was its agent alone that started again.
            if hello.boot_id != before {
                return Ok(hello);
            }
        }
    }

    /// Waits until the machine has gone down, which it was asked to.
    fn goes_down(&mut self, began: Instant, patience: Duration) -> Result<(), String> {
        let text = |error: io::Error| error.to_string();
        let (lab, name) = (&self.lab, &self.name);
        let Some(port) = self.port.stream() else { return Ok(()) };
        port.set_read_timeout(Some(PERIOD)).map_err(text)?;
        let mut said = Vec::new();
        let outcome = loop {
            match Frame::read(port) {
                Ok(Some(Frame { kind: Kind::Error, content })) => said.extend(content),
                Ok(Some(frame)) if frame.kind == Kind::Ended => match frame.parse::<Ended>().map_err(text)? {
                    // It goes down from now on, or is killed by going down.
                    Ended::Code(0) | Ended::Signal(_) => {}
                    other => {
                        let said = String::from_utf8_lossy(&said);
                        break Err(format!("{} did not work ({other:?}): {}", REBOOT.join(" "), said.trim()));
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
            // A stream on which something may still come is of no use.
            Ok(()) => self.port.close(),
            Err(_) => port.set_read_timeout(None).map_err(text)?,
        }
        outcome
    }
}

fn log_path(lab: &Lab, name: &str) -> std::path::PathBuf {
    lab.folder.join(format!("{name}.qemu"))
}

fn last_words(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// The end of a guest's console.
fn console(lab: &Lab, name: &str) -> String {
    end_of_console(&lab.folder.join(format!("{name}.console")))
}

/// Hands frames through until the program has ended; a client that goes away ends its program.
fn hand_through(run: &Frame, port: &mut UnixStream, client: &UnixStream) -> io::Result<()> {
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
        // Gone before its program: so shall that be. What a program left running on purpose stays.
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
        // The program of a client that is gone still has to be waited for.
        let _ = frame.write(&mut to_client);
        if is_last {
            // A client that is gone has shut it already.
            let _ = client.shutdown(Shutdown::Both);
            let _ = reading.join();
            return Ok(());
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
