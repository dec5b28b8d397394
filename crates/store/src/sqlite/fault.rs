//! What goes wrong inside, before it is said with the file's name.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::StoreError;
use crate::coding::Damaged;

/// How long a writer waits for another one (ms): there is none, but for a command that changes something.
pub(super) const BUSY_MS: u64 = 10_000;

/// What went wrong.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    /// Something in the file is not what was written.
    Damaged(&'static str),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Damaged> for Fault {
    fn from(_: Damaged) -> Self {
        Self::Damaged("a body does not read back")
    }
}

impl From<serde_json::Error> for Fault {
    fn from(_: serde_json::Error) -> Self {
        Self::Damaged("a text does not read back")
    }
}

impl Fault {
    /// The same for people.
    pub(super) fn of(self, path: &Path) -> StoreError {
        let path = path.display().to_string();
        let error = match self {
            Self::Damaged(why) => return StoreError::Damaged { path, why: why.to_owned() },
            Self::Sql(error) => error,
        };
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, why },
            Some(ErrorCode::NotADatabase) => StoreError::Foreign { path },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path, waited_ms: BUSY_MS }
            }
            _ => StoreError::Engine { path, why },
        }
    }
}
