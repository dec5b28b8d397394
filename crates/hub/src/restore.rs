//! A hub from a backup: the same hub to its nodes, in a later life.
//!
//! Nothing is written before the backup's checksum fits. Until all is in its place a file in the folder says so, and no hub serves
//! there; the same command goes on after a kill.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use farm::monitor::HubKey;
use farm::stream::{NodeKey, next_epoch};
use store::{Adopting, By, Change, EnrolError, Enrolling, Quotas, Read as _, SecretHash, Sqlite, Store as _};

use crate::apart::{self, ApartLog, Event, Found, Line};
use crate::backup::{Backup, damage};
use crate::certificates;
use crate::folder::{self, Folder};

/// What is wanted of a restore.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The hub's folder, in which there is no store.
    pub folder: PathBuf,
    /// The log kept apart; that of the folder unless it is named.
    pub log: Option<PathBuf>,
    /// The hub's life is to be above this one, which nodes have seen.
    pub above: u64,
    /// Drawn at random just now.
    pub random: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The hub's life before, and now.
    pub epochs: (u64, u64),
    /// Tokens that were ended, unused.
    pub ended_tokens: usize,
    /// Nodes that the log knows and the backup did not, by their names: they were enrolled again.
    pub enrolled: Vec<String>,
    /// Nodes that the log has revoked since the backup, by their names.
    pub revoked: Vec<String>,
    /// From here on until now nothing is known of what was revoked (ns since 1970): by the log's last entry, or by the backup alone.
    pub unknown_since_wall_ns: i64,
    /// Whether there was a log.
    pub has_log: bool,
    /// The latest life that the log knows.
    pub log_epoch: u64,
    /// What is to be said beside it.
    pub warnings: Vec<String>,
}

/// Restores a hub.
///
/// # Errors
/// Where the folder has a store or another hub's key, or something cannot be read or written. What was written by then is taken away or
/// marked as unfinished.
pub fn restore(backup: &Backup, wanted: &Wanted, by: &By) -> anyhow::Result<Restored> {
    let folder = Folder::make(&wanted.folder)?;
    let hub = HubKey(backup.manifest.hub.parse::<NodeKey>().context("the backup's hub has no key")?.0);
    check_free(&folder)?;
    let keys = backup.keys().with_context(|| backup.path.display().to_string())?;
    let was_unfinished = folder.unfinished().exists();
    for (name, key) in &keys {
        let path = folder.join(name);
        // A restore that was killed may have taken those of a later change.
        let is_changed = was_unfinished && certificates::CHANGED.contains(name);
        if !is_changed && folder::read(&path)?.is_some_and(|there| there != *key) {
            anyhow::bail!(
                "{} is there, and is not that of the backup: it is of another hub; name an empty folder (--folder)",
                path.display()
            );
        }
    }
    let own = ApartLog::new(&folder, hub);
    let log_path = wanted.log.clone().unwrap_or_else(|| own.path().to_owned());
    let found = apart::read(&log_path, hub)?;
    anyhow::ensure!(found.is_some() || wanted.log.is_none(), "{}: there is no such file", log_path.display());
    if !was_unfinished {
        folder::write_new(&folder.unfinished(), b"")?;
    }
    let part = folder.join("store.restoring");
    let filled = fill(backup, &part, wanted, found, by);
    let restored = match filled {
        Ok(restored) => restored,
        Err(error) => {
            remove_store(&part)?;
            // An earlier attempt may have left keys, with which a hub would begin anew.
            if !was_unfinished {
                fs::remove_file(folder.unfinished())?;
            }
            return Err(error);
        }
    };
    for (name, key) in &keys {
        let path = folder.join(name);
        if folder::read(&path)?.is_none() {
            folder::write_new(&path, key)?;
        }
    }
    // The certificate may have been changed since the backup: nodes know the later one alone.
    if let Some(apart) = log_path.parent() {
        certificates::take_later(&folder, apart)?;
    }
    // Before it is a hub's: where this fails, nothing serves.
    let rows = Sqlite::open(&part, Quotas::default(), by.at_wall_ns)?;
    own.complete(&rows, by.at_wall_ns)?;
    rows.close_whole()?;
    fs::rename(&part, folder.store()).with_context(|| folder.store().display().to_string())?;
    kernel::whole_file::sync_folder(&folder.store())?;
    fs::remove_file(folder.unfinished())?;
    kernel::whole_file::sync_folder(&folder.store())?;
    Ok(restored)
}

/// Refuses a folder in which there is a store, but for one that was not finished.
fn check_free(folder: &Folder) -> anyhow::Result<()> {
    if folder.unfinished().exists() {
        return remove_store(&folder.store());
    }
    for path in store_files(&folder.store()) {
        anyhow::ensure!(
            fs::symlink_metadata(&path).is_err(),
            "{} is there: nothing is written over it; move the hub's folder aside, or name an empty one (--folder)",
            path.display()
        );
    }
    Ok(())
}

