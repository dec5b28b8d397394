//! Records out of files and folders, for every command that takes records.
//!
//! Files may be records of punctual or other programs' results, which are imported. Whatever is imported or skipped is said
//! on stderr.

mod condition;
mod folder;
mod names;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use foreign::{ImportFormat, Importer, IsochronColumns, Options, Unit};
use record::{Origin, ReasonCode, Record, RecordError, ValidityState};

pub(crate) use self::condition::Condition;
use terminal::output;

/// No record and no imported text comes near this; a larger file is something else.
const MAX_BYTES: u64 = 1 << 30;
/// How many files or reasons are listed in one line; more are counted.
const LISTED: usize = 4;
/// How much of a log or a capture is read at once.
const PIECE_BYTES: usize = 256 << 10;

/// How files are read that are named as records.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct RecordArgs {
    /// The unit of other programs' numbers, in files that do not state it: us is cyclictest's, ns that of its -N
    #[arg(long, value_enum)]
    unit: Option<UnitArg>,
    /// What the columns of a table of isochron hold, where its first line does not name them: the letters that its
    /// 'report --printf-args' was given, such as qSAwstTRra
    #[arg(long, value_name = "LETTERS", value_parser = IsochronColumns::parse)]
    printf_args: Option<IsochronColumns>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum UnitArg {
    Us,
    Ns,
}

/// A record and the file that it was read from.
pub(crate) struct Found {
    /// The record; that of an import is labeled with the name of its file.
    pub(crate) record: Record,
    /// Path of the file, as named on the command line or below the folder that was named.
    pub(crate) file: PathBuf,
}

/// The head of punctual's documents.
#[derive(serde::Deserialize)]
struct Schema {
    schema: String,
}

/// Why the content of a file is not taken.
enum Refused {
    /// The file is a document of punctual with another schema.
    OtherDocument(String),
    /// The file is a record that cannot be used: damaged, or of a newer version.
    Record(RecordError),
    /// The format is known, and the text does not match it.
    Import(anyhow::Error),
    /// The text can be bare numbers of any origin, and nobody named the file.
    BareNumbers,
    /// The content is neither a record nor of a known format; with the reason why it is no record.
    Unknown(Option<RecordError>),
}

/// The text of a file that is not too large to be a record.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    Ok(run::read_text(path)?)
}

/// Whether a file is a record of punctual.
pub(crate) fn is_record(path: &Path) -> bool {
    run::read_record(path).is_ok()
}

/// A file, or stdin for `-`.
fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    Ok(Box::new(File::open(file).with_context(|| cannot_read(file))?))
}

fn cannot_read(file: &Path) -> String {
    if file == Path::new("-") { "cannot read stdin".to_owned() } else { format!("cannot read {}", file.display()) }
}

/// The rest of a file of which `begun` was read already.
fn rest(file: &Path, mut source: impl Read, begun: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = begun;
    source.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes).with_context(|| cannot_read(file))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{} has more than {}, more than is read", file.display(), units::format::bytes(MAX_BYTES));
    }
    Ok(bytes)
}

/// The bytes of a file, or of stdin for `-`.
fn bytes(file: &Path) -> anyhow::Result<Vec<u8>> {
    rest(file, open(file)?, Vec::new())
}

/// The first bytes of a file, as many as it takes to recognize a format that is read piece by piece.
fn head(file: &Path, source: &mut dyn Read) -> anyhow::Result<Vec<u8>> {
    let mut head = Vec::new();
    source.take(foreign::HEAD_BYTES as u64).read_to_end(&mut head).with_context(|| cannot_read(file))?;
    Ok(head)
}

impl RecordArgs {
    /// The options of imports.
    pub(crate) fn options(self) -> Options {
        let unit = self.unit.map(|unit| match unit {
            UnitArg::Us => Unit::Us,
            UnitArg::Ns => Unit::Ns,
        });
        Options { unit, isochron: self.printf_args }
    }

    /// The records of files and folders, in the order of the paths. Of folders only those that `keep` wants.
    ///
    /// Runs that would have the same name get a part of their file's path as well.
    pub(crate) fn read(
        self,
        paths: &[PathBuf],
        mut keep: impl FnMut(&Path, &Record) -> bool,
    ) -> anyhow::Result<Vec<Found>> {
        let mut found = Vec::new();
        for path in paths {
            if path.is_dir() {
                found.extend(self.folder(path, |record| keep(path, record))?);
            } else {
                found.push(self.file(path)?);
            }
        }
        announce_imports(&found);
        Ok(found)
    }

    /// All records of files and folders, by their start, each with a name of its own.
    pub(crate) fn all(self, paths: &[PathBuf]) -> anyhow::Result<Vec<Record>> {
        Ok(by_start(self.read(paths, |_, _| true)?))
    }

