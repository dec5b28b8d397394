use std::path::Path;
use std::process::ExitCode;

use terminal::output;

use super::Addresses;
use crate::folder::Folder;
use crate::sessions::Sessions;

/// Prints a link that lets one browser read the pages
#[derive(Debug, clap::Args)]
pub(super) struct LinkArgs {
    /// End all links and sessions instead: every browser needs another link
    #[arg(long)]
    end_all: bool,
}

impl LinkArgs {
    pub(super) fn run(&self, folder: &Path) -> anyhow::Result<ExitCode> {
        let folder = Folder::open(folder)?;
        let sessions = Sessions::new(&folder)?;
        if self.end_all {
            let ended = sessions.end_all()?;
            output::note(&format!("ended: {ended}"));
        } else {
            let addresses = Addresses::read(&folder)?;
            output::data(&format!("{}\n", addresses.link(&sessions.new_link()?)));
        }
        Ok(ExitCode::SUCCESS)
    }
}
