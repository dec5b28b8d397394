//! The tables, and the steps from each released version to this one.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::Fault;

/// The version that this program writes: that of the last step.
pub(super) const VERSION: i64 = 3;
/// What distinguishes a store from other files of SQLite (`PRAGMA application_id`): "PnHb".
const APPLICATION_ID: i64 = 0x506e_4862;

/// The steps: the first makes version 1 of an empty file, the next one version 2 of version 1. A step that was released is never changed.
const STEPS: [&str; 3] = [include_str!("version-1.sql"), include_str!("version-2.sql"), include_str!("version-3.sql")];

/// What stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing.
    Empty,
    /// A store of a version.
    Version(i64),
    /// Something else.
    Foreign,
}

/// Looks what a file is.
pub(super) fn find(db: &Connection) -> Result<Found, Fault> {
    let id: i64 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if id == APPLICATION_ID {
        let version = db.query_row("SELECT max(version) FROM migration", [], |row| row.get(0)).optional()?;
        return Ok(version.flatten().map_or(Found::Foreign, Found::Version));
    }
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok(if id == 0 && tables == 0 { Found::Empty } else { Found::Foreign })
}

/// Brings a store to this program's version, in one transaction.
pub(super) fn bring_up_to_date(db: &mut Connection, now_wall_ns: i64) -> Result<Found, Fault> {
    let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = find(&change)?;
    let from = match found {
        Found::Empty => 0,
        Found::Version(version) => version,
        Found::Foreign => return Ok(found),
    };
    for (version, step) in (1_i64..).zip(STEPS).filter(|(version, _)| *version > from) {
        change.execute_batch(step)?;
        change.execute("INSERT INTO migration (version, at_wall_ns) VALUES (?1, ?2)", params![version, now_wall_ns])?;
    }
    if found == Found::Empty {
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    change.commit()?;
    Ok(found)
}
