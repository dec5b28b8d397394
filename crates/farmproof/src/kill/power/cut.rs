//! What a disk has after a power cut: all that was flushed, and of what was written since then whatever its cache had brought down.
//!
//! A write that is newer than the last completed flush is there, is not there, or is torn at a sector. In which order a disk's cache
//! writes makes no difference, since the power cut shows one moment alone: each sector has what some of the writes to it left. Only of
//! two writes to one sector the older one never replaces the newer one, since a cache holds a sector once.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use units::Random;

use super::write_log::{Entry, WriteLog};

/// What is copied at once (bytes).
const PIECE_BYTES: usize = 1 << 20;

/// A write of which a power cut left something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// Number of the entry.
    pub(super) entry: usize,
    /// Which of its sectors, counted from its first one.
    pub(super) sectors: Vec<Range<u64>>,
}

impl Left {
    /// Whether all of the write is left.
    pub(super) fn is_whole(&self, entries: &[Entry]) -> bool {
        let kept = self.sectors.iter().map(|part| part.end - part.start);
        entries.get(self.entry).is_some_and(|entry| units::total(kept) == entry.sectors)
    }
}

/// How many of the entries before a cut are on the disk whatever its cache did: those before the last flush.
pub(super) fn certain(entries: &[Entry], cut: usize) -> usize {
    entries.iter().take(cut).rposition(|entry| entry.is_flush).unwrap_or(0)
}

/// What is left of the entries from a flush to a cut, in their order. `tear_sectors`: what a disk writes whole or not at all.
pub(super) fn left(entries: &[Entry], since: Range<usize>, tear_sectors: u64, random: &mut Random) -> Vec<Left> {
    let mut all = Vec::new();
    // How much of it a cache has brought down differs from cut to cut.
    let of_ten = random.below(11);
    for number in since {
        let Some(entry) = entries.get(number).filter(|entry| entry.sectors > 0) else { continue };
        let whole = 0..entry.sectors;
        let sectors = if entry.is_durable || random.below(10) < of_ten {
            vec![whole]
        } else if random.below(3) == 0 {
            torn(entry, tear_sectors, random)
        } else {
            Vec::new()
        };
        if !sectors.is_empty() {
            all.push(Left { entry: number, sectors });
        }
    }
    all
}

/// Some pieces of a write: the first ones, or any.
fn torn(entry: &Entry, tear_sectors: u64, random: &mut Random) -> Vec<Range<u64>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < entry.sectors {
        // A disk's own sectors begin at multiples of their length.
        let end = ((entry.sector + at) / tear_sectors + 1) * tear_sectors - entry.sector;
        pieces.push(at..end.min(entry.sectors));
        at = end;
    }
    if random.below(2) == 0 {
        pieces.truncate(random.below(pieces.len() + 1));
    } else {
        pieces.retain(|_| random.below(2) == 0);
    }
    pieces
}

/// Does to an image what a whole entry did to the disk.
pub(super) fn apply(log: &WriteLog, entry: usize, image: &File) -> io::Result<()> {
    let sectors = log.entries.get(entry).map_or(0, |entry| entry.sectors);
    if sectors == 0 {
        return Ok(());
    }
    let whole = 0..sectors;
    apply_part(log, &Left { entry, sectors: vec![whole] }, image)
}

