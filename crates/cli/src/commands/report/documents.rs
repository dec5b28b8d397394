//! What stands beside records on the page of nodes that act together: what 'pulse shift' and 'pulse sweep' kept.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use summary::shift::{SHIFT_SCHEMA, ShiftDocument};
use summary::sweep::{SWEEP_SCHEMA, SweepDocument};
use summary::together::{NamedShift, NamedSweep};
use terminal::output;

use crate::records;

/// The beginning of a file in which this program writes the schema of a document (bytes).
const HEAD_BYTES: u64 = 512;

/// The documents of some files and folders.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) shifts: Vec<NamedShift>,
    pub(super) sweeps: Vec<NamedSweep>,
}

/// A document that a page of nodes that act together shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shift,
    Sweep,
}

impl Kind {
    fn of(schema: &str) -> Option<Self> {
        match schema {
            SHIFT_SCHEMA => Some(Self::Shift),
            SWEEP_SCHEMA => Some(Self::Sweep),
            _ => None,
        }
    }
}

impl Documents {
    /// Reads the documents among the paths and in the folders among them; the paths that are left are of records.
    pub(super) fn take(paths: &[PathBuf]) -> anyhow::Result<(Self, Vec<PathBuf>)> {
        let (mut documents, mut others) = (Self::default(), Vec::new());
        for path in paths {
            if path.is_dir() {
                documents.of_folder(path)?;
                others.push(path.clone());
            } else if let Some(kind) = kind_of(path) {
                documents.add(path, kind, &name_of(path))?;
            } else {
                others.push(path.clone());
            }
        }
        tell_apart(documents.shifts.iter_mut().map(|shift| &mut shift.name).collect());
        tell_apart(documents.sweeps.iter_mut().map(|sweep| &mut sweep.name).collect());
        Ok((documents, others))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shifts.is_empty() && self.sweeps.is_empty()
    }

    fn of_folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let entries =
            std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        for file in files.iter().filter(|file| begins_as_document(file)) {
            let Some(kind) = kind_of(file) else { continue };
            // A sweep has a folder of its own, whose name says more than that of its file.
            let name = if kind == Kind::Sweep { name_of(folder) } else { name_of(file) };
            self.add(file, kind, &name)?;
            output::note(&format!("the page shows what {} says", file.display()));
        }
        Ok(())
    }

    fn add(&mut self, file: &Path, kind: Kind, name: &str) -> anyhow::Result<()> {
        let text = records::read(file)?;
        let cannot = || format!("{} cannot be used", file.display());
        match kind {
            Kind::Shift => {
                let shift = ShiftDocument::from_json(&text).with_context(cannot)?.shift;
                let name = if shift.label.is_empty() { name.to_owned() } else { shift.label.clone() };
                self.shifts.push(NamedShift { name, shift });
            }
            Kind::Sweep => {
                let document = SweepDocument::from_json(&text).with_context(cannot)?;
                self.sweeps.push(NamedSweep { name: name.to_owned(), document });
            }
        }
        Ok(())
    }
}

/// The name of a file or folder without its extension.
fn name_of(path: &Path) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    full.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Numbers names that are alike.
fn tell_apart(names: Vec<&mut String>) {
    let all: Vec<String> = names.iter().map(|name| (**name).clone()).collect();
    for (at, name) in names.into_iter().enumerate() {
        if all.iter().filter(|other| *other == name).count() > 1 {
            let number = all.iter().take(at + 1).filter(|other| *other == name).count();
            *name = format!("{name} ({number})");
        }
    }
}

/// Which document a file is; `None` if it is neither.
fn kind_of(path: &Path) -> Option<Kind> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let file = opened(path)?;
    let head: Head = serde_json::from_reader(BufReader::new(file)).ok()?;
    Kind::of(&head.schema)
}

/// A regular file, opened: a pipe would block, and what was read of it would be missing from whoever reads it next.
fn opened(path: &Path) -> Option<File> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    File::open(path).ok()
}

/// Whether a file of a folder begins as this program writes a document: records are larger, and are not read twice.
fn begins_as_document(file: &Path) -> bool {
    let Some(opened) = opened(file) else { return false };
    let mut head = Vec::new();
    let is_read = opened.take(HEAD_BYTES).read_to_end(&mut head).is_ok();
    let head = String::from_utf8_lossy(&head);
    is_read && [SHIFT_SCHEMA, SWEEP_SCHEMA].iter().any(|schema| head.contains(&format!("\"{schema}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_told_by_their_schema_wherever_it_stands_and_all_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let late = file("a.json", r#"{"pairs": [], "schema": "punctual/shift", "version": 2}"#);
        assert!(kind_of(&late) == Some(Kind::Shift));
        let error = Documents::take(&[late]).err().map(|error| format!("{error:#}")).unwrap();
        assert!(error.contains("it is version 2 of 'punctual/shift'"), "{error}");
        let others = [
            file("run.json", r#"{"schema": "punctual/record"}"#),
            file("text.txt", "punctual/shift"),
            PathBuf::from("-"),
            folder.path().join("absent"),
        ];
        let (documents, left) = Documents::take(&others).unwrap();
        assert!(documents.is_empty() && left == others);
    }

    #[test]
    fn names_that_are_alike_are_numbered() {
        let mut names = ["night", "day", "night"].map(str::to_owned);
        tell_apart(names.iter_mut().collect());
        assert_eq!(names, ["night (1)", "day", "night (2)"]);
    }
}
