//! Makes a tree of exactly those files that the reader reads, as the reader saw them.
//!
//! Sizes are bounded by the reader, and texts come reduced: no command line of a process, no environment,
//! no address, no serial number; the node's own name is written as `node`.
//! An empty folder does not survive version control or archives, so a hidden file `.keep` stands in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use profile::{ProbeIssue, Profile};

use crate::root::Root;
use crate::source::{Recording, Source};

/// What a capture made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSummary {
    /// The profile that the tree yields.
    pub profile: Profile,
    /// What could not be read, and is therefore not in the tree.
    pub issues: Vec<ProbeIssue>,
    /// How many files were written.
    pub file_count: u64,
    /// How long they are together.
    pub size_bytes: u64,
}

/// Why no tree was made.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The folder is there and holds something.
    #[error("{path} is not empty; name a new or an empty folder for the capture", path = path.display())]
    NotEmpty {
        /// The folder that was given.
        path: PathBuf,
    },
    /// The folder cannot be made or looked into.
    #[error("cannot use {path} for the capture; name a folder that you may write to", path = path.display())]
    Folder {
        /// The folder that was given.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {path}; {remedy}, then capture again (what was begun has been removed)", path = path.display())]
    Write {
        /// The file that was being written.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
        /// What would help.
        remedy: &'static str,
    },
}

/// Reads a node and keeps what was read in a folder that [`Root::tree`] takes.
///
/// # Errors
/// Where the folder holds something already or cannot be written; nothing is left behind then.
pub fn capture(root: &Root, dir: &Path) -> Result<CaptureSummary, CaptureError> {
    // An unusable folder is reported before the work begins.
    let was_there = prepare(dir)?;
    let source = Source::recording(root);
    let profile = crate::read::read(&source);
    let (issues, recording) = source.finish();
    match write(dir, &recording) {
        Ok((file_count, size_bytes)) => Ok(CaptureSummary { profile, issues, file_count, size_bytes }),
        Err(error) => {
            remove(dir, was_there, &recording);
            Err(error)
        }
    }
}

/// Creates the folder; returns whether it existed before, empty.
fn prepare(dir: &Path) -> Result<bool, CaptureError> {
    let folder_error = |source| CaptureError::Folder { path: dir.to_owned(), source };
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(true),
            Some(_) => Err(CaptureError::NotEmpty { path: dir.to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(dir).map_err(folder_error)?;
            Ok(false)
        }
        Err(error) => Err(folder_error(error)),
    }
}

fn write(dir: &Path, recording: &Recording) -> Result<(u64, u64), CaptureError> {
    let failed = |path: &Path, source: io::Error| {
        let remedy = match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on that disk",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "name a folder that you may write to"
            }
            _ => "name a folder on another file system",
        };
        CaptureError::Write { path: path.to_owned(), source, remedy }
    };
    let mut file_count = 0;
    let mut size_bytes = 0;
    let mut put = |path: &str, bytes: &[u8]| {
        let place = dir.join(path.trim_start_matches('/'));
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        }
        fs::write(&place, bytes).map_err(|source| failed(&place, source))?;
        file_count += 1;
        size_bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    };
    for (path, bytes) in &recording.files {
        put(path, bytes)?;
    }
    for folder in &recording.folders {
        if is_bare(recording, folder) {
            put(&format!("{folder}/.keep"), b"")?;
        }
    }
    Ok((file_count, size_bytes))
}

/// Whether nothing else makes the folder exist. Its children, if any, sort right behind `folder/`.
fn is_bare(recording: &Recording, folder: &str) -> bool {
    let inside = format!("{folder}/");
    let file = recording.files.range(inside.clone()..).next().map(|(path, _)| path);
    let child = recording.folders.range(inside.clone()..).next();
    !file.into_iter().chain(child).any(|path| path.starts_with(&inside))
}

/// Takes away what was begun, which is all ours: the folder was empty before.
fn remove(dir: &Path, was_there: bool, recording: &Recording) {
    if !was_there {
        // A failed clean-up does not replace the error that is reported.
        let _ = fs::remove_dir_all(dir);
        return;
    }
    let tops = recording.files.keys().chain(&recording.folders).filter_map(|path| path.split('/').nth(1));
    for top in tops.collect::<std::collections::BTreeSet<_>>() {
        let _ = fs::remove_dir_all(dir.join(top));
    }
}