/// Does to an image what is left of an entry.
pub(super) fn apply_part(log: &WriteLog, left: &Left, image: &File) -> io::Result<()> {
    let Some(entry) = log.entries.get(left.entry) else { return Ok(()) };
    let sector = u64::from(log.sector_bytes);
    for part in &left.sectors {
        let (from, to) = (part.start * sector, part.end * sector);
        let mut at = from;
        while at < to {
            let length = usize::try_from(to - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let mut bytes = vec![0; length];
            if let Some(data) = entry.data_at {
                log.file.read_exact_at(&mut bytes, data + at)?;
            }
            image.write_all_at(&bytes, entry.sector * sector + at)?;
            at += length as u64;
        }
    }
    Ok(())
}

/// Copies an image into an empty file; what is zero takes no room in it.
pub(super) fn copy_sparse(from: &File, to: &File) -> io::Result<()> {
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut bytes = vec![0; PIECE_BYTES];
    let mut at = 0;
    while at < length {
        let count = from.read_at(&mut bytes, at)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let read = bytes.get(..count).unwrap_or_default();
        if read.iter().any(|byte| *byte != 0) {
            to.write_all_at(read, at)?;
        }
        at += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::write_log::made::{DISCARDS, DURABLE, FLUSHES, Made, SECTOR, WRITE, bytes, log};
    use super::*;

    /// Sectors of the image.
    const SECTORS: usize = 24;

    /// The image after a cut, a byte for each sector, on a disk full of dots.
    fn image(log: &WriteLog, cut: usize, tear_sectors: u64, random: &mut Random) -> Vec<u8> {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[b'.'; SECTORS * SECTOR], 0).unwrap();
        let certain = certain(&log.entries, cut);
        (0..certain).for_each(|entry| apply(log, entry, &file).unwrap());
        let left = left(&log.entries, certain..cut, tear_sectors, random);
        left.iter().for_each(|left| apply_part(log, left, &file).unwrap());
        let copy = tempfile::tempfile().unwrap();
        copy_sparse(&file, &copy).unwrap();
        let mut all = vec![0; SECTORS * SECTOR];
        copy.read_exact_at(&mut all, 0).unwrap();
        all.chunks(SECTOR)
            .map(|sector| {
                assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is written whole");
                sector[0]
            })
            .collect()
    }

    const ENTRIES: [Made<'static>; 9] = [
        (WRITE, 0, b"aaaa"),
        (WRITE, 8, b"bbbbbbbb"),
        (FLUSHES, 0, b""),
        (WRITE, 0, b"cc"),
        (DURABLE, 4, b"d"),
        (WRITE, 0, b"e"),
        (DISCARDS, 8, b"12"),
        (FLUSHES, 16, b"ff"),
        (WRITE, 9, b"gggg"),
    ];

    #[test]
    fn a_flush_makes_certain_what_was_before_it_and_not_what_it_writes() {
        let log = log(&bytes(&ENTRIES)).unwrap();
        let all: Vec<usize> = (0..=ENTRIES.len()).map(|cut| certain(&log.entries, cut)).collect();
        assert_eq!(all, [0, 0, 0, 2, 2, 2, 2, 2, 7, 7]);
    }

    #[test]
    fn what_was_flushed_is_there_and_of_the_rest_anything_may_be() {
        let log = log(&bytes(&ENTRIES)).unwrap();
        let mut seen: Vec<std::collections::BTreeSet<u8>> = vec![Default::default(); SECTORS];
        for seed in 0..2_000 {
            let image = image(&log, 7, 1, &mut Random::new(seed));
            seen.iter_mut().zip(&image).for_each(|(seen, byte)| seen.extend([*byte]));
        }
        let seen: Vec<String> = seen.iter().map(|seen| seen.iter().copied().map(char::from).collect()).collect();
        // Sectors 0 to 4, then 8 to 11: 'a' and 'b' were flushed, 'd' is durable by itself, all else may be there or not.
        assert_eq!(seen[..6], ["ace", "ac", "a", "a", "d", "."]);
        assert_eq!(seen[8..12], ["\0b", "\0b", "b", "b"]);
        assert_eq!(seen[16], ".", "what was written after the cut is not there");
        let image = image(&log, 8, 1, &mut Random::new(1));
        assert_eq!(image[..5], *b"ecaad", "all of it, once the flush is done");
    }

    #[test]
    fn a_write_is_torn_at_the_disk_s_own_sectors() {
        let log = log(&bytes(&[(WRITE, 6, b"xxxxxxxxxxxx")])).unwrap();
        let mut ways = std::collections::BTreeSet::new();
        for seed in 0..500 {
            let image = image(&log, 1, 8, &mut Random::new(seed));
            let text = String::from_utf8(image[6..18].to_vec()).unwrap();
            ways.insert([0..2, 2..10, 10..12].map(|piece| {
                let piece = &text[piece];
                assert!(piece.chars().all(|sector| piece.starts_with(sector)), "{text}");
                piece.starts_with('x')
            }));
        }
        assert_eq!(ways.len(), 8, "each piece is there or not, in every combination");
    }
}
