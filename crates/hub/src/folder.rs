//! The folder in which a hub keeps everything: its keys, its store, links and sessions. Only its user reads it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The store's file.
pub const STORE: &str = "store.sqlite";
/// Where the hub serves, for the commands: it is there once it has served.
pub const ADDRESSES: &str = "addresses.json";
/// The folder of the service, as its unit has it (`StateDirectory=`).
const SERVICE: &str = "/var/lib/punctual-hub";
/// It is there while a backup is restored.
const UNFINISHED: &str = "restore-unfinished";

/// Where a hub keeps everything.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Why a folder is not used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The kernel refuses.
    #[error("{}: {error}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
    /// Others may read it.
    #[error("{} may be read by others (mode {mode:03o}), and keys lie in it: chmod 700 {}", path.display(), path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is somebody else's.
    #[error("{} belongs to another user: run this as that user, or name another folder (--folder)", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// It is a link, as a service manager leaves one, and what it led to was moved or removed.
    #[error("{} is a link to a folder that is not there: put that back, or remove the link and make an empty folder (rm {}; install -d -m 700 {})", path.display(), path.display(), path.display())]
    LinkToNothing {
        /// The path of the symbolic link that points nowhere.
        path: PathBuf,
    },
    /// No hub was started there.
    #[error("no hub has its folder at {}: start it once ('punctual-hub serve'), or name its folder (--folder)", path.display())]
    NoHub {
        /// The folder.
        path: PathBuf,
    },
    /// A backup was not restored to its end.
    #[error(
        "a backup was being restored into {} and that was not finished: run 'punctual-hub restore' again", path.display()
    )]
    Unfinished {
        /// The folder.
        path: PathBuf,
    },
    /// The store is gone.
    #[error(
        "the hub of {} has lost its store ({STORE}): restore the latest backup ('punctual-hub restore FILE'); to begin \
         anew without all that was measured, name another folder (--folder) and enrol the nodes again",
        path.display()
    )]
    NoStore {
        /// The folder.
        path: PathBuf,
    },
    /// Nobody knows where it is.
    #[error("neither STATE_DIRECTORY, XDG_STATE_HOME nor HOME is set: name the hub's folder (--folder)")]
    NoHome,
}

impl Folder {
    /// The folder that is used where none is named: a service's own (systemd's `StateDirectory=`), which the superuser's commands
    /// also find, else one of the user's.
    ///
    /// # Errors
    /// Where no variable of the environment says where.
    pub fn usual() -> Result<PathBuf, FolderError> {
        let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // Several are named with colons between them.
        let service = of("STATE_DIRECTORY").filter(|path| !path.to_string_lossy().contains(':'));
        // Also a link to where nothing is any more: what is done there is refused, and not done elsewhere.
        let is_there = |path: &PathBuf| kernel::process::is_root() && path.symlink_metadata().is_ok();
        let installed = || Some(PathBuf::from(SERVICE)).filter(is_there);
        let service = service.or_else(installed);
        let state = || of("XDG_STATE_HOME").or_else(|| of("HOME").map(|home| home.join(".local/state")));
        service.or_else(|| state().map(|state| state.join("punctual-hub"))).ok_or(FolderError::NoHome)
    }

