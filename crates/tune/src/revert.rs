//! Reverts changes: the youngest first, each only if nobody else has changed it since.

use std::fmt;
use std::io;

use knobs::journal::{Line, Transaction, Undo};
use knobs::{Place, Reading, Value, follow_ups};
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
    /// What stands there now.
    pub now: Value,
    /// What stood there before ours.
    pub before: Value,
}

/// The result of a revert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reverted {
    /// Values that were written back.
    pub restored: u32,
    /// Places that someone else has changed: they are left as they are.
    pub left: Vec<Left>,
    /// What could not be written back: which, and why.
    pub failed: Vec<(String, String)>,
}

impl fmt::Display for Reverted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} written back", self.restored)?;
        for Left { label, now, before, .. } in &self.left {
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
        let one = take_back(transaction, is_forced, machine, store)?;
        all.restored += one.restored;
        all.left.extend(one.left);
        all.failed.extend(one.failed);
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
    for (number, taken) in transaction.taken.iter().enumerate().rev() {
        let step = &taken.step;
        let now = machine.read(&step.place);
        match transaction.undo(number, &now, &boot_id, is_forced) {
            Undo::Nothing => machine.tidy(&step.place),
            Undo::Foreign(now) => {
                let (label, place, before) = (step.label(), step.place.clone(), step.before.clone());
                reverted.left.push(Left { label, place, now, before });
            }
            Undo::Unknown(why) => reverted.failed.push((step.label(), format!("it cannot be read: {why}"))),
            Undo::Restore(before) => {
                let written = machine.write(&step.place, &before);
                match written.map(|()| machine.read(&step.place)) {
                    Ok(Reading::Is(found)) if step.form.same(&found, &before) => reverted.restored += 1,
                    // A driver that took the value has to take the old one too; otherwise that is reported.
                    Ok(_) if step.may_refuse && !step.place.is_asked_for_by_itself() => {}
                    Ok(Reading::Is(found)) => {
                        reverted.failed.push((step.label(), format!("{before} was written back, {found} is read")));
                    }
                    Ok(_) => reverted.failed.push((step.label(), "it is gone".to_owned())),
                    Err(why) => {
                        reverted.failed.push((step.label(), format!("{before} could not be written back: {why}")));
                    }
                }
            }
        }
    }
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
