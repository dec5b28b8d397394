//! A folder of backups, of which the last ones are kept.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use farm::monitor::HubKey;
use jiff::Timestamp;

use super::file::{Backup, BackupError};

/// Digits of the hub's key in the name of a backup.
const KEY_DIGITS: usize = 8;
/// What the name of a backup ends with.
const SUFFIX: &str = ".backup";

/// A folder of backups, and how many are kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The folder.
    pub folder: PathBuf,
    /// How many of this hub's present life are kept, with the new one; those of an earlier life stay.
    pub most: usize,
}

impl Kept {
    /// Makes the folder where it is missing, removes what a killed backup left, and names the next one.
    ///
    /// # Errors
    /// Where the folder cannot be made or read.
    pub(super) fn begin(&self, hub: HubKey, of_wall_ns: i64) -> Result<PathBuf, BackupError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| BackupError::file(&self.folder, error))?;
        let prefix = prefix(hub);
        // Nobody else writes one of this hub: its lock is held.
        let left = format!(".{prefix}");
        for path in self.files()? {
            if name(&path).starts_with(&left) {
                fs::remove_file(&path).map_err(|error| BackupError::file(&path, error))?;
            }
        }
        let moment = Timestamp::from_nanosecond(i128::from(of_wall_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(self.folder.join(format!("{prefix}{}{SUFFIX}", moment.strftime("%Y%m%dT%H%M%S%3fZ"))))
    }

    /// Removes the oldest of this life but for so many; never the new one, whatever the clock says.
    pub(super) fn remove_old(&self, hub: HubKey, epoch: u64, new: &Path) -> Result<Vec<PathBuf>, BackupError> {
        let prefix = prefix(hub);
        let mut others = Vec::new();
        for path in self.files()? {
            let is_one = name(&path).starts_with(&prefix) && name(&path).ends_with(SUFFIX);
            if !is_one || path == new {
                continue;
            }
            // One that cannot be read is left for people to look at.
            let Ok(manifest) = Backup::manifest_of(&path) else { continue };
            if manifest.hub == hub.to_string() && manifest.epoch == epoch {
                others.push((manifest.of_wall_ns, path));
            }
        }
        others.sort();
        let too_many = (others.len() + 1).saturating_sub(self.most.max(1));
        let old: Vec<PathBuf> = others.into_iter().take(too_many).map(|(_, path)| path).collect();
        for path in &old {
            fs::remove_file(path).map_err(|error| BackupError::file(path, error))?;
        }
        Ok(old)
    }

    fn files(&self) -> Result<Vec<PathBuf>, BackupError> {
        let failed = |error| BackupError::file(&self.folder, error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_file() {
                files.push(entry.path());
            }
        }
        Ok(files)
    }
}

fn prefix(hub: HubKey) -> String {
    format!("punctual-hub-{}-", &hub.to_string()[..KEY_DIGITS])
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
