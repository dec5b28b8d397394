//! Files that are there as a whole or not at all, also after a power cut.

use std::fs::{self, File};
use std::io::{self, Write as _};
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
        keep_owner(path, &file)?;
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

/// Gives a new file, which will stand in the place of an old one, the old one's permissions and owner.
///
/// # Errors
/// Where the permissions cannot be set.
pub fn keep_owner(path: &Path, file: &File) -> io::Result<()> {
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
        // A file system without owners, as on the partition of a firmware, refuses; then there is nothing to keep.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    Ok(())
}

/// Puts a file into the place of another one, which then has its name: a reader of either name sees one of the two, and never
/// none. Where the file system cannot exchange two names (NFS), the second file keeps the first's name by a link.
///
/// # Errors
/// Where the file system can do neither, or one of them is not there.
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(error) if [rustix::io::Errno::INVAL, rustix::io::Errno::NOSYS].contains(&error) => {
            exchange_by_link(one, other)
        }
        exchanged => exchanged.map_err(io::Error::from),
    }
}

fn exchange_by_link(one: &Path, other: &Path) -> io::Result<()> {
    let mut name = unfinished(other).into_os_string();
    name.push("-aside");
    let aside = PathBuf::from(name);
    // One that a kill left.
    let _ = fs::remove_file(&aside);
    fs::hard_link(other, &aside)?;
    fs::rename(one, other)?;
    fs::rename(aside, one)
}

/// What is written to see whether there is room: more than most records take.
const PROBE_BYTES: usize = 256 * 1024;

/// Whether files can be made in a folder, with room in it; nothing is left behind.
///
/// # Errors
/// Where they cannot be made, or not brought to the disk.
pub fn check_room(folder: &Path) -> io::Result<()> {
    let probe = folder.join(format!(".punctual-{}", std::process::id()));
    let written = File::create(&probe).and_then(|mut file| {
        file.write_all(&vec![1; PROBE_BYTES])?;
        file.sync_all()
    });
    // The probe may not exist at all.
    let _ = fs::remove_file(&probe);
    written
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

    #[test]
    fn two_files_exchange_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        fs::write(&one, "1").unwrap();
        assert!(exchange(&one, &other).is_err(), "the other is not there");
        fs::write(&other, "2").unwrap();
        for (way, content) in [(exchange as fn(&Path, &Path) -> _, ["2", "1"]), (exchange_by_link, ["1", "2"])] {
            way(&one, &other).unwrap();
            assert_eq!([&one, &other].map(|path| fs::read_to_string(path).unwrap()), content);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        }
    }
}
