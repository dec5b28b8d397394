//! One file per command; each is registered by one line here.

mod cyclictest;
mod measure;

use crate::exit::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// The same engine behind cyclictest's own options and output, for scripts that know them.
    Cyclictest(cyclictest::CyclictestArgs),
    /// Take one measurement, with a record.
    Measure(measure::MeasureArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Cyclictest(args) => args.run(),
            Self::Measure(args) => args.run(),
        }
    }
}
