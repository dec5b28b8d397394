//! The first process of a guest: sets the machine up, starts the agent, reaps orphans, powers off.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::AGENT_COMMAND;
use crate::interfaces::{self, Interface};

/// The file of the image that describes what the first process has to do (JSON, [`GuestFile`]).
pub const GUEST_FILE: &str = "/lab/guest.json";
/// The file in which the first process lists what went wrong, for the agent to report.
pub(crate) const TROUBLES_FILE: &str = "/run/lab-troubles";

/// What the first process has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestFile {
    /// Host name, as `uname -n` prints it.
    pub host_name: String,
    /// Paths of kernel modules in loading order, each with its parameters.
    pub modules: Vec<(String, String)>,
    /// Network interfaces to set up, beside the loopback.
    #[serde(default)]
    pub interfaces: Vec<Interface>,
    /// Shell commands, run one after the other before the agent starts.
    pub setup: Vec<String>,
}

impl GuestFile {
    /// Reads the file; errors are added to `troubles`.
    pub(super) fn read(path: &Path, troubles: &mut Vec<String>) -> Self {
        let file = fs::read(path).map_err(|error| error.to_string());
        let file = file.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        file.unwrap_or_else(|error| {
            troubles.push(format!("{}: {error}", path.display()));
            Self::default()
        })
    }

    /// Runs the shell commands with `path` as their `PATH`; failures are added to `troubles`.
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

/// Kernel file systems that a distribution also mounts; some kernels lack some of them.
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

/// Runs as the first process of a guest; returns only if even powering off failed.
///
/// # Errors
/// If the machine cannot be powered off.
pub fn init() -> io::Result<()> {
    let troubles = set_up();
    // The agent reports them; if it does not start, they go to the console.
    let _ = fs::write(TROUBLES_FILE, troubles.join("\n"));
    let agent =
        Command::new("/proc/self/exe").arg(AGENT_COMMAND).env("PATH", "/bin:/usr/bin").env("HOME", "/root").spawn();
    match agent {
        // Orphans are reaped here too, so compare the process id.
        Ok(agent) => while !matches!(kernel::boot::wait_for_any(), Ok(Some(ended)) if ended == agent.id()) {},
        Err(error) => eprintln!("punctual lab: the agent does not start: {error}; {}", troubles.join("; ")),
    }
    kernel::boot::power_off()
}

/// Sets the machine up; returns what failed, one text each.
fn set_up() -> Vec<String> {
    let mut troubles = Vec::new();
    for (kind, at) in MOUNTS {
        let at = Path::new(at);
        // On sysfs this fails if the kernel lacks the file system: then the mount reports it.
        let _ = fs::create_dir_all(at);
        if let Err(error) = kernel::boot::mount(kind, at) {
            troubles.push(format!("{kind} on {}: {error}", at.display()));
        }
    }
    // Since Linux 4.1 tracefs has its own mount point; older tools look inside debugfs.
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
