//! One file per command; each is registered by one line here.

mod measure;
mod profile;

use crate::exit::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Take one measurement, with a record.
    Measure(measure::MeasureArgs),
    /// Reads everything about a machine that can matter for acting on time; changes nothing
    Profile(profile::ProfileArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Measure(args) => args.run(),
            Self::Profile(args) => args.run(),
        }
    }
}
