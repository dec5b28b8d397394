//! Files that must not be lost: checked before measuring, and written somewhere whatever happens.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use terminal::output;

/// Whether a file can be made here, with room in it.
///
/// Nothing is left behind, and an existing file is not touched.
pub(crate) fn check_file(file: &Path) -> anyhow::Result<()> {
    if file.is_dir() {
        bail!("{} is a folder: name a file in it", file.display());
    }
    if file.exists() {
        OpenOptions::new().append(true).open(file).with_context(|| format!("cannot write to {}", file.display()))?;
    }
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    check_folder(folder)
}

/// Whether files can be made in a folder, with room in it.
pub(crate) fn check_folder(folder: &Path) -> anyhow::Result<()> {
    kernel::whole_file::check_room(folder)
        .with_context(|| format!("cannot write to {} (name another place with -o)", folder.display()))
}

/// Where a file went.
pub(crate) struct Saved {
    /// The path that was written.
    pub(crate) path: PathBuf,
    /// Why it is not the one that was asked.
    instead_of: Option<(PathBuf, io::Error)>,
}

impl Saved {
    /// In the place that was asked.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path, instead_of: None }
    }

    /// Says where the file went, and why where it is not the place that was asked.
    pub(crate) fn announce(&self) {
        if let Some((wanted, error)) = &self.instead_of {
            output::warning(&format!("could not write {}: {error}", wanted.display()));
            output::note(&format!("written to {} instead", self.path.display()));
        } else {
            output::note(&format!("written to {}", self.path.display()));
        }
    }
}

/// Writes a file; where that fails, to the first of some other places that takes it, and if none does, to standard output.
pub(crate) fn write_or_fall_back(file: &Path, bytes: &[u8]) -> anyhow::Result<Saved> {
    let error = match write_to_a_disk(file, bytes) {
        Ok(saved) => return Ok(saved),
        Err(error) => error,
    };
    if std::str::from_utf8(bytes).is_err() && output::stdout_is_terminal() {
        return Err(error)
            .with_context(|| format!("could not write {}, nor to any other place; nothing is kept", file.display()));
    }
    // No disk takes it: standard output is the last place where it can be kept.
    output::bytes(bytes);
    Err(error).with_context(|| {
        format!("could not write {}, nor to any other place; the file went to standard output", file.display())
    })
}

/// Writes a file; where that fails, to the first of some other places that takes it.
#[cfg(feature = "packet")]
pub(crate) fn write_elsewhere_if_need_be(file: &Path, bytes: &[u8]) -> anyhow::Result<Saved> {
    write_to_a_disk(file, bytes)
        .with_context(|| format!("could not write {}, nor to any other place; it is not kept", file.display()))
}

fn write_to_a_disk(file: &Path, bytes: &[u8]) -> io::Result<Saved> {
    let Err(error) = write(file, bytes) else {
        return Ok(Saved { path: file.to_owned(), instead_of: None });
    };
    let name = file.file_name().map_or_else(|| "record.json".into(), PathBuf::from);
    for folder in fallbacks() {
        let unique = folder.join(format!("{}-{}", std::process::id(), name.display()));
        if fs::create_dir_all(&folder).and_then(|()| write(&unique, bytes)).is_ok() {
            return Ok(Saved { path: unique, instead_of: Some((file.to_owned(), error)) });
        }
    }
    Err(error)
}

/// Written beside and renamed, so that a reader never sees half a file.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if file.exists() && !file.is_file() {
        // A pipe or a device: nothing to rename.
        return OpenOptions::new().write(true).open(file)?.write_all(bytes);
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = file.with_file_name(name);
    kernel::whole_file::replace(file, &part, |out| out.write_all(bytes))
}

fn fallbacks() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let state = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| home.map(|home| home.join(".local/state")))
        .map(|state| state.join("punctual"));
    state.into_iter().chain(["/var/tmp/punctual", "/tmp/punctual", "/dev/shm/punctual"].map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_file_survives_the_check() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("record.json");
        fs::write(&file, "precious").unwrap();
        check_file(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "the probe is gone");
    }

    #[test]
    fn a_place_that_takes_nothing_is_told_before_and_escaped_after() {
        let dir = tempfile::tempdir().unwrap();
        let nowhere = dir.path().join("absent/record.json");
        assert!(check_file(&nowhere).unwrap_err().to_string().contains("absent"));
        let saved = write_or_fall_back(&nowhere, b"kept").unwrap();
        assert!(saved.instead_of.is_some());
        assert_eq!(fs::read(&saved.path).unwrap(), b"kept");
        fs::remove_file(&saved.path).unwrap();
    }

    #[test]
    fn a_full_disk_is_told() {
        // /dev/full takes a file name like any other and has room for nothing.
        let saved = write_or_fall_back(Path::new("/dev/full"), b"kept").unwrap();
        assert_eq!(fs::read(&saved.path).unwrap(), b"kept");
        fs::remove_file(&saved.path).unwrap();
    }
}
