//! Where a profile is read from: the running machine, or a tree of files taken from one.

use std::path::{Path, PathBuf};

/// Where a profile is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    prefix: PathBuf,
    is_live: bool,
}

/// Why a folder is not a tree to read from.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The folder is not there or may not be entered.
    #[error("cannot read the folder {path}; name a folder that `punctual profile --capture` made", path = path.display())]
    Folder {
        /// The folder that was given.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The folder holds no `proc`.
    #[error(
        "{path} holds no folder proc/, so it is not a captured machine; name the folder that has proc/ and sys/ in it",
        path = path.display()
    )]
    NoProc {
        /// The folder that was given.
        path: PathBuf,
    },
}

impl Root {
    /// The running machine.
    #[must_use]
    pub fn live() -> Self {
        Self { prefix: PathBuf::from("/"), is_live: true }
    }

    /// A tree of files, with `proc/` and `sys/` in it.
    ///
    /// # Errors
    /// Where the folder cannot be entered or holds no `proc/`.
    pub fn tree(path: &Path) -> Result<Self, RootError> {
        let metadata = std::fs::metadata(path).and_then(|metadata| {
            if metadata.is_dir() { Ok(()) } else { Err(std::io::Error::from(std::io::ErrorKind::NotADirectory)) }
        });
        metadata.map_err(|source| RootError::Folder { path: path.to_owned(), source })?;
        if !path.join("proc").is_dir() {
            return Err(RootError::NoProc { path: path.to_owned() });
        }
        Ok(Self { prefix: path.to_owned(), is_live: false })
    }

    /// Whether this is the running machine, which also answers to system calls.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        self.is_live
    }

    /// The folder in front of every path.
    #[must_use]
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Where a path of the node is found.
    pub(crate) fn locate(&self, path: &str) -> PathBuf {
        self.prefix.join(path.trim_start_matches('/'))
    }
}
