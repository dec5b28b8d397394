//! An entry as the spool has it in memory: what decides about merging, and where its text is.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use farm::monitor::{Interval, MonitorEntry, RawEntry};
use farm::stream::{Body, Entry};

use super::segment::{self, Line};

/// Where a text is.
#[derive(Clone, Debug)]
pub(super) enum Text {
    /// In memory: not written yet.
    Held(RawEntry),
    /// A line of a segment.
    OnDisk {
        /// Number of the segment, which its file is called by.
        segment: u32,
        /// Where the line begins (bytes).
        offset: u64,
        /// How long it is (bytes).
        length: u32,
    },
}

/// The folder whose segments are read.
#[derive(Debug)]
pub(super) struct Shelf(Mutex<PathBuf>);

impl Shelf {
    pub(super) fn new(folder: PathBuf) -> Arc<Self> {
        Arc::new(Self(Mutex::new(folder)))
    }

    pub(super) fn move_to(&self, folder: PathBuf) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = folder;
    }

    fn read(&self, segment: u32, offset: u64, length: u32) -> Option<RawEntry> {
        let path = segment_path(&self.0.lock().unwrap_or_else(PoisonError::into_inner), segment);
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        File::open(path).ok()?.read_exact_at(&mut bytes, offset).ok()?;
        match segment::line(&bytes)? {
            Line::Item(line) | Line::Split(line) => line.item.body.full().cloned(),
            _ => None,
        }
    }
}

/// The file of a segment.
pub(super) fn segment_path(folder: &Path, segment: u32) -> PathBuf {
    folder.join(format!("{segment:08}.log"))
}

/// What an entry is, as far as the spool asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An interval, with what has to be the same for two to become one, and when it was (ns, CLOCK_BOOTTIME).
    Interval { alike: u64, start_ns: i64, end_ns: i64 },
    /// Histograms of an hour, which go first where room is made.
    Histograms,
    /// Something else.
    Other,
}

/// An entry.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    kind: Kind,
    /// When it was written (s of the agent's running time).
    pub(super) age_s: u64,
    text: Arc<Mutex<Text>>,
    shelf: Arc<Shelf>,
}

fn alike(interval: &Interval) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&interval.times.boot, interval.condition, interval.cut_short.is_some()).hash(&mut hasher);
    interval.cpus.iter().for_each(|cpu| cpu.cpu.hash(&mut hasher));
    hasher.finish()
}

impl Kept {
    /// An entry with its text; `None` where the text is no entry.
    pub(super) fn new(raw: &RawEntry, text: Text, age_s: u64, shelf: &Arc<Shelf>) -> Option<Self> {
        let kind = match raw.entry().ok()? {
            MonitorEntry::Interval(interval) => Kind::Interval {
                alike: alike(&interval),
                start_ns: interval.times.start_ns,
                end_ns: interval.times.end_ns(),
            },
            MonitorEntry::Histograms(_) => Kind::Histograms,
            _ => Kind::Other,
        };
        Some(Self { kind, age_s, text: Arc::new(Mutex::new(text)), shelf: Arc::clone(shelf) })
    }

    fn held(raw: RawEntry, age_s: u64, shelf: &Arc<Shelf>) -> Option<Self> {
        Self::new(&raw.clone(), Text::Held(raw), age_s, shelf)
    }

    /// Its text; `None` where it is damaged.
    pub(super) fn raw(&self) -> Option<RawEntry> {
        match self.text.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Text::Held(raw) => Some(raw),
            Text::OnDisk { segment, offset, length } => self.shelf.read(segment, offset, length),
        }
    }

    /// Its text is there now, for all copies of it.
    pub(super) fn is_at(&self, text: Text) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Whether it is on the disk.
    pub(super) fn is_written(&self) -> bool {
        matches!(*self.text.lock().unwrap_or_else(PoisonError::into_inner), Text::OnDisk { .. })
    }

    /// How long its line is, about (bytes).
    pub(super) fn bytes_on_disk(&self) -> u64 {
        /// What stands around an entry in its line: hashes, numbers, names.
        const AROUND: usize = 320;
        match &*self.text.lock().unwrap_or_else(PoisonError::into_inner) {
            Text::Held(raw) => (raw.0.get().len() + AROUND) as u64,
            Text::OnDisk { length, .. } => u64::from(*length),
        }
    }

    /// When the interval began that it is (ns, CLOCK_BOOTTIME); `None` of another entry.
    pub(super) const fn interval_start_ns(&self) -> Option<i64> {
        match self.kind {
            Kind::Interval { start_ns, .. } => Some(start_ns),
            _ => None,
        }
    }

    fn changed(&self, change: impl FnOnce(MonitorEntry) -> Option<MonitorEntry>) -> Option<Self> {
        let changed = change(self.raw()?.entry().ok()?)?;
        Self::held(RawEntry::new(&changed).ok()?, self.age_s, &self.shelf)
    }
}

impl Entry for Kept {
    fn merged(&self, later: &Self) -> Option<Self> {
        // Decided without the texts, most of which are on the disk.
        let (Kind::Interval { alike, end_ns, .. }, Kind::Interval { alike: with, start_ns, .. }) =
            (self.kind, later.kind)
        else {
            return None;
        };
        if alike != with || end_ns != start_ns {
            return None;
        }
        let later_entry = later.raw()?.entry().ok()?;
        let merged = self.changed(|entry| entry.merged(&later_entry))?;
        Some(Self { age_s: later.age_s, ..merged })
    }

    fn may_be_emptied(&self) -> bool {
        self.kind == Kind::Histograms
    }

    fn without_counts(&self) -> Self {
        self.changed(|entry| Some(entry.without_counts())).unwrap_or_else(|| self.clone())
    }

    fn bytes(&self) -> Vec<u8> {
        self.raw().map(|raw| raw.bytes()).unwrap_or_default()
    }
}

/// A body with its text in the place of what the spool has of it; `None` where the text is damaged.
pub(super) fn with_text(body: &Body<Kept>) -> Option<Body<RawEntry>> {
    Some(match body {
        Body::Full(kept) => Body::Full(kept.raw()?),
        Body::Emptied => Body::Emptied,
        Body::Gone(why) => Body::Gone(*why),
    })
}
