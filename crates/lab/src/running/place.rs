//! Where running labs keep their sockets and files, and how they are found.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernel::file_lock::FileLock;
use kernel::process::{Signal, signal};

use crate::console;

/// How long a keeper may take to end its guests.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// How long the files of a lab that did not come up are kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Why a lab cannot be found or made.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It runs already.
    #[error("a lab named {name} is up already; 'punctual lab down {name}' ends it, --name gives this one another name")]
    Taken {
        /// Its name.
        name: String,
    },
    /// It does not run.
    #[error(
        "no lab named {name} is up; 'punctual lab status' lists those that are, 'punctual lab up SCENARIO' starts one"
    )]
    NotUp {
        /// Its name.
        name: String,
    },
    /// The folder cannot be made or is not ours.
    #[error("the folder of running labs, {path}: {error}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// The place of one lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lab {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// `$XDG_RUNTIME_DIR/punctual-lab`, else a folder of the user's own in the place for temporary files.
fn base() -> Result<PathBuf, PlaceError> {
    let user = kernel::process::effective_user();
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()) {
        Some(runtime) => PathBuf::from(runtime).join("punctual-lab"),
        None => std::env::temp_dir().join(format!("punctual-lab-{user}")),
    };
    let failed = |error| PlaceError::Folder { path: path.clone(), error };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
    // Somebody else may have made it first, in a place where everybody may write.
    if fs::symlink_metadata(&path).map_err(failed)?.uid() != user {
        return Err(failed(io::Error::other("it belongs to somebody else")));
    }
    Ok(path)
}

impl Lab {
    /// A place for a new lab.
    ///
    /// # Errors
    /// Where one of that name runs.
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

    /// Gives up a place in which nothing was started.
    pub fn discard(&self) {
        // What could not be removed is cleared by the next lab of that name.
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Whether its keeper lives: it holds a lock as long as it does.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.folder.is_dir() && matches!(FileLock::take(&self.lock_path()), Ok(None))
    }

    /// Holds it in this process: it is up as long as the lock lives, and [`Lab::down`] ends this process.
    ///
    /// # Errors
    /// Where its folder cannot be written.
    pub fn hold(&self) -> io::Result<FileLock> {
        let held = FileLock::wait(&self.lock_path())?;
        fs::write(self.keeper_path(), std::process::id().to_string())?;
        Ok(held)
    }

    /// What each of its machines has said on its console; also of a lab that has not come up, or whose machines have gone
    /// down by themselves.
    fn consoles(&self) -> impl Iterator<Item = String> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        files.filter(|path| path.extension().is_some_and(|is| is == "console")).map(|path| console::whole(&path))
    }

    /// How the emulator, and nothing in it, brought a machine down; `None` where there is no sign of that.
    #[must_use]
    pub fn emulator_fault(&self) -> Option<String> {
        self.consoles().find_map(|said| console::emulator_fault(&said))
    }

    /// Whether a machine has said anything: then it was there, and what went wrong went wrong in it.
    #[must_use]
    pub fn has_booted(&self) -> bool {
        self.consoles().any(|said| !said.trim().is_empty())
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

    /// Its nodes, by the sockets that its keeper serves.
    #[must_use]
    pub fn nodes(&self) -> Vec<String> {
        let names = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut nodes: Vec<String> =
            names.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".sock")?.to_owned())).collect();
        nodes.sort();
        nodes
    }

    /// Ends its keeper, and so its guests, and removes its folder.
    ///
    /// # Errors
    /// Where it does not run, or its folder cannot be removed.
    pub fn down(&self) -> Result<(), PlaceError> {
        if !self.is_up() {
            return Err(PlaceError::NotUp { name: self.name.clone() });
        }
        let failed = |error| PlaceError::Folder { path: self.folder.clone(), error };
        let keeper = fs::read_to_string(self.keeper_path()).map_err(failed)?;
        // The lock is held, so this process is its keeper and no other that has got its number since.
        let pid = keeper.trim().parse().map_err(|_| failed(io::Error::other("the keeper's number cannot be read")))?;
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

/// Clears what labs left that did not come up or were killed, once nobody looks for the reason any more.
fn remove_old(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let lab = Lab { name: String::new(), folder: entry.path() };
        let age = entry.metadata().and_then(|about| about.modified()).map(|at| at.elapsed());
        if matches!(age, Ok(Ok(age)) if age > KEPT) && !lab.is_up() {
            lab.discard();
        }
    }
}

/// The labs that run.
///
/// # Errors
/// Where their folder cannot be read.
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

/// A lab that runs, by its name.
///
/// # Errors
/// Where there is none.
pub fn find(name: &str) -> Result<Lab, PlaceError> {
    let lab = Lab { name: name.to_owned(), folder: base()?.join(Path::new(name).file_name().unwrap_or_default()) };
    if lab.is_up() { Ok(lab) } else { Err(PlaceError::NotUp { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lab_left_goes_once_it_is_old_and_nobody_holds_it() {
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
    fn what_machines_said_tells_whether_they_were_there_and_who_brought_them_down() {
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
