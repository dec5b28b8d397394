//! The folder of an assessment: records, profile, findings, conclusion, report.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use record::Record;
use summary::{Assessment, AssessmentDocument};

use crate::node::Node;
use crate::records;
use crate::reporting;
use crate::save;

/// A folder that was found writable, and without anything that an assessment would replace or be taken together with.
pub(crate) struct Folder {
    path: PathBuf,
    /// Whether it was made for this assessment.
    is_new: bool,
}

/// Files that an assessment writes: records by their labels, and what stands beside them.
const FILES: [&str; 9] = [
    "assessment.json",
    "profile.json",
    "findings.json",
    "report.html",
    "idle.json",
    "idle-states-disabled.json",
    "under-load.json",
    "clock.json",
    "noise.json",
];

/// Where things went.
pub(crate) struct Written {
    /// Path of the folder.
    pub(crate) folder: PathBuf,
    /// The report in it.
    pub(crate) report: PathBuf,
}

impl Folder {
    /// Makes the folder, and finds out before measuring whether it takes files.
    pub(crate) fn prepare(wanted: Option<PathBuf>) -> anyhow::Result<Self> {
        let folder = wanted.unwrap_or_else(default_name);
        let is_new = !folder.exists();
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        save::check_folder(&folder)?;
        if let Some(file) = in_the_way(&folder)? {
            bail!(
                "{} is there already, and would be replaced or taken for a part of this assessment: name another folder \
                 with -o, or move what is there away",
                file.display()
            );
        }
        Ok(Self { path: folder, is_new })
    }

    /// Removes the folder again if it was made for an assessment that does not take place.
    pub(crate) fn discard(self) {
        if self.is_new {
            // One that holds something by now stays.
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Writes everything; what the folder no longer takes goes elsewhere, and where is said.
    pub(crate) fn write(
        self,
        assessment: &Assessment,
        document: &AssessmentDocument,
        runs: &[Record],
        node: &Node,
    ) -> anyhow::Result<Written> {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for run in runs {
            files.push((format!("{}.json", file_name(run)), run.to_json().into_bytes()));
        }
        files.push(("assessment.json".to_owned(), pretty(document)?));
        files.push(("profile.json".to_owned(), pretty(&node.profile)?));
        files.push(("findings.json".to_owned(), pretty(&node.audit)?));
        let title = format!(
            "Assessment of {}",
            runs.first().map_or("this machine", |run| run.manifest().node.hostname.as_str())
        );
        let html = reporting::render(
            title,
            Some(assessment.clone()),
            runs.to_vec(),
            Vec::new(),
            Some(&node.profile),
            Some(&node.audit),
        );
        // The report last: a user who sees it finds everything that it refers to.
        files.push(("report.html".to_owned(), html.into_bytes()));
        let mut report = self.path.join("report.html");
        for (name, bytes) in files {
            let saved = save::write_or_fall_back(&self.path.join(&name), &bytes)?;
            if saved.path != self.path.join(&name) {
                saved.announce();
            }
            if name == "report.html" {
                report = saved.path;
            }
        }
        Ok(Written { folder: self.path, report })
    }
}

/// A file that an assessment would replace, or a record that `punctual report` would take for one of its runs.
fn in_the_way(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let listed = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut files: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let is_ours = |file: &PathBuf| FILES.iter().any(|name| file.file_name().is_some_and(|of| of == *name));
    let is_record =
        |file: &PathBuf| file.extension().is_some_and(|extension| extension == "json") && records::is_record(file);
    Ok(files.into_iter().find(|file| is_ours(file) || is_record(file)))
}

fn pretty(value: &impl serde::Serialize) -> anyhow::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}

/// The label as a file name: `idle`, `under-load`.
fn file_name(run: &Record) -> String {
    let label = if run.label.is_empty() { run.measurement.name() } else { &run.label };
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

fn default_name() -> PathBuf {
    let (.., host) = kernel::process::system_names();
    let safe: String = host.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let time = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    Path::new(&format!("punctual-{safe}-{time}")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_an_assessment_or_a_record_is_refused_and_stays_as_it_is() {
        let record = include_str!("../../../../../fixtures/calibration/idle/quiet.json");
        for (name, text) in [("assessment.json", "{}"), ("under-load.json", "mine"), ("mine.json", record)] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(name);
            fs::write(&file, text).unwrap();
            let error = Folder::prepare(Some(folder.path().to_owned())).err().unwrap().to_string();
            assert!(error.contains(name) && error.contains("another folder"), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("package.json"), "{}").unwrap();
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        assert!(Folder::prepare(Some(folder.path().to_owned())).is_ok(), "what is no record is passed over");
    }
}
