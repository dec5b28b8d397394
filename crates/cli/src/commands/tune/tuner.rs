//! Carries out what `punctual tune` and `punctual sync` ask for: both are intents, plans and a journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use ::tune::{Application, ApplyError, FileStore, LiveMachine, Standing, Store as _};
use anyhow::Context as _;
use host::Root;
use knobs::journal::Transaction;
use knobs::{Demand, Intent, Owner, Plan, Site};
use serde::Serialize;

use super::show;
use crate::exit::Exit;
use terminal::output;
use terminal::wrap;

/// What an intent is made from.
pub(crate) trait Wish {
    /// The intent for a node.
    ///
    /// # Errors
    /// Where a file cannot be read, or says nothing that is understood.
    fn intent(&self, site: &Site) -> anyhow::Result<Intent>;

    /// What a person should know of where the intent is from, before its text; nothing if it is a file of theirs.
    fn origin(&self) -> Option<&'static str>;
}

/// Changes one machine, or one tree of files, by one journal.
pub(crate) struct Tuner {
    root: Root,
    folder: PathBuf,
    json: bool,
    owner: Owner,
}

impl Tuner {
    /// Of a machine, with the journal of one command.
    pub(crate) fn new(root: Root, json: bool, owner: Owner) -> Self {
        Self { folder: ::tune::journal_folder(&root, owner), root, json, owner }
    }