/// A store and what SQLite puts beside it. A log that is left beside a new store would be taken for its own.
fn store_files(store: &Path) -> [PathBuf; 4] {
    ["", "-wal", "-shm", "-journal"].map(|end| {
        let mut name = store.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}

fn remove_store(store: &Path) -> anyhow::Result<()> {
    for path in store_files(store) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| path.display().to_string());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes the store of the new life.
fn fill(backup: &Backup, part: &Path, wanted: &Wanted, found: Option<Found>, by: &By) -> anyhow::Result<Restored> {
    let named = || part.display().to_string();
    remove_store(part)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part);
    let copied = made.and_then(|mut file: File| {
        backup.write_store(&mut file)?;
        file.sync_all()
    });
    copied.with_context(named)?;
    Sqlite::check(part)?;
    let mut store = Sqlite::open(part, Quotas::default(), by.at_wall_ns)?;
    let of_wall_ns = backup.manifest.of_wall_ns;
    let before = store.epoch()?;
    let (has_log, found) = (found.is_some(), found.unwrap_or_default());
    let (log_epoch, until_wall_ns) = (found.epoch(), found.until_wall_ns());
    let mut warnings: Vec<String> = damage(&found).into_iter().collect();
    if found.is_torn {
        warnings
            .push("the last line of the log kept apart was cut off: what it says was answered to nobody".to_owned());
    }
    if by.at_wall_ns < of_wall_ns {
        warnings.push(
            "this machine's clock is behind the backup's time: nodes that have seen a later life of this hub refuse this \
             one; they name its number ('punctual agent status'), for --epoch-above"
                .to_owned(),
        );
    }
    let (enrolled, revoked) = apply(&mut store, &found.lines, by)?;
    let ended_tokens = store.end_all_tokens(by)?;
    let above = before.max(log_epoch).max(wanted.above);
    let epoch = store.raise_epoch(next_epoch(above, by.at_wall_ns.max(of_wall_ns), wanted.random), by)?;
    // What a line that is damaged said is unknown, and so is all since the backup.
    let is_whole = found.damaged.is_empty();
    let unknown_since_wall_ns = until_wall_ns.filter(|_| is_whole).map_or(of_wall_ns, |until| until.max(of_wall_ns));
    let change = Change::Restored {
        of_wall_ns,
        complete_until_wall_ns: backup.manifest.complete_until_wall_ns,
        revoked_unknown_since_wall_ns: Some(unknown_since_wall_ns),
    };
    store.log_of_hub(&change, by)?;
    store.close_whole()?;
    let epochs = (before, epoch);
    Ok(Restored { epochs, ended_tokens, enrolled, revoked, unknown_since_wall_ns, has_log, log_epoch, warnings })
}

/// Carries out what the log says and the backup does not have; the names of the nodes that were enrolled, and that were revoked.
fn apply(store: &mut Sqlite, lines: &[Line], by: &By) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let (mut enrolled, mut revoked) = (Vec::new(), Vec::new());
    let adopt = |store: &mut Sqlite, node: NodeKey, name: &str, at_wall_ns: i64| {
        store.adopt(&Adopting { node, name: name.to_owned(), at_wall_ns })
    };
    for Line { at_wall_ns, event } in lines {
        match event {
            Event::Enrolled { node, name, token_sha256 } => {
                if store.node(*node)?.is_some() {
                    continue;
                }
                // By its token it gets the labels that the token was made with, and is answered again.
                let asked = token_sha256.map(|secret| Enrolling {
                    node: *node,
                    secret: SecretHash(secret.0),
                    name: name.clone(),
                    version: String::new(),
                    at_wall_ns: *at_wall_ns,
                });
                let by_token = asked.map(|asked| store.enrol(&asked));
                let added = match by_token {
                    Some(Err(EnrolError::Store(error))) => return Err(error.into()),
                    Some(Ok(node)) => node,
                    // The token was made since the backup.
                    Some(Err(_)) | None => adopt(store, *node, name, *at_wall_ns)?,
                };
                enrolled.push(added.name);
            }
            Event::Revoked { node, name } => {
                let known = match store.node(*node)? {
                    Some(known) => known,
                    None => adopt(store, *node, name, *at_wall_ns)?,
                };
                if known.revoked_wall_ns.is_none() {
                    store.change_node(*node, &Change::Revoked, by)?;
                    enrolled.retain(|other| *other != known.name);
                    revoked.push(known.name);
                }
            }
            Event::Life { .. } | Event::Alive => {}
        }
    }
    Ok((enrolled, revoked))
}
