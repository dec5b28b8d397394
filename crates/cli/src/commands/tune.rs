//! `punctual tune`: changes the settings of a machine by a plan that one reads first, and takes them back exactly.

mod diff;
mod show;
mod tuner;

use std::path::PathBuf;

use anyhow::Context as _;
use knobs::{Intent, Owner, Site, isolation, propose};
use units::CpuSet;

use crate::exit::Exit;
use crate::view::wrap;
use crate::{node, output};

pub(crate) use self::tuner::{Tuner, Wish};

/// Change the settings that matter: read the plan, apply it, verify it, take it back
///
/// An intent, a TOML file, says what is wanted; without one it is proposed from what this machine is. What stood there
/// before is written to a journal first, so that `revert` restores it after whatever happened.
#[derive(clap::Args)]
pub(crate) struct TuneArgs {
    #[command(subcommand)]
    command: TuneCommand,
    /// Change a tree of files, a folder with proc/ and sys/ in it, instead of this machine
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
}

/// What is wanted of the machine.
#[derive(clap::Args)]
struct WantedArgs {
    /// The intent, a TOML file; without it, one is proposed
    intent: Option<PathBuf>,
    /// Isolate these CPUs and nothing else, for example 2-3: the intent for that is made and shown
    #[arg(long, value_name = "LIST", conflicts_with = "intent")]
    isolate: Option<CpuSet>,
}

impl Wish for WantedArgs {
    /// The intent of the file or of the option, or the proposed one.
    fn intent(&self, site: &Site) -> anyhow::Result<Intent> {
        if let Some(cpus) = &self.isolate {
            if cpus.is_empty() {
                anyhow::bail!("--isolate names no CPU; write for example --isolate 2-3");
            }
            return Ok(isolation(site, cpus));
        }
        let Some(path) = &self.intent else { return Ok(propose(site)) };
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Intent::from_toml(&text).with_context(|| format!("{}", path.display()))
    }

    fn origin(&self) -> Option<&'static str> {
        match (&self.intent, &self.isolate) {
            (Some(_), _) => None,
            (None, Some(_)) => Some("the intent, to keep and to change as a file:"),
            (None, None) => Some("no intent was given, so this one is proposed:"),
        }
    }
}

#[derive(clap::Subcommand)]
enum TuneCommand {
    /// Show what would be changed, where, from what to what, why, and what it costs; changes nothing
    Plan {
        #[command(flatten)]
        wanted: WantedArgs,
    },
    /// Print a proposed intent for this machine, as TOML to start from
    Propose,
    /// Apply the plan; if a change fails, all of them are reverted
    Apply {
        #[command(flatten)]
        wanted: WantedArgs,
        /// Exactly this plan, which `plan --json` has written; nothing is changed if the machine differs from it
        #[arg(long, value_name = "FILE", conflicts_with_all = ["intent", "isolate"])]
        plan: Option<PathBuf>,
        /// Keep the other changes if one fails
        #[arg(long)]
        keep_going: bool,
    },
    /// Apply the intent at each boot, by a systemd unit; `revert` removes that, too
    Persist {
        #[command(flatten)]
        wanted: WantedArgs,
    },
    #[command(flatten)]
    Standing(StandingCommand),
    /// The single knobs that an intent can name
    Knobs,
    /// Try every value of every knob on this machine, and take each back; for machines of the lab
    #[command(hide = true)]
    TryAll,
    /// Hold a bound on the way out of idle until this process is ended; `apply` starts it
    #[command(hide = true)]
    HoldLatency {
        /// The bound (us)
        us: u32,
    },
}

/// What can be asked and done about changes that were applied, by 'tune' and by 'sync'.
#[derive(clap::Subcommand)]
pub(crate) enum StandingCommand {
    /// Check that everything that was applied is still in force: what is not comes first
    Verify {
        /// List also what is in force
        #[arg(long)]
        all: bool,
    },
    /// Show what has been applied and not reverted
    Status,
    /// Revert everything that was applied
    Revert {
        /// Also revert what someone else has changed meanwhile
        #[arg(long)]
        force: bool,
    },
}

impl StandingCommand {
    pub(crate) fn run(self, tuner: &Tuner) -> anyhow::Result<Exit> {
        match self {
            Self::Verify { all } => tuner.verify(all),
            Self::Status => tuner.status(),
            Self::Revert { force } => tuner.revert(force),
        }
    }
}

impl TuneArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let root = node::root(self.root.as_deref())?;
        let tuner = Tuner::new(root, self.json, Owner::Tune);
        match self.command {
            TuneCommand::Plan { wanted } => tuner.plan(&wanted),
            TuneCommand::Propose => tuner.propose(),
            TuneCommand::Apply { wanted, plan, keep_going } => tuner.apply(&wanted, plan.as_deref(), keep_going),
            TuneCommand::Persist { wanted } => tuner.persist(&wanted),
            TuneCommand::Standing(command) => command.run(&tuner),
            TuneCommand::TryAll => tuner.try_all(),
            TuneCommand::HoldLatency { us } => {
                let path = knobs::catalogue::find("cpu.dma-latency-us").map_or("", |knob| knob.path);
                ::tune::hold_latency(tuner.root().prefix(), path, us).context("the bound is not held")?;
                Ok(Exit::Holds)
            }
            TuneCommand::Knobs => {
                output::data(&show::knobs(wrap::width()));
                Ok(Exit::Holds)
            }
        }
    }
}
