//! The file of a backup: the store, then the keys, then what it is of and a checksum over all.
//!
//! ```text
//! <store: a file of SQLite> <hub.key> <agents.certificate> … {"hub":"…","epoch":1,…}
//! punctual-hub-backup 1 0000000612 <SHA-256 of all before this line>
//! ```
//! The last line has the length of the JSON before it. So the copy of the store is written once, and one that was cut off has no end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use farm::monitor::HubKey;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use store::{Sqlite, Store, StoreError};

use crate::folder::{Folder, FolderError, STORE};
use crate::keys::{BACKED_UP, hexadecimal};

/// What the last line begins with.
const NAME: &str = "punctual-hub-backup 1 ";
/// Digits of the length of the JSON.
const LENGTH_DIGITS: usize = 10;
/// Bytes of the last line: what it begins with, a length, a space, a checksum, the line's end.
const LAST_LINE: usize = NAME.len() + LENGTH_DIGITS + 1 + 64 + 1;
/// The most bytes of a key or a certificate, and of the JSON.
const MOST_PART_BYTES: u64 = 1 << 20;
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Why there is no backup, or none that can be used.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The kernel refuses.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
    /// The hub's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something is there.
    #[error("{} is there already: name another file, or say that it may be replaced (--force)", .0.display())]
    IsThere(PathBuf),
    /// Another backup is being made.
    #[error("another backup of this hub is being made just now: wait until it is done")]
    Busy,
    /// Its end is missing.
    #[error("{} is no backup of a hub, or was cut off: it lacks its last line; take another one", .0.display())]
    NoEnd(PathBuf),
    /// It was changed.
    #[error("{} is damaged: its checksum does not fit what is in it; take another one", .0.display())]
    Damaged(PathBuf),
    /// What it says of itself is not what it has.
    #[error("{} is a backup that this program cannot read ({what}): use the punctual-hub that made it, or a later one", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What is not understood.
        what: String,
    },
}

impl BackupError {
    pub(crate) fn file(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.to_owned(), error }
    }
}

/// What a backup is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Manifest {
    /// The hub's public key, in hexadecimal digits.
    pub hub: String,
    /// The hub's life.
    pub epoch: u64,
    /// The moment of which it is: all that was committed by then is in it (ns since 1970, by the hub's clock).
    pub of_wall_ns: i64,
    /// Until when it has all that nodes had sent (ns since 1970, by the hub's clock): an earlier moment where the hub was restored
    /// itself, and nodes have not sent all again.
    pub complete_until_wall_ns: i64,
    /// Version of the program that made it.
    pub version: String,
    /// What it has, in the order in which it stands in the file.
    pub parts: Vec<Part>,
}

/// A part of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Part {
    /// The file of the hub's folder that it is of.
    pub name: String,
    /// How long it is (bytes).
    pub bytes: u64,
}

impl Manifest {
    pub(super) fn new(hub: HubKey, epoch: u64, (of_wall_ns, complete_until_wall_ns): (i64, i64)) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { hub: hub.to_string(), epoch, of_wall_ns, complete_until_wall_ns, version, parts: Vec::new() }
    }
}

