//! The folders of running labs, with their sockets and files, and how to find them.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernel::file_lock::FileLock;
use kernel::process::{Signal, signal};

use crate::console;

/// How long a keeper may take to end its guests before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// How long the files of a lab are kept that did not come up or was killed.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Why a lab cannot be found or created.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A lab of that name is running.
    #[error(
        "a lab named {name} is up already; end it with 'punctual lab down {name}', or choose another name with --name"
    )]
    Taken {
        /// Name of the lab.
        name: String,
    },
    /// No lab of that name is running.
    #[error(
        "no lab named {name} is up; 'punctual lab status' lists the running ones, 'punctual lab up SCENARIO' starts one"
    )]
    NotUp {
        /// Name of the lab.
        name: String,
    },
    /// The folder cannot be made or belongs to another user.
    #[error("the folder of running labs, {path}: {error}")]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// The underlying error.
        error: io::Error,
    },
}

/// One lab, running or not, with its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lab {
    /// Name of the lab.
    pub name: String,
    /// The folder of its sockets and files.
    pub folder: PathBuf,
}

/// The folder of all labs: `$XDG_RUNTIME_DIR/punctual-lab`, else one for this user in the folder for temporary files.
fn base() -> Result<PathBuf, PlaceError> {
    let user = kernel::process::effective_user();
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()) {
        Some(runtime) => PathBuf::from(runtime).join("punctual-lab"),
        None => std::env::temp_dir().join(format!("punctual-lab-{user}")),
    };
    let failed = |error| PlaceError::Folder { path: path.clone(), error };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
    // In a world-writable folder another user may have created it first.
    if fs::symlink_metadata(&path).map_err(failed)?.uid() != user {
        return Err(failed(io::Error::other("it belongs to another user")));
    }
    Ok(path)
}

impl Lab {
    /// Creates the folder of a new lab.
    ///
    /// # Errors
    /// If a lab of that name is running, or the folder cannot be made.
    pub fn create(name: &str) -> Result<Self, PlaceError> {
        let lab = Self { name: name.to_owned(), folder: base()?.join(name) };
        if lab.is_up() {
            return Err(PlaceError::Taken { name: name.to_owned() });
        }
        let failed = |error| PlaceError::Folder { path: lab.folder.clone(), error };
        if lab.folder.exists() {
            // Left by a keeper that was killed; its guests ended with it.
            fs::remove_dir_all(&lab.folder).map_err(failed)?;
        }
        fs::create_dir(&lab.folder).map_err(failed)?;
        remove_old(&base()?);
        Ok(lab)
    }

    /// Removes the folder of a lab in which nothing was started.
    pub fn discard(&self) {
        // If this fails, the next lab of that name removes it.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Whether its keeper is running: it holds a lock all the time.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.folder.is_dir() && matches!(FileLock::take(&self.lock_path()), Ok(None))
    }

    /// Makes this process the keeper: the lab is up as long as the lock is held, and [`Lab::down`] ends this process.
    ///
    /// # Errors
    /// If its folder cannot be written.
    pub fn hold(&self) -> io::Result<FileLock> {
        let held = FileLock::wait(&self.lock_path())?;
        fs::write(self.keeper_path(), std::process::id().to_string())?;
        Ok(held)
    }

