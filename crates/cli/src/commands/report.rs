//! `punctual report`: one HTML page of runs.

mod documents;

use std::path::{Path, PathBuf};

use profile::Profile;
use profile::check::Findings;
use record::Record;
use summary::Assessment;

use self::documents::Documents;
use crate::exit::Exit;
use crate::records::{self, RecordArgs};
use crate::{reporting, save};
use terminal::output;

#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// Records, other programs' results, or folders of them: of an assessment, of a campaign, of a sweep, any; and what 'punctual pulse
    /// shift -o' kept
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    read: RecordArgs,
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
        let (documents, paths) = Documents::take(&self.runs)?;
        let (runs, labels) = self.read.all_labeled(&paths)?;
        records::warn_of_invalid(&runs);
        let companions = match self.runs.as_slice() {
            // One conclusion fits one folder; of several, none speaks for all.
            [path] if path.is_dir() => Companions::read(path),
            _ => Companions::default(),
        };
        let concluded = companions.assessment.is_some();
        let title = self.title.unwrap_or_else(|| match machines(runs.iter().filter(|run| run.pulses().is_some())) {
            _ if documents.is_empty() => title(&runs, concluded),
            none if none.is_empty() => "Nodes that act together".to_owned(),
            servers => format!("Nodes that act together, ordered by {servers}"),
        });
        let html = if documents.is_empty() {
            companions.render(title, runs, labels)
        } else {
            reporting::render_together(title, documents.shifts, documents.sweeps, runs, labels)
        };
        save::write_or_fall_back(&self.output, html.as_bytes())?.announce();
        if html.len() > LARGE_PAGE_BYTES {
            let size = units::format::bytes(html.len() as u64);
            output::note(&format!(
                "the page has {size}, which a browser opens slowly: name fewer runs for a smaller one"
            ));
        }
        Ok(Exit::Holds)
    }
}

/// A page of 16 CPUs and 100 million samples has 2 MB; from this size on a browser takes seconds to open one.
const LARGE_PAGE_BYTES: usize = 20 << 20;

fn title(runs: &[Record], concluded: bool) -> String {
    match runs {
        [] => "No runs".to_owned(),
        [first, ..] if concluded => format!("Assessment of {}", first.manifest().node.hostname),
        // An import may not know its machine.
        [one] if one.manifest().node.hostname.is_empty() => one.label.clone(),
        [one] => format!("{} on {}", one.measurement.name(), one.manifest().node.hostname),
        [first, ..] if first.manifest().node.hostname.is_empty() => format!("{} runs", runs.len()),
        [..] => format!("{} runs on {}", runs.len(), machines(runs)),
    }
}

/// The machines of some runs: their names, or how many there are.
fn machines<'a>(runs: impl IntoIterator<Item = &'a Record>) -> String {
    /// Machines that are named; more are counted.
    const NAMED: usize = 3;
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        let name = match run.manifest().node.hostname.as_str() {
            // An import may not know its machine.
            "" => "an unknown machine",
            name => name,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if names.len() <= NAMED => format!("{} and {last}", first.join(", ")),
        many => format!("{} machines", many.len()),
    }
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
    fn read(folder: &Path) -> Self {
        fn parsed<T: serde::de::DeserializeOwned>(file: &Path) -> Option<T> {
            let text = records::read(file).ok()?;
            match serde_json::from_str(&text) {
                Ok(value) => Some(value),
                Err(error) => {
                    output::warning(&format!("{} is left out: {error}", file.display()));
                    None
                }
            }
        }
        /// Also that of an earlier version.
        fn assessment(file: &Path) -> Option<Assessment> {
            let text = records::read(file).ok()?;
            let left_out = |error| output::warning(&format!("{} is left out: {error}", file.display()));
            Assessment::from_json(&text).map_err(left_out).ok()
        }
        Self {
            assessment: assessment(&folder.join("assessment.json")),
            profile: parsed(&folder.join("profile.json")),
            audit: parsed(&folder.join("findings.json")),
        }
    }

    fn render(self, title: String, runs: Vec<Record>, labels: Vec<String>) -> String {
        reporting::render(title, self.assessment, runs, labels, self.profile.as_ref(), self.audit.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_names_every_machine_of_the_runs() {
        let run = |name: &str| {
            let mut manifest = record::Manifest::default();
            manifest.node.hostname = name.to_owned();
            Record::empty(name.to_owned(), record::Measurement::Wakeup, manifest)
        };
        let runs = |names: &[&str]| names.iter().map(|name| run(name)).collect::<Vec<_>>();
        assert_eq!(title(&runs(&["vm", "vm"]), false), "2 runs on vm");
        assert_eq!(title(&runs(&["vm", "rt", "vm"]), false), "3 runs on vm and rt");
        assert_eq!(title(&runs(&["a", "b", "c", "d"]), false), "4 runs on 4 machines");
        assert_eq!(title(&runs(&["a", ""]), false), "2 runs on a and an unknown machine");
    }
}