/// Writes, and counts what is in a checksum.
struct Summed {
    file: File,
    sum: Context,
    bytes: u64,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn digits(sum: Context) -> String {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(sum.finish().as_ref());
    hexadecimal(bytes)
}

/// Writes a backup beside its place, looks at it, and puts it there; what it is of, and how long it is (bytes).
pub(super) fn write(
    folder: &Folder,
    store: &impl Store,
    manifest: Manifest,
    path: &Path,
    is_forced: bool,
) -> Result<(Manifest, u64), BackupError> {
    if !is_forced && fs::symlink_metadata(path).is_ok() {
        return Err(BackupError::IsThere(path.to_owned()));
    }
    let part = kernel::whole_file::unfinished(path);
    // One that a killed process left: this hub's lock is held.
    let _ = fs::remove_file(&part);
    let failed = |error| BackupError::file(&part, error);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part).map_err(failed).and_then(|_| {
            store.back_up(&part)?;
            Sqlite::check(&part)?;
            let (manifest, bytes) = append(folder, manifest, &part)?;
            // A link does not take the place of what is there, as a change of names would.
            let put = if is_forced { fs::rename(&part, path) } else { fs::hard_link(&part, path) };
            match put {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(BackupError::IsThere(path.to_owned()))
                }
                // A file system without links.
                Err(_) if !is_forced && fs::symlink_metadata(path).is_err() => fs::rename(&part, path).map_err(failed),
                put => put.map_err(failed),
            }?;
            Ok((manifest, bytes))
        });
    let _ = fs::remove_file(&part);
    let written = written?;
    kernel::whole_file::sync_folder(path).map_err(|error| BackupError::file(path, error))?;
    Ok(written)
}

