//! Reverts changes: the youngest first, each only if nobody else has changed it since.

use std::fmt;
use std::io;

use knobs::journal::{GoneWith, Line, State, Transaction, Undo};
use knobs::{Form, Place, Reading, Step, Value, follow_ups};
use serde::Serialize;

use crate::{Machine, Store, StoreError};

/// A place that someone else has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Left {
    /// Name of the knob.
    pub label: String,
    /// The place that was changed.
    pub place: Place,
    /// How its texts are written.
    #[serde(skip)]
    pub form: Form,
    /// What stands there now.
    pub now: Value,
    /// What stood there before ours.
    pub before: Value,
}

/// The result of a revert: what became of each change that was in the journal. Changes that the kernel or a driver had
/// refused are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reverted {
    /// Values that were written back.
    pub restored: u32,
    /// Changes that are gone with the control group that an earlier change had made.
    pub gone_with_group: u32,
    /// Changes that are gone because the machine was started since.
    pub gone_with_boot: u32,
    /// Changes whose place is gone: the kernel has no such file any more.
    pub gone_with_place: u32,
    /// Changes at whose place the value from before stood already.
    pub as_before: u32,
    /// Changes that a driver took and does not take back; the kernel may refuse such changes without harm.
    pub kept_by_driver: u32,
    /// Of all that is counted here, changes that `apply` did not count: it had not finished them, or a refusal had
    /// changed something all the same.
    pub unfinished: u32,
    /// Places that someone else has changed: they are left as they are.
    pub left: Vec<Left>,
    /// What could not be written back: which, and why.
    pub failed: Vec<(String, String)>,
}

impl Reverted {
    /// The changes that `apply` had counted as made.
    #[must_use]
    pub fn changed(&self) -> u32 {
        let lists = [self.left.len(), self.failed.len()].map(|length| u32::try_from(length).unwrap_or(u32::MAX));
        let Self { restored, gone_with_group, gone_with_boot, gone_with_place, as_before, kept_by_driver, .. } = *self;
        let all = [restored, gone_with_group, gone_with_boot, gone_with_place, as_before, kept_by_driver];
        all.iter().chain(&lists).fold(0_u32, |sum, count| sum.saturating_add(*count)).saturating_sub(self.unfinished)
    }

    /// What became of all changes, in one sentence whose numbers add up: "36 changed, 8 of them gone with their control
    /// group, 28 written back".
    #[must_use]
    pub fn sum_in_words(&self) -> String {
        let count = |list: usize| u32::try_from(list).unwrap_or(u32::MAX);
        let parts = [
            (self.gone_with_group, "gone with their control group"),
            (self.gone_with_boot, "gone with the last start of the machine"),
            (self.gone_with_place, "gone with their place"),
            (self.as_before, "as before already"),
            (self.restored, "written back"),
            (self.kept_by_driver, "not taken back by the driver"),
            (count(self.left.len()), "left to someone else"),
            (count(self.failed.len()), "FAILED"),
        ];
        let mut text = format!("{} changed", self.changed());
        if self.unfinished > 0 {
            text.push_str(&format!(" and {} not finished", self.unfinished));
        }
        let parts: Vec<_> = parts.into_iter().filter(|(count, _)| *count > 0).collect();
        if let ([(_, words)], 0) = (parts.as_slice(), self.unfinished) {
            return format!("{text}, all {words}");
        }
        let mut of_them = " of them";
        for (count, words) in parts {
            text.push_str(&format!(", {count}{of_them} {words}"));
            of_them = "";
        }
        text
    }

    fn add(&mut self, other: Self) {
        self.restored += other.restored;
        self.unfinished += other.unfinished;
        self.gone_with_group += other.gone_with_group;
        self.gone_with_boot += other.gone_with_boot;
        self.gone_with_place += other.gone_with_place;
        self.as_before += other.as_before;
        self.kept_by_driver += other.kept_by_driver;
        self.left.extend(other.left);
        self.failed.extend(other.failed);
    }
}

