//! Where the journal is kept.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use kernel::file_lock::FileLock;
use kernel::whole_file::{replace, sync_folder, unfinished};
use knobs::journal::{self, JournalError, Line, Transaction};

/// Keeps the lines of a journal.
pub trait Store {
    /// Adds a line. The next reader sees it, even if this process is killed right after.
    ///
    /// # Errors
    /// Where there is no room, or the disk fails.
    fn append(&mut self, line: &Line) -> io::Result<()>;

    /// Brings all lines to the disk, where they are still after a power cut.
    ///
    /// # Errors
    /// Where the disk fails.
    fn sync(&mut self) -> io::Result<()>;

    /// All transactions, oldest first.
    ///
    /// # Errors
    /// Where it cannot be read or understood.
    fn transactions(&mut self) -> Result<Vec<Transaction>, StoreError>;

    /// Keeps these and forgets all others.
    ///
    /// # Errors
    /// Where there is no room, or the disk fails; then all are kept.
    fn replace(&mut self, kept: &[Transaction]) -> io::Result<()>;

    /// Forgets transactions that are wholly reverted.
    ///
    /// # Errors
    /// Where the disk fails.
    fn clear(&mut self) -> io::Result<()>;
}

/// Why the journal cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process is at it.
    #[error("another punctual changes settings now; wait until it has ended")]
    Busy,
    /// The disk refused an operation.
    #[error("the journal of settings, {path}: {error}; changing settings needs the right to write there, which root of the machine has, and a disk that can be written", path = path.display())]
    Disk {
        /// Path of the journal.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The journal's content is not understood.
    #[error(
        "{path}: {error}; the changes in it cannot be reverted without it: correct that line or, if all settings are as they \
         should be, remove the file",
        path = path.display()
    )]
    Content {
        /// Path of the journal.
        path: PathBuf,
        /// What is odd.
        error: JournalError,
    },
}

/// A journal in a file, held by this process alone.
#[derive(Debug)]
pub struct FileStore {
    path: PathBuf,
    file: Option<File>,
    _held: FileLock,
}

const JOURNAL: &str = "journal";

impl FileStore {
    /// The journal in a folder, which is made where it is missing.
    ///
    /// # Errors
    /// Where another process holds it, or the folder cannot be made or written.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(JOURNAL);
        let failed = |error| StoreError::Disk { path: path.clone(), error };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let held = FileLock::take(&folder.join("lock")).map_err(failed)?.ok_or(StoreError::Busy)?;
        Ok(Self { path, file: None, _held: held })
    }

    /// The content of a journal, without holding it; nothing if there is none.
    ///
    /// # Errors
    /// Where it cannot be read or understood.
    pub fn peek(folder: &Path) -> Result<Vec<Transaction>, StoreError> {
        let path = folder.join(JOURNAL);
        Ok(content(&path)?.0)
    }

    /// The file, with nothing after its last whole line.
    fn writable(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let is_new = !self.path.exists();
            let mut file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(&self.path)?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            if whole < text.len() {
                file.set_len(u64::try_from(whole).unwrap_or(0))?;
            }
            if is_new {
                sync_folder(&self.path)?;
            }
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn content(path: &Path) -> Result<(Vec<Transaction>, usize), StoreError> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        read => read.map_err(|error| StoreError::Disk { path: path.to_owned(), error })?,
    };
    journal::read(&text).map_err(|error| StoreError::Content { path: path.to_owned(), error })
}

impl Store for FileStore {
    fn append(&mut self, line: &Line) -> io::Result<()> {
        let file = self.writable()?;
        let length = file.metadata()?.len();
        let written = file.write_all(line.text().as_bytes());
        if written.is_err() {
            // Half a line would join the next one; where this fails too, nothing is written any more.
            file.set_len(length)?;
        }
        written
    }

    fn sync(&mut self) -> io::Result<()> {
        self.writable()?.sync_data()
    }

    fn transactions(&mut self) -> Result<Vec<Transaction>, StoreError> {
        Ok(content(&self.path)?.0)
    }

    fn replace(&mut self, kept: &[Transaction]) -> io::Result<()> {
        self.file = None;
        let mut lines = kept.iter().flat_map(Transaction::lines);
        replace(&self.path, &unfinished(&self.path), |file| {
            lines.try_for_each(|line| file.write_all(line.text().as_bytes()))
        })
    }

    fn clear(&mut self) -> io::Result<()> {
        self.file = None;
        // The last one is kept, as a record of what was done.
        fs::rename(&self.path, self.path.with_file_name("journal.reverted"))?;
        sync_folder(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_torn_is_cut_off_and_only_one_writes() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("tune");
        let begin = |id: &str| Line::Begin {
            version: journal::VERSION,
            id: id.to_owned(),
            boot_id: "b".to_owned(),
            realtime_ns: 1,
            intent: String::new(),
        };
        let mut store = FileStore::open(&at).unwrap();
        assert!(matches!(FileStore::open(&at), Err(StoreError::Busy)));
        store.append(&begin("a")).unwrap();
        drop(store);
        let mut torn = fs::read(at.join(JOURNAL)).unwrap();
        let whole = torn.len();
        torn.extend_from_slice(b"{\"line\":\"app");
        fs::write(at.join(JOURNAL), &torn).unwrap();
        assert_eq!(FileStore::peek(&at).unwrap().len(), 1);
        let mut store = FileStore::open(&at).unwrap();
        store.append(&Line::Applied).unwrap();
        store.sync().unwrap();
        assert_eq!(fs::read(at.join(JOURNAL)).unwrap()[whole..], *Line::Applied.text().as_bytes());
        assert_eq!(store.transactions().unwrap()[0].phase, journal::Phase::Applied);
        store.clear().unwrap();
        assert!(FileStore::peek(&at).unwrap().is_empty());
    }
}
