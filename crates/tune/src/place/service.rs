//! Services of systemd's, or of a tree of files: `punctual/services/UNIT` there says `active` or `inactive`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use knobs::{Reading, Value};

use super::{Access, Files};

const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A unit that runs or not.
pub(super) struct Service<'a> {
    pub(super) unit: &'a str,
}

impl Access for Service<'_> {
    fn read(&self, files: &Files) -> Reading {
        read(&files.prefix, files.is_live(), self.unit)
    }

    fn write(&self, files: &Files, value: &Value) -> io::Result<()> {
        write(&files.prefix, files.is_live(), self.unit, value)
    }
}

/// Whether systemd runs (sd_booted(3)).
pub(crate) fn is_managed() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

fn noted(prefix: &Path, unit: &str) -> PathBuf {
    prefix.join("punctual/services").join(unit)
}

/// Of two lines, `LoadState=` and `ActiveState=`, whether it is there and runs (systemctl(1), org.freedesktop.systemd1(5)).
fn state(text: &str) -> Reading {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match (value("LoadState"), value("ActiveState")) {
        (Some("not-found"), _) => Reading::Missing,
        (_, Some("active" | "activating" | "reloading")) => Reading::Is(Value::text("active")),
        (_, Some("inactive" | "failed" | "deactivating")) => Reading::Is(Value::text("inactive")),
        _ => Reading::Failed(format!("systemctl says {:?}", text.trim())),
    }
}

pub(super) fn read(prefix: &Path, is_live: bool, unit: &str) -> Reading {
    if !is_live {
        return match fs::read_to_string(noted(prefix, unit)) {
            Ok(text) => Reading::Is(Value::text(text.trim())),
            Err(_) => Reading::Missing,
        };
    }
    if !is_managed() {
        return Reading::Missing;
    }
    match systemctl(&["show", "--property=LoadState", "--property=ActiveState", unit]) {
        Ok(text) => state(&text),
        Err(why) => Reading::Failed(why.to_string()),
    }
}

fn write(prefix: &Path, is_live: bool, unit: &str, value: &Value) -> io::Result<()> {
    let Value::Text(wanted) = value else { return Ok(()) };
    if !is_live {
        return fs::write(noted(prefix, unit), format!("{wanted}\n"));
    }
    systemctl(&[if wanted == "active" { "start" } else { "stop" }, unit]).map(drop)
}

fn systemctl(arguments: &[&str]) -> io::Result<String> {
    run("systemctl", arguments)
}

/// What a program of the system's prints, or why not.
pub(super) fn run(program: &str, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new(program).args(arguments).env("PATH", PROGRAMS).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(io::Error::other(format!("{program}: {}: {}", output.status, last.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_systemctl_says_is_one_of_two_or_nothing() {
        let is = |text: &str| Reading::Is(Value::text(text));
        assert_eq!(state("LoadState=loaded\nActiveState=active\n"), is("active"));
        assert_eq!(state("ActiveState=failed\nLoadState=loaded\n"), is("inactive"));
        assert_eq!(state("LoadState=not-found\nActiveState=inactive\n"), Reading::Missing);
        assert!(matches!(state(""), Reading::Failed(_)));
    }
}
