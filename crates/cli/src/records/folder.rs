//! Which files of a folder are taken for records, and which are skipped and why.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use record::Record;
use units::format;

use super::{Found, MAX_BYTES, RecordArgs, Refused, bytes, list};
use terminal::output;

/// The beginning of a file, which shows whether it can be a record or another program's text.
const HEAD_BYTES: u64 = 8 << 10;
/// A larger file is imported only if a user names it. Records are read up to their own limit.
const MAX_FOREIGN_BYTES: u64 = 64 << 20;
/// Files that cannot be used and are named with their reason; more are counted.
const NAMED_DAMAGED: usize = 8;

/// What a folder holds beside records.
#[derive(Default)]
struct Skipped {
    /// Files by the reason why they were skipped.
    files: BTreeMap<&'static str, Vec<PathBuf>>,
    /// Folders, which are not entered.
    folders: Vec<PathBuf>,
    /// Files that seem to be another program's results and cannot be used, with the reason.
    left_out: Vec<String>,
    /// Files that seem to be records and cannot be used, with the reason.
    damaged: Vec<String>,
}

impl RecordArgs {
    /// The records of a folder that `keep` wants. Other programs' results are imported, except beside an assessment.
    ///
    /// Of a campaign's folder these are its runs. Other folders below it are not entered. A record that cannot be read is an
    /// error, since a conclusion from the others alone would pass over a run.
    pub(super) fn folder(self, path: &Path, mut keep: impl FnMut(&Record) -> bool) -> anyhow::Result<Vec<Found>> {
        let mut skipped = Skipped::default();
        let mut found = Vec::new();
        let mut files = files_of(path, &mut skipped)?;
        // A campaign keeps its runs one folder below its journal.
        let runs = path.join("runs");
        if path.join("journal.jsonl").is_file() && runs.is_dir() {
            skipped.folders.retain(|folder| *folder != runs);
            files.extend(files_of(&runs, &mut skipped)?);
        }
        let is_assessment = path.join("assessment.json").is_file();
        let mut unwanted = 0_u64;
        for file in files {
            match self.file_of_folder(&file, is_assessment) {
                Ok(record) if keep(&record) => found.push(Found { record, file }),
                Ok(_) => unwanted += 1,
                Err(Skip::Quietly(why)) => skipped.files.entry(why).or_default().push(file),
                Err(Skip::Loudly(why)) => skipped.left_out.push(why),
                Err(Skip::Damaged(why)) => skipped.damaged.push(why),
            }
        }
        skipped.refuse_damaged(path)?;
        skipped.warn_of_left_out();
        if found.is_empty() && unwanted == 0 {
            let what = skipped.describe(path).map_or_else(String::new, |what| format!(" ({what})"));
            bail!("there is no record in {}{what}: make one with 'punctual assess -o {0}'", path.display());
        }
        let plural = if found.len() == 1 { "" } else { "s" };
        let taken = format!("{}: {} record{plural}", path.display(), format::count(found.len() as u64));
        let unwanted = match unwanted {
            0 => String::new(),
            1 => "; 1 other was not asked for".to_owned(),
            many => format!("; {} others were not asked for", format::count(many)),
        };
        let what = skipped.describe(path).map_or_else(String::new, |what| format!("; {what}"));
        output::note(&format!("{taken}{unwanted}{what}"));
        Ok(found)
    }

    fn file_of_folder(self, file: &Path, is_assessment: bool) -> Result<Record, Skip> {
        let unreadable = |error: std::io::Error| unreadable(file, &error);
        if file.extension().is_some_and(|extension| extension == "part") {
            return Err(Skip::Quietly("unfinished files"));
        }
        let opened = File::open(file).map_err(unreadable)?;
        let length = opened.metadata().map_err(unreadable)?.len();
        let mut head = Vec::new();
        opened.take(HEAD_BYTES).read_to_end(&mut head).map_err(unreadable)?;
        let is_json = is_json(file);
        let damaged = |why: &dyn std::fmt::Display| Skip::Damaged(format!("{}: {why}", file.display()));
        if is_json && head.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace()) {
            return Err(damaged(&"it holds nothing"));
        }
        if head.is_empty() {
            return Err(Skip::Quietly("empty"));
        }
        if is_page(&head) {
            return Err(Skip::Quietly("pages"));
        }
        if head.contains(&0) {
            return Err(Skip::Quietly(UNKNOWN));
        }
        if length > if is_json { MAX_BYTES } else { MAX_FOREIGN_BYTES } {
            return Err(Skip::Quietly("too large: name a file to have it read"));
        }
        if is_assessment && !is_json {
            return Err(Skip::Quietly("beside an assessment"));
        }
        let content = bytes(file).map_err(|error| match is_json {
            true => Skip::Damaged(format!("{error:#}")),
            false => Skip::Loudly(format!("{error:#}")),
        })?;
        let record = self.content(file, &content, false).map_err(|refused| match refused {
            Refused::OtherDocument(_) => Skip::Quietly("documents of punctual that are no records"),
            Refused::BareNumbers => Skip::Quietly("bare numbers that name no program: name a file to have it imported"),
            Refused::Unknown(_) => match serde_json::from_slice::<serde::de::IgnoredAny>(&content) {
                Err(error) if is_json || names_our_schema(&head) => damaged(&format!("it is no whole JSON: {error}")),
                _ => Skip::Quietly(UNKNOWN),
            },
            Refused::Record(error) => damaged(&error),
            Refused::Import(error) => Skip::Loudly(format!("left out: {error:#}")),
        })?;
        if is_assessment && record.manifest().is_imported() {
            return Err(Skip::Quietly("beside an assessment"));
        }
        Ok(record)
    }
}

