use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use terminal::output;

use super::by;
use crate::backup::{Backup, overdue};
use crate::keys::random;
use crate::pages::zoned;
use crate::restore::{Restored, Wanted, restore};

/// Makes a hub of a backup: the same one to its nodes, in a later life, which send again what it lacks
#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// The backup
    file: PathBuf,
    /// The log kept apart: which nodes were revoked since the backup [default: keep-apart/nodes.log in the hub's folder]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Begin a life above this number: where nodes say that they have seen it
    #[arg(long, value_name = "EPOCH", default_value_t = 0, hide_default_value = true)]
    epoch_above: u64,
    /// Say what came of it as JSON
    #[arg(long)]
    json: bool,
}

/// What came of a restore, for scripts.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct RestoredDocument<'a> {
    folder: &'a Path,
    hub: &'a str,
    of_utc_ns: i64,
    complete_until_utc_ns: i64,
    epoch_before: u64,
    epoch: u64,
    ended_tokens: usize,
    enrolled: &'a [String],
    revoked: &'a [String],
    has_log: bool,
    revoked_unknown_since_utc_ns: i64,
    warnings: &'a [String],
}

impl RestoreArgs {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        let backup = Backup::open(&self.file)?;
        let by = by();
        let wanted = Wanted { folder: folder.to_owned(), log: self.log, above: self.epoch_above, random: random()? };
        let mut restored = restore(&backup, &wanted, &by)?;
        let manifest = &backup.manifest;
        let is_in_time = overdue(Some(manifest.complete_until_wall_ns), true, by.at_wall_ns).is_none();
        if !is_in_time && by.at_wall_ns > manifest.of_wall_ns {
            restored.warnings.push(
                format!(
                    "the backup is complete until {}, which is longer ago than nodes keep for certain what was acknowledged \
                     (seven days): some of what they sent after that may be missing, of nodes that were short of room",
                    zoned(manifest.complete_until_wall_ns)
                ),
            );
        }
        if restored.log_epoch > restored.epochs.0 {
            restored.warnings.push(
                "the hub has had a later life than the backup's: what nodes sent to that one more than seven days ago may \
                 be missing here; a backup of that life would have it"
                    .to_owned(),
            );
        }
        for warning in &restored.warnings {
            output::warning(warning);
        }
        if self.json {
            let document = RestoredDocument {
                folder,
                hub: &manifest.hub,
                of_utc_ns: manifest.of_wall_ns,
                complete_until_utc_ns: manifest.complete_until_wall_ns,
                epoch_before: restored.epochs.0,
                epoch: restored.epochs.1,
                ended_tokens: restored.ended_tokens,
                enrolled: &restored.enrolled,
                revoked: &restored.revoked,
                has_log: restored.has_log,
                revoked_unknown_since_utc_ns: restored.unknown_since_wall_ns,
                warnings: &restored.warnings,
            };
            output::data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        } else {
            output::data(&describe(folder, manifest.of_wall_ns, &restored));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn describe(folder: &Path, of_wall_ns: i64, restored: &Restored) -> String {
    let names = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let since = zoned(restored.unknown_since_wall_ns);
    let decided = if restored.has_log {
        format!(
            "enrolled {} since the backup\nrevoked  {} since the backup; the log kept apart knows it until {since}. Where that is \
             a copy, nodes that were revoked after it are enrolled again: revoke them again",
            names(&restored.enrolled),
            names(&restored.revoked)
        )
    } else {
        format!(
            "revoked  unknown from {since} until now, since there is no log kept apart (--log): nodes that were revoked in that \
             time are enrolled again; revoke them again"
        )
    };
    format!(
        "restored {}\nof       {}\nepoch    {} (it was {}): nodes that hear of it refuse the hub of before\ntokens   {} ended that \
         were not used\n{decided}\n",
        folder.display(),
        zoned(of_wall_ns),
        restored.epochs.1,
        restored.epochs.0,
        restored.ended_tokens,
    )
}