    /// Has what the superuser's commands make from now on belong to whom the folder belongs to: a service runs as a user of its
    /// own, whom nobody can log in as. For everybody else, and where there is no such folder, nothing changes.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn make_files_of_its_user(path: &Path) -> Result<(), FolderError> {
        if !kernel::process::is_root() {
            return Ok(());
        }
        let Ok(found) = fs::metadata(path) else { return Ok(()) };
        kernel::file_owner::make_files_of(found.uid(), found.gid())
            .map_err(|error| FolderError::File { path: path.to_owned(), error })
    }

    /// Opens the folder, and makes it where it is not there.
    ///
    /// # Errors
    /// Where it cannot be made, or others have a hand in it.
    pub fn make(path: &Path) -> Result<Self, FolderError> {
        if path.is_symlink() && !path.exists() {
            return Err(FolderError::LinkToNothing { path: path.to_owned() });
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| FolderError::File { path: path.to_owned(), error })?;
        Self::checked(path)
    }

    /// Opens the folder of a hub that was started there before.
    ///
    /// # Errors
    /// Where there is none, or others have a hand in it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let folder = Self { path: path.to_owned() };
        folder.check_whole()?;
        if !folder.store().exists() {
            return Err(FolderError::NoHub { path: path.to_owned() });
        }
        Self::checked(path)
    }

    fn checked(path: &Path) -> Result<Self, FolderError> {
        let found = fs::metadata(path).map_err(|error| FolderError::File { path: path.to_owned(), error })?;
        if found.uid() != kernel::file_owner::maker_of_files() {
            return Err(FolderError::Foreign { path: path.to_owned() });
        }
        let mode = found.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(FolderError::Open { path: path.to_owned(), mode });
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store's file.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.path.join(STORE)
    }

    /// The file that is there while a backup is restored into it.
    #[must_use]
    pub fn unfinished(&self) -> PathBuf {
        self.path.join(UNFINISHED)
    }

    /// Looks whether all is there that a hub has.
    ///
    /// # Errors
    /// Where a restore was not finished, or it has served with a store that is gone.
    pub fn check_whole(&self) -> Result<(), FolderError> {
        let path = self.path.clone();
        if self.unfinished().exists() {
            return Err(FolderError::Unfinished { path });
        }
        let has_store = fs::metadata(self.store()).is_ok_and(|found| found.len() > 0);
        if !has_store && self.join(ADDRESSES).exists() {
            return Err(FolderError::NoStore { path });
        }
        Ok(())
    }

    /// A file or folder in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A folder in it, which is made where it is not there.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn below(&self, name: &str) -> Result<PathBuf, FolderError> {
        let path = self.join(name);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map(|()| path.clone()).map_err(|error| FolderError::File { path, error })
    }
}

/// Writes a file that only its owner reads, whole or not at all; one that is there is left as it is, and that is an error.
///
/// # Errors
/// Where it is there, or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let failed = |error| FolderError::File { path: path.to_owned(), error };
    let part = path.with_extension(format!("{}.punctual-new", std::process::id()));
    // One that a killed process of the same number left.
    let _ = fs::remove_file(&part);
    let written = private(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        // A link does not take the place of what is there, as a change of names would.
        fs::hard_link(&part, path)
    });
    let _ = fs::remove_file(&part);
    written.and_then(|()| kernel::whole_file::sync_folder(path)).map_err(failed)
}

/// Puts a file that only its owner reads into its place, whole, on the disk.
///
/// # Errors
/// Where it cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let written = kernel::whole_file::replace(path, &kernel::whole_file::unfinished(path), |file| {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(bytes)
    });
    written.map_err(|error| FolderError::File { path: path.to_owned(), error })
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Reads a file of the folder; `None` where it is not there.
///
/// # Errors
/// Where it cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, FolderError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FolderError::File { path: path.to_owned(), error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_user_reads_a_hub_s_folder_and_a_key_is_never_written_over() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("state/hub");
        assert!(matches!(Folder::open(&path), Err(FolderError::NoHub { .. })));
        let folder = Folder::make(&path).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let key = folder.join("hub.key");
        write_new(&key, b"one").unwrap();
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(write_new(&key, b"other").is_err());
        assert_eq!((read(&key).unwrap().unwrap(), fs::read_dir(&path).unwrap().count()), (b"one".to_vec(), 1));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(matches!(Folder::make(&path), Err(FolderError::Open { mode: 0o750, .. })));
    }
    #[test]
    fn where_a_link_leads_to_nothing_no_hub_is_made() {
        let place = tempfile::tempdir().unwrap();
        let (link, target) = (place.path().join("hub"), place.path().join("private"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(matches!(Folder::make(&link), Err(FolderError::LinkToNothing { .. })));
        DirBuilder::new().mode(0o700).create(&target).unwrap();
        assert!(Folder::make(&link).is_ok());
    }
}
