//! What a unit of an installed system runs: the little that a node asks for, then the agent.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::init::{GUEST_FILE, GuestFile, TROUBLES_FILE};

/// Where that unit has unpacked what came with this program.
const FOLDER: &str = "/run/punctual-lab";
/// Where an installed system has its programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

/// Sets the machine up as its node's description says, once after each start, and runs the agent; where that ends, the
/// unit starts it again.
///
/// # Errors
/// Where there is no port, or it fails.
pub fn installed() -> io::Result<()> {
    if !Path::new(TROUBLES_FILE).exists() {
        // Told by the agent.
        let _ = fs::write(TROUBLES_FILE, set_up().join("\n"));
    }
    crate::agent()
}

/// Does all of it and tells what could not be done.
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
