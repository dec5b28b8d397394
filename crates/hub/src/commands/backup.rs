use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use store::Read as _;
use terminal::output;

use super::{by, open};
use crate::backup::{self, Kept, Made, To, overdue};
use crate::keys::Keys;
use crate::pages::zoned;

/// How many backups of a folder are kept, unless a number is given: those of a week.
const KEEP: usize = 7;

/// Copies all that the hub has measured, with the keys that nodes know it by, into one file, while it serves
#[derive(Debug, clap::Args)]
pub(super) struct BackupArgs {
    /// The file
    #[arg(value_name = "FILE", conflicts_with_all = ["to", "keep"])]
    file: Option<PathBuf>,
    /// The folder that gets a file with the time in its name [default: backups in the hub's folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// How many backups of the hub's present life stay in the folder, with the new one; older ones are removed [default: 7]
    #[arg(long, value_name = "N")]
    keep: Option<std::num::NonZeroUsize>,
    /// Replace the file where it is there
    #[arg(long, requires = "file")]
    force: bool,
    /// Say what was made as JSON
    #[arg(long)]
    json: bool,
}

/// A backup that was made, for scripts.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct MadeDocument<'a> {
    file: &'a Path,
    bytes: u64,
    took_ms: u64,
    hub: &'a str,
    epoch: u64,
    of_utc_ns: i64,
    complete_until_utc_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    before_utc_ns: Option<i64>,
    removed: &'a [PathBuf],
    warnings: &'a [String],
}

impl BackupArgs {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (folder, mut store) = open(folder)?;
        let hub = Keys::load_or_make(&folder)?.hub();
        let to = match self.file {
            Some(path) => To::File { path, is_forced: self.force },
            None => To::Folder(Kept {
                folder: self.to.unwrap_or_else(|| folder.join("backups")),
                most: self.keep.map_or(KEEP, std::num::NonZeroUsize::get),
            }),
        };
        let by = by();
        let has_nodes = !store.nodes()?.is_empty();
        let made = backup::make(&folder, &mut store, hub, &to, &by)?;
        // Until now; the next one looks back on this one.
        let late = made.before_wall_ns.and_then(|before| overdue(Some(before), has_nodes, by.at_wall_ns));
        for warning in late.iter().chain(&made.warnings) {
            output::warning(warning);
        }
        output::data(&if self.json { json(&made)? } else { describe(&made) });
        Ok(ExitCode::SUCCESS)
    }
}

fn json(made: &Made) -> anyhow::Result<String> {
    let document = MadeDocument {
        file: &made.path,
        bytes: made.bytes,
        took_ms: u64::try_from(made.took.as_millis()).unwrap_or(u64::MAX),
        hub: &made.manifest.hub,
        epoch: made.manifest.epoch,
        of_utc_ns: made.manifest.of_wall_ns,
        complete_until_utc_ns: made.manifest.complete_until_wall_ns,
        before_utc_ns: made.before_wall_ns,
        removed: &made.removed,
        warnings: &made.warnings,
    };
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

fn describe(made: &Made) -> String {
    let took_ns = u64::try_from(made.took.as_nanos()).unwrap_or(u64::MAX);
    let mut text = format!(
        "backup  {}\nof      {}\nsize    {}, in {}\n",
        made.path.display(),
        zoned(made.manifest.of_wall_ns),
        units::format::bytes(made.bytes),
        units::format::span(took_ns)
    );
    for path in &made.removed {
        text.push_str(&format!("removed {}\n", path.display()));
    }
    text
}