/// The reason for files of all other kinds.
const UNKNOWN: &str = "neither records nor of a known format";

/// A file of a folder that gives no record.
enum Skip {
    /// The file was never meant to be one; files with the same reason are named together.
    Quietly(&'static str),
    /// The file seems to be another program's result and cannot be used: a warning of its own.
    Loudly(String),
    /// The file seems to be a record and cannot be used: nothing is concluded without it.
    Damaged(String),
}

/// Why a file that cannot be read is not taken: one that is named as records are may be a run.
fn unreadable(file: &Path, error: &std::io::Error) -> Skip {
    let why = format!("cannot read {}: {error}", file.display());
    if is_json(file) { Skip::Damaged(why) } else { Skip::Loudly(why) }
}

fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

/// Whether a text begins like a record of punctual.
fn names_our_schema(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    head.trim_start().starts_with('{') && head.contains(&format!("\"{}\"", record::SCHEMA))
}

impl Skipped {
    /// An error that names the records which cannot be used; none if there are none.
    fn refuse_damaged(&self, folder: &Path) -> anyhow::Result<()> {
        if self.damaged.is_empty() {
            return Ok(());
        }
        let named: Vec<&str> = self.damaged.iter().take(NAMED_DAMAGED).map(String::as_str).collect();
        let more = match self.damaged.len() - named.len() {
            0 => String::new(),
            more => format!("; and {} more", format::count(more as u64)),
        };
        let (files, them) = if self.damaged.len() == 1 { ("a file", "it") } else { ("files", "them") };
        bail!(
            "{} holds {files} that cannot be read as a record, and without {them} a conclusion would pass over a run: {}{more}. \
             Bring the original back, move {them} out of the folder, or name the records one by one",
            folder.display(),
            named.join("; ")
        )
    }

    fn warn_of_left_out(&self) {
        for why in self.left_out.iter().take(NAMED_DAMAGED) {
            output::warning(why);
        }
        if let Some(more) = self.left_out.len().checked_sub(NAMED_DAMAGED).filter(|more| *more > 0) {
            output::warning(&format!("{} more files cannot be used and are left out", format::count(more as u64)));
        }
    }

    /// What was skipped and why, in one line; `None` if nothing was.
    fn describe(&self, folder: &Path) -> Option<String> {
        let short = |files: &[PathBuf]| {
            let short = |file: &PathBuf| file.strip_prefix(folder).unwrap_or(file).display().to_string();
            list(&files.iter().map(short).collect::<Vec<_>>(), ", ")
        };
        let mut parts: Vec<String> =
            self.files.iter().map(|(why, files)| format!("{} ({why})", short(files))).collect();
        if !self.folders.is_empty() {
            parts.push(format!("{} (folders: name them to have them read)", short(&self.folders)));
        }
        (!parts.is_empty()).then(|| format!("skipped: {}", parts.join(", ")))
    }
}

/// The files of a folder by name; the folders in it are noted as skipped.
fn files_of(path: &Path, skipped: &mut Skipped) -> anyhow::Result<Vec<PathBuf>> {
    let context = || format!("cannot read the folder {}", path.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(path).with_context(context)? {
        let file = entry.with_context(context)?.path();
        // A pipe would block, and a device could have no end.
        match fs::metadata(&file) {
            Ok(data) if data.is_dir() => skipped.folders.push(file),
            Ok(data) if data.is_file() => files.push(file),
            Ok(_) => skipped.files.entry("no regular files").or_default().push(file),
            Err(error) => match unreadable(&file, &error) {
                Skip::Damaged(why) => skipped.damaged.push(why),
                Skip::Loudly(why) => skipped.left_out.push(why),
                Skip::Quietly(why) => skipped.files.entry(why).or_default().push(file),
            },
        }
    }
    files.sort();
    skipped.folders.sort();
    Ok(files)
}

fn is_page(head: &[u8]) -> bool {
    let start = String::from_utf8_lossy(head).trim_start().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}
