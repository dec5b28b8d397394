//! The running machine, or a tree of files that stands for one in tests.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use knobs::boot::Refusal;
use knobs::{Look, Order, Place, Reading};

use crate::Machine;
use crate::place::{self, Files, access};

/// A machine by its files.
#[derive(Debug)]
pub struct LiveMachine {
    files: Files,
    boot_id: String,
}

impl LiveMachine {
    /// The machine whose files are below `prefix`; `/` for the running one. A tree of files is never booted, so it need
    /// not have a boot id.
    ///
    /// # Errors
    /// If the kernel does not report its boot id.
    pub fn below(prefix: &Path) -> io::Result<Self> {
        let files = Files::below(prefix);
        let path = files.locate("/proc/sys/kernel/random/boot_id");
        let boot_id = match fs::read_to_string(&path) {
            Err(error) if files.is_live() => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
            read => read.unwrap_or_default(),
        };
        Ok(Self { files, boot_id: boot_id.trim().to_owned() })
    }
}

impl Look for LiveMachine {
    fn look(&mut self, place: &Place) -> Reading {
        access(place).read(&self.files)
    }

    fn refuses(&mut self, place: &Place) -> Option<Refusal> {
        place::refuses(place, &self.files)
    }
}

impl Machine for LiveMachine {
    fn read(&mut self, place: &Place) -> Reading {
        access(place).read(&self.files)
    }

    fn write(&mut self, place: &Place, order: &Order) -> Result<(), String> {
        access(place).write(&self.files, order).map_err(|error| error.to_string())
    }

    fn tidy(&mut self, place: &Place) {
        access(place).tidy(&self.files);
    }

    fn run(&mut self, command: &[&str]) -> Result<(), String> {
        if command == knobs::tuned::TAKE_NOTICE {
            return if self.files.is_live() { place::take_notice().map_err(|error| error.to_string()) } else { Ok(()) };
        }
        let Some((program, arguments)) = command.split_first() else { return Ok(()) };
        // Programs would act on the machine that runs, not on a tree of files; a service manager that does not run needs
        // no command (sd_booted(3)).
        if !self.files.is_live() || (*program == "systemctl" && !place::is_managed()) {
            return Ok(());
        }
        let output = Command::new(program)
            .args(arguments)
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            // What it has made is there after a power cut, too: it does not see to that itself.
            kernel::space::sync();
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Err(format!("{}: {}", output.status, last.trim()))
    }

    fn boot_id(&self) -> &str {
        &self.boot_id
    }
}
