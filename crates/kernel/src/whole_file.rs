//! Files that are there as a whole or not at all, also after a power cut.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Writes a file beside its place, brings it to the disk, and puts it into its place: a reader sees the old one or the new
/// one, and never half of it. Who may read an old one, and whose it is, stays.
///
/// `part` is the place beside it at which it is written: [`unfinished`] where one that a kill left has to be found again, a
/// name with this process's number where several may write the same file.
///
/// # Errors
/// Where it cannot be made, written or renamed; nothing of it is left then, and the old one is untouched.
pub fn replace(path: &Path, part: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let written = File::create(part).and_then(|mut file| {
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
            // A file system without owners, as on the partition of a firmware, refuses; then there is nothing to keep.
            let _ = std::os::unix::fs::fchown(&file, Some(old.uid()), Some(old.gid()));
        }
        write(&mut file)?;
        file.sync_all()?;
        fs::rename(part, path)
    });
    if written.is_err() {
        // It may not exist at all.
        let _ = fs::remove_file(part);
    }
    written.and_then(|()| sync_folder(path))
}

/// Brings the name of a file to the disk: it is there when its folder is.
///
/// # Errors
/// Where the folder cannot be opened, or the disk fails.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Where a file is written until it is whole: beside its place, under a name that no reader of drop-ins takes for one.
#[must_use]
pub fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.punctual-new"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_reader_sees_the_old_one_or_the_new_one_and_what_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("setting");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let part = unfinished(&path);
        let failed = replace(&path, &part, |file| {
            file.write_all(b"ha")?;
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            Err(io::Error::other("no room"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no room");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        replace(&path, &part, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
