//! The settings of the machine for each visit, and as they were at the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use ::tune::{Application, FileStore, LiveMachine, Machine as _, Standing, Store as _};
use anyhow::{Context as _, bail};
use campaign::journal::Event;
use host::Root;
use knobs::journal::Transaction;
use knobs::{Demand, Intent, Place, Plan, Site, Step, Value};

use super::folder::Folder;
use crate::commands::tune;
use crate::output;

/// What came of setting a visit up.
pub(super) enum SetUp {
    /// All is in force.
    Ready,
    /// The machine has to start again first; it is told to come back here.
    Restart,
}

/// The machine, and the journal of its settings, which nobody else changes meanwhile.
pub(super) struct Setting {
    root: Root,
    machine: LiveMachine,
    store: Option<FileStore>,
    stop: Arc<AtomicBool>,
}

impl Setting {
    /// Of this machine, or of a tree of files.
    pub(super) fn open(root: &Root, stop: Arc<AtomicBool>) -> anyhow::Result<Self> {
        let machine = LiveMachine::below(root.prefix()).context("this machine cannot be read")?;
        let store = Some(FileStore::open(&tune::journal_folder(root))?);
        Ok(Self { root: root.clone(), machine, store, stop })
    }

    /// To be looked at alone: nothing can be changed by it.
    pub(super) fn look(root: &Root) -> anyhow::Result<Self> {
        let machine = LiveMachine::below(root.prefix()).context("this machine cannot be read")?;
        Ok(Self { root: root.clone(), machine, store: None, stop: Arc::default() })
    }

    /// The journal, with the machine that it is of.
    fn changeable(&mut self) -> anyhow::Result<(&mut LiveMachine, &mut FileStore)> {
        let store = self.store.as_mut().context("this machine was opened to be looked at")?;
        Ok((&mut self.machine, store))
    }

    pub(super) fn boot_id(&self) -> String {
        self.machine.boot_id().to_owned()
    }

    pub(super) fn site(&mut self) -> Site {
        ::tune::read_site(&self.root)
    }

    /// What an intent would change now.
    pub(super) fn plan(&mut self, intent: Option<&Intent>, site: &Site) -> Plan {
        let demand = intent.map_or_else(Demand::default, |intent| Demand::of(intent, site));
        let machine = &mut self.machine;
        Plan::of(demand, &mut |place| machine.read(place))
    }

    /// Transactions that somebody began and neither finished nor took back.
    pub(super) fn unfinished(&mut self) -> anyhow::Result<Option<String>> {
        let mut all = self.changeable()?.1.transactions()?.into_iter();
        Ok(all.find(|one| !one.is_whole()).map(|one| one.id))
    }

    /// Brings the settings of a visit into force.
    pub(super) fn set_up(&mut self, folder: &mut Folder, visit: usize, condition: usize) -> anyhow::Result<SetUp> {
        let campaign = &folder.held.campaign;
        let winners = folder.held.state.winners.clone();
        let layout = campaign.layout(winners.as_deref());
        let condition = layout.conditions.get(condition).context("the journal and the campaign's file differ")?;
        let intent = campaign.intent_of(condition).map_err(anyhow::Error::msg)?;
        let starts_anew = restarts(campaign);
        self.take_back(folder, false)?;
        let boot_id = self.boot_id();
        if starts_anew && !folder.held.state.is_started_for(visit, &boot_id) {
            self.take_back(folder, true)?;
            let site = self.site();
            let mut plan = self.plan(intent.as_ref(), &site);
            refuse_conflicts(&plan)?;
            plan.steps.retain(Step::needs_reboot);
            if !plan.steps.is_empty() {
                folder.note(Event::BootChanged { boot_id: boot_id.clone() })?;
                self.apply(folder, visit, &plan, intent.as_ref(), true)?;
            }
            folder.note(Event::Restarting { visit: Some(visit), boot_id })?;
            return Ok(SetUp::Restart);
        }
        let site = self.site();
        let plan = self.plan(intent.as_ref(), &site);
        refuse_conflicts(&plan)?;
        if let Some(step) = plan.steps.iter().find(|step| step.needs_reboot()) {
            bail!("{} is not as it was told before the machine started again; someone else has changed it", step.place);
        }
        let refused = self.apply(folder, visit, &plan, intent.as_ref(), false)?;
        if let Some(what) = self.not_in_force(folder)? {
            bail!("after it was set and the machine had started again, {what}");
        }
        let changed = self.changed(folder)?;
        folder.note(Event::Ready { visit, boot_id, changed, refused })?;
        Ok(SetUp::Ready)
    }

