//! `punctual tune`: changes the settings of a machine by a plan that one reads first, and takes them back exactly.

mod diff;
mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use ::tune::{Application, ApplyError, FileStore, LiveMachine, Standing, Store as _};
use anyhow::Context as _;
use host::Root;
use knobs::journal::Transaction;
use knobs::{Demand, Intent, Plan, Site, isolation, propose};
use serde::Serialize;
use units::CpuSet;

use crate::exit::Exit;
use crate::view::wrap;
use crate::{node, output};

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

impl WantedArgs {
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
    /// The single knobs that an intent can name
    Knobs,
    /// Hold a bound on the way out of idle until this process is ended; `apply` starts it
    #[command(hide = true)]
    HoldLatency {
        /// The bound (us)
        us: u32,
    },
}

impl TuneArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let root = node::root(self.root.as_deref())?;
        let tuner = Tuner { folder: ::tune::journal_folder(&root), root, json: self.json };
        match self.command {
            TuneCommand::Plan { wanted } => tuner.plan(&wanted),
            TuneCommand::Propose => tuner.propose(),
            TuneCommand::Apply { wanted, plan, keep_going } => tuner.apply(&wanted, plan.as_deref(), keep_going),
            TuneCommand::Persist { wanted } => tuner.persist(&wanted),
            TuneCommand::Verify { all } => tuner.verify(all),
            TuneCommand::Status => tuner.status(),
            TuneCommand::Revert { force } => tuner.revert(force),
            TuneCommand::HoldLatency { us } => {
                let path = knobs::catalogue::find("cpu.dma-latency-us").map_or("", |knob| knob.path);
                ::tune::hold_latency(tuner.root.prefix(), path, us).context("the bound is not held")?;
                Ok(Exit::Holds)
            }
            TuneCommand::Knobs => {
                output::data(&show::knobs(wrap::width()));
                Ok(Exit::Holds)
            }
        }
    }
}

struct Tuner {
    root: Root,
    folder: PathBuf,
    json: bool,
}

impl Tuner {
    fn machine(&self) -> anyhow::Result<LiveMachine> {
        LiveMachine::below(self.root.prefix()).context("this machine cannot be read")
    }

    fn planned(&self, wanted: &WantedArgs, machine: &mut LiveMachine) -> anyhow::Result<(Intent, Plan)> {
        let site = ::tune::read_site(&self.root);
        let intent = wanted.intent(&site)?;
        let plan =
            Plan::from_demand(Demand::from_intent(&intent, &site), &mut |place| ::tune::Machine::read(machine, place));
        Ok((intent, plan))
    }

