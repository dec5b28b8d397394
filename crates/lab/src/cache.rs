//! The cache of downloads and of files made from them, kept between labs and outside any repository.

use std::io;
use std::path::{Path, PathBuf};

use kernel::file_lock::FileLock;

/// Environment variable that names another folder for the cache.
pub const CACHE_VARIABLE: &str = "PUNCTUAL_LAB_CACHE";

/// The cache folder, which several labs share.
#[derive(Clone, Debug)]
pub struct Cache(PathBuf);

impl Cache {
    /// Opens the user's cache: `PUNCTUAL_LAB_CACHE`, else `$XDG_CACHE_HOME/punctual/lab`, else `~/.cache/punctual/lab`.
    ///
    /// # Errors
    /// If none of these variables is set, or the folder cannot be made.
    pub fn open() -> io::Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = variable(CACHE_VARIABLE)
            .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("punctual/lab")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/punctual/lab")))
            .ok_or_else(|| io::Error::other(format!("no folder for downloads: set {CACHE_VARIABLE} or HOME")))?;
        Self::at(&folder)
    }

    /// Opens the cache in this folder, which is made if it is missing.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn at(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
        // Other files refer to the cache's content by absolute paths.
        Ok(Self(folder.canonicalize()?))
    }

    /// The absolute path of the cache folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether a process is making the entry `name` now.
    #[must_use]
    pub fn is_being_made(&self, name: &str) -> bool {
        let lock = self.0.join(format!("{name}.lock"));
        lock.exists() && matches!(FileLock::take(&lock), Ok(None))
    }

    /// Makes an entry once: if `name` is missing, `make` fills a folder beside it, which is then renamed. An
    /// interruption thus leaves nothing half made. Labs that need the same entry at the same time wait for each other.
    ///
    /// # Errors
    /// The error of `make`, or if the cache cannot be written.
    pub fn once<E: From<io::Error>>(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let path = self.0.join(name);
        if path.exists() {
            return Ok(path);
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let beside = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
        let _held = FileLock::wait(&beside(".lock"))?;
        if path.exists() {
            return Ok(path);
        }
        let unfinished = beside(".unfinished");
        if unfinished.exists() {
            std::fs::remove_dir_all(&unfinished)?;
        }
        std::fs::create_dir_all(&unfinished)?;
        if let Err(error) = make(&unfinished) {
            // Report the first error only; what is left here is removed at the next try.
            let _ = std::fs::remove_dir_all(&unfinished);
            return Err(error);
        }
        std::fs::rename(&unfinished, &path)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_entry_leaves_nothing_and_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(&folder.path().join("lab")).unwrap();
        let failed = cache.once("a/b", |path| {
            std::fs::write(path.join("half"), "x")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert!(!cache.path().join("a/b").exists());
        assert!(!cache.is_being_made("a/b"));
        let made = cache.once("a/b", |path| {
            assert!(cache.is_being_made("a/b"));
            std::fs::write(path.join("whole"), "x")
        });
        let made = made.unwrap();
        assert!(made.join("whole").exists() && !made.join("half").exists());
        // An existing entry is not made again.
        let again = cache.once("a/b", |_| Err::<(), _>(io::Error::other("made twice"))).unwrap();
        assert_eq!(again, made);
    }
}
