//! The settings of the machine for each visit, and as they were at the end.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use campaign::journal::Event;
use host::Root;
use knobs::journal::Transaction;
use knobs::{Demand, Intent, Owner, Place, Plan, Site, Step, Value};
use tune::{
    Application, ApplyError, FileStore, LiveMachine, Machine as _, RevertError, Standing, Store as _, StoreError,
};
use units::CpuSet;

use crate::{Folder, FolderError};

/// Why settings are not as a visit wants them, or not as they were.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The machine does not report its boot id.
    #[error("this machine cannot be read")]
    Machine(#[source] io::Error),
    /// The journal of settings.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A change was wanted of a machine that was opened to be looked at.
    #[error("this machine was opened to be looked at")]
    LookedAt,
    /// Something stands in the way of a change.
    #[error("{about}: {why}; {remedy}")]
    Conflict {
        /// What was to be changed.
        about: String,
        /// What stands in the way.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// The folder's two files are of different campaigns.
    #[error("the journal and the campaign's file differ")]
    Differ,
    /// The levels of a condition contradict each other.
    #[error("{0}")]
    Intent(String),
    /// What was written for the boot loader has changed since.
    #[error("{0} is not as it was written before the reboot; someone else has changed it")]
    ChangedBeforeStart(Place),
    /// A setting is not in force.
    #[error("after it was set and the machine had rebooted, {0}")]
    NotInForce(String),
    /// A change was refused.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A change cannot be reverted.
    #[error(transparent)]
    Revert(#[from] RevertError),
    /// Some changes are reverted, and some are not.
    #[error("not all could be reverted: {0}; 'punctual tune revert' tries again")]
    Left(String),
    /// The campaign's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// What came of setting a visit up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUp {
    /// All is in force.
    Ready,
    /// The machine has to reboot first, and the campaign then continues here.
    Restart,
}

/// The machine, and the journal of its settings, which nobody else changes meanwhile.
#[derive(Debug)]
pub struct Setting {
    root: Root,
    machine: LiveMachine,
    store: Option<FileStore>,
}

impl Setting {
    /// Of this machine, or of a tree of files.
    ///
    /// # Errors
    /// Where the machine or the journal of its settings cannot be read, or another process changes settings.
    pub fn open(root: &Root) -> Result<Self, SettingError> {
        let store = FileStore::open(&tune::journal_folder(root, Owner::Tune))?;
        Ok(Self { store: Some(store), ..Self::look(root)? })
    }

    /// To be looked at alone: nothing can be changed by it.
    ///
    /// # Errors
    /// Where the machine cannot be read.
    pub fn look(root: &Root) -> Result<Self, SettingError> {
        let machine = LiveMachine::below(root.prefix()).map_err(SettingError::Machine)?;
        Ok(Self { root: root.clone(), machine, store: None })
    }

    /// The journal, with the machine that it is of.
    fn changeable(&mut self) -> Result<(&mut LiveMachine, &mut FileStore), SettingError> {
        let store = self.store.as_mut().ok_or(SettingError::LookedAt)?;
        Ok((&mut self.machine, store))
    }

    /// The machine that it is of.
    pub(crate) const fn root(&self) -> &Root {
        &self.root
    }

    /// Which start of the machine this is.
    #[must_use]
    pub fn boot_id(&self) -> &str {
        self.machine.boot_id()
    }

    /// What the machine is, as far as a plan depends on it.
    #[must_use]
    pub fn site(&self) -> Site {
        tune::read_site(&self.root)
    }

    /// What an intent would change now, where these CPUs are measured.
    #[must_use]
    pub fn plan(&mut self, intent: Option<&Intent>, measured: &CpuSet, site: &Site) -> Plan {
        let demand = intent.map_or_else(Demand::default, |intent| Demand::beside(intent, site, measured));
        Plan::seen(demand, &mut self.machine)
    }

    /// A transaction that somebody began and neither finished nor took back.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn unfinished(&mut self) -> Result<Option<String>, SettingError> {
        let mut all = self.changeable()?.1.transactions()?.into_iter();
        Ok(all.find(|one| !one.is_whole()).map(|one| one.id))
    }

    /// Brings the settings of a visit into force; `warn` is called with what stays of the visit before.
    ///
    /// # Errors
    /// If they cannot be set, or those of the visit before cannot be reverted.
    pub fn set_up(
        &mut self,
        folder: &mut Folder,
        visit: usize,
        condition: usize,
        warn: &dyn Fn(&str),
    ) -> Result<SetUp, SettingError> {
        let campaign = &folder.held.campaign;
        let layout = campaign.layout(folder.held.state.winners.as_deref());
        let condition = layout.conditions.get(condition).ok_or(SettingError::Differ)?;
        let intent = campaign.intent_of(condition).map_err(SettingError::Intent)?;
        let measured = campaign.measured_at(condition);
        let reboots = campaign.restarts();
        self.take_back(folder, false, warn)?;
        let boot_id = self.boot_id().to_owned();
        if reboots && !folder.held.state.is_started_for(visit, &boot_id) {
            self.take_back(folder, true, warn)?;
            let site = self.site();
            let mut plan = self.plan(intent.as_ref(), &measured, &site);
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
        let plan = self.plan(intent.as_ref(), &measured, &site);
        refuse_conflicts(&plan)?;
        if let Some(step) = plan.steps.iter().find(|step| step.needs_reboot()) {
            return Err(SettingError::ChangedBeforeStart(step.place.clone()));
        }
        let refused = self.apply(folder, visit, &plan, intent.as_ref(), false)?;
        if let Some(what) = self.not_in_force(folder)? {
            return Err(SettingError::NotInForce(what));
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
    ) -> Result<Vec<String>, SettingError> {
        if plan.steps.is_empty() {
            return Ok(Vec::new());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let application = Application {
            id: format!("campaign-{}-{}-{}", folder.held.campaign.name, now.as_micros(), visit + 1),
            realtime_ns: i64::try_from(now.as_nanos()).unwrap_or(i64::MAX),
            intent: intent.map(Intent::to_toml).unwrap_or_default(),
            keeps_going: false,
            owner: Owner::Tune,
        };
        folder.note(Event::Applying { visit, transaction: application.id.clone(), is_boot })?;
        // A change of settings is short, and reverted in order once it has begun: it need not be interrupted.
        let never = AtomicBool::new(false);
        let (machine, store) = self.changeable()?;
        let applied = tune::apply(plan, &application, machine, store, &never, &mut |_| {})?;
        Ok(applied.refused.iter().map(|refused| format!("{}: {}", refused.label, refused.why)).collect())
    }

    /// Reverts what the campaign has set: the run-time settings, or those for the boot loader too. A journal that cannot be
    /// written any more does not keep settings from being reverted. `warn` is called with what someone else has changed,
    /// which stays so.
    ///
    /// # Errors
    /// If not all could be reverted, or the folder's journal could not be written.
    pub fn take_back(&mut self, folder: &mut Folder, is_boot: bool, warn: &dyn Fn(&str)) -> Result<(), SettingError> {
        let own = folder.held.state.transactions.clone();
        let mut noted = Ok(());
        for (transaction, is_boot_change) in own.iter().rev().filter(|(_, is_boot_change)| is_boot || !is_boot_change) {
            if *is_boot_change {
                noted = noted.and(folder.note(Event::BootChanged { boot_id: self.boot_id().to_owned() }));
            }
            let (machine, store) = self.changeable()?;
            let reverted = tune::revert_one(transaction, machine, store)?;
            for left in &reverted.left {
                warn(&format!(
                    "{} was changed to {} by someone else and is left so (before: {})",
                    left.label,
                    left.form.shown(&left.now),
                    left.form.shown(&left.before)
                ));
            }
            if !reverted.failed.is_empty() {
                return Err(SettingError::Left(reverted.to_string()));
            }
            noted = noted.and(folder.note(Event::TakenBack { transaction: transaction.clone() }));
        }
        Ok(noted?)
    }

    /// Has the service manager go on with the campaign at the next start, by `program`.
    pub(crate) fn come_back(&mut self, folder: &mut Folder, program: &Path) -> Result<(), SettingError> {
        let demand = knobs::resume_at_start(&folder.path.to_string_lossy(), &program.to_string_lossy());
        let machine = &mut self.machine;
        let plan = Plan::from_demand(demand, &mut |place| machine.read(place));
        refuse_conflicts(&plan)?;
        self.apply(folder, 0, &plan, None, true).map(|_| ())
    }

    /// A setting of the campaign's that is not in force, in words.
    pub(crate) fn not_in_force(&mut self, folder: &Folder) -> Result<Option<String>, SettingError> {
        let own = self.own(folder)?;
        let verified = tune::verify(&own, &mut self.machine, &tune::in_force(&self.root));
        Ok(verified.into_iter().find_map(|one| {
            let shown = |value: &Value| one.step.form.shown(value);
            let what = match one.standing {
                Standing::Changed(now) => format!("is {} and not {}", shown(&now), shown(&one.step.wanted)),
                // Another condition than the one that was asked for.
                Standing::Adjusted(now) => {
                    format!("is {}, which the driver made of {}", shown(&now), shown(&one.step.wanted))
                }
                Standing::Ended => "was let go: the process that held it has ended".to_owned(),
                Standing::Void => "was forgotten by a restart".to_owned(),
                Standing::Unknown(why) => format!("cannot be read: {why}"),
                Standing::Pending(why) if one.step.needs_reboot() => format!("is not in force {why}"),
                // An interrupt that the kernel keeps to itself is one of many; of a network card this is what was asked for.
                Standing::Refused(why) if one.step.place.is_asked_for_by_itself() => {
                    format!("was refused: {why}")
                }
                Standing::Pending(_) | Standing::Effective | Standing::Refused(_) => return None,
            };
            Some(format!("{} {what}", one.step.label()))
        }))
    }

    /// The open transactions of the campaign.
    fn own(&mut self, folder: &Folder) -> Result<Vec<Transaction>, SettingError> {
        let ids = &folder.held.state.transactions;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = self.changeable()?.1.transactions()?;
        all.retain(|one| one.is_open() && ids.iter().any(|(id, _)| *id == one.id));
        Ok(all)
    }

    /// What is changed now, in words.
    fn changed(&mut self, folder: &Folder) -> Result<Vec<String>, SettingError> {
        let own = self.own(folder)?;
        let steps = own.iter().flat_map(|one| &one.taken).map(|taken| &taken.step);
        let own_files = |step: &&Step| !step.knob.starts_with("campaign.");
        Ok(steps.filter(own_files).map(Step::in_words).collect())
    }
}

fn refuse_conflicts(plan: &Plan) -> Result<(), SettingError> {
    match plan.conflicts.first() {
        None => Ok(()),
        Some(first) => Err(SettingError::Conflict {
            about: first.about.clone(),
            why: first.why.clone(),
            remedy: first.remedy.clone(),
        }),
    }
}
