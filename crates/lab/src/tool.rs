//! Runs programs of the host.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Why a program of the host failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not installed.
    #[error("{program} is not installed; install it with: apt-get install {package}")]
    Missing {
        /// Name of the program.
        program: String,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// It could not be started.
    #[error("cannot start {program}: {error}")]
    Start {
        /// Name of the program.
        program: String,
        /// The underlying error.
        error: io::Error,
    },
    /// It exited with an error.
    #[error("{program} failed ({status}){what}: {message}")]
    Failed {
        /// Name of the program.
        program: String,
        /// Its exit status, as text.
        status: String,
        /// What it was doing, as ` while …`; empty if unknown.
        what: String,
        /// Its error messages: lines of apt that begin with `E:`, otherwise the last three lines.
        message: String,
    },
}

/// The Debian package of each program that the lab may start.
const PACKAGES: [(&str, &str); 13] = [
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("qemu-system-arm", "qemu-system-arm"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
    ("gzip", "gzip"),
    ("make", "make"),
    ("gcc", "gcc"),
    ("mmdebstrap", "mmdebstrap"),
    ("mke2fs", "e2fsprogs"),
    ("qemu-img", "qemu-utils"),
    ("unshare", "util-linux"),
];

/// Runs a program to its end and returns its output. `what` describes the task for error messages.
///
/// # Errors
/// If it is missing, cannot be started, or fails; with its error messages.
pub fn run(command: &mut Command, what: &str) -> Result<Output, ToolError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(&program, error))?;
    if output.status.success() {
        return Ok(output);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    // apt marks errors with "E:"; other programs print the reason last.
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("E:")).collect();
    let reasons = if errors.is_empty() { &lines[lines.len().saturating_sub(3)..] } else { errors.as_slice() };
    Err(ToolError::Failed {
        program,
        status: output.status.to_string(),
        what: if what.is_empty() { String::new() } else { format!(" while {what}") },
        message: reasons.join("; "),
    })
}

/// The error for a program that did not start, with the Debian package that contains it.
#[must_use]
pub fn not_started(program: &str, error: io::Error) -> ToolError {
    let name = Path::new(program).file_name().map_or(program, |name| name.to_str().unwrap_or(program));
    match PACKAGES.iter().find(|(known, _)| *known == name) {
        Some((_, package)) if error.kind() == io::ErrorKind::NotFound => {
            ToolError::Missing { program: name.to_owned(), package }
        }
        _ => ToolError::Start { program: program.to_owned(), error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package_and_a_failing_one_its_error() {
        let missing = not_started("/nowhere/xz", io::ErrorKind::NotFound.into()).to_string();
        assert_eq!(missing, "xz is not installed; install it with: apt-get install xz-utils");
        let failed = run(Command::new("sh").args(["-c", "echo W: noise >&2; echo E: no luck >&2; exit 3"]), "trying");
        assert_eq!(failed.unwrap_err().to_string(), "sh failed (exit status: 3) while trying: E: no luck");
    }
}
