//! The folder of a campaign: its file, its journal, its records.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use campaign::journal::{Event, JournalError, State};
use campaign::result::Evidence;
use campaign::{Campaign, CampaignError, Choice};
use kernel::file_lock::FileLock;
use kernel::whole_file::check_room;
use record::Record;
use run::{ReadRecordError, read_record};

const CAMPAIGN: &str = "campaign.toml";
const JOURNAL: &str = "journal.jsonl";
/// What the last run said.
const LAST_RUN: &str = "last-run.txt";
/// How often each comparison resamples.
const RESAMPLES: u32 = 10_000;
/// Where the records are.
const RUNS: &str = "runs";

/// Why the folder of a campaign cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is no file of a campaign in it.
    #[error("{path} is no folder of a campaign: cannot read {file}", path = path.display(), file = path.join(CAMPAIGN).display())]
    NoCampaign {
        /// Path of the folder.
        path: PathBuf,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
    /// The campaign's file is not one that can be run.
    #[error("{}", path.display())]
    Campaign {
        /// Path of the file.
        path: PathBuf,
        /// What is odd.
        #[source]
        error: CampaignError,
    },
    /// The journal is not one.
    #[error("{}", path.display())]
    Journal {
        /// Path of the file.
        path: PathBuf,
        /// What is odd.
        #[source]
        error: JournalError,
    },
    /// The kernel refuses to read a file.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
    /// The kernel refuses to write a file or folder.
    #[error("cannot write {}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
    /// Nothing can be written there, or there is no room.
    #[error("cannot write to {} (name another place with -o)", path.display())]
    NoRoom {
        /// Path of the folder.
        path: PathBuf,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
    /// It has a journal already.
    #[error("{path} holds a campaign already: 'punctual campaign resume {path}' goes on with it", path = _0.display())]
    Taken(PathBuf),
    /// Another process works in it.
    #[error("another punctual is at work in {}", _0.display())]
    Busy(PathBuf),
    /// A run's record.
    #[error(transparent)]
    Record(#[from] ReadRecordError),
    /// What is to be remembered has no text.
    #[error("an event has no JSON form")]
    Event(#[source] serde_json::Error),
}

impl FolderError {
    fn read(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Read { path: path.to_owned(), error }
    }

    fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Write { path: path.to_owned(), error }
    }
}

/// What a folder holds, to be looked at.
#[derive(Clone, Debug)]
pub struct Held {
    /// What is measured.
    pub campaign: Campaign,
    /// What is done.
    pub state: State,
}

/// Reads a folder without holding it.
///
/// # Errors
/// Where it is no campaign's, or what stands in it cannot be read.
pub fn look(path: &Path) -> Result<Held, FolderError> {
    let file = path.join(CAMPAIGN);
    let text = fs::read_to_string(&file).map_err(|error| FolderError::NoCampaign { path: path.to_owned(), error })?;
    let campaign =
        Campaign::from_toml(&text, &Choice::default()).map_err(|error| FolderError::Campaign { path: file, error })?;
    let journal = path.join(JOURNAL);
    let text = fs::read(&journal).map_err(FolderError::read(&journal))?;
    let state = State::read(&text).map_err(|error| FolderError::Journal { path: journal, error })?;
    Ok(Held { campaign, state })
}

/// The records that count, of those that are there, by visit and measurement.
///
/// # Errors
/// Where one cannot be read.
pub fn records(path: &Path, held: &Held) -> Result<BTreeMap<(usize, usize), Record>, FolderError> {
    let mut all = BTreeMap::new();
    for &(visit, measurement) in held.state.ran.keys() {
        if let Some(ran) = held.state.counted(visit, measurement).filter(|ran| ran.is_usable()) {
            all.insert((visit, measurement), read_record(&path.join(&ran.file))?);
        }
    }
    Ok(all)
}

/// The same, to be looked at.
#[must_use]
pub fn borrowed(records: &BTreeMap<(usize, usize), Record>) -> BTreeMap<(usize, usize), &Record> {
    records.iter().map(|(key, record)| (*key, record)).collect()
}

/// What a conclusion is drawn from.
#[must_use]
pub const fn evidence<'a>(held: &'a Held, records: &'a BTreeMap<(usize, usize), &'a Record>) -> Evidence<'a> {
    Evidence { campaign: &held.campaign, state: &held.state, records, resamples: RESAMPLES }
}

/// The records by their files, for the page. Of runs that are not used, those that can be read, since they show why.
#[must_use]
pub fn by_file(path: &Path, held: &Held, records: BTreeMap<(usize, usize), Record>) -> BTreeMap<String, Record> {
    let file = |key: (usize, usize)| held.state.counted(key.0, key.1).map(|ran| ran.file.clone());
    let mut all: BTreeMap<String, Record> =
        records.into_iter().filter_map(|(key, record)| Some((file(key)?, record))).collect();
    for file in held.state.ran.keys().filter_map(|key| file(*key)) {
        if !all.contains_key(&file) {
            // A run that is not used may have left no record at all.
            all.extend(read_record(&path.join(&file)).ok().map(|record| (file, record)));
        }
    }
    all
}

/// A folder that this process alone works in.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub held: Held,
    journal: File,
    _lock: FileLock,
}

