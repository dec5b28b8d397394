use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use store::Read as _;
use terminal::output;

use super::open;
use crate::clock::now_wall_ns;
use crate::fleet;
use crate::keys::Keys;
use crate::pages::zoned;
use crate::people::Status;

/// Says whether somebody has to look at a node: exits with 0 where not, with 1 where so, with 2 where it cannot be told
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// As JSON, for scripts: the document /api/v1/status
    #[arg(long)]
    json: bool,
}

impl StatusArgs {
    pub(super) fn run(&self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (folder, store) = open(folder)?;
        let now_wall_ns = now_wall_ns();
        let mut rows = store.fleet(now_wall_ns)?;
        fleet::sort(&mut rows);
        let of = (Keys::load_or_make(&folder)?.hub().to_string(), store.epoch()?);
        let status = Status::new(of, &rows, store.last_backup()?, now_wall_ns);
        if let Some(said) = &status.backup_overdue {
            output::warning(said);
        }
        if self.json {
            output::data(&format!("{}\n", serde_json::to_string_pretty(&status)?));
        } else {
            output::data(&describe(&status));
        }
        Ok(if status.is_well() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

fn describe(status: &Status) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (what, names) in [("beyond their limit", &status.beyond_limit), ("not measured", &status.not_measured)] {
        if !names.is_empty() {
            let _ = writeln!(text, "{what}: {}", names.join(", "));
        }
    }
    let states: Vec<String> = status.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let nodes = if states.is_empty() { "none is enrolled: punctual-hub enrol".to_owned() } else { states.join(", ") };
    let _ = writeln!(text, "nodes: {nodes}");
    let backup =
        status.last_backup_utc_ns.map_or_else(|| "none".to_owned(), |of| format!("complete until {}", zoned(of)));
    let _ = writeln!(text, "latest backup: {backup}");
    text
}
