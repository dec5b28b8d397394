//! `punctual report`: one HTML page of runs.

use std::fs;
use std::path::{Path, PathBuf};

use analyse::Assessment;
use anyhow::{Context as _, bail};
use profile::Profile;
use profile::check::Findings;
use record::Record;

use crate::exit::Exit;
use crate::{output, reporting, save};

/// No record comes near this; a larger file is something else.
const MAX_RECORD_BYTES: u64 = 1 << 30;

#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// Records, or folders that 'punctual assess' made
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The page to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// The name that the page bears
    #[arg(long)]
    title: Option<String>,
}

impl ReportArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        save::check_file(&self.output)?;
        let runs = records(&self.runs)?;
        let companions = match self.runs.as_slice() {
            // One conclusion fits one folder; of several, none speaks for all.
            [path] if path.is_dir() => Companions::of(path),
            _ => Companions::default(),
        };
        let concluded = companions.assessment.is_some();
        let title = self.title.unwrap_or_else(|| title(&runs, concluded));
        let html = companions.render(title, runs);
        save::write_or_fall_back(&self.output, html.as_bytes())?.tell();
        Ok(Exit::Holds)
    }
}

/// The records of files and folders, by their start.
pub(super) fn records(paths: &[PathBuf]) -> anyhow::Result<Vec<Record>> {
    let mut runs = Vec::new();
    for path in paths {
        if path.is_dir() {
            runs.extend(folder(path)?);
        } else {
            runs.push(record(path)?);
        }
    }
    runs.sort_by_key(|run| run.manifest.started.realtime_ns);
    Ok(runs)
}

fn title(runs: &[Record], concluded: bool) -> String {
    match runs {
        [] => "No runs".to_owned(),
        [first, ..] if concluded => format!("Assessment of {}", first.manifest.node.hostname),
        // An import may not know its machine.
        [one] if one.manifest.node.hostname.is_empty() => one.label.clone(),
        [one] => format!("{} on {}", one.measurement.name(), one.manifest.node.hostname),
        [first, ..] if first.manifest.node.hostname.is_empty() => format!("{} runs", runs.len()),
        [first, ..] => format!("{} runs on {}", runs.len(), first.manifest.node.hostname),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let size = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    if size > MAX_RECORD_BYTES {
        bail!("{} has {}, more than any record", path.display(), units::format::bytes(size));
    }
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn record(path: &Path) -> anyhow::Result<Record> {
    Record::from_json(&read(path)?).with_context(|| format!("{} cannot be shown", path.display()))
}

/// What an assessment leaves beside its records.
#[derive(Default)]
struct Companions {
    assessment: Option<Assessment>,
    profile: Option<Profile>,
    audit: Option<Findings>,
}

impl Companions {
    /// What is there and can be read; the rest is absent from the page.
    fn of(folder: &Path) -> Self {
        fn parsed<T: serde::de::DeserializeOwned>(file: &Path) -> Option<T> {
            let text = read(file).ok()?;
            match serde_json::from_str(&text) {
                Ok(value) => Some(value),
                Err(error) => {
                    output::warning(&format!("{} is left out: {error}", file.display()));
                    None
                }
            }
        }
        Self {
            assessment: parsed(&folder.join("assessment.json")),
            profile: parsed(&folder.join("profile.json")),
            audit: parsed(&folder.join("findings.json")),
        }
    }

    fn render(self, title: String, runs: Vec<Record>) -> String {
        reporting::render(title, self.assessment, runs, self.profile.as_ref(), self.audit.as_ref())
    }
}

/// The records of a folder; files of other kinds are passed over.
fn folder(path: &Path) -> anyhow::Result<Vec<Record>> {
    let mut runs = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(path)
        .with_context(|| format!("cannot read the folder {}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    for file in files.into_iter().filter(|file| !is_companion(file)) {
        match Record::from_json(&read(&file)?) {
            Ok(record) => runs.push(record),
            Err(error) => output::warning(&format!("{} is left out: {error}", file.display())),
        }
    }
    if runs.is_empty() {
        bail!("there is no record in {}: make one with 'punctual assess -o {0}'", path.display());
    }
    Ok(runs)
}

fn is_companion(file: &Path) -> bool {
    ["assessment.json", "profile.json", "findings.json"].iter().any(|name| file.file_name().is_some_and(|n| n == *name))
}
