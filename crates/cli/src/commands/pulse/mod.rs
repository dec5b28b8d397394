//! `punctual pulse`: nodes that act together at ordered times.

mod send;
mod shift;
mod sweep;
mod watch;

pub(crate) use self::send::carry_out;
use crate::exit::Exit;

/// Have other nodes switch an output at one instant, ordered by packets, and see how late each is and what it misses
///
/// On each node that is to act runs 'punctual listen', whose policy file names the outputs that it may switch; without one it
/// acts on none, and stamps alone say how late it would have been.
#[derive(clap::Args)]
pub(crate) struct PulseArgs {
    #[command(subcommand)]
    command: PulseCommand,
}

#[derive(clap::Subcommand)]
enum PulseCommand {
    Send(Box<send::SendArgs>),
    Sweep(Box<sweep::SweepArgs>),
    Shift(Box<shift::ShiftArgs>),
    Watch(watch::WatchArgs),
}

impl PulseArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            PulseCommand::Send(args) => args.run(),
            PulseCommand::Sweep(args) => args.run(),
            PulseCommand::Shift(args) => args.run(),
            PulseCommand::Watch(args) => args.run(),
        }
    }
}
