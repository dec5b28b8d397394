//! Which files of a folder are taken for records, and which are skipped and why.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use record::Record;
use units::format;

use super::{Found, MAX_BYTES, RecordArgs, Refused, bytes, list};
use crate::output;

/// The beginning of a file, which shows whether it can be a record or another program's text.
const HEAD_BYTES: u64 = 8 << 10;
/// A larger file is imported only if a user names it. Records are read up to their own limit.
const MAX_FOREIGN_BYTES: u64 = 64 << 20;
/// Files that are left out although they seem to be records, each with its reason; more are counted.
const NAMED_DAMAGED: usize = 8;

/// What a folder holds beside records.
#[derive(Default)]
struct Skipped {
    /// Files by the reason why they were skipped.
    files: BTreeMap<&'static str, Vec<PathBuf>>,
    /// Folders, which are not entered.
    folders: Vec<PathBuf>,
    /// Files that seem to be records and cannot be used, with the reason.
    damaged: Vec<String>,
}

impl RecordArgs {
    /// The records of a folder that `keep` wants. Other programs' results are imported, except beside an assessment.
    ///
    /// Of a campaign's folder these are its runs. Other folders below it are not entered.
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
                Err(Skip::Loudly(why)) => skipped.damaged.push(why),
            }
        }
        skipped.warn_of_damaged();
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
        let unreadable = |error: std::io::Error| Skip::Loudly(format!("cannot read {}: {error}", file.display()));
        let opened = File::open(file).map_err(unreadable)?;
        let length = opened.metadata().map_err(unreadable)?.len();
        let mut head = Vec::new();
        opened.take(HEAD_BYTES).read_to_end(&mut head).map_err(unreadable)?;
        let is_json = file.extension().is_some_and(|extension| extension == "json");
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
        let content = bytes(file).map_err(|error| Skip::Loudly(format!("{error:#}")))?;
        let left_out = |why: String| Skip::Loudly(format!("{} is left out: {why}", file.display()));
        let record = self.content(file, &content, false).map_err(|refused| match refused {
            Refused::OtherDocument(_) => Skip::Quietly("other documents of punctual"),
            Refused::BareNumbers => Skip::Quietly("bare numbers that name no program: name a file to have it imported"),
            Refused::Unknown(_) => Skip::Quietly(UNKNOWN),
            Refused::Record(error) => left_out(error.to_string()),
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
    /// The file seems to be one and cannot be used: a warning of its own.
    Loudly(String),
}

impl Skipped {
    fn warn_of_damaged(&self) {
        for why in self.damaged.iter().take(NAMED_DAMAGED) {
            output::warning(why);
        }
        if let Some(more) = self.damaged.len().checked_sub(NAMED_DAMAGED).filter(|more| *more > 0) {
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
            Err(error) => skipped.damaged.push(format!("cannot read {}: {error}", file.display())),
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
