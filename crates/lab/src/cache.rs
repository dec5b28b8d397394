//! Where downloads and what is made of them are kept between labs, outside any repository.

use std::io;
use std::path::{Path, PathBuf};

use kernel::file_lock::FileLock;

/// Names another folder for the cache.
pub const CACHE_VARIABLE: &str = "PUNCTUAL_LAB_CACHE";

/// A folder that several labs share.
#[derive(Clone, Debug)]
pub struct Cache(PathBuf);

impl Cache {
    /// The user's: `PUNCTUAL_LAB_CACHE`, else `$XDG_CACHE_HOME/punctual/lab`, else `~/.cache/punctual/lab`.
    ///
    /// # Errors
    /// Where none of these variables is set, or the folder cannot be made.
    pub fn open() -> io::Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = variable(CACHE_VARIABLE)
            .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("punctual/lab")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/punctual/lab")))
            .ok_or_else(|| {
                io::Error::other(format!("no place for downloads: neither {CACHE_VARIABLE} nor HOME is set"))
            })?;
        Self::at(&folder)
    }

    /// In a stated folder, which is made where it is missing.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn at(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
        // What is written into it is named by absolute paths elsewhere.
        Ok(Self(folder.canonicalize()?))
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether some process is making `name` now.
    #[must_use]
    pub fn is_being_made(&self, name: &str) -> bool {
        let lock = self.0.join(format!("{name}.lock"));
        lock.exists() && matches!(FileLock::take(&lock), Ok(None))
    }

    /// Makes something once: where `name` is missing, `make` fills a folder beside it that then takes its name, so that
    /// an interruption leaves nothing half made. Labs that want the same at the same time wait for each other.
    ///
    /// # Errors
    /// What `make` says, or where the cache cannot be written.
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
            // The reason is what matters; what is left is removed at the next try.
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
    fn what_fails_leaves_nothing_and_is_tried_again() {
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
        // Not made again.
        let again = cache.once("a/b", |_| Err::<(), _>(io::Error::other("made twice"))).unwrap();
        assert_eq!(again, made);
    }
}
