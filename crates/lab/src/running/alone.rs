//! A guest that its caller holds: without a keeper and without a lab, and gone with the thread that started it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::port::Port;
use super::qemu;
use crate::console::end_of_console;
use crate::guest::PORT_NAME;
use crate::guest::protocol::{Ended, Frame, Kind, Run, is_time_limit};
use crate::machine::Architecture;
use crate::prepare::KernelBoot;
use crate::tool::{self, ToolError};

/// How long the guest may take from power-on until its agent answers.
const BOOT_PATIENCE: Duration = Duration::from_secs(120);

/// Why a guest did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum AloneError {
    /// QEMU is missing or does not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file of the host cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
    /// The guest does not come up, or went down.
    #[error("guest {name}: {why}")]
    Guest {
        /// Name of the guest.
        name: String,
        /// The reason, with the end of its console.
        why: String,
    },
    /// A command failed in the guest.
    #[error("guest {name}: '{command}' failed ({ended}): {errors}")]
    Command {
        /// Name of the guest.
        name: String,
        /// The shell command.
        command: String,
        /// How it ended: its exit code or signal, as text.
        ended: String,
        /// What it wrote to its standard error.
        errors: String,
    },
}

/// What the machine of a guest has.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory (MiB).
    pub memory_mib: u32,
    /// QEMU's arguments for disks and network cards.
    pub devices: Vec<String>,
}

/// A running guest (amd64). Dropping it cuts its power.
pub struct AloneGuest {
    name: String,
    qemu: Child,
    port: Port,
    console: PathBuf,
}

impl AloneGuest {
    /// Starts a guest and waits until its agent answers. `folder` gets its console, its errors and the socket of its port; `name` is
    /// part of their names. The guest ends with the calling thread.
    ///
    /// # Errors
    /// If QEMU cannot be started, the guest does not come up within two minutes, or its first process failed to set something up.
    pub fn start(boot: &KernelBoot, hardware: &Hardware, folder: &Path, name: &str) -> Result<Self, AloneError> {
        let at = |ending: &str| folder.join(format!("{name}.{ending}"));
        let machine = Architecture::Amd64.machine();
        let (console, socket, log) = (at("console"), at("port"), at("qemu"));
        let mut command = Command::new(machine.qemu);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]).args(machine.arguments);
        command.args(["-accel", "tcg,thread=multi"]);
        qemu::with_kernel(
            &mut command,
            boot,
            &[machine.boot, "quiet", qemu::BOOT].join(" "),
            &console.display().to_string(),
        );
        command
            .args(["-smp", &hardware.cpus.to_string(), "-m", &hardware.memory_mib.to_string()])
            .args(["-name", &format!("punctual-{name}"), "-device", machine.serial_bus])
            .args(["-chardev", &format!("socket,id=lab,path={},server=on,wait=off", socket.display())])
            .args(["-device", &format!("virtserialport,id=lab-port,chardev=lab,name={PORT_NAME}")])
            .args(&hardware.devices);
        let errors = File::create(&log).map_err(|error| AloneError::File { path: log.clone(), error })?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let qemu =
            kernel::process::spawn_bound(&mut command).map_err(|error| tool::not_started(machine.qemu, error))?;
        let mut guest = Self { name: name.to_owned(), qemu, port: Port::new(socket), console };
        guest.wait_until_up(&log)?;
        Ok(guest)
    }

    fn wait_until_up(&mut self, log: &Path) -> Result<(), AloneError> {
        let began = Instant::now();
        let Self { qemu, port, console, .. } = self;
        let hello = port.hello(&mut || {
            if let Ok(Some(status)) = qemu.try_wait() {
                let errors = fs::read_to_string(log).unwrap_or_default();
                return Some(format!("QEMU ended ({status}): {}{}", errors.trim(), end_of_console(console)));
            }
            let is_late = began.elapsed() > BOOT_PATIENCE;
            is_late.then(|| format!("no answer within {} s{}", BOOT_PATIENCE.as_secs(), end_of_console(console)))
        });
        let troubles = hello.map_err(|why| self.failed(why))?.troubles;
        if troubles.is_empty() { Ok(()) } else { Err(self.failed(troubles.join("; "))) }
    }

    fn failed(&self, why: String) -> AloneError {
        AloneError::Guest { name: self.name.clone(), why }
    }

    /// Runs a shell command to its end; `output` receives its standard output. If nothing is heard of it for `patience`, it has failed.
    ///
    /// # Errors
    /// If it fails, takes too long, or the guest goes down.
    pub fn run(&mut self, command: &str, patience: Duration, output: &mut dyn Write) -> Result<(), AloneError> {
        let mut errors = Vec::new();
        let ended = self.exchange(command, patience, output, &mut errors).map_err(|error| {
            let why = if is_time_limit(&error) {
                format!("'{command}' is silent for {} s", patience.as_secs())
            } else {
                format!("it went down during '{command}' ({error})")
            };
            self.failed(format!("{why}{}", end_of_console(&self.console)))
        })?;
        if ended == Ended::Code(0) {
            return Ok(());
        }
        let ended = match ended {
            Ended::Code(code) => format!("exit code {code}"),
            Ended::Signal(number) => format!("signal {number}"),
            Ended::NotStarted(why) | Ended::Lost(why) => why,
        };
        let errors = String::from_utf8_lossy(&errors).trim().to_owned();
        Err(AloneError::Command { name: self.name.clone(), command: command.to_owned(), ended, errors })
    }

    fn exchange(
        &mut self,
        command: &str,
        patience: Duration,
        output: &mut dyn Write,
        errors: &mut Vec<u8>,
    ) -> io::Result<Ended> {
        let stream = self.port.stream().ok_or(io::ErrorKind::NotConnected)?;
        stream.set_read_timeout(Some(patience))?;
        let run = Run { arguments: ["/bin/sh", "-c", command].map(str::to_owned).to_vec(), environment: [].into() };
        Frame::json(Kind::Run, &run)?.write(stream)?;
        // Its standard input is empty.
        Frame { kind: Kind::Input, content: Vec::new() }.write(stream)?;
        loop {
            let frame = Frame::read(stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
            match frame.kind {
                Kind::Output => output.write_all(&frame.content)?,
                Kind::Error => errors.extend(frame.content),
                Kind::Ended => return frame.parse(),
                Kind::Hello | Kind::Run | Kind::Input | Kind::Kill | Kind::Restart | Kind::Waiting => {}
            }
        }
    }

    /// Cuts its power and waits until QEMU is gone.
    pub fn cut_power(&mut self) {
        // An error means that it has ended already.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

impl Drop for AloneGuest {
    fn drop(&mut self) {
        self.cut_power();
    }
}
