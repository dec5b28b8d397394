//! The runs of one condition: what `compare` takes for a side, and `tail` for its one process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::bail;
use record::Record;

use super::{Found, RecordArgs};

/// Which runs of a folder are of the condition that is asked for. Files that are named one by one are taken as they are.
pub(crate) struct Condition<'a> {
    /// The label of the runs; `None` if those of the folder have to have one label in common.
    pub(crate) label: Option<&'a str>,
    /// Whether a run is of a measurement that is asked for.
    pub(crate) is_measured: &'a dyn Fn(&Record) -> bool,
    /// What to do if no run of a folder is of such a measurement, for the error.
    pub(crate) without: String,
    /// Which options choose between several labels, for the error: their values are inserted at `{}`.
    pub(crate) choice: &'a str,
}

impl RecordArgs {
    /// The records of files, and of folders those of one condition.
    pub(crate) fn of_condition(self, paths: &[PathBuf], condition: &Condition<'_>) -> anyhow::Result<Vec<Found>> {
        let mut labels: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        let found = self.read(paths, |folder, run| {
            let labels = labels.entry(folder.to_owned()).or_default();
            if !(condition.is_measured)(run) {
                return false;
            }
            // Imports are labeled with their files' names, which are no conditions.
            labels.insert(if run.manifest().is_imported() { String::new() } else { run.label.clone() });
            condition.label.is_none_or(|wanted| run.label == wanted)
        })?;
        for (folder, labels) in &labels {
            condition.check(folder, labels)?;
        }
        Ok(found)
    }
}

impl Condition<'_> {
    /// Whether the runs of a folder, with these labels, are of one condition and of the one that is asked for.
    fn check(&self, folder: &Path, labels: &BTreeSet<String>) -> anyhow::Result<()> {
        let folder = folder.display();
        let listed = labels.iter().map(|label| format!("'{label}'")).collect::<Vec<_>>().join(", ");
        if labels.is_empty() {
            bail!("no run in {folder} is {}", self.without);
        }
        match self.label {
            Some(wanted) if !labels.contains(wanted) => {
                bail!("no run in {folder} is labeled '{wanted}': there are {listed}")
            }
            None if labels.len() > 1 => {
                let choice = self.choice.replace("{}", &listed);
                bail!("the runs in {folder} are of different conditions: choose one with {choice}")
            }
            _ => Ok(()),
        }
    }
}
