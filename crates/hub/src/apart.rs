//! The log kept apart: which nodes were enrolled and revoked, and which lives the hub had. It is in no backup, so that a hub that is
//! restored from one knows what was decided since.
//!
//! ```text
//! punctual-hub-log 1 <hub's key>
//! 5f0a1c22 {"at-wall-ns":1796000000000000000,"what":"revoked","node":"…","name":"lime2"}
//! ```
//! The first line names the hub; each other one has the CRC-32 (as in zip) of the JSON behind it. A line is brought to the disk before
//! what it says is answered. One that is torn or damaged is named, and costs itself alone.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use farm::monitor::HubKey;
use farm::stream::{ContentHash, NODE_KEY_BYTES, NodeKey};
use flate2::Crc;
use kernel::file_lock::FileLock;
use serde::{Deserialize, Serialize};
use store::{Read, StoreError};

use crate::folder::Folder;

/// The folder of what is in no backup, in the hub's folder.
pub const APART: &str = "keep-apart";
/// The log's file in it.
const LOG: &str = "nodes.log";
/// What the first line begins with.
const HEAD: &str = "punctual-hub-log 1 ";
/// The most bytes that are read: some hundred thousand lines.
const MOST_BYTES: u64 = 64 << 20;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Line {
    /// When, by the hub's clock (ns since 1970).
    pub at_wall_ns: i64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "what")]
pub enum Event {
    /// A node was enrolled.
    Enrolled {
        /// The node.
        node: NodeKey,
        /// Its name.
        name: String,
        /// SHA-256 of the secret of the token that it used; absent where it is not known any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token_sha256: Option<ContentHash>,
    },
    /// A node was revoked.
    Revoked {
        /// The node.
        node: NodeKey,
        /// Its name.
        name: String,
    },
    /// A life of the hub began, or was found.
    Life {
        /// Its number.
        epoch: u64,
    },
    /// The hub was there: until here the log says all.
    Alive,
}

/// What is wrong with a log.
#[derive(Debug, thiserror::Error)]
pub enum ApartError {
    /// The store, of which it is completed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The kernel refuses.
    #[error("the log kept apart {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
    /// It is something else.
    #[error("{} is no log of a hub: one begins with 'punctual-hub-log 1'", .0.display())]
    Foreign(PathBuf),
    /// It is another hub's.
    #[error("the log kept apart {} is of another hub: name that of this hub (--log)", .0.display())]
    OtherHub(PathBuf),
}

/// What stands in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Lines that are whole, in their order.
    pub lines: Vec<Line>,
    /// Numbers of the lines that are damaged, counted from 1.
    pub damaged: Vec<usize>,
    /// Whether the last line was cut off: its writer was killed, and answered nobody.
    pub is_torn: bool,
}

impl Found {
    /// Until when it is known to say all (ns since 1970).
    #[must_use]
    pub fn until_wall_ns(&self) -> Option<i64> {
        self.lines.iter().map(|line| line.at_wall_ns).max()
    }

    /// The latest life of the hub.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        let epochs = self.lines.iter().filter_map(|line| match line.event {
            Event::Life { epoch } => Some(epoch),
            _ => None,
        });
        epochs.max().unwrap_or(0)
    }
}

/// The log of a hub that serves.
#[derive(Clone, Debug)]
pub struct ApartLog {
    path: PathBuf,
    hub: HubKey,
}