    /// `punctual tune` or `punctual sync`.
    const fn command(&self) -> &'static str {
        self.owner.command()
    }

    fn machine(&self) -> anyhow::Result<LiveMachine> {
        LiveMachine::below(self.root.prefix()).context("this machine cannot be read")
    }

    fn planned(&self, wish: &dyn Wish, machine: &mut LiveMachine) -> anyhow::Result<(Intent, Plan)> {
        let site = ::tune::read_site(&self.root);
        let intent = wish.intent(&site)?;
        let plan = Plan::seen(Demand::from_intent(&intent, &site), machine);
        Ok((intent, plan))
    }

    fn print<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string_pretty(value)? + "\n" } else { text() };
        output::data(&text);
        Ok(())
    }

    pub(crate) fn plan(&self, wish: &dyn Wish) -> anyhow::Result<Exit> {
        let (intent, plan) = self.planned(wish, &mut self.machine()?)?;
        if let (Some(origin), false) = (wish.origin(), self.json) {
            output::note(&format!("{origin}\n{}", intent.to_toml()));
        }
        self.print(&plan, || show::plan(&plan, output::color_stdout()))?;
        Ok(if plan.conflicts.is_empty() { Exit::Holds } else { Exit::Usage })
    }

    /// Prints every knob whose name contains `part`, all where none is given, with what it stands at.
    pub(crate) fn knobs(&self, part: Option<&str>) -> anyhow::Result<Exit> {
        let wanted = |knob: &&knobs::catalogue::Knob| part.is_none_or(|part| knob.name.contains(part));
        if knobs::catalogue::all().find(wanted).is_none() {
            anyhow::bail!("no knob has '{}' in its name: 'punctual tune knobs' lists all", part.unwrap_or_default());
        }
        let site = ::tune::read_site(&self.root);
        let mut machine = self.machine()?;
        let read = &mut |place: &knobs::Place| ::tune::Machine::read(&mut machine, place);
        let all: Vec<show::ShownKnob> = knobs::catalogue::all()
            .filter(wanted)
            .map(|knob| show::ShownKnob::read(knob, &site.profile, read))
            .collect();
        self.print(&all, || show::knobs(&all, part.is_none(), wrap::width()))?;
        Ok(Exit::Holds)
    }

    pub(crate) fn propose(&self) -> anyhow::Result<Exit> {
        let site = ::tune::read_site(&self.root);
        let intent = knobs::propose(&site);
        self.print(&intent, || intent.to_toml())?;
        Ok(Exit::Holds)
    }

    pub(crate) fn apply(&self, wish: &dyn Wish, plan: Option<&Path>, keeps_going: bool) -> anyhow::Result<Exit> {
        let mut machine = self.machine()?;
        let mut store = self.store()?;
        let (intent, plan) = match plan {
            Some(path) => (path.display().to_string(), read_plan(path, &mut machine)?),
            None => self.planned(wish, &mut machine).map(|(intent, plan)| (intent.to_toml(), plan))?,
        };
        self.carry_out(&plan, intent, keeps_going, &mut machine, &mut store)
    }

    pub(crate) fn persist(&self, wish: &dyn Wish) -> anyhow::Result<Exit> {
        if self.root.is_live() && !Path::new("/run/systemd/system").is_dir() {
            anyhow::bail!(
                "systemd does not run here; have your own service manager run '{} apply INTENT'",
                self.command()
            );
        }
        let mut machine = self.machine()?;
        let mut store = self.store()?;
        let (intent, plan) = self.planned(wish, &mut machine)?;
        if !plan.conflicts.is_empty() {
            return self.in_conflict(&plan);
        }
        let program = std::env::current_exe().context("the path of this program")?;
        let demand = knobs::persist(&intent, &program.to_string_lossy(), self.owner);
        let plan = Plan::from_demand(demand, &mut |place| ::tune::Machine::read(&mut machine, place));
        self.carry_out(&plan, intent.to_toml(), false, &mut machine, &mut store)
    }

    /// The journal, if nothing in it is unfinished.
    fn store(&self) -> anyhow::Result<FileStore> {
        let mut store = FileStore::open(&self.folder)?;
        if let Some(unfinished) = store.transactions()?.iter().find(|one| !one.is_whole()) {
            anyhow::bail!(
                "the transaction {} was neither finished nor reverted: run '{} revert' first",
                unfinished.id,
                self.command()
            );
        }
        Ok(store)
    }

    fn in_conflict(&self, plan: &Plan) -> anyhow::Result<Exit> {
        self.print(plan, || show::plan(plan, output::color_stdout()))?;
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
            owner: self.owner,
        };
        let applied = ::tune::apply(plan, &application, machine, store, &stop, &mut |_| {})?;
        self.print(&applied, || show::applied(plan, &applied))?;
        for note in &plan.notes {
            output::note(note);
        }
        output::note(&format!("'{0} verify' checks that all is in force, '{0} revert' reverts it", self.command()));
        Ok(if applied.refused.iter().all(|refused| refused.is_expected) { Exit::Holds } else { Exit::Broken })
    }

    fn open_transactions(&self) -> anyhow::Result<Vec<Transaction>> {
        let mut transactions = FileStore::peek(&self.folder)?;
        transactions.retain(Transaction::is_open);
        Ok(transactions)
    }

    /// That this command's journal is empty, and what the other's has: the part `[time]` of an intent can stand in either.
    fn note_nothing(&self) {
        let others = Owner::ALL.into_iter().filter(|owner| *owner != self.owner).filter_map(|owner| {
            // One that cannot be read is for the command that it belongs to.
            let mut transactions = FileStore::peek(&::tune::journal_folder(&self.root, owner)).ok()?;
            transactions.retain(Transaction::is_open);
            show::applied_by(&transactions, owner)
        });
        let all: Vec<String> =
            [format!("nothing is applied by '{}'", self.command())].into_iter().chain(others).collect();
        output::note(&all.join("; "));
    }

    pub(crate) fn verify(&self, all: bool) -> anyhow::Result<Exit> {
        let mut machine = self.machine()?;
        let verified = ::tune::verify(&self.open_transactions()?, &mut machine, &::tune::in_force(&self.root));
        self.print(&verified, || show::verified(&verified, all, output::color_stdout()))?;
        if verified.is_empty() {
            self.note_nothing();
        }
        let is_lost = |standing: &Standing| {
            matches!(standing, Standing::Changed(_) | Standing::Void | Standing::Ended | Standing::Unknown(_))
        };
        Ok(if verified.iter().any(|one| is_lost(&one.standing)) { Exit::Broken } else { Exit::Holds })
    }

    pub(crate) fn status(&self) -> anyhow::Result<Exit> {
        let transactions = self.open_transactions()?;
        let boot_id = ::tune::Machine::boot_id(&self.machine()?).to_owned();
        self.print(&transactions, || show::status(&transactions, &boot_id, self.owner))?;
        if transactions.is_empty() {
            self.note_nothing();
        }
        Ok(Exit::Holds)
    }

    pub(crate) fn revert(&self, is_forced: bool) -> anyhow::Result<Exit> {
        let mut machine = self.machine()?;
        let mut store = FileStore::open(&self.folder)?;
        let reverted = ::tune::revert(is_forced, &mut machine, &mut store)?;
        self.print(&reverted, || show::reverted(&reverted))?;
        if reverted == ::tune::Reverted::default() {
            self.note_nothing();
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
