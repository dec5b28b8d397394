//! Locks on whole files that end with the process that holds them (`flock(2)`).

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rustix::fs::FlockOperation;

/// A held lock; let go when dropped, and by the kernel when the process ends.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "held for its drop alone")] File);

impl FileLock {
    /// Waits for the lock on a file, which is made where it is missing.
    ///
    /// # Errors
    /// Where the file cannot be opened for writing.
    pub fn wait(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(Self(file))
    }

    /// Takes the lock, or gives `None` where another process has it.
    ///
    /// # Errors
    /// Where the file cannot be opened for writing.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Its content is nobody's business: it stays as it is.
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let path = std::env::temp_dir().join(format!("punctual-lock-{}", std::process::id()));
        let held = FileLock::wait(&path).unwrap();
        assert!(FileLock::take(&path).unwrap().is_none());
        drop(held);
        assert!(FileLock::take(&path).unwrap().is_some());
        std::fs::remove_file(&path).unwrap();
    }
}
