//! `punctual measure`: one measurement, with a record.

mod wakeup;

use crate::exit::Exit;

#[derive(clap::Args)]
pub(crate) struct MeasureArgs {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(clap::Subcommand)]
enum Measurement {
    /// Timer wake-up latency: how late a thread runs after the time it slept for.
    Wakeup(wakeup::WakeupArgs),
}

impl MeasureArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.measurement {
            Measurement::Wakeup(args) => args.run(),
        }
    }
}
