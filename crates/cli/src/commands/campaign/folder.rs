//! The folder of a campaign: its file, its journal, its records.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use campaign::journal::{Event, State};
use campaign::result::Evidence;
use campaign::{Campaign, Choice};
use kernel::file_lock::FileLock;
use record::Record;

use crate::{records, save};

const CAMPAIGN: &str = "campaign.toml";
const JOURNAL: &str = "journal.jsonl";
/// How often each comparison resamples.
const RESAMPLES: u32 = 10_000;
/// Where the records are.
const RUNS: &str = "runs";

/// What a folder holds, to be looked at.
pub(super) struct Held {
    pub(super) campaign: Campaign,
    pub(super) state: State,
}

/// Reads a folder without holding it.
pub(super) fn look(path: &Path) -> anyhow::Result<Held> {
    let file = path.join(CAMPAIGN);
    let text = fs::read_to_string(&file)
        .with_context(|| format!("{} is no folder of a campaign: cannot read {}", path.display(), file.display()))?;
    let campaign = Campaign::from_toml(&text, &Choice::default()).with_context(|| file.display().to_string())?;
    let journal = path.join(JOURNAL);
    let text = fs::read(&journal).with_context(|| format!("cannot read {}", journal.display()))?;
    let state = State::read(&text).with_context(|| journal.display().to_string())?;
    Ok(Held { campaign, state })
}

/// The records that count, of those that are there.
pub(super) fn records(path: &Path, held: &Held) -> anyhow::Result<BTreeMap<(usize, usize), Record>> {
    let mut all = BTreeMap::new();
    for &(visit, measurement) in held.state.ran.keys() {
        if let Some(ran) = held.state.counted(visit, measurement).filter(|ran| ran.is_usable()) {
            all.insert((visit, measurement), records::record(&path.join(&ran.file))?);
        }
    }
    Ok(all)
}

/// The same, to be looked at.
pub(super) fn borrowed(records: &BTreeMap<(usize, usize), Record>) -> BTreeMap<(usize, usize), &Record> {
    records.iter().map(|(key, record)| (*key, record)).collect()
}

/// What a conclusion is drawn from.
pub(super) fn evidence<'a>(held: &'a Held, records: &'a BTreeMap<(usize, usize), &'a Record>) -> Evidence<'a> {
    Evidence { campaign: &held.campaign, state: &held.state, records, resamples: RESAMPLES }
}

/// A folder that this process alone works in.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) held: Held,
    journal: File,
    _lock: FileLock,
}

impl Folder {
    /// A new one.
    pub(super) fn create(path: &Path, campaign: Campaign) -> anyhow::Result<Self> {
        if path.join(JOURNAL).exists() {
            bail!("{0} holds a campaign already: 'punctual campaign resume {0}' goes on with it", path.display());
        }
        fs::create_dir_all(path.join(RUNS)).with_context(|| format!("cannot make the folder {}", path.display()))?;
        // A restart may come from anywhere.
        let path = path.canonicalize().with_context(|| path.display().to_string())?;
        let lock = lock(&path)?;
        save::check_folder(&path)?;
        let file = path.join(CAMPAIGN);
        fs::write(&file, campaign.to_toml()).with_context(|| format!("cannot write {}", file.display()))?;
        let journal = append(&path).with_context(|| format!("cannot write {}", path.join(JOURNAL).display()))?;
        for place in [&path, &path.join(RUNS)] {
            File::open(place).and_then(|folder| folder.sync_all()).with_context(|| place.display().to_string())?;
        }
        Ok(Self { path, held: Held { campaign, state: State::default() }, journal, _lock: lock })
    }

    /// One that is there.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let path = path.canonicalize().with_context(|| path.display().to_string())?;
        // Found to be one before anything is made in it.
        look(&path)?;
        let lock = lock(&path)?;
        let held = look(&path)?;
        let journal = append(&path).with_context(|| format!("cannot write {}", path.join(JOURNAL).display()))?;
        Ok(Self { path, held, journal, _lock: lock })
    }

    /// Remembers something; it is on the disk when this returns.
    pub(super) fn note(&mut self, event: Event) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&event).context("an event has no JSON form")?;
        line.push(b'\n');
        self.journal
            .write_all(&line)
            .and_then(|()| self.journal.sync_data())
            .with_context(|| format!("cannot write {}", self.path.join(JOURNAL).display()))?;
        self.held.state.take(event);
        Ok(())
    }

    /// Where a run's record goes, in the folder.
    pub(super) fn run_file(&self, visit: usize, measurement: usize) -> String {
        let attempt = self.held.state.ran.get(&(visit, measurement)).map_or(0, Vec::len);
        let again = if attempt == 0 { String::new() } else { format!("-again{attempt}") };
        let name = self.held.campaign.measurement.get(measurement).map_or("", |one| one.name.as_str());
        format!("{RUNS}/{:04}-{name}{again}.json", visit + 1)
    }
}

fn lock(path: &Path) -> anyhow::Result<FileLock> {
    let held = FileLock::take(&path.join("lock")).with_context(|| format!("cannot write to {}", path.display()))?;
    held.with_context(|| format!("another punctual is at work in {}", path.display()))
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