impl fmt::Display for Reverted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sum_in_words())?;
        for Left { label, form, now, before, .. } in &self.left {
            let [now, before] = [now, before].map(|value| form.shown(value));
            write!(f, "; {label} was changed to {now} by someone else and left so (before: {before})")?;
        }
        self.failed.iter().try_for_each(|(label, why)| write!(f, "; {label}: {why}"))
    }
}

/// Why nothing could be reverted.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    /// The journal could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal could not be written.
    #[error("the journal could not be written: {0}")]
    Journal(#[from] io::Error),
    /// Another transaction is on top of it.
    #[error("the transaction {on_top} was applied after {id}: 'punctual tune revert' reverts all, the youngest first")]
    OnTop {
        /// The transaction that was to be reverted.
        id: String,
        /// The transaction that was applied after it.
        on_top: String,
    },
    /// A follow-up command failed, such as the one that regenerates the boot loader's configuration.
    #[error("{command}: {why}")]
    FollowUp {
        /// The command that failed.
        command: String,
        /// Why the command failed.
        why: String,
    },
}

/// Reverts everything in the journal; with `is_forced` also what someone else has changed meanwhile.
///
/// It may be killed and called again at any point.
///
/// # Errors
/// Where the journal cannot be read or written, or what makes others take notice fails.
pub fn revert(is_forced: bool, machine: &mut dyn Machine, store: &mut dyn Store) -> Result<Reverted, RevertError> {
    let mut all = Reverted::default();
    let transactions = store.transactions()?;
    for transaction in transactions.iter().rev().filter(|transaction| transaction.is_open()) {
        all.add(take_back(transaction, is_forced, machine, store)?);
    }
    // What failed can be tried again, so it stays in the journal.
    if all.failed.is_empty() && !transactions.is_empty() {
        store.clear()?;
    }
    Ok(all)
}

/// Takes the youngest transaction back.
pub(crate) fn revert_last(machine: &mut dyn Machine, store: &mut dyn Store) -> Result<Reverted, RevertError> {
    let transactions = store.transactions()?;
    let Some(last) = transactions.iter().rev().find(|transaction| transaction.is_open()) else {
        return Ok(Reverted::default());
    };
    let reverted = take_back(last, false, machine, store)?;
    if reverted.failed.is_empty() && transactions.iter().filter(|transaction| transaction.is_open()).count() == 1 {
        store.clear()?;
    }
    Ok(reverted)
}

/// Takes the youngest open transaction back, which has to be the one of this name; nothing is done where no open one has
/// it.
///
/// It may be killed and called again at any point.
///
/// # Errors
/// Where another is on top of it, and as [`revert`].
pub fn revert_one(id: &str, machine: &mut dyn Machine, store: &mut dyn Store) -> Result<Reverted, RevertError> {
    let transactions = store.transactions()?;
    let open: Vec<&Transaction> = transactions.iter().filter(|transaction| transaction.is_open()).collect();
    if open.iter().all(|transaction| transaction.id != id) {
        return Ok(Reverted::default());
    }
    match open.last() {
        Some(last) if last.id == id => revert_last(machine, store),
        // The journal's lines about taking back are the youngest one's.
        last => {
            Err(RevertError::OnTop { id: id.to_owned(), on_top: last.map_or_else(String::new, |last| last.id.clone()) })
        }
    }
}