impl Folder {
    /// A new one.
    ///
    /// # Errors
    /// Where it holds a campaign already, or cannot be written.
    pub fn create(path: &Path, campaign: Campaign) -> Result<Self, FolderError> {
        if path.join(JOURNAL).exists() {
            return Err(FolderError::Taken(path.to_owned()));
        }
        fs::create_dir_all(path.join(RUNS)).map_err(FolderError::write(path))?;
        // A restart may come from anywhere.
        let path = path.canonicalize().map_err(FolderError::write(path))?;
        let lock = lock(&path)?;
        check_room(&path).map_err(|error| FolderError::NoRoom { path: path.clone(), error })?;
        let file = path.join(CAMPAIGN);
        fs::write(&file, campaign.to_toml()).map_err(FolderError::write(&file))?;
        let journal = append(&path).map_err(FolderError::write(&path.join(JOURNAL)))?;
        for place in [&path, &path.join(RUNS)] {
            File::open(place).and_then(|folder| folder.sync_all()).map_err(FolderError::write(place))?;
        }
        Ok(Self { path, held: Held { campaign, state: State::default() }, journal, _lock: lock })
    }

    /// One that is there.
    ///
    /// # Errors
    /// Where it is no campaign's, another process works in it, or it cannot be written.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let path = path.canonicalize().map_err(FolderError::read(path))?;
        // Found to be one before anything is made in it.
        look(&path)?;
        let lock = lock(&path)?;
        let held = look(&path)?;
        let journal = append(&path).map_err(FolderError::write(&path.join(JOURNAL)))?;
        Ok(Self { path, held, journal, _lock: lock })
    }

    /// Remembers something; it is on the disk when this returns.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn note(&mut self, event: Event) -> Result<(), FolderError> {
        let mut line = serde_json::to_vec(&event).map_err(FolderError::Event)?;
        line.push(b'\n');
        let written = self.journal.write_all(&line).and_then(|()| self.journal.sync_data());
        written.map_err(FolderError::write(&self.path.join(JOURNAL)))?;
        self.held.state.take(event);
        Ok(())
    }

    /// Takes away what only a running campaign needs.
    pub fn tidy(path: &Path) {
        // It may never have been made.
        let _ = fs::remove_file(path.join(LAST_RUN));
    }

    /// Where a run's record goes, in the folder.
    pub(crate) fn run_file(&self, visit: usize, measurement: usize) -> String {
        let attempt = self.held.state.ran.get(&(visit, measurement)).map_or(0, Vec::len);
        let again = if attempt == 0 { String::new() } else { format!("-again{attempt}") };
        let name = self.held.campaign.measurement.get(measurement).map_or("", |one| one.name.as_str());
        format!("{RUNS}/{:04}-{name}{again}.json", visit + 1)
    }

    /// Where what a run says goes.
    pub(crate) fn last_run(&self) -> PathBuf {
        self.path.join(LAST_RUN)
    }
}

fn lock(path: &Path) -> Result<FileLock, FolderError> {
    let file = path.join("lock");
    let held = FileLock::take(&file).map_err(FolderError::write(&file))?;
    held.ok_or_else(|| FolderError::Busy(path.to_owned()))
}

/// The journal, with nothing after its last whole line.
fn append(path: &Path) -> io::Result<File> {
    let path = path.join(JOURNAL);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read?,
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let file = OpenOptions::new().create(true).append(true).open(&path)?;
    if whole < text.len() {
        file.set_len(u64::try_from(whole).unwrap_or(0))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn campaign() -> Campaign {
        let text = "name = \"c\"\nabout = \"a\"\nrepetitions = 2\n[[measurement]]\nname = \"m\"\nduration = \"1s\"\n\
                    request = { kind = \"noise\" }\n[[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"a\"\n\
                    [[factor.level]]\nname = \"b\"\nasked = { request = { priority = 80 } }\n";
        Campaign::from_toml(text, &Choice::default()).unwrap()
    }

    fn begin() -> Event {
        Event::Begin { version: 1, realtime_ns: 5, boot_id: "b".to_owned(), program: "1".to_owned() }
    }

    #[test]
    fn what_a_power_cut_leaves_of_the_last_line_is_cut_off_and_the_rest_goes_on() {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join("c");
        let mut folder = Folder::create(&path, campaign()).unwrap();
        folder.note(begin()).unwrap();
        assert!(matches!(Folder::open(&path), Err(FolderError::Busy(_))));
        drop(folder);
        OpenOptions::new().append(true).open(path.join(JOURNAL)).unwrap().write_all(b"{\"event\":\"e").unwrap();
        // A child that another test makes just now holds a copy of the lock until it has begun its program.
        let end = Instant::now() + Duration::from_secs(20);
        let mut folder = loop {
            match Folder::open(&path) {
                Err(FolderError::Busy(_)) if Instant::now() < end => std::thread::yield_now(),
                opened => break opened.unwrap(),
            }
        };
        folder.note(Event::End).unwrap();
        assert!(look(&path).unwrap().state.is_ended);
        drop(folder);
        let error = Folder::create(&path, campaign()).unwrap_err().to_string();
        assert!(error.contains("holds a campaign already: 'punctual campaign resume"), "{error}");
    }

    #[test]
    fn a_folder_of_something_else_is_told_and_left_alone() {
        let tree = tempfile::tempdir().unwrap();
        let error = Folder::open(tree.path()).unwrap_err().to_string();
        assert!(error.contains("is no folder of a campaign: cannot read"), "{error}");
        assert_eq!(fs::read_dir(tree.path()).unwrap().count(), 0);
    }

    #[test]
    fn another_attempt_has_another_file() {
        let tree = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&tree.path().join("c"), campaign()).unwrap();
        let first = folder.run_file(2, 0);
        assert_eq!(first, "runs/0003-m.json");
        let validity = record::ValidityState::Invalid;
        let ran = Event::Ran { visit: 2, measurement: 0, file: first, validity, lasted_ns: 7, unusable: None };
        folder.note(ran).unwrap();
        assert_eq!(folder.run_file(2, 0), "runs/0003-m-again1.json");
    }
}
