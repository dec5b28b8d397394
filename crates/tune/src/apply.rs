//! A plan is carried out: what stood there is written down first, each change is read back, and a change that fails takes
//! the others back.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use knobs::journal::{self, Line, Transaction};
use knobs::{Owner, Plan, Reading, Step, Value, follow_ups};
use serde::Serialize;

use crate::revert::{Reverted, revert_last};
use crate::{Machine, Store, StoreError};

/// What an application is, beyond its plan.
#[derive(Clone, Debug)]
pub struct Application {
    /// Name of the transaction.
    pub id: String,
    /// Time of the application (ns since 1970-01-01 UTC).
    pub realtime_ns: i64,
    /// The intent, as TOML.
    pub intent: String,
    /// Whether a change that fails leaves the others.
    pub keeps_going: bool,
    /// The command that it belongs to, and that reverts it.
    pub owner: Owner,
}

/// A change that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refused {
    /// Name of the knob.
    pub label: String,
    /// The reason that was given.
    pub why: String,
    /// Whether the kernel was expected to refuse such a one.
    pub is_expected: bool,
}

/// A change that was made, with another value than was wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Adjusted {
    /// Name of the knob.
    pub label: String,
    /// What was wanted.
    pub wanted: Value,
    /// What was read back.
    pub found: Value,
}

/// The result of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Applied {
    /// Changes that were made.
    pub made: u32,
    /// Those of them that a driver has rounded.
    pub adjusted: Vec<Adjusted>,
    /// Changes that were refused.
    pub refused: Vec<Refused>,
}

/// Why a plan was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// It has conflicts.
    #[error("nothing was changed: the plan has conflicts")]
    Conflicts,
    /// The journal could not be read.
    #[error("nothing was changed: {0}")]
    Store(#[from] StoreError),
    /// The journal could not be written any more; the changes are reverted as far as possible.
    #[error("the journal could not be written ({error}); {outcome}")]
    Journal {
        /// The system's error.
        error: io::Error,
        /// What became of the changes.
        outcome: String,
    },
    /// A change failed; the others are reverted.
    #[error("{label}: {why}; {outcome}")]
    Step {
        /// Name of the knob.
        label: String,
        /// Why it failed.
        why: String,
        /// What became of the others.
        outcome: String,
    },
    /// The user stopped it.
    #[error("stopped; {outcome}")]
    Stopped {
        /// What became of the changes.
        outcome: String,
    },
}

/// Applies a plan. `announce` is called with each change before it is made.
///
/// # Errors
/// Where it has conflicts, or could not be carried out; then all is as before, or the error says what is not.
pub fn apply(
    plan: &Plan,
    application: &Application,
    machine: &mut dyn Machine,
    store: &mut dyn Store,
    stop: &AtomicBool,
    announce: &mut dyn FnMut(&Step),
) -> Result<Applied, ApplyError> {
    if !plan.conflicts.is_empty() {
        return Err(ApplyError::Conflicts);
    }
    // The journal must be readable: otherwise what is written now could not be reverted.
    let transactions = store.transactions()?;
    let open = transactions.iter().filter(|transaction| transaction.is_open()).count();
    let kept: Vec<Transaction> =
        transactions.into_iter().filter(|transaction| transaction.matters(machine.boot_id())).collect();
    if kept.len() < open {
        // Gone with a start of the machine: at each start there would be more.
        store
            .replace(&kept)
            .map_err(|error| ApplyError::Journal { error, outcome: "nothing was changed".to_owned() })?;
    }
    let mut work = Work { application, machine, store, stop, announce, applied: Applied::default() };
    match work.all(plan) {
        Ok(()) => Ok(work.applied),
        Err(halt) => {
            let Work { machine, store, .. } = work;
            let outcome = match revert_last(machine, store) {
                Ok(reverted) => in_words(&reverted),
                Err(error) => {
                    format!("not all could be reverted: {error}; '{} revert' tries again", application.owner.command())
                }
            };
            Err(match halt {
                Halt::Journal(error) => ApplyError::Journal { error, outcome },
                Halt::Step { label, why } => ApplyError::Step { label, why, outcome },
                Halt::Stopped => ApplyError::Stopped { outcome },
            })
        }
    }
}

fn in_words(reverted: &Reverted) -> String {
    if reverted.left.is_empty() && reverted.failed.is_empty() {
        "all is as before".to_owned()
    } else {
        format!("not all is as before: {reverted}")
    }
}

/// Why it does not go on.
enum Halt {
    Journal(io::Error),
    Step { label: String, why: String },
    Stopped,
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Journal(error)
    }
}

struct Work<'a, 'b> {
    application: &'a Application,
    machine: &'b mut dyn Machine,
    store: &'b mut dyn Store,
    stop: &'a AtomicBool,
    announce: &'b mut dyn FnMut(&Step),
    applied: Applied,
}

impl Work<'_, '_> {
    fn all(&mut self, plan: &Plan) -> Result<(), Halt> {
        let Application { id, realtime_ns, intent, .. } = self.application;
        self.store.append(&Line::Begin {
            version: journal::VERSION,
            id: id.clone(),
            boot_id: self.machine.boot_id().to_owned(),
            realtime_ns: *realtime_ns,
            intent: intent.clone(),
        })?;
        for steps in plan.steps.chunk_by(|a, b| a.group == b.group) {
            self.group(steps)?;
        }
        self.store.append(&Line::Applied)?;
        Ok(self.store.sync()?)
    }

    fn group(&mut self, steps: &[Step]) -> Result<(), Halt> {
        self.store.append(&Line::Group { steps: steps.to_vec() })?;
        self.store.sync()?;
        for step in steps {
            if self.stop.load(Ordering::Acquire) {
                return Err(Halt::Stopped);
            }
            (self.announce)(step);
            let line = match self.one(step) {
                Ok(found) => {
                    self.applied.made += 1;
                    if !step.form.same(&found, &step.wanted) {
                        let (wanted, found) = (step.wanted.clone(), found.clone());
                        self.applied.adjusted.push(Adjusted { label: step.label(), wanted, found });
                    }
                    Line::Done { found }
                }
                Err(why) => {
                    let refused = Refused { label: step.label(), why: why.clone(), is_expected: step.may_refuse };
                    self.applied.refused.push(refused);
                    if !step.may_refuse && !self.application.keeps_going {
                        // Its line in the journal says so, too, if that can still be written.
                        let _ = self.store.append(&Line::Failed { why: why.clone() });
                        return Err(Halt::Step { label: step.label(), why });
                    }
                    Line::Failed { why }
                }
            };
            self.store.append(&line)?;
        }
        for command in follow_ups(steps.iter()) {
            self.machine.run(command).map_err(|why| Halt::Step { label: command.join(" "), why })?;
        }
        Ok(())
    }

    /// Makes one change; what was read back.
    fn one(&mut self, step: &Step) -> Result<Value, String> {
        self.machine.write(&step.place, &step.form.order(&step.wanted))?;
        match self.machine.read(&step.place) {
            Reading::Is(found) if step.form.takes(&step.before, &step.wanted, &found) => Ok(found),
            Reading::Is(found) => {
                let [wanted, found] = [&step.wanted, &found].map(|value| step.form.shown(value));
                Err(format!("{wanted} was written, {found} is read back"))
            }
            Reading::Missing => Err(format!("{} is not there", step.place)),
            Reading::Failed(why) => Err(format!("it cannot be read back: {why}")),
            Reading::Refused(refusal) => Err(format!("it cannot be read back: {}", refusal.why)),
        }
    }
}
