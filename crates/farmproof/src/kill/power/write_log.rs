//! The log of all writes to a disk, in the format of Linux' `dm-log-writes` (`drivers/md/dm-log-writes.c`), which QEMU's block filter
//! `blklogwrites` writes too.
//!
//! The first sector says how many entries follow. Each entry has a sector of its own, and the data of a write stands behind it. All
//! numbers are little-endian.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// What a log begins with.
const MAGIC: u64 = 0x006a_7366_7773_6872;
/// The version of the format that is read.
const VERSION: u64 = 1;
/// Length of the head that is used (bytes): magic, version, number of entries, length of a sector.
const HEAD_BYTES: usize = 28;
/// Length of an entry that is used (bytes): sector, number of sectors, flags, length of a mark's text.
const ENTRY_BYTES: usize = 32;
/// What sectors can be long (bytes).
const SECTOR_BYTES: std::ops::RangeInclusive<u32> = 512..=4_096;

/// Everything before it is on the disk once it is done.
const FLUSH: u64 = 1;
/// Its own data is on the disk once it is done.
const FUA: u64 = 2;
/// What was in these sectors is not needed any more; no data follows.
const DISCARD: u64 = 4;
/// A note of whoever made the log; its text stands in the entry's own sector.
const MARK: u64 = 8;
/// The write is of the file system's own data.
const METADATA: u64 = 16;

/// What is wrong with a log.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    /// It cannot be read.
    #[error("the log of writes cannot be read: {0}")]
    File(#[from] io::Error),
    /// It begins with something else.
    #[error("this is no log of writes: it begins with {0:#018x}")]
    Foreign(u64),
    /// A version that is not known.
    #[error("a log of writes of version {0}, and only version {VERSION} is known")]
    Version(u64),
    /// Sectors of a length that no disk has.
    #[error("a log of writes with sectors of {0} bytes")]
    Sector(u32),
    /// It ends before all its entries.
    #[error("the log of writes ends within entry {entry} of {entries}")]
    CutOff {
        /// Number of the entry, counted from 0.
        entry: u64,
        /// How many the head states.
        entries: u64,
    },
    /// Flags that are not known.
    #[error("entry {entry} of the log of writes has unknown flags: {flags:#x}")]
    Flags {
        /// Number of the entry, counted from 0.
        entry: u64,
        /// All its flags.
        flags: u64,
    },
}

/// What a log says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// How many entries it has. QEMU states that anew with each flush, before the flush is done.
    pub(super) entries: u64,
    /// Length of a sector (bytes).
    pub(super) sector_bytes: u32,
}

/// What was done to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The first sector.
    pub(super) sector: u64,
    /// How many sectors, 0 where nothing was written.
    pub(super) sectors: u64,
    /// Where the data stands in the log (bytes from its beginning); `None` for what has none.
    pub(super) data_at: Option<u64>,
    /// Whether all that was done before is on the disk from then on.
    pub(super) is_flush: bool,
    /// Whether its own data is on the disk from then on.
    pub(super) is_durable: bool,
    /// Whether the sectors lose what they had.
    pub(super) is_discard: bool,
}

/// All that was done to a disk, in the order in which it was asked for.
#[derive(Debug)]
pub(super) struct WriteLog {
    pub(super) file: File,
    pub(super) sector_bytes: u32,
    pub(super) entries: Vec<Entry>,
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    if let Some(found) = bytes.get(at..at + 8) {
        eight.copy_from_slice(found);
    }
    u64::from_le_bytes(eight)
}

/// Reads what a log says of itself.
///
/// # Errors
/// Where it cannot be read, or is something else.
pub(super) fn head(file: &File) -> Result<Head, LogError> {
    let mut bytes = [0; HEAD_BYTES];
    file.read_exact_at(&mut bytes, 0)?;
    let (magic, version) = (number(&bytes, 0), number(&bytes, 8));
    if magic != MAGIC {
        return Err(LogError::Foreign(magic));
    }
    if version != VERSION {
        return Err(LogError::Version(version));
    }
    let [.., a, b, c, d] = bytes;
    let sector_bytes = u32::from_le_bytes([a, b, c, d]);
    if !SECTOR_BYTES.contains(&sector_bytes) || !sector_bytes.is_power_of_two() {
        return Err(LogError::Sector(sector_bytes));
    }
    Ok(Head { entries: number(&bytes, 16), sector_bytes })
}

