//! The folder of an agent's own: its key, its enrolment, how often it has started, its spool.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use kernel::file_lock::FileLock;

use crate::enrolment::Enrolment;
use crate::key::NodeIdentity;
use crate::status::Status;

/// Where an agent keeps its own, unless another folder is named.
pub const STATE_FOLDER: &str = "/var/lib/punctual";
/// The files here but the spool are short.
const MOST_BYTES: u64 = 1 << 20;

/// What an agent keeps, as far as it is not the spool.
#[derive(Clone, Debug)]
pub struct State {
    folder: PathBuf,
}

/// What is wrong with an agent's folder.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The kernel refuses.
    #[error("the agent's {what} {}: {error}", path.display())]
    Io {
        /// What it is.
        what: &'static str,
        /// The file that it stands in.
        path: PathBuf,
        /// The kernel's reason.
        error: io::Error,
    },
    /// It is not what it should be.
    #[error("the agent's {what} {} is damaged: {remedy}", path.display())]
    Damaged {
        /// What it is.
        what: &'static str,
        /// The file that it stands in.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
    },
    /// Another agent works with this folder.
    #[error("another agent works with {}: end it first (systemctl stop punctual-agent), or name another folder with --state", .0.display())]
    InUse(PathBuf),
    /// The node has a key and an enrolment.
    #[error("this node is enrolled at {hub} already: 'punctual agent new-key' makes it another node")]
    Enrolled {
        /// The hub's addresses.
        hub: String,
    },
    /// There is nobody to send to.
    #[error("this node is enrolled nowhere: on the hub's machine 'punctual-hub enrol' prints the line for it")]
    NotEnrolled,
    /// The kernel gives no random bytes.
    #[error("the kernel gives no random bytes (getrandom): wait until it has started, then try again")]
    NoRandomness,
}

impl State {
    /// The folder, which is made where it is missing, for its owner alone.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, StateError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| StateError::Io { what: "folder", path: folder.to_owned(), error })?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Keeps other agents out of it as long as the lock lives.
    ///
    /// # Errors
    /// Where another one works with it.
    pub fn lock(&self) -> Result<FileLock, StateError> {
        let path = self.folder.join("lock");
        let taken = FileLock::take(&path).map_err(|error| StateError::Io { what: "lock", path, error })?;
        taken.ok_or_else(|| StateError::InUse(self.folder.clone()))
    }

    /// The spool's folder.
    #[must_use]
    pub fn spool(&self) -> PathBuf {
        self.folder.join("spool")
    }

    /// The file of the interval that is open.
    #[must_use]
    pub fn open_interval(&self) -> PathBuf {
        self.folder.join("open.json")
    }

    /// The file of what was decided in this boot about looking for causes.
    pub(crate) fn explaining(&self) -> PathBuf {
        self.folder.join("explaining.json")
    }

    fn key_path(&self) -> PathBuf {
        self.folder.join("node.key")
    }

    fn enrolment_path(&self) -> PathBuf {
        self.folder.join("enrolment.json")
    }

    fn status_path(&self) -> PathBuf {
        self.folder.join("status.json")
    }

    /// The node's key; `None` where it has none yet.
    ///
    /// # Errors
    /// Where it cannot be read, or is none.
    pub fn identity(&self) -> Result<Option<NodeIdentity>, StateError> {
        let path = self.key_path();
        let Some(document) = read("key", &path)? else { return Ok(None) };
        let damaged = StateError::Damaged {
            what: "key",
            path,
            remedy: "put a copy of it back; or 'punctual agent new-key', then enrol anew, as another node",
        };
        NodeIdentity::from_pkcs8(&document).map(Some).ok_or(damaged)
    }

    /// The node's key, which is made where it has none yet.
    ///
    /// # Errors
    /// Where it cannot be read or written.
    pub fn identity_or_new(&self) -> Result<NodeIdentity, StateError> {
        if let Some(identity) = self.identity()? {
            return Ok(identity);
        }
        let document = NodeIdentity::generate().ok_or(StateError::NoRandomness)?;
        write("key", &self.key_path(), &document)?;
        NodeIdentity::from_pkcs8(&document).ok_or(StateError::NoRandomness)
    }