/// Puts the keys, what the backup is of and the checksum behind the copy of the store.
fn append(folder: &Folder, mut manifest: Manifest, part: &Path) -> Result<(Manifest, u64), BackupError> {
    let failed = |error| BackupError::file(part, error);
    let mut file = OpenOptions::new().read(true).write(true).open(part).map_err(failed)?;
    let mut sum = Context::new(&SHA256);
    let bytes = each_piece(&mut file, u64::MAX, |piece| {
        sum.update(piece);
        Ok(())
    });
    let bytes = bytes.map_err(failed)?;
    manifest.parts.push(Part { name: STORE.to_owned(), bytes });
    let mut out = Summed { file, sum, bytes };
    for name in BACKED_UP {
        let key_path = folder.join(name);
        let Some(key) = crate::folder::read(&key_path)? else {
            let error = io::Error::from(io::ErrorKind::NotFound);
            return Err(BackupError::file(&key_path, error));
        };
        out.write_all(&key).map_err(failed)?;
        manifest.parts.push(Part { name: (*name).to_owned(), bytes: key.len() as u64 });
    }
    let json = serde_json::to_vec(&manifest).map_err(|error| failed(error.into()))?;
    out.write_all(&json).map_err(failed)?;
    out.write_all(b"\n").map_err(failed)?;
    let Summed { mut file, sum, bytes } = out;
    let last = format!("{NAME}{:0digits$} {}\n", json.len() + 1, digits(sum), digits = LENGTH_DIGITS);
    file.write_all(last.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok((manifest, bytes + last.len() as u64))
}

/// Hands the next so many bytes of a file over, at most a megabyte at once; how many there were.
fn each_piece(file: &mut impl io::Read, most: u64, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<u64> {
    let (mut left, mut count) = (most, 0);
    let mut piece = vec![0; PIECE];
    while left > 0 {
        let room = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let length = file.read(&mut piece[..room])?;
        if length == 0 {
            break;
        }
        take(&piece[..length])?;
        left -= length as u64;
        count += length as u64;
    }
    Ok(count)
}

/// A backup whose checksum fits.
#[derive(Debug)]
pub struct Backup {
    /// Its file.
    pub path: PathBuf,
    /// What it is of.
    pub manifest: Manifest,
}

/// Where the end of a backup stands.
struct End {
    /// Bytes before the last line.
    summed: u64,
    json: Vec<u8>,
    sum: String,
}

impl Backup {
    /// Reads all of a backup, and looks whether its checksum fits.
    ///
    /// # Errors
    /// Where it is none, was cut off or damaged, or has what this program does not know.
    pub fn open(path: &Path) -> Result<Self, BackupError> {
        let failed = |error| BackupError::file(path, error);
        let mut file = File::open(path).map_err(failed)?;
        let end = end_of(path, &mut file)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut sum = Context::new(&SHA256);
        let read = each_piece(&mut file, end.summed, |piece| {
            sum.update(piece);
            Ok(())
        });
        if read.map_err(failed)? != end.summed || digits(sum) != end.sum {
            return Err(BackupError::Damaged(path.to_owned()));
        }
        let manifest = manifest(path, &end)?;
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// What a file says that it is of, without looking at all of it.
    ///
    /// # Errors
    /// Where it has no end of a backup.
    pub fn manifest_of(path: &Path) -> Result<Manifest, BackupError> {
        let mut file = File::open(path).map_err(|error| BackupError::file(path, error))?;
        manifest(path, &end_of(path, &mut file)?)
    }

    /// Writes the store to a file.
    ///
    /// # Errors
    /// Where it cannot be read or written.
    pub fn write_store(&self, to: &mut File) -> io::Result<()> {
        let bytes = self.manifest.parts.first().map_or(0, |part| part.bytes);
        let read = each_piece(&mut File::open(&self.path)?, bytes, |piece| to.write_all(piece))?;
        if read == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// The keys and certificates, each with the name of its file.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn keys(&self) -> io::Result<Vec<(&str, Vec<u8>)>> {
        let mut file = File::open(&self.path)?;
        let (mut at, mut keys) = (0, Vec::new());
        for Part { name, bytes } in &self.manifest.parts {
            if name != STORE {
                file.seek(SeekFrom::Start(at))?;
                let mut key = vec![0; usize::try_from(*bytes).map_err(io::Error::other)?];
                file.read_exact(&mut key)?;
                keys.push((name.as_str(), key));
            }
            at += bytes;
        }
        Ok(keys)
    }
}

fn end_of(path: &Path, file: &mut File) -> Result<End, BackupError> {
    let failed = |error| BackupError::file(path, error);
    let no_end = || BackupError::NoEnd(path.to_owned());
    let length = file.metadata().map_err(failed)?.len();
    let summed = length.checked_sub(LAST_LINE as u64).ok_or_else(no_end)?;
    file.seek(SeekFrom::Start(summed)).map_err(failed)?;
    let mut last = String::new();
    file.take(LAST_LINE as u64).read_to_string(&mut last).map_err(|_| no_end())?;
    let words = last.strip_prefix(NAME).and_then(|rest| rest.strip_suffix('\n')).and_then(|rest| rest.split_once(' '));
    let (json_bytes, sum) = words.ok_or_else(no_end)?;
    let json_bytes: u64 = json_bytes.parse().map_err(|_| no_end())?;
    let json_at = summed.checked_sub(json_bytes).filter(|_| json_bytes <= MOST_PART_BYTES).ok_or_else(no_end)?;
    file.seek(SeekFrom::Start(json_at)).map_err(failed)?;
    let mut json = Vec::new();
    file.take(json_bytes).read_to_end(&mut json).map_err(failed)?;
    Ok(End { summed, json, sum: sum.to_owned() })
}

fn manifest(path: &Path, end: &End) -> Result<Manifest, BackupError> {
    let unknown = |what: String| BackupError::Unknown { path: path.to_owned(), what };
    let manifest: Manifest = serde_json::from_slice(&end.json).map_err(|error| unknown(error.to_string()))?;
    let names: Vec<&str> = manifest.parts.iter().map(|part| part.name.as_str()).collect();
    let expected: Vec<&str> = std::iter::once(STORE).chain(BACKED_UP.iter().copied()).collect();
    // Those of before certificates could be changed lack the last.
    if names != expected && names != expected[..expected.len() - 1] {
        return Err(unknown(format!("it has {}, and expected is {}", names.join(", "), expected.join(", "))));
    }
    let large = manifest.parts.iter().skip(1).find(|part| part.bytes > MOST_PART_BYTES);
    let all = manifest.parts.iter().try_fold(end.json.len() as u64, |all, part| all.checked_add(part.bytes));
    if large.is_some() || all != Some(end.summed) {
        return Err(unknown("its parts do not fit into it".to_owned()));
    }
    Ok(manifest)
}
