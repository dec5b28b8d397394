use std::path::Path;
use std::process::ExitCode;

use store::{Change, Store as _};
use terminal::output;

use super::{by, open};
use crate::news::Announced;

/// Tells all nodes where else they find the hub, before it moves there; without an address prints what they are told
#[derive(Debug, clap::Args)]
pub(super) struct AnnounceArgs {
    /// The addresses, each HOST or HOST:PORT, in the order in which nodes try them; they replace those of before
    #[arg(value_name = "HOST[:PORT]")]
    addresses: Vec<String>,
    /// Announce none any more: nodes keep those that their users named
    #[arg(long, conflicts_with = "addresses")]
    none: bool,
}

impl AnnounceArgs {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (folder, mut store) = open(folder)?;
        if self.none || !self.addresses.is_empty() {
            let announced = Announced { addresses: self.addresses };
            announced.write(&folder)?;
            store.log_of_hub(&Change::Announced { addresses: announced.addresses }, &by())?;
            output::note("nodes that are connected hear of it at once, the others when they connect");
            return Ok(ExitCode::SUCCESS);
        }
        let lines: String = Announced::read(&folder)?.addresses.iter().map(|address| format!("{address}\n")).collect();
        output::data(&lines);
        Ok(ExitCode::SUCCESS)
    }
}
