//! Programs of the host that the lab starts.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Why a program of the host did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is not installed.
    #[error("{program} is not installed; get it with: apt-get install {package}")]
    Missing {
        /// Its name.
        program: String,
        /// The Debian package that holds it.
        package: &'static str,
    },
    /// It could not be started.
    #[error("cannot start {program}: {error}")]
    Start {
        /// Its name.
        program: String,
        /// The reason.
        error: io::Error,
    },
    /// It failed.
    #[error("{program} failed ({status}){what}: {said}")]
    Failed {
        /// Its name.
        program: String,
        /// Its exit status in words.
        status: String,
        /// What it was to do.
        what: String,
        /// Its last words.
        said: String,
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

/// Runs a program to its end and gives what it printed.
///
/// # Errors
/// Where it is missing, cannot be started, or fails; with its last words.
pub fn run(command: &mut Command, what: &str) -> Result<Output, ToolError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(&program, error))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // The lines that name the reason, else the last ones.
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("E:")).collect();
    let told = if errors.is_empty() { &lines[lines.len().saturating_sub(3)..] } else { errors.as_slice() };
    Err(ToolError::Failed {
        program,
        status: output.status.to_string(),
        what: if what.is_empty() { String::new() } else { format!(" while {what}") },
        said: told.join("; "),
    })
}

/// The error of a program that did not start, with the package that holds it.
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
    fn a_missing_program_names_its_package_and_a_failing_one_its_words() {
        let missing = not_started("/nowhere/xz", io::ErrorKind::NotFound.into()).to_string();
        assert_eq!(missing, "xz is not installed; get it with: apt-get install xz-utils");
        let failed = run(Command::new("sh").args(["-c", "echo W: noise >&2; echo E: no luck >&2; exit 3"]), "trying");
        assert_eq!(failed.unwrap_err().to_string(), "sh failed (exit status: 3) while trying: E: no luck");
    }
}
