//! One file per command; each is registered by one line here.

use crate::exit::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {}
    }
}