    fn print<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string_pretty(value)? + "\n" } else { text() };
        output::data(&text);
        Ok(())
    }

    fn plan(&self, wanted: &WantedArgs) -> anyhow::Result<Exit> {
        let (intent, plan) = self.planned(wanted, &mut self.machine()?)?;
        if wanted.intent.is_none() && !self.json {
            let what = match &wanted.isolate {
                Some(_) => "the intent, to keep and to change as a file:",
                None => "no intent was given, so this one is proposed:",
            };
            output::note(&format!("{what}\n{}", intent.to_toml()));
        }
        self.print(&plan, || show::plan(&plan, output::colour_stdout()))?;
        Ok(if plan.conflicts.is_empty() { Exit::Holds } else { Exit::Usage })
    }

    fn propose(&self) -> anyhow::Result<Exit> {
        let site = ::tune::read_site(&self.root);
        let intent = propose(&site);
        self.print(&intent, || intent.to_toml())?;
        Ok(Exit::Holds)
    }

    fn apply(&self, wanted: &WantedArgs, plan: Option<&Path>, keeps_going: bool) -> anyhow::Result<Exit> {
        let mut machine = self.machine()?;
        let mut store = self.store()?;
        let (intent, plan) = match plan {
            Some(path) => (path.display().to_string(), read_plan(path, &mut machine)?),
            None => self.planned(wanted, &mut machine).map(|(intent, plan)| (intent.to_toml(), plan))?,
        };
        self.carry_out(&plan, intent, keeps_going, &mut machine, &mut store)
    }

    fn persist(&self, wanted: &WantedArgs) -> anyhow::Result<Exit> {
        if self.root.is_live() && !Path::new("/run/systemd/system").is_dir() {
            anyhow::bail!("systemd does not run here; have your own service manager run 'punctual tune apply INTENT'");
        }
        let mut machine = self.machine()?;
        let mut store = self.store()?;
        let (intent, plan) = self.planned(wanted, &mut machine)?;
        if !plan.conflicts.is_empty() {
            return self.in_conflict(&plan);
        }
        let program = std::env::current_exe().context("the path of this program")?;
        let demand = knobs::persist(&intent, &program.to_string_lossy());
        let plan = Plan::from_demand(demand, &mut |place| ::tune::Machine::read(&mut machine, place));
        self.carry_out(&plan, intent.to_toml(), false, &mut machine, &mut store)
    }

    /// The journal, if nothing in it is unfinished.
    fn store(&self) -> anyhow::Result<FileStore> {
        let mut store = FileStore::open(&self.folder)?;
        if let Some(unfinished) = store.transactions()?.iter().find(|one| !one.is_whole()) {
            anyhow::bail!(
                "the transaction {} was neither finished nor reverted: run 'punctual tune revert' first",
                unfinished.id
            );
        }
        Ok(store)
    }

    fn in_conflict(&self, plan: &Plan) -> anyhow::Result<Exit> {
        self.print(plan, || show::plan(plan, output::colour_stdout()))?;
        output::error(&ApplyError::Conflicts.into());
        Ok(Exit::Usage)
    }

    fn carry_out(
        &self,
        plan: &Plan,
        intent: String,
        keeps_going: bool,
        machine: &mut LiveMachine,
        store: &mut FileStore,
    ) -> anyhow::Result<Exit> {
        if !plan.conflicts.is_empty() {
            return self.in_conflict(plan);
        }
        if plan.steps.is_empty() {
            self.print(&::tune::Applied::default(), String::new)?;
            output::note(&format!("nothing to change: all is as wanted ({})", show::unchanged(plan)));
            return Ok(Exit::Holds);
        }
        let stop = Arc::new(AtomicBool::new(false));
        kernel::signals::register(&stop, &Arc::default()).context("cannot take over SIGINT and SIGTERM")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let application = Application {
            id: format!("{}-{}", now.as_secs(), std::process::id()),
            realtime_ns: i64::try_from(now.as_nanos()).unwrap_or(i64::MAX),
            intent,
            keeps_going,
        };
        let applied = ::tune::apply(plan, &application, machine, store, &stop, &mut |_| {})?;
        self.print(&applied, || show::applied(plan, &applied))?;
        for note in &plan.notes {
            output::note(note);
        }
        output::note("'punctual tune verify' checks that all is in force, 'punctual tune revert' reverts it");
        Ok(if applied.refused.iter().all(|refused| refused.is_expected) { Exit::Holds } else { Exit::Broken })
    }

    fn open_transactions(&self) -> anyhow::Result<Vec<Transaction>> {
        let mut transactions = FileStore::peek(&self.folder)?;
        transactions.retain(Transaction::is_open);
        Ok(transactions)
    }

    fn verify(&self, all: bool) -> anyhow::Result<Exit> {
        let mut machine = self.machine()?;
        let verified = ::tune::verify(&self.open_transactions()?, &mut machine, &::tune::in_force(&self.root));
        self.print(&verified, || show::verified(&verified, all, output::colour_stdout()))?;
        if verified.is_empty() {
            output::note("nothing is applied");
        }
        let is_lost = |standing: &Standing| {
            matches!(standing, Standing::Changed(_) | Standing::Void | Standing::Ended | Standing::Unknown(_))
        };
        Ok(if verified.iter().any(|one| is_lost(&one.standing)) { Exit::Broken } else { Exit::Holds })
    }

    fn status(&self) -> anyhow::Result<Exit> {
        let transactions = self.open_transactions()?;
        let boot_id = ::tune::Machine::boot_id(&self.machine()?).to_owned();
        self.print(&transactions, || show::status(&transactions, &boot_id))?;
        if transactions.is_empty() {
            output::note("nothing is applied");
        }
        Ok(Exit::Holds)
    }

    fn revert(&self, is_forced: bool) -> anyhow::Result<Exit> {
        let mut machine = self.machine()?;
        let mut store = FileStore::open(&self.folder)?;
        let reverted = ::tune::revert(is_forced, &mut machine, &mut store)?;
        self.print(&reverted, || show::reverted(&reverted))?;
        if reverted == ::tune::Reverted::default() {
            output::note("nothing is applied");
        }
        Ok(if reverted.left.is_empty() && reverted.failed.is_empty() { Exit::Holds } else { Exit::Broken })
    }
}

/// A plan from a file, with a conflict for each place where the machine is not as it says.
fn read_plan(path: &Path, machine: &mut LiveMachine) -> anyhow::Result<Plan> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut plan = Plan::from_json(&text).with_context(|| format!("{}", path.display()))?;
    plan.look_again(&mut |place| ::tune::Machine::read(machine, place));
    Ok(plan)
}