fn take_back(
    transaction: &Transaction,
    is_forced: bool,
    machine: &mut dyn Machine,
    store: &mut dyn Store,
) -> Result<Reverted, RevertError> {
    let mut reverted = Reverted::default();
    // A journal that cannot be written any more must not keep changes from being reverted: it has all that
    // is needed already.
    let noted = store.append(&Line::Reverting).and_then(|()| store.sync());
    let boot_id = machine.boot_id().to_owned();
    let mut refused: Vec<(&Step, Value, Unrestored)> = Vec::new();
    for (number, taken) in transaction.taken.iter().enumerate().rev() {
        let step = &taken.step;
        let now = machine.read(&step.place);
        let is_made = u32::from(matches!(taken.state, State::Done(_)));
        match transaction.undo(number, &now, &boot_id, is_forced) {
            Undo::AsBefore => {
                reverted.as_before += is_made;
                machine.tidy(&step.place);
            }
            Undo::Gone(with) => {
                match with {
                    GoneWith::Group => reverted.gone_with_group += is_made,
                    GoneWith::Boot => reverted.gone_with_boot += is_made,
                    GoneWith::Place => reverted.gone_with_place += is_made,
                }
                machine.tidy(&step.place);
            }
            Undo::Foreign(now) => {
                let (label, place, before) = (step.label(), step.place.clone(), step.before.clone());
                reverted.left.push(Left { label, place, form: step.form, now, before });
                reverted.unfinished += 1 - is_made;
            }
            Undo::Unknown(why) => {
                reverted.failed.push((step.label(), format!("it cannot be read: {why}")));
                reverted.unfinished += 1 - is_made;
            }
            Undo::Restore(before) => {
                reverted.unfinished += 1 - is_made;
                match restore(step, &before, machine) {
                    Ok(()) => reverted.restored += 1,
                    Err(why) => refused.push((step, before, why)),
                }
            }
        }
    }
    again(refused, machine, &mut reverted);
    // Also where nothing had to be restored: an earlier attempt may have been killed right before.
    for command in follow_ups(transaction.taken.iter().map(|taken| &taken.step)) {
        let failed = |why| RevertError::FollowUp { command: command.join(" "), why };
        machine.run(command).map_err(failed)?;
    }
    noted?;
    if reverted.failed.is_empty() {
        let left = reverted.left.iter().map(|left| left.place.clone()).collect();
        store.append(&Line::Reverted { left })?;
        store.sync()?;
    }
    Ok(reverted)
}

/// Why what stood there before does not stand there again.
struct Unrestored {
    why: String,
    /// Whether the write itself was refused, not only without effect.
    is_refused: bool,
}

/// Has what stood there before stand there again, which is read back.
fn restore(step: &Step, before: &Value, machine: &mut dyn Machine) -> Result<(), Unrestored> {
    let shown = step.form.shown(before);
    if let Err(why) = machine.write(&step.place, &step.form.order(before)) {
        return Err(Unrestored { why: format!("{shown} could not be written back: {why}"), is_refused: true });
    }
    let why = match machine.read(&step.place) {
        Reading::Is(found) if step.form.same(&found, before) => return Ok(()),
        Reading::Is(found) => format!("{shown} was written back, {} is read", step.form.shown(&found)),
        Reading::Missing => format!("{shown} was written back, and then it was gone"),
        Reading::Failed(why) => format!("{shown} was written back and could not be read: {why}"),
        Reading::Refused(refusal) => format!("{shown} was written back and could not be read: {}", refusal.why),
    };
    Err(Unrestored { why, is_refused: false })
}

/// Restores what was refused once more, as long as that gets on: what a driver takes may depend on what else is set.
/// With the governor `performance`, intel_pstate refuses every other energy preference (`EBUSY`).
fn again(mut left: Vec<(&Step, Value, Unrestored)>, machine: &mut dyn Machine, reverted: &mut Reverted) {
    loop {
        let count = left.len();
        left.retain_mut(|(step, before, unrestored)| {
            let is_back = matches!(machine.read(&step.place), Reading::Is(now) if step.form.same(&now, before));
            match if is_back { Ok(()) } else { restore(step, before, machine) } {
                Ok(()) => reverted.restored += 1,
                Err(now) => {
                    *unrestored = now;
                    return true;
                }
            }
            false
        });
        if left.len() == count {
            break;
        }
    }
    for (step, _, Unrestored { why, is_refused }) in left {
        // A driver that took the value has to take the old one too; otherwise that is reported.
        if step.may_refuse && !step.place.is_asked_for_by_itself() && !is_refused {
            reverted.kept_by_driver += 1;
        } else {
            reverted.failed.push((step.label(), why));
        }
    }
}
