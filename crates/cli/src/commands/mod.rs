//! One file per command; each is registered by one line here.

mod measure;

use crate::exit::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Take one measurement, with a record.
    Measure(measure::MeasureArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Measure(args) => args.run(),
        }
    }
}