    /// Applies a plan as a transaction of the campaign; what the kernel refused.
    fn apply(
        &mut self,
        folder: &mut Folder,
        visit: usize,
        plan: &Plan,
        intent: Option<&Intent>,
        is_boot: bool,
    ) -> anyhow::Result<Vec<String>> {
        if plan.steps.is_empty() {
            return Ok(Vec::new());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let application = Application {
            id: format!("campaign-{}-{}-{}", folder.held.campaign.name, now.as_micros(), visit + 1),
            realtime_ns: i64::try_from(now.as_nanos()).unwrap_or(i64::MAX),
            intent: intent.map(Intent::to_toml).unwrap_or_default(),
            keeps_going: false,
        };
        folder.note(Event::Applying { visit, transaction: application.id.clone(), is_boot })?;
        let stop = Arc::clone(&self.stop);
        let (machine, store) = self.changeable()?;
        let applied = ::tune::apply(plan, &application, machine, store, &stop, &mut |_| {})?;
        Ok(applied.refused.iter().map(|refused| format!("{}: {}", refused.label, refused.why)).collect())
    }

    /// Takes back what the campaign has set: for the time of running, or for the boot loader too. A journal that cannot be
    /// written any more does not keep settings from being taken back.
    pub(super) fn take_back(&mut self, folder: &mut Folder, is_boot: bool) -> anyhow::Result<()> {
        let own = folder.held.state.transactions.clone();
        let mut told = Ok(());
        for (transaction, of_boot) in own.iter().rev().filter(|(_, of_boot)| is_boot || !of_boot) {
            if *of_boot {
                told = told.and(folder.note(Event::BootChanged { boot_id: self.boot_id() }));
            }
            let (machine, store) = self.changeable()?;
            let reverted = ::tune::revert_one(transaction, machine, store)?;
            for left in &reverted.left {
                output::warning(&format!(
                    "{} was changed to {} by someone else and is left so (before: {})",
                    left.label, left.now, left.before
                ));
            }
            if !reverted.failed.is_empty() {
                bail!("not all could be taken back: {reverted}; 'punctual tune revert' tries again");
            }
            told = told.and(folder.note(Event::TakenBack { transaction: transaction.clone() }));
        }
        told
    }

    /// Has the service manager go on with the campaign at the next start.
    pub(super) fn come_back(&mut self, folder: &mut Folder) -> anyhow::Result<()> {
        let program = std::env::current_exe().context("the path of this program")?;
        let demand = knobs::resume_at_start(&folder.path.to_string_lossy(), &program.to_string_lossy());
        let machine = &mut self.machine;
        let plan = Plan::of(demand, &mut |place| machine.read(place));
        refuse_conflicts(&plan)?;
        self.apply(folder, 0, &plan, None, true).map(|_| ())
    }

    /// A setting of the campaign's that is not in force, in words.
    pub(super) fn not_in_force(&mut self, folder: &Folder) -> anyhow::Result<Option<String>> {
        let own = self.own(folder)?;
        let verified = ::tune::verify(&own, &mut self.machine, &tune::in_force(&self.root));
        Ok(verified.into_iter().find_map(|one| {
            let what = match one.standing {
                Standing::Changed(now) => format!("is {now} and not {}", one.step.wanted),
                // Another condition than the one that was asked for.
                Standing::Adjusted(now) => format!("is {now}, which the driver made of {}", one.step.wanted),
                Standing::Ended => "was let go: the process that held it has ended".to_owned(),
                Standing::Void => "was forgotten by a restart".to_owned(),
                Standing::Unknown(why) => format!("cannot be read: {why}"),
                Standing::Pending(why) if one.step.needs_reboot() => format!("is not in force {why}"),
                // An interrupt that the kernel keeps to itself is one of many; of a network card this is what was asked for.
                Standing::Refused(why) if matches!(one.step.place, Place::Ethtool { .. }) => {
                    format!("was refused: {why}")
                }
                Standing::Pending(_) | Standing::Effective | Standing::Refused(_) => return None,
            };
            Some(format!("{} {what}", one.step.label()))
        }))
    }

    /// The open transactions of the campaign.
    fn own(&mut self, folder: &Folder) -> anyhow::Result<Vec<Transaction>> {
        let ids = &folder.held.state.transactions;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = self.changeable()?.1.transactions()?;
        all.retain(|one| one.is_open() && ids.iter().any(|(id, _)| *id == one.id));
        Ok(all)
    }

    /// What is changed now, in words.
    fn changed(&mut self, folder: &Folder) -> anyhow::Result<Vec<String>> {
        let own = self.own(folder)?;
        let steps = own.iter().flat_map(|one| &one.taken).map(|taken| &taken.step);
        let own_files = |step: &&Step| !step.knob.starts_with("campaign.");
        Ok(steps
            .filter(own_files)
            .map(|step| format!("{}: {} -> {}", step.label(), step.before, step.wanted))
            .collect())
    }
}

/// A change in a line; of a file that has several, what is new in it.
pub(super) fn in_words(step: &Step) -> String {
    let lines = |value: &Value| match value {
        Value::Text(text) => text.lines().map(str::to_owned).collect(),
        Value::Absent => Vec::new(),
    };
    let (before, wanted): (Vec<String>, Vec<String>) = (lines(&step.before), lines(&step.wanted));
    if before.len().max(wanted.len()) < 2 {
        return format!("{}: {} -> {}", step.label(), step.before, step.wanted);
    }
    let is_new = |line: &&String| !before.contains(line) && !line.starts_with('#') && !line.trim().is_empty();
    let new: Vec<&str> = wanted.iter().filter(is_new).map(|line| line.trim()).collect();
    format!("{}: {}: + {}", step.label(), step.place, new.join("; "))
}

fn refuse_conflicts(plan: &Plan) -> anyhow::Result<()> {
    match plan.conflicts.first() {
        None => Ok(()),
        Some(first) => bail!("{}: {}; {}", first.about, first.why, first.remedy),
    }
}

/// Whether any condition sets anything: else no right is needed to change settings.
pub(super) fn sets_anything(campaign: &campaign::Campaign) -> bool {
    campaign.conditions().iter().any(|one| campaign.intent_of(one).is_ok_and(|intent| intent.is_some()))
}

/// Whether any condition needs something of the boot loader: then each visit has a start of the machine of its own, so
/// that no two share what differs from start to start.
pub(super) fn restarts(campaign: &campaign::Campaign) -> bool {
    let conditions = campaign.conditions();
    conditions.iter().filter_map(|one| campaign.intent_of(one).ok().flatten()).any(|intent| intent.needs_restart())
}

/// Where a campaign's folder is, unless told.
pub(super) fn default_folder(name: &str) -> PathBuf {
    Path::new(".").join(format!("{name}-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S")))
}