impl ApartLog {
    /// That of a hub's folder.
    #[must_use]
    pub fn new(folder: &Folder, hub: HubKey) -> Self {
        Self { path: folder.join(APART).join(LOG), hub }
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes lines, and brings them to the disk.
    ///
    /// # Errors
    /// Where it is another hub's, or cannot be written.
    pub fn append(&self, lines: &[Line]) -> Result<(), ApartError> {
        if lines.is_empty() {
            return Ok(());
        }
        let write = || {
            if let Some(folder) = self.path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            // Commands write while the hub serves.
            let _lock = FileLock::wait(&self.path.with_extension("lock"))?;
            let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path)?;
            let mut length = file.metadata()?.len();
            if !has_head(&file, length)? {
                // Killed as it was begun, before anything was answered.
                file.set_len(0)?;
                length = 0;
            }
            let mut text = String::new();
            if length == 0 {
                text = format!("{HEAD}{}\n", self.hub);
            } else if !ends_line(&file, length)? {
                // What a killed writer left is a line of its own.
                text.push('\n');
            }
            for line in lines {
                text.push_str(&framed(&serde_json::to_string(line)?));
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            if length == 0 { kernel::whole_file::sync_folder(&self.path) } else { Ok(()) }
        };
        write().map_err(|error| ApartError::File { path: self.path.clone(), error })
    }

    /// Adds what the store has and the log lacks, as where a hub was killed between the two, and that the hub is there. What is damaged.
    ///
    /// # Errors
    /// Where one of them cannot be read, or the log cannot be written.
    pub fn complete(&self, store: &dyn Read, at_wall_ns: i64) -> Result<Found, ApartError> {
        let found = read(&self.path, self.hub)?.unwrap_or_default();
        let (mut enrolled, mut revoked) = (BTreeSet::new(), BTreeSet::new());
        for line in &found.lines {
            match &line.event {
                Event::Enrolled { node, .. } => enrolled.insert(*node),
                Event::Revoked { node, .. } => revoked.insert(*node),
                Event::Life { .. } | Event::Alive => false,
            };
        }
        let mut lines = Vec::new();
        for store::Node { key: node, name, enrolled_wall_ns, revoked_wall_ns, .. } in store.nodes()? {
            if !enrolled.contains(&node) {
                let event = Event::Enrolled { node, name: name.clone(), token_sha256: None };
                lines.push(Line { at_wall_ns: enrolled_wall_ns, event });
            }
            if let Some(at_wall_ns) = revoked_wall_ns.filter(|_| !revoked.contains(&node)) {
                lines.push(Line { at_wall_ns, event: Event::Revoked { node, name } });
            }
        }
        let epoch = store.epoch()?;
        let event = if epoch > found.epoch() { Event::Life { epoch } } else { Event::Alive };
        lines.push(Line { at_wall_ns, event });
        self.append(&lines)?;
        Ok(found)
    }
}

/// Whether the first line is whole.
fn has_head(file: &File, length: u64) -> io::Result<bool> {
    let mut head = vec![0; HEAD.len() + 2 * NODE_KEY_BYTES + 1];
    if length < head.len() as u64 {
        return Ok(false);
    }
    file.read_exact_at(&mut head, 0)?;
    Ok(head.ends_with(b"\n"))
}

fn ends_line(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}

fn checksum(text: &str) -> u32 {
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    crc.sum()
}

fn framed(json: &str) -> String {
    format!("{:08x} {json}\n", checksum(json))
}

/// Reads the log of a hub; `None` where there is none.
///
/// # Errors
/// Where it is something else, another hub's, or cannot be read.
pub fn read(path: &Path, hub: HubKey) -> Result<Option<Found>, ApartError> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ApartError::File { path: path.to_owned(), error }),
    }
    if bytes.len() as u64 == MOST_BYTES {
        let error = io::Error::other(format!("{MOST_BYTES} bytes and more: is it a log of a hub?"));
        return Err(ApartError::File { path: path.to_owned(), error });
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut found = Found::default();
    let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
    if !text.contains('\n') && format!("{HEAD}{hub}").starts_with(head) {
        // Killed as it was begun.
        found.is_torn = !text.is_empty();
        return Ok(Some(found));
    }
    match head.strip_prefix(HEAD) {
        None => return Err(ApartError::Foreign(path.to_owned())),
        Some(key) if key != hub.to_string() => return Err(ApartError::OtherHub(path.to_owned())),
        Some(_) => {}
    }
    for (number, line) in (2..).zip(rest.split_inclusive('\n')) {
        match (line_of(line.trim_end_matches('\n')), line.ends_with('\n')) {
            // Its end alone may be missing.
            (Some(line), _) => found.lines.push(line),
            (None, false) => found.is_torn = true,
            (None, true) => found.damaged.push(number),
        }
    }
    Ok(Some(found))
}

fn line_of(text: &str) -> Option<Line> {
    let (sum, json) = text.split_once(' ')?;
    // No sign and no capital digits: one text for one number.
    if format!("{:08x}", checksum(json)) != sum {
        return None;
    }
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUB: HubKey = HubKey([5; 32]);

    fn revoked(key: u8) -> Line {
        Line { at_wall_ns: i64::from(key), event: Event::Revoked { node: NodeKey([key; 32]), name: "é".to_owned() } }
    }

    #[test]
    fn a_torn_or_changed_line_costs_itself_alone_and_is_named() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("hub")).unwrap();
        let log = ApartLog::new(&folder, HUB);
        assert_eq!(read(log.path(), HUB).unwrap(), None);
        let lines: Vec<Line> = (1..=3).map(revoked).collect();
        log.append(&lines[..1]).unwrap();
        log.append(&lines[1..]).unwrap();
        let whole = std::fs::read(log.path()).unwrap();
        let found = read(log.path(), HUB).unwrap().unwrap();
        assert_eq!((&found.lines, &found.damaged, found.is_torn), (&lines, &Vec::new(), false));
        assert!(matches!(read(log.path(), HubKey([6; 32])), Err(ApartError::OtherHub(_))));
        // Cut anywhere, and gone on with.
        for length in 0..whole.len() {
            std::fs::write(log.path(), &whole[..length]).unwrap();
            let cut = read(log.path(), HUB).unwrap().unwrap();
            assert!(lines.starts_with(&cut.lines) && cut.damaged.is_empty(), "{length}: {cut:?}");
            let is_of_head = length <= HEAD.len() + 2 * NODE_KEY_BYTES;
            let ends = length == 0 || whole[length - 1] == b'\n' || (whole[length] == b'\n' && !is_of_head);
            assert_eq!(cut.is_torn, !ends, "{length}");
            log.append(&[revoked(9)]).unwrap();
            let on = read(log.path(), HUB).unwrap().unwrap();
            assert_eq!((on.lines.last(), on.is_torn), (Some(&revoked(9)), false), "{length}");
            assert_eq!(on.damaged.len(), usize::from(!ends && !is_of_head), "{length}");
        }
        // Any bit that changes in a line.
        let head = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for at in head..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(log.path(), &changed).unwrap();
            let found = read(log.path(), HUB).unwrap().unwrap();
            assert!(found.lines.len() < 3 && (found.is_torn || !found.damaged.is_empty()), "{at}: {found:?}");
            assert!(found.lines.iter().all(|line| lines.contains(line)), "{at}: {found:?}");
        }
        std::fs::write(log.path(), b"a list of mine\n").unwrap();
        assert!(matches!(read(log.path(), HUB), Err(ApartError::Foreign(_))));
    }
}
