//! One file per command; each is registered by one line here.

mod assess;
pub(crate) mod measure;
mod profile;
mod report;

use crate::exit::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Tell whether this machine acts on time: read it, measure it idle and under load, conclude, report
    Assess(assess::AssessArgs),
    /// Take one measurement, with a record
    Measure(Box<measure::MeasureArgs>),
    /// Read everything about a machine that can matter for acting on time; changes nothing
    Profile(profile::ProfileArgs),
    /// Make one HTML page of runs, to be opened from disk without network
    Report(report::ReportArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Measure(args) => args.run(),
            Self::Assess(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Profile(args) => args.run(),
        }
    }
}
