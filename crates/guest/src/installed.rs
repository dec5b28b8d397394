//! What the systemd unit of an installed system runs: the node's small setup, then the agent.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::init::{GUEST_FILE, GuestFile, TROUBLES_FILE};

/// The folder into which the unit has unpacked the archive that came with this program.
const FOLDER: &str = "/run/punctual-lab";
/// `PATH` of an installed system.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

/// Sets the machine up as its node's description says, once after each boot, and runs the agent. If the agent ends, the
/// unit starts it again.
///
/// # Errors
/// If there is no port, or it fails.
pub fn installed() -> io::Result<()> {
    if !Path::new(TROUBLES_FILE).exists() {
        // The agent reports them.
        let _ = fs::write(TROUBLES_FILE, set_up().join("\n"));
    }
    crate::agent()
}

/// Sets the machine up; returns what failed, one text each.
fn set_up() -> Vec<String> {
    let mut troubles = Vec::new();
    let file = GuestFile::read(Path::new(&format!("{FOLDER}{GUEST_FILE}")), &mut troubles);
    if let Err(error) = kernel::boot::set_host_name(&file.host_name) {
        troubles.push(format!("host name: {error}"));
    }
    for (name, _) in &file.modules {
        let ended = Command::new("modprobe").arg("--").arg(name).env("PATH", PATH).output();
        match ended {
            Ok(output) if output.status.success() => {}
            Ok(output) => troubles.push(format!("module {name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
            Err(error) => troubles.push(format!("module {name}: {error}")),
        }
    }
    crate::interfaces::set_up(&file.interfaces, &mut troubles);
    file.run_setup(PATH, &mut troubles);
    troubles
}
