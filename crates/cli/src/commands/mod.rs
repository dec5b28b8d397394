//! One file per command; each is registered by one line here.

mod assess;
mod check;
mod cyclictest;
mod explain;
pub(crate) mod measure;
mod profile;
mod report;

use crate::exit::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Tell whether this machine acts on time: read it, measure it idle and under load, conclude, report
    Assess(assess::AssessArgs),
    /// Audit every setting that matters: what is wrong or contradictory, why, and how to change it
    Check(check::CheckArgs),
    /// Explain a finding of `check` at length, or list all there are
    Explain(explain::ExplainArgs),
    /// Take one measurement, with a record
    Measure(Box<measure::MeasureArgs>),
    /// Read everything about a machine that can matter for acting on time; changes nothing
    Profile(profile::ProfileArgs),
    /// Make one HTML page of runs, to be opened from disk without network
    Report(report::ReportArgs),
    /// The same engine behind cyclictest's own options and output, for scripts that know them.
    Cyclictest(cyclictest::CyclictestArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Cyclictest(args) => args.run(),
            Self::Measure(args) => args.run(),
            Self::Assess(args) => args.run(),
            Self::Check(args) => args.run(),
            Self::Explain(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Profile(args) => args.run(),
        }
    }
}