impl WriteLog {
    /// Reads all entries, without their data.
    ///
    /// # Errors
    /// Where it cannot be read, is something else, or ends too early.
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        let file = File::open(path)?;
        let Head { entries: count, sector_bytes } = head(&file)?;
        let (length, sector) = (file.metadata()?.len(), u64::from(sector_bytes));
        let mut at = sector;
        let mut entries = Vec::new();
        for entry in 0..count {
            let cut_off = LogError::CutOff { entry, entries: count };
            let mut bytes = [0; ENTRY_BYTES];
            match file.read_exact_at(&mut bytes, at) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(cut_off),
                read => read?,
            }
            let [first, sectors, flags] = [0, 8, 16].map(|at| number(&bytes, at));
            if flags & !(FLUSH | FUA | DISCARD | MARK | METADATA) != 0 {
                return Err(LogError::Flags { entry, flags });
            }
            at += sector;
            let has = |flag: u64| flags & flag != 0;
            let has_data = sectors > 0 && !has(DISCARD) && !has(MARK);
            let data_at = has_data.then_some(at);
            if has_data {
                let end = sectors.checked_mul(sector).and_then(|bytes| at.checked_add(bytes));
                at = end.filter(|end| *end <= length).ok_or(cut_off)?;
            }
            entries.push(Entry {
                sector: first,
                sectors: if has(MARK) { 0 } else { sectors },
                data_at,
                is_flush: has(FLUSH),
                is_durable: has(FUA),
                is_discard: has(DISCARD),
            });
        }
        Ok(Self { file, sector_bytes, entries })
    }
}

/// Logs that tests make by hand.
#[cfg(test)]
pub(super) mod made {
    use super::*;

    pub(in super::super) const SECTOR: usize = 512;

    /// One entry: flags, first sector, and what is written, a byte for each sector.
    pub(in super::super) type Made<'a> = (u64, u64, &'a [u8]);

    pub(in super::super) const WRITE: u64 = 0;
    pub(in super::super) const FLUSHES: u64 = FLUSH;
    pub(in super::super) const DURABLE: u64 = FUA;
    pub(in super::super) const DISCARDS: u64 = DISCARD;
    pub(in super::super) const MARKS: u64 = MARK;

    /// The bytes of a log.
    pub(in super::super) fn bytes(entries: &[Made<'_>]) -> Vec<u8> {
        let mut log = Vec::new();
        let mut sector = |numbers: &[u64]| {
            let mut one: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            one.resize(SECTOR, 0);
            log.extend(one);
        };
        sector(&[MAGIC, VERSION, entries.len() as u64, SECTOR as u64]);
        for (flags, at, content) in entries {
            sector(&[*at, content.len() as u64, *flags, 0]);
            if flags & (DISCARD | MARK) == 0 {
                content.iter().for_each(|byte| sector(&[u64::from_le_bytes([*byte; 8]); SECTOR / 8]));
            }
        }
        log
    }

    /// A log in a file.
    pub(in super::super) fn log(bytes: &[u8]) -> Result<WriteLog, LogError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        WriteLog::open(file.path())
    }
}

#[cfg(test)]
mod tests {
    use super::made::{DISCARDS, DURABLE, FLUSHES, MARKS, SECTOR, WRITE, bytes, log};
    use super::*;

    #[test]
    fn entries_are_found_behind_their_data() {
        let read = log(&bytes(&[
            (WRITE, 8, b"ab"),
            (FLUSHES, 0, b""),
            (DISCARDS, 4, b"xyz"),
            (MARKS, 0, b"m"),
            (DURABLE, 9, b"c"),
        ]))
        .unwrap();
        assert_eq!(read.sector_bytes as usize, SECTOR);
        let places: Vec<_> = read.entries.iter().map(|entry| (entry.sector, entry.sectors, entry.data_at)).collect();
        let at = |sector: u64| Some(sector * SECTOR as u64);
        assert_eq!(places, [(8, 2, at(2)), (0, 0, None), (4, 3, None), (0, 0, None), (9, 1, at(8))]);
        let flags: Vec<_> =
            read.entries.iter().map(|entry| (entry.is_flush, entry.is_durable, entry.is_discard)).collect();
        let none = (false, false, false);
        assert_eq!(flags, [none, (true, false, false), (false, false, true), none, (false, true, false)]);
    }

    #[test]
    fn what_is_no_log_or_is_cut_off_is_refused() {
        let whole = bytes(&[(WRITE, 8, b"ab"), (FLUSHES, 0, b""), (WRITE, 1, b"c")]);
        log(&whole).unwrap();
        for length in [0, 27, SECTOR, SECTOR + 31, 2 * SECTOR, 4 * SECTOR - 1, whole.len() - 1] {
            let error = log(&whole[..length]).unwrap_err();
            let is_expected = match error {
                LogError::File(error) => length < HEAD_BYTES && error.kind() == io::ErrorKind::UnexpectedEof,
                LogError::CutOff { entries: 3, .. } => length >= HEAD_BYTES,
                _ => false,
            };
            assert!(is_expected, "{length}");
        }
        let with = |at: usize, byte: u8| {
            let mut changed = whole.clone();
            changed[at] = byte;
            log(&changed).unwrap_err().to_string()
        };
        assert!(with(0, 0).contains("no log of writes"));
        assert!(with(8, 2).contains("version 2"));
        assert!(with(25, 3).contains("sectors of 768 bytes"), "{}", with(25, 3));
        assert!(with(SECTOR + 16, 32).contains("entry 0 of the log of writes has unknown flags: 0x20"));
        // A number of sectors that no arithmetic can take.
        assert!(with(SECTOR + 15, 0xff).contains("ends within entry 0 of 3"));
    }
}
