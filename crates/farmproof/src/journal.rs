//! What a simulated node notes beside its spool, for whoever looks at the hub later: what it is about to write, what is on its disk, what
//! was acknowledged. A line that a kill cut short lacks its end, and counts for nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use farm::stream::StreamId;

use crate::truth::Boot;

/// What ends each line: one that was cut short does not have it.
const END: &str = " .";

/// A journal that is written.
pub(crate) struct Journal(File);

impl Journal {
    /// Goes on behind what an earlier process wrote.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(b"\n")?;
        Ok(Self(file))
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(format!("{text}{END}\n").as_bytes())
    }

    /// A boot begins.
    pub(crate) fn boots(&mut self, boot: &Boot) -> io::Result<()> {
        self.line(&format!("boot {} {}", boot.number, boot.first_slot))
    }

    /// The entries of a slot are about to be written.
    pub(crate) fn writes(&mut self, slot: u64) -> io::Result<()> {
        self.line(&format!("writes {slot}"))
    }

    /// They are on the disk.
    pub(crate) fn wrote(&mut self, slot: u64) -> io::Result<()> {
        self.line(&format!("wrote {slot}"))
    }

    /// The hub has acknowledged a stream up to there.
    pub(crate) fn acknowledged(&mut self, stream: StreamId, sequence: u64) -> io::Result<()> {
        self.line(&format!("acknowledged {} {} {sequence}", stream.start, stream.random))
    }
}

/// What stands in a journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noted {
    /// Slots of which something may have been written.
    pub(crate) begun: BTreeSet<u64>,
    /// Slots that are on the node's disk as a whole.
    pub(crate) whole: BTreeSet<u64>,
    /// For each stream the last sequence that was acknowledged.
    pub(crate) acknowledged: BTreeMap<StreamId, u64>,
    /// The latest boot.
    pub(crate) boot: Option<Boot>,
    /// The first slot of each boot.
    pub(crate) boots: BTreeSet<u64>,
}

impl Noted {
    /// Reads a journal; an empty one where there is none yet.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut noted = Self::default();
        for line in text.lines().filter_map(|line| line.strip_suffix(END)) {
            let mut words = line.split(' ');
            let word = words.next().unwrap_or_default();
            let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            match (word, &numbers[..]) {
                ("writes", [slot]) => drop(noted.begun.insert(*slot)),
                ("wrote", [slot]) => drop(noted.whole.insert(*slot)),
                ("boot", [number, first_slot]) => {
                    noted.boot = Some(Boot { number: *number, first_slot: *first_slot });
                    noted.boots.insert(*first_slot);
                }
                ("acknowledged", [start, random, sequence]) => {
                    let stream = StreamId { start: *start, random: *random };
                    noted.acknowledged.insert(stream, *sequence);
                }
                _ => {}
            }
        }
        Ok(noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_short_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        journal.writes(12).unwrap();
        // As a kill in the middle of the line leaves it.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"wrote 1").unwrap();
        let stream = StreamId { start: 3, random: u64::MAX };
        let mut journal = Journal::open(&path).unwrap();
        journal.acknowledged(stream, 7).unwrap();
        let noted = Noted::read(&path).unwrap();
        assert_eq!((noted.begun.len(), noted.whole.len(), noted.acknowledged[&stream]), (1, 0, 7));
    }
}