    /// The console output of each machine, also of a lab that did not come up or whose machines went down.
    fn consoles(&self) -> impl Iterator<Item = String> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter(|path| path.extension().is_some_and(|is| is == "console")).map(|path| console::read_whole(&path))
    }

    /// The known fault of the emulator that brought a machine down; `None` if no console shows one.
    #[must_use]
    pub fn emulator_fault(&self) -> Option<String> {
        self.consoles().find_map(|text| console::emulator_fault(&text))
    }

    /// Whether any machine has printed something: then it has booted, and the failure happened inside it.
    #[must_use]
    pub fn has_booted(&self) -> bool {
        self.consoles().any(|text| !text.trim().is_empty())
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join("lock")
    }

    fn keeper_path(&self) -> PathBuf {
        self.folder.join("keeper")
    }

    pub(super) fn control_path(&self) -> PathBuf {
        self.folder.join("control")
    }

    pub(super) fn socket_path(&self, node: &str) -> PathBuf {
        self.folder.join(format!("{node}.sock"))
    }

    /// The names of its nodes, sorted; found by the sockets that its keeper serves.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut nodes: Vec<String> =
            names.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".sock")?.to_owned())).collect();
        nodes.sort();
        nodes
    }

    /// Ends its keeper and thereby its guests, and removes its folder.
    ///
    /// # Errors
    /// If it is not running, or its folder cannot be removed.
    pub fn down(&self) -> Result<(), PlaceError> {
        if !self.is_up() {
            return Err(PlaceError::NotUp { name: self.name.clone() });
        }
        let failed = |error| PlaceError::Folder { path: self.folder.clone(), error };
        let keeper = fs::read_to_string(self.keeper_path()).map_err(failed)?;
        // The lock is held, so this id is still the keeper's and was not given to another process.
        let pid =
            keeper.trim().parse().map_err(|_| failed(io::Error::other("the keeper's process id cannot be read")))?;
        let began = Instant::now();
        let _ = signal(pid, Signal::Terminate);
        while self.is_up() {
            if began.elapsed() > END_PATIENCE {
                let _ = signal(pid, Signal::Kill);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }
}

/// Removes the files of labs that did not come up or were killed, once they are older than [`KEPT`].
fn remove_old(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let lab = Lab { name: String::new(), folder: entry.path() };
        let age = entry.metadata().and_then(|about| about.modified()).map(|at| at.elapsed());
        if matches!(age, Ok(Ok(age)) if age > KEPT) && !lab.is_up() {
            lab.discard();
        }
    }
}

/// The running labs, sorted by name.
///
/// # Errors
/// If their folder cannot be read.
pub fn all() -> Result<Vec<Lab>, PlaceError> {
    let base = base()?;
    let entries = fs::read_dir(&base).map_err(|error| PlaceError::Folder { path: base.clone(), error })?;
    let labs = entries
        .flatten()
        .filter_map(|entry| Some(Lab { name: entry.file_name().into_string().ok()?, folder: entry.path() }));
    let mut labs: Vec<Lab> = labs.filter(Lab::is_up).collect();
    labs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(labs)
}

/// Finds a running lab by its name.
///
/// # Errors
/// If there is no running lab of that name.
pub fn find(name: &str) -> Result<Lab, PlaceError> {
    let lab = Lab { name: name.to_owned(), folder: base()?.join(Path::new(name).file_name().unwrap_or_default()) };
    if lab.is_up() { Ok(lab) } else { Err(PlaceError::NotUp { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_old_labs_without_a_keeper_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let lab = |name: &str| {
            let lab = Lab { name: name.to_owned(), folder: base.path().join(name) };
            fs::create_dir(&lab.folder).unwrap();
            lab
        };
        let (old, held, new) = (lab("old"), lab("held"), lab("new"));
        let holds = held.hold().unwrap();
        for lab in [&old, &held] {
            let days_ago = std::time::SystemTime::now() - 2 * KEPT;
            fs::File::open(&lab.folder).unwrap().set_modified(days_ago).unwrap();
        }
        remove_old(base.path());
        assert!(!old.folder.exists() && held.folder.exists() && new.folder.exists());
        drop(holds);
    }

    #[test]
    fn consoles_show_whether_machines_booted_and_faults_of_the_emulator() {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab { name: "l".to_owned(), folder: folder.path().to_owned() };
        let says = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        says("a.qemu", "int3: 0000 [#1]");
        says("a.console", "\r\n");
        assert!(!lab.has_booted() && lab.emulator_fault().is_none());
        says("b.console", "[    1.0] Kernel panic - not syncing: sysrq triggered crash\r\n");
        assert!(lab.has_booted() && lab.emulator_fault().is_none());
        says("c.console", "[    1.0] Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI\r\n");
        assert!(lab.emulator_fault().is_some());
    }
}
