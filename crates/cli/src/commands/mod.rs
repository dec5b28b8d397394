//! One file per command; each is registered by one line here.

mod profile;

use crate::exit::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Reads everything about a machine that can matter for acting on time; changes nothing
    Profile(profile::ProfileArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Profile(args) => args.run(),
        }
    }
}
