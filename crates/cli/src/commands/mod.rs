//! One file per command; each is registered by one line here.

#[cfg(feature = "agent")]
mod agent;
mod app;
mod assess;
pub(crate) mod campaign;
mod check;
mod compare;
mod completions;
pub(crate) mod cyclictest;
pub(crate) mod explain;
mod export;
mod import;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "packet")]
mod listen;
mod load;
mod man;
pub(crate) mod measure;
#[cfg(feature = "packet")]
mod packet;
mod profile;
#[cfg(feature = "packet")]
mod pulse;
mod report;
mod sync;
pub(crate) mod tail;
mod tune;

use crate::exit::Exit;

// A command whose arguments have a text of their own takes its help from there: one that stands here would replace it.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Say whether this machine acts on time: read it, measure it idle and under load, conclude, report
    Assess(assess::AssessArgs),
    App(app::AppArgs),
    #[cfg(feature = "agent")]
    Agent(agent::AgentArgs),
    Check(check::CheckArgs),
    Compare(Box<compare::CompareArgs>),
    Tail(tail::TailArgs),
    Explain(explain::ExplainArgs),
    /// Take one measurement, with a record
    Measure(Box<measure::MeasureArgs>),
    #[cfg(feature = "packet")]
    Packet(packet::PacketArgs),
    #[cfg(feature = "packet")]
    Pulse(pulse::PulseArgs),
    #[cfg(feature = "packet")]
    Listen(listen::ListenArgs),
    Load(load::LoadCommandArgs),
    Profile(profile::ProfileArgs),
    Tune(tune::TuneArgs),
    Sync(Box<sync::SyncArgs>),
    Campaign(campaign::CampaignArgs),
    /// Make one HTML page of runs, which opens from disk without a network
    Report(report::ReportArgs),
    Import(import::ImportArgs),
    Export(export::ExportArgs),
    /// Measure with cyclictest's own options and output, for scripts that know them
    Cyclictest(cyclictest::CyclictestArgs),
    #[cfg(feature = "lab")]
    Lab(lab::LabArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Cyclictest(args) => args.run(),
            Self::Measure(args) => args.run(),
            Self::Assess(args) => args.run(),
            Self::App(args) => args.run(),
            #[cfg(feature = "agent")]
            Self::Agent(args) => args.run(),
            Self::Check(args) => args.run(),
            Self::Compare(args) => args.run(),
            Self::Tail(args) => args.run(),
            Self::Explain(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Import(args) => args.run(),
            Self::Export(args) => args.run(),
            #[cfg(feature = "packet")]
            Self::Packet(args) => args.run(),
            #[cfg(feature = "packet")]
            Self::Pulse(args) => args.run(),
            #[cfg(feature = "packet")]
            Self::Listen(args) => args.run(),
            Self::Load(args) => args.run(),
            Self::Profile(args) => args.run(),
            Self::Tune(args) => args.run(),
            Self::Sync(args) => args.run(),
            Self::Campaign(args) => args.run(),
            #[cfg(feature = "lab")]
            Self::Lab(args) => args.run(),
            Self::Completions(args) => Ok(args.run()),
            Self::Man(args) => args.run(),
        }
    }
}
