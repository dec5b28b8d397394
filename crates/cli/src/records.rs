//! Records out of files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use record::Record;

use crate::output;

/// The text of a file that is not too large to be a record.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    Ok(measure::read_text(path)?)
}

/// One record with the file that it came from.
pub(crate) fn record(path: &Path) -> anyhow::Result<Record> {
    Ok(measure::read_record(path)?)
}

/// The records of a folder; files of other kinds are passed over.
pub(crate) fn folder(path: &Path) -> anyhow::Result<Vec<Record>> {
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

/// The records of files and folders, by their start.
pub(crate) fn all(paths: &[PathBuf]) -> anyhow::Result<Vec<Record>> {
    let mut runs = Vec::new();
    for path in paths {
        if path.is_dir() {
            runs.extend(folder(path)?);
        } else {
            runs.push(record(path)?);
        }
    }
    runs.sort_by_key(|run| run.manifest().started.realtime.as_ns());
    Ok(runs)
}

fn is_companion(file: &Path) -> bool {
    ["assessment.json", "profile.json", "findings.json"].iter().any(|name| file.file_name().is_some_and(|n| n == *name))
}
