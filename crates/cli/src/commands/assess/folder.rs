//! The folder of an assessment: records, profile, findings, conclusion, report.

use std::fs;
use std::path::{Path, PathBuf};

use analyse::Assessment;
use anyhow::Context as _;
use record::Record;

use crate::node::Node;
use crate::reporting;
use crate::save;

/// A folder that was found writable.
pub(crate) struct Folder(PathBuf);

/// Where things went.
pub(crate) struct Written {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The report in it.
    pub(crate) report: PathBuf,
}

impl Folder {
    /// Makes the folder, and finds out before measuring whether it takes files.
    pub(crate) fn prepare(wanted: Option<PathBuf>) -> anyhow::Result<Self> {
        let folder = wanted.unwrap_or_else(default_name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        save::check_folder(&folder)?;
        Ok(Self(folder))
    }

    /// Writes everything; what the folder no longer takes goes elsewhere, and where is said.
    pub(crate) fn write(self, assessment: &Assessment, runs: &[Record], node: &Node) -> anyhow::Result<Written> {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for run in runs {
            files.push((format!("{}.json", file_name(run)), run.to_json().into_bytes()));
        }
        files.push(("assessment.json".to_owned(), pretty(&assessment.document())?));
        files.push(("profile.json".to_owned(), pretty(&node.profile)?));
        files.push(("findings.json".to_owned(), pretty(&node.audit)?));
        let title =
            format!("Assessment of {}", runs.first().map_or("this machine", |run| run.manifest.node.hostname.as_str()));
        let html =
            reporting::render(title, Some(assessment.clone()), runs.to_vec(), Some(&node.profile), Some(&node.audit));
        // The report last: whoever sees it finds everything that it speaks of.
        files.push(("report.html".to_owned(), html.into_bytes()));
        let mut report = self.0.join("report.html");
        for (name, bytes) in files {
            let saved = save::write_or_fall_back(&self.0.join(&name), &bytes)?;
            if saved.path != self.0.join(&name) {
                saved.tell();
            }
            if name == "report.html" {
                report = saved.path;
            }
        }
        Ok(Written { folder: self.0, report })
    }
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
