//! Services of systemd's, or of a tree of files: `punctual/services/UNIT` there says `active` or `inactive`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use knobs::{Order, Reading, Value};

use super::{Access, Files};

/// How long one of our services has to run until it counts as started.
const SETTLED: Duration = Duration::from_secs(2);
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A unit that runs or not.
pub(super) struct Service<'a> {
    pub(super) unit: &'a str,
}

impl Access for Service<'_> {
    fn read(&self, files: &Files) -> Reading {
        read(&files.prefix, files.is_live(), self.unit)
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
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
            Err(_) if knobs::time::is_own_unit(unit) => Reading::Is(Value::text("inactive")),
            Err(_) => Reading::Missing,
        };
    }
    if !is_managed() {
        return Reading::Missing;
    }
    match systemctl(&["show", "--property=LoadState", "--property=ActiveState", unit]) {
        // One of our own is written when it is needed; before, it does not run.
        Ok(text) if knobs::time::is_own_unit(unit) && state(&text) == Reading::Missing => {
            Reading::Is(Value::text("inactive"))
        }
        Ok(text) => state(&text),
        Err(why) => Reading::Failed(why.to_string()),
    }
}

fn write(prefix: &Path, is_live: bool, unit: &str, value: &Value) -> io::Result<()> {
    let Value::Text(wanted) = value else { return Ok(()) };
    if !is_live {
        let path = noted(prefix, unit);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        return fs::write(path, format!("{wanted}\n"));
    }
    if wanted != "active" {
        return systemctl(&["stop", unit]).map(drop);
    }
    systemctl(&["start", unit])?;
    if knobs::time::is_own_unit(unit) { stays_active(unit) } else { Ok(()) }
}

/// Whether a service that was started just now still runs after a while: one that refuses its configuration ends at once, and
/// is started again and again.
fn stays_active(unit: &str) -> io::Result<()> {
    let end = Instant::now() + SETTLED;
    while Instant::now() < end {
        std::thread::sleep(SETTLED / 10);
        let text = systemctl(&["show", "--property=ActiveState", "--property=NRestarts", unit])?;
        if !(text.contains("ActiveState=active\n") && text.contains("NRestarts=0\n")) {
            // What its own processes said, without the service manager's words about them.
            let of_unit = format!("_SYSTEMD_UNIT={unit}");
            let said = run("journalctl", &[&of_unit, "--lines=2", "--output=cat", "--no-pager"]).unwrap_or_default();
            let words: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let words = if words.is_empty() { "it said nothing".to_owned() } else { words.join("; ") };
            let why = format!("{unit} ended right after its start: {words}; 'journalctl -u {unit}' has the rest");
            return Err(io::Error::other(why));
        }
    }
    Ok(())
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
