//! Backups of a hub: a copy of the store of one moment with the keys that nodes know the hub by, in one file.

mod file;
mod kept;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farm::monitor::HubKey;
use farm::stream::KEEP_ACKNOWLEDGED_S;
use kernel::file_lock::FileLock;
use store::{By, Change, FleetRow, Store, StoreError};

use crate::apart::ApartLog;
use crate::folder::Folder;
use crate::pages::zoned;

pub use file::{Backup, BackupError, Manifest, Part};
pub use kept::Kept;

/// A day (ns).
const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// Where a backup goes.
#[derive(Clone, Debug)]
pub enum To {
    /// To a file; one that is there stays, unless it is `forced`.
    File {
        /// The file.
        path: PathBuf,
        /// Whether it may take the place of what is there.
        is_forced: bool,
    },
    /// Into a folder, by a name with its time.
    Folder(Kept),
}

/// A backup that was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its file.
    pub path: PathBuf,
    /// How large it is (bytes).
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// What it is of.
    pub manifest: Manifest,
    /// Until when the backup before it is complete (ns since 1970).
    pub before_wall_ns: Option<i64>,
    /// Older ones that were removed.
    pub removed: Vec<PathBuf>,
    /// What went wrong beside it; the backup is good.
    pub warnings: Vec<String>,
}

/// Makes a backup of a hub that may serve meanwhile.
///
/// # Errors
/// Where another one is being made, the store is damaged, or the file cannot be written; nothing is left of it then.
pub fn make(folder: &Folder, store: &mut impl Store, hub: HubKey, to: &To, by: &By) -> Result<Made, BackupError> {
    let began = Instant::now();
    let of_wall_ns = by.at_wall_ns;
    let lock_path = folder.join("backup.lock");
    let lock = FileLock::take(&lock_path).map_err(|error| BackupError::file(&lock_path, error))?;
    let _lock = lock.ok_or(BackupError::Busy)?;
    let before_wall_ns = store.last_backup()?;
    let epoch = store.epoch()?;
    let (path, is_forced) = match to {
        To::File { path, is_forced } => (path.clone(), *is_forced),
        To::Folder(kept) => (kept.begin(hub, of_wall_ns)?, false),
    };
    // Before the copy: what comes meanwhile may be in it, and is not counted on.
    let (complete_until_wall_ns, late) = complete_until(store, of_wall_ns)?;
    let manifest = Manifest::new(hub, epoch, (of_wall_ns, complete_until_wall_ns));
    let (manifest, bytes) = file::write(folder, store, manifest, &path, is_forced)?;
    let mut warnings = Vec::new();
    if !late.is_empty() {
        warnings.push(format!(
            "since this hub was restored not all was sent again, and this backup is complete until {}. Still to come, or to \
             be retired: {}",
            zoned(complete_until_wall_ns),
            late.join(", ")
        ));
    }
    if let Err(error) = store.log_of_hub(&Change::BackedUp { of_wall_ns, complete_until_wall_ns }, by) {
        warnings.push(format!("the backup is good, and could not be entered into the hub's log of changes: {error}"));
    }
    match ApartLog::new(folder, hub).complete(store, of_wall_ns) {
        Ok(found) => warnings.extend(damage(&found)),
        Err(error) => warnings.push(format!("the backup is good, and {error}")),
    }
    if is_beside(folder.path(), &path) {
        warnings.push(format!(
            "{} is on the same file system as the hub's folder, and is lost with it: copy it to another machine",
            path.display()
        ));
    }
    let removed = match to {
        To::File { .. } => Vec::new(),
        To::Folder(kept) => match kept.remove_old(hub, epoch, &path) {
            Ok(removed) => removed,
            Err(error) => {
                warnings.push(format!("the backup is good, and older ones could not be removed: {error}"));
                Vec::new()
            }
        },
    };
    Ok(Made { path, bytes, took: began.elapsed(), manifest, before_wall_ns, removed, warnings })
}

/// Until when a store has all that nodes had sent, and by their names those that have not sent again what it lacks since the hub was
/// restored. Nodes send the oldest first: one whose latest interval was measured since has sent all before it.
fn complete_until(store: &impl Store, now_wall_ns: i64) -> Result<(i64, Vec<String>), StoreError> {
    let Some(restored) = store.last_restore()? else { return Ok((now_wall_ns, Vec::new())) };
    let is_late = |row: &FleetRow| {
        let has_sent = row.measured_until.is_some_and(|until| until.utc_ns >= restored.at_wall_ns);
        row.node.retired_wall_ns.is_none() && row.node.enrolled_wall_ns < restored.at_wall_ns && !has_sent
    };
    let late: Vec<String> =
        store.fleet(now_wall_ns)?.into_iter().filter(is_late).map(|row| row.node.name.clone()).collect();
    Ok((if late.is_empty() { now_wall_ns } else { restored.complete_until_wall_ns }, late))
}

/// What is damaged in the log kept apart, in words.
pub(crate) fn damage(found: &crate::apart::Found) -> Option<String> {
    if found.damaged.is_empty() {
        return None;
    }
    let numbers: Vec<String> = found.damaged.iter().map(ToString::to_string).collect();
    Some(format!("lines of the log kept apart are damaged, and what they said is unknown: {}", numbers.join(", ")))
}

/// Whether a file lies on the file system of a folder.
fn is_beside(folder: &Path, file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| std::fs::metadata(path).ok().map(|found| found.dev());
    device(folder).is_some_and(|own| device(file) == Some(own))
}

/// What is to be said of the latest backup, where something is: what was measured since may be lost with the hub's disk. `last_wall_ns`:
/// until when it is complete; `now_wall_ns`: the hub's clock (ns since 1970).
#[must_use]
pub fn overdue(last_wall_ns: Option<i64>, has_nodes: bool, now_wall_ns: i64) -> Option<String> {
    let keeps_ns = i64::try_from(KEEP_ACKNOWLEDGED_S).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
    let days = KEEP_ACKNOWLEDGED_S / 86_400;
    let remedy =
        "make one every day ('punctual-hub backup', or its timer: systemctl enable --now punctual-hub-backup.timer)";
    let Some(last_wall_ns) = last_wall_ns else {
        return has_nodes.then(|| format!("there is no backup of this hub: {remedy}"));
    };
    let age_ns = now_wall_ns.saturating_sub(last_wall_ns);
    if age_ns < -DAY_NS {
        return Some(format!(
            "the latest backup is of {}, which is to come: set this machine's clock, then make a backup",
            zoned(last_wall_ns)
        ));
    }
    (age_ns > keeps_ns).then(|| {
        format!(
            "the latest backup that is complete is of {}, {} days ago; nodes keep for {days} days what this hub has acknowledged, so that \
             what is older and in no backup would be lost with this hub: {remedy}",
            zoned(last_wall_ns),
            age_ns / DAY_NS
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_overdue_when_it_is_older_than_what_nodes_keep() {
        let now = 1_796_000_000_000_000_000;
        assert_eq!(overdue(None, false, now), None);
        assert!(overdue(None, true, now).is_some_and(|said| said.contains("no backup")));
        for (days, is_overdue) in [(0, false), (6, false), (7, false), (8, true), (400, true)] {
            assert_eq!(overdue(Some(now - days * DAY_NS), true, now).is_some(), is_overdue, "{days}");
        }
        assert!(overdue(Some(now - 7 * DAY_NS - 1), true, now).is_some());
        assert!(overdue(Some(now + 2 * DAY_NS), true, now).is_some_and(|said| said.contains("clock")));
    }
}
