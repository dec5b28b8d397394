//! Reads the memory that a daemon shares as a file, as a file: a short or vanished one is an error, and never a signal.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{Ordering, fence};

/// The memory between two readings of its beginning, up to `most_bytes`.
pub(crate) struct Reading {
    /// Its first bytes, before the rest.
    pub(crate) before: Vec<u8>,
    /// All of it.
    pub(crate) whole: Vec<u8>,
    /// Its first bytes, after the rest.
    pub(crate) after: Vec<u8>,
}

fn at_most(file: &File, bytes: usize) -> io::Result<Vec<u8>> {
    let mut read = vec![0; bytes];
    let mut length = 0;
    while length < bytes {
        let offset = u64::try_from(length).unwrap_or(u64::MAX);
        match file.read_at(&mut read[length..], offset) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    read.truncate(length);
    Ok(read)
}

/// The first of a daemon's files that can be read: the one that was named, or one of the known places.
///
/// # Errors
/// Where none can: why, for each.
pub(crate) fn find(
    named: Option<&str>,
    known: &[&str],
    look: impl Fn(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let candidates = named.map_or_else(|| known.to_vec(), |path| vec![path]);
    let mut reasons = Vec::new();
    for candidate in candidates {
        match look(Path::new(candidate)) {
            Ok(()) => return Ok(PathBuf::from(candidate)),
            Err(why) => reasons.push(why),
        }
    }
    Err(reasons.join("; "))
}

/// Whether a daemon may run here: one of its files was named, or is there.
pub(crate) fn may_run(named: Option<&str>, known: &[&str]) -> bool {
    named.is_some() || known.iter().any(|path| Path::new(path).exists())
}

/// Reads a file of shared memory once.
///
/// # Errors
/// Where it is not there, may not be read, or is none of the kind.
pub(crate) fn read(path: &Path, begin_bytes: usize, most_bytes: usize) -> io::Result<Reading> {
    // A pipe would keep its reader waiting.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let file = File::open(path)?;
    let before = at_most(&file, begin_bytes)?;
    // The writer's order holds only if the readings keep theirs.
    fence(Ordering::SeqCst);
    let whole = at_most(&file, most_bytes)?;
    fence(Ordering::SeqCst);
    let after = at_most(&file, begin_bytes)?;
    Ok(Reading { before, whole, after })
}
