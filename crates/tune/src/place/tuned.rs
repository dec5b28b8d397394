//! Which profile of TuneD's is active: read from its files, changed by its program.

use std::fs;
use std::io;
use std::path::Path;

use knobs::tuned::{self, TunedProfile};
use knobs::{Order, Reading, Value};

use super::{Access, Files, service};

/// What stands for no profile at all.
const OFF: &str = "off";

/// The active profile, and who chose it.
pub(super) struct ActiveProfile;

impl Access for ActiveProfile {
    fn read(&self, files: &Files) -> Reading {
        read(&files.prefix)
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        write(&files.prefix, files.is_live(), value)
    }
}

fn text(prefix: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(prefix.join(path.trim_start_matches('/'))).ok()?;
    Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// `manual realtime`, `auto balanced`, or `off`.
fn read(prefix: &Path) -> Reading {
    if !prefix.join(tuned::PROGRAM.trim_start_matches('/')).exists() {
        return Reading::Missing;
    }
    let profile = text(prefix, tuned::ACTIVE).unwrap_or_default();
    if profile.is_empty() {
        return Reading::Is(Value::text(OFF));
    }
    // Old versions have no such file; a profile is always chosen by a person there.
    let mode = text(prefix, tuned::MODE).filter(|mode| !mode.is_empty()).unwrap_or_else(|| "manual".to_owned());
    Reading::Is(Value::Text(format!("{mode} {profile}")))
}

/// The arguments of `tuned-adm` for it.
fn orders(wanted: &str) -> Vec<&str> {
    match wanted.split_once(' ') {
        Some(("auto", _)) => vec!["auto_profile"],
        Some((_, profiles)) => ["profile"].into_iter().chain(profiles.split(' ')).collect(),
        None => vec![OFF],
    }
}

/// Whether what `read` says of the profile is one that reads a file of variables.
fn reads_variables(active: &str) -> bool {
    active.split(' ').skip(1).any(|name| TunedProfile::ALL.iter().any(|one| one.name() == name))
}

/// Has the active profile read its variables again.
pub(crate) fn take_notice() -> io::Result<()> {
    let root = Path::new("/");
    let runs = service::read(root, true, tuned::UNIT) == Reading::Is(Value::text("active"));
    match read(root) {
        Reading::Is(Value::Text(active)) if runs && reads_variables(&active) => write(root, true, &Value::Text(active)),
        _ => Ok(()),
    }
}

fn write(prefix: &Path, is_live: bool, value: &Value) -> io::Result<()> {
    let Value::Text(wanted) = value else { return Ok(()) };
    if is_live {
        service::run("tuned-adm", &orders(wanted))?;
        kernel::space::sync();
        return Ok(());
    }
    // What it would write.
    let (mode, profile) = wanted.split_once(' ').unwrap_or(("manual", ""));
    let mode_file = prefix.join(tuned::MODE.trim_start_matches('/'));
    if mode_file.exists() {
        fs::write(mode_file, format!("{mode}\n"))?;
    }
    fs::write(prefix.join(tuned::ACTIVE.trim_start_matches('/')), format!("{profile}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_profile_comes_back_the_way_it_was_chosen() {
        assert_eq!(orders("manual balanced powersave"), ["profile", "balanced", "powersave"]);
        assert_eq!(orders("auto virtual-guest"), ["auto_profile"]);
        assert_eq!(orders(OFF), ["off"]);
        assert!(reads_variables("manual realtime") && reads_variables("auto balanced cpu-partitioning"));
        assert!(!reads_variables("manual balanced") && !reads_variables(OFF));
    }
}
