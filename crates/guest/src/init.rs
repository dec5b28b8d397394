//! The first process of a guest: sets the machine up, starts the agent, takes leave of orphans, switches off.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::AGENT_COMMAND;
use crate::interfaces::{self, Interface};

/// Where the image keeps what the first process is to do.
pub const GUEST_FILE: &str = "/lab/guest.json";
/// Where it leaves what went wrong, for the agent to tell.
pub(crate) const TROUBLES_FILE: &str = "/run/lab-troubles";

/// What the first process is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestFile {
    /// `uname -n`.
    pub host_name: String,
    /// Paths of modules in loading order, with their parameters.
    pub modules: Vec<(String, String)>,
    /// Its network interfaces, beside the loopback.
    #[serde(default)]
    pub interfaces: Vec<Interface>,
    /// Commands for the shell, run one after the other before the agent starts.
    pub setup: Vec<String>,
}

impl GuestFile {
    /// Reads it; what is wrong with it is a trouble.
    pub(super) fn read(path: &Path, troubles: &mut Vec<String>) -> Self {
        let file = fs::read(path).map_err(|error| error.to_string());
        let file = file.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        file.unwrap_or_else(|error| {
            troubles.push(format!("{}: {error}", path.display()));
            Self::default()
        })
    }

    /// Runs the commands for the shell, which looks for programs in `path`.
    pub(super) fn run_setup(&self, path: &str, troubles: &mut Vec<String>) {
        for command in &self.setup {
            let ended = Command::new("/bin/sh").args(["-c", command]).env("PATH", path).status();
            match ended {
                Ok(status) if status.success() => {}
                Ok(status) => troubles.push(format!("'{command}': {status}")),
                Err(error) => troubles.push(format!("'{command}': {error}")),
            }
        }
    }
}

/// File systems of the kernel's own that a grown system has too; some kernels lack some.
const MOUNTS: [(&str, &str); 9] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("debugfs", "/sys/kernel/debug"),
];

/// Runs as the first process of a guest; returns only where even switching off failed.
///
/// # Errors
/// Where the machine cannot be switched off.
pub fn init() -> io::Result<()> {
    let troubles = set_up();
    // Told by the agent; without it, on the console.
    let _ = fs::write(TROUBLES_FILE, troubles.join("\n"));
    let agent =
        Command::new("/proc/self/exe").arg(AGENT_COMMAND).env("PATH", "/bin:/usr/bin").env("HOME", "/root").spawn();
    match agent {
        // All children are waited for alike, so only the id of this one matters.
        Ok(agent) => while !matches!(kernel::boot::wait_for_any(), Ok(Some(ended)) if ended == agent.id()) {},
        Err(error) => eprintln!("punctual lab: the agent does not start: {error}; {}", troubles.join("; ")),
    }
    kernel::boot::power_off()
}

/// Does all of it and tells what could not be done.
fn set_up() -> Vec<String> {
    let mut troubles = Vec::new();
    for (kind, at) in MOUNTS {
        let at = Path::new(at);
        // A kernel without it has no folder for it either, and none can be made there.
        let _ = fs::create_dir_all(at);
        if let Err(error) = kernel::boot::mount(kind, at) {
            troubles.push(format!("{kind} on {}: {error}", at.display()));
        }
    }
    // In a place of its own since 4.1; older tools look inside debugfs.
    if let Err(error) = kernel::boot::mount("tracefs", Path::new("/sys/kernel/tracing")) {
        troubles.push(format!("tracefs: {error}"));
    }
    let file = GuestFile::read(Path::new(GUEST_FILE), &mut troubles);
    if let Err(error) = kernel::boot::set_host_name(&file.host_name) {
        troubles.push(format!("host name: {error}"));
    }
    for (path, parameters) in &file.modules {
        let parameters = CString::new(parameters.as_str()).unwrap_or_default();
        if let Err(error) = kernel::boot::load_module(Path::new(path), &parameters) {
            troubles.push(format!("module {path}: {error}"));
        }
    }
    interfaces::set_up(&file.interfaces, &mut troubles);
    file.run_setup("/bin:/usr/bin", &mut troubles);
    troubles
}