    /// Makes this node another one: a new key, no enrolment; what was not sent stays beside, named by the key that it is of. Returns
    /// where to.
    ///
    /// # Errors
    /// Where something cannot be moved.
    pub fn new_key(&self) -> Result<Option<PathBuf>, StateError> {
        let old = self.identity().ok().flatten().map_or_else(|| "damaged".to_owned(), |old| old.public().to_string());
        let aside = self.folder.join(format!("of-{}", &old[..old.len().min(8)]));
        let mut is_moved = false;
        for path in [self.key_path(), self.enrolment_path(), self.open_interval(), self.spool()] {
            if !path.exists() {
                continue;
            }
            let moved = fs::create_dir_all(&aside).and_then(|()| {
                let to = aside.join(path.file_name().unwrap_or_default());
                fs::rename(&path, to)
            });
            moved.map_err(|error| StateError::Io { what: "file", path, error })?;
            is_moved = true;
        }
        self.identity_or_new()?;
        Ok(is_moved.then_some(aside))
    }

    /// Where this node is enrolled; `None` where it is not.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub fn enrolment(&self) -> Result<Option<Enrolment>, StateError> {
        let path = self.enrolment_path();
        let Some(text) = read("enrolment", &path)? else { return Ok(None) };
        let remedy = "put a copy of it back, or remove it and enrol anew with the same key";
        serde_json::from_slice(&text).map(Some).map_err(|_| StateError::Damaged { what: "enrolment", path, remedy })
    }

    /// Keeps where this node is enrolled.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn keep_enrolment(&self, enrolment: &Enrolment) -> Result<(), StateError> {
        let path = self.enrolment_path();
        let text = serde_json::to_vec_pretty(enrolment).map_err(|error| StateError::Io {
            what: "enrolment",
            path: path.clone(),
            error: error.into(),
        })?;
        write("enrolment", &path, &text)
    }

    /// Counts a start: how many there were, with this one. It orders streams for people, and proves nothing.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn count_start(&self) -> Result<u64, StateError> {
        let path = self.folder.join("starts");
        let found = read("counter of starts", &path)?.unwrap_or_default();
        // One that is damaged begins anew: the streams' random numbers keep them apart.
        let before: u64 = String::from_utf8_lossy(&found).trim().parse().unwrap_or(0);
        let starts = before.saturating_add(1);
        write("counter of starts", &path, format!("{starts}\n").as_bytes())?;
        Ok(starts)
    }

    /// What a running agent last said of itself; `None` where none has run here.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub fn status(&self) -> Result<Option<Status>, StateError> {
        let path = self.status_path();
        let Some(text) = read("status", &path)? else { return Ok(None) };
        let remedy = "start the agent, which writes it anew";
        serde_json::from_slice(&text).map(Some).map_err(|_| StateError::Damaged { what: "status", path, remedy })
    }

    /// Says how this agent is; a status that cannot be written is none of the measurement's business.
    pub(crate) fn tell_status(&self, status: &Status) {
        if let Ok(text) = serde_json::to_vec(status) {
            let _ = replace_without_flush(&self.status_path(), &text);
        }
    }
}

/// Puts a file into its place without waiting for the disk: after a kill it is there as a whole, after a power cut perhaps an older one.
pub(crate) fn replace_without_flush(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = kernel::whole_file::unfinished(path);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    fs::rename(part, path)
}

pub(crate) fn read(what: &'static str, path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    let mut bytes = Vec::new();
    match fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StateError::Io { what, path: path.to_owned(), error }),
    }
}

/// Writes a file for its owner alone, as a whole, and brings it to the disk.
fn write(what: &'static str, path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let part = kernel::whole_file::unfinished(path);
    // With its permissions from the first moment on; one that a kill left has them too.
    let made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part);
    let written = made.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        kernel::whole_file::sync_folder(path)
    });
    written.map_err(|error| StateError::Io { what, path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_has_one_agent_one_key_and_counts_its_starts() {
        let dir = tempfile::tempdir().unwrap();
        let state = State::open(&dir.path().join("state")).unwrap();
        let held = state.lock().unwrap();
        assert!(matches!(state.lock(), Err(StateError::InUse(_))));
        drop(held);
        state.lock().unwrap();
        let key = state.identity_or_new().unwrap().public();
        assert_eq!(state.identity_or_new().unwrap().public(), key);
        let mode = fs::metadata(state.key_path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!((state.count_start().unwrap(), state.count_start().unwrap()), (1, 2));
        let aside = state.new_key().unwrap().unwrap();
        assert!(aside.join("node.key").exists());
        assert_ne!(state.identity().unwrap().unwrap().public(), key);
        fs::write(state.key_path(), b"nonsense").unwrap();
        assert!(matches!(state.identity(), Err(StateError::Damaged { .. })));
    }
}
