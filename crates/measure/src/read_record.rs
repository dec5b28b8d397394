//! A record out of a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use record::{Record, RecordError};

/// No record comes near this; a larger file is something else.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Why a file gives no record.
#[derive(Debug, thiserror::Error)]
pub enum ReadRecordError {
    /// The kernel refuses to read it.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
    /// It is larger than any record.
    #[error("{} has {}, more than any record", path.display(), units::format::bytes(*bytes))]
    Size {
        /// Path of the file.
        path: PathBuf,
        /// How large it is.
        bytes: u64,
    },
    /// It is none, or one of a version that this program does not know.
    #[error("{} cannot be used", path.display())]
    Form {
        /// Path of the file.
        path: PathBuf,
        /// What is odd.
        #[source]
        error: RecordError,
    },
}

/// The text of a file that is not too large to be a record.
///
/// # Errors
/// Where it cannot be read, or is larger than any record.
pub fn read_text(path: &Path) -> Result<String, ReadRecordError> {
    let refused = |error| ReadRecordError::Read { path: path.to_owned(), error };
    let bytes = fs::metadata(path).map_err(refused)?.len();
    if bytes > MAX_RECORD_BYTES {
        return Err(ReadRecordError::Size { path: path.to_owned(), bytes });
    }
    fs::read_to_string(path).map_err(refused)
}

/// The record of a file.
///
/// # Errors
/// Where it cannot be read, or is no record.
pub fn read_record(path: &Path) -> Result<Record, ReadRecordError> {
    Record::from_json(&read_text(path)?).map_err(|error| ReadRecordError::Form { path: path.to_owned(), error })
}