    /// The same, with the label under which each was measured.
    pub(crate) fn all_labeled(self, paths: &[PathBuf]) -> anyhow::Result<(Vec<Record>, Vec<String>)> {
        Ok(labeled_by_start(self.read(paths, |_, _| true)?))
    }

    /// The record of one named file.
    fn file(self, path: &Path) -> anyhow::Result<Found> {
        let mut source = open(path)?;
        let head = head(path, &mut source)?;
        if let Some(importer) = foreign::recognize_stream(&head).and_then(Importer::begin) {
            return Ok(Found { record: stream(path, importer, &head, source)?, file: path.to_owned() });
        }
        let content = rest(path, source, head)?;
        let record = self.content(path, &content, true).map_err(|refused| refused.into_error(path))?;
        Ok(Found { record, file: path.to_owned() })
    }

    /// A record from the content of a file, whose path becomes the label of an import.
    fn content(self, path: &Path, content: &[u8], is_named: bool) -> Result<Record, Refused> {
        let plain = foreign::unwrapped(content)
            .map_err(|error| Refused::Import(anyhow!(error).context(cannot_import(path))))?;
        let content = plain.as_ref();
        let why_no_record = match std::str::from_utf8(content).ok().map(Record::from_json) {
            Some(Ok(record)) => return Ok(record),
            Some(Err(RecordError::Schema { found })) if found.starts_with("punctual/") => {
                return Err(Refused::OtherDocument(found));
            }
            Some(Err(
                error @ (RecordError::Contradiction(_) | RecordError::Newer { .. } | RecordError::Unreleased { .. }),
            )) => {
                return Err(Refused::Record(error));
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        // What lacks fields of a record may name its schema all the same.
        match (serde_json::from_slice::<Schema>(content), why_no_record) {
            (Ok(Schema { schema }), Some(error)) if schema == record::SCHEMA => Err(Refused::Record(error)),
            (Ok(Schema { schema }), _) if schema.starts_with("punctual") => Err(Refused::OtherDocument(schema)),
            (_, why_no_record) => self.foreign(path, content, is_named, why_no_record),
        }
    }

    fn foreign(
        self,
        path: &Path,
        content: &[u8],
        is_named: bool,
        why_no_record: Option<RecordError>,
    ) -> Result<Record, Refused> {
        let Some(format) = foreign::recognize(content) else {
            return Err(match foreign::what_it_is(content).filter(|_| is_named) {
                Some(what) => Refused::Import(anyhow!(what).context(cannot_import(path))),
                None => Refused::Unknown(why_no_record),
            });
        };
        if !format.is_distinct && !is_named {
            return Err(Refused::BareNumbers);
        }
        self.import(path, content, Some(format)).map_err(Refused::Import)
    }

    /// Imports a file, in the given format or else the one that its content shows. Logs and captures are read piece by piece.
    pub(crate) fn import_file(self, path: &Path, format: Option<&ImportFormat>) -> anyhow::Result<Record> {
        let mut source = open(path)?;
        let head = head(path, &mut source)?;
        match format.or_else(|| foreign::recognize_stream(&head)).and_then(Importer::begin) {
            Some(importer) => stream(path, importer, &head, source),
            None => self.import(path, &rest(path, source, head)?, format),
        }
    }

    /// Imports the content of a file, in the given format or else the one that its content shows.
    fn import(self, path: &Path, content: &[u8], format: Option<&ImportFormat>) -> anyhow::Result<Record> {
        let imported = foreign::import(content, format, self.options()).with_context(|| cannot_import(path))?;
        Ok(imported.into_record(&import_label(path)).with_printable_texts())
    }
}

fn cannot_import(path: &Path) -> String {
    format!("{} cannot be imported", path.display())
}

fn import_label(path: &Path) -> String {
    let name = path.file_name().filter(|name| *name != "-");
    name.map_or_else(|| "imported".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Imports a file of which `head` was read already, piece by piece.
fn stream(path: &Path, mut importer: Importer, head: &[u8], mut source: impl Read) -> anyhow::Result<Record> {
    importer.feed(head).with_context(|| cannot_import(path))?;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).with_context(|| cannot_read(path)),
        };
        importer.feed(&piece[..length]).with_context(|| cannot_import(path))?;
    }
    let imported = importer.finish().with_context(|| cannot_import(path))?;
    Ok(imported.into_record(&import_label(path)).with_printable_texts())
}

impl Refused {
    /// The error about a file that a user named.
    fn into_error(self, path: &Path) -> anyhow::Error {
        let path = path.display();
        let cannot = |why: anyhow::Error| why.context(format!("{path} cannot be used"));
        match self {
            Self::OtherDocument(found) => cannot(anyhow!(
                "its schema is '{found}', not '{}': name the records, or the folder that they are in",
                record::SCHEMA
            )),
            Self::Record(error) => cannot(error.into()),
            Self::Import(error) => error,
            Self::Unknown(why) => {
                let why = why.map_or_else(|| "it is no text".to_owned(), |why| why.to_string());
                let known: Vec<&str> = foreign::IMPORTS.iter().map(|format| format.name).collect();
                cannot(anyhow!(
                    "{why}; nor is it another program's output that is recognized ({}): if it is one of these, \
                     'punctual import --format NAME' reads it",
                    known.join(", ")
                ))
            }
            Self::BareNumbers => cannot(anyhow!("it holds bare numbers")),
        }
    }
}

/// Records by their start, each with a name of its own.
pub(crate) fn by_start(found: Vec<Found>) -> Vec<Record> {
    labeled_by_start(found).0
}

/// The same, with the label under which each was measured: names of their own would hide that runs belong together.
fn labeled_by_start(mut found: Vec<Found>) -> (Vec<Record>, Vec<String>) {
    let labels: Vec<String> = found.iter().map(|found| found.record.label.clone()).collect();
    names::distinguish(&mut found);
    let mut runs: Vec<(Record, String)> = found.into_iter().map(|found| found.record).zip(labels).collect();
    runs.sort_by_key(|(run, _)| run.manifest().started.realtime.as_ns());
    runs.into_iter().unzip()
}

/// The records of two sides, each with a name of its own among all of them.
pub(crate) fn distinguish_sides(a: Vec<Found>, b: Vec<Found>) -> [Vec<Record>; 2] {
    let of_a = a.len();
    let mut found: Vec<Found> = a.into_iter().chain(b).collect();
    names::distinguish(&mut found);
    let mut runs: Vec<Record> = found.into_iter().map(|found| found.record).collect();
    let b = runs.split_off(of_a);
    [runs, b]
}

/// Says on stderr which files were imported, from which format, and what they lack; one line for files that are alike.
fn announce_imports(found: &[Found]) {
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Found { record, file } in found {
        if let Some(what) = describe_import(record) {
            let name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
            alike.entry(what).or_default().push(name);
        }
    }
    for (what, files) in alike {
        let example = files.first().filter(|file| *file != "stdin").map_or("FILE", String::as_str);
        output::note(&format!("{}: {what} ('punctual import {example}' lists all)", list(&files, ", ")));
    }
}

/// How a record was imported and what it lacks, in one line; `None` for a record of punctual's own.
fn describe_import(record: &Record) -> Option<String> {
    let Origin::Imported { format, lacks } = &record.manifest().origin else { return None };
    let tool = &record.manifest().tool;
    let whose = foreign::format_in_words(format, tool);
    let is_assumed = record.validity.reasons().iter().any(|reason| reason.code == ReasonCode::UnitAssumed);
    let unit = if is_assumed { ", taken to be in us (--unit ns overrides that)" } else { "" };
    let missing = foreign::always_missing(record);
    let more = lacks.len().saturating_sub(missing.len());
    Some(format!("imported as {whose}{unit}; it lacks {}, and {more} more facts", missing.join(", ")))
}

/// Names in words: the first ones, and how many more there are.
fn list(names: &[impl AsRef<str>], separator: &str) -> String {
    let named: Vec<&str> = names.iter().take(LISTED).map(AsRef::as_ref).collect();
    let more = names.len() - named.len();
    let named = named.join(separator);
    if more > 0 { format!("{named}{separator}and {} more", units::format::count(more as u64)) } else { named }
}

/// Says on stderr why runs are invalid, and what to do about it.
pub(crate) fn warn_of_invalid<'a>(runs: impl IntoIterator<Item = &'a Record>) {
    /// Runs that are named; of a thousand invalid ones the first few show enough.
    const NAMED_RUNS: usize = 8;
    let invalid: Vec<&Record> = runs.into_iter().filter(|run| run.validity.is_invalid()).collect();
    for run in invalid.iter().take(NAMED_RUNS) {
        let name = if run.label.is_empty() { run.measurement.name() } else { &run.label };
        for (code, details) in invalid_reasons(run) {
            let info = code.info();
            let meaning = info.meaning.trim().trim_end_matches('.');
            output::warning(&format!(
                "the run '{name}' is invalid: {meaning} ({}); remedy: {}",
                list(&details, "; "),
                info.remedy
            ));
        }
    }
    if let Some(more) = invalid.len().checked_sub(NAMED_RUNS).filter(|more| *more > 0) {
        output::warning(&format!("{} more runs are invalid", units::format::count(more as u64)));
    }
}

/// The reasons that make a run invalid, each with all that was seen of it: often something of each CPU.
fn invalid_reasons(run: &Record) -> BTreeMap<ReasonCode, Vec<&str>> {
    let mut all: BTreeMap<ReasonCode, Vec<&str>> = BTreeMap::new();
    for reason in run.validity.reasons().iter().filter(|reason| reason.code.info().state == ValidityState::Invalid) {
        all.entry(reason.code).or_default().push(&reason.detail);
    }
    all
}
