//! Is everything that was changed still in force?

use knobs::journal::{State, Transaction};
use knobs::{Form, Place, Reading, Step, Value};
use serde::Serialize;
use units::CpuSet;

use crate::Machine;

/// How one change stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is in force.
    Effective,
    /// It is in force as the driver has rounded it: this stands there.
    Adjusted(Value),
    /// It stands there, and takes effect later: the next interrupt, the next start.
    Pending(String),
    /// Something else stands there.
    Changed(Value),
    /// The machine was started since, and the kernel has forgotten it.
    Void,
    /// The process that held it has ended, and with it what it held.
    Ended,
    /// The kernel had refused it, and why.
    Refused(String),
    /// It cannot be read, and why.
    Unknown(String),
}

/// One change, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verified {
    /// The change that was made.
    pub step: Step,
    /// How it stands.
    pub standing: Standing,
}

/// How all changes of the open transactions stand; `in_force` says of one that takes effect at a start whether the running
/// kernel has it.
pub fn verify(
    transactions: &[Transaction],
    machine: &mut dyn Machine,
    in_force: &dyn Fn(&Step) -> bool,
) -> Vec<Verified> {
    let mut verified: Vec<Verified> = Vec::new();
    let boot_id = machine.boot_id().to_owned();
    for transaction in transactions.iter().filter(|transaction| transaction.is_open()) {
        for taken in &transaction.taken {
            let step = taken.step.clone();
            let standing = match &taken.state {
                State::Failed(why) => Standing::Refused(why.clone()),
                _ if transaction.boot_id != boot_id && !step.place.outlives_boot() => Standing::Void,
                state => standing(&step, state, machine, in_force),
            };
            // A later change of the same place is the one that counts.
            verified.retain(|earlier| earlier.step.place != step.place);
            verified.push(Verified { step, standing });
        }
    }
    verified
}

fn standing(step: &Step, state: &State, machine: &mut dyn Machine, in_force: &dyn Fn(&Step) -> bool) -> Standing {
    match machine.read(&step.place) {
        Reading::Is(Value::Absent) if step.place.is_held_by_a_process() => Standing::Ended,
        Reading::Is(now) if !step.form.same(&now, &step.wanted) => match state {
            State::Done(found) if step.form.same(&now, found) => Standing::Adjusted(now),
            _ => Standing::Changed(now),
        },
        Reading::Is(_) if step.needs_reboot() && !in_force(step) => {
            Standing::Pending("until the machine starts again".to_owned())
        }
        Reading::Is(_) => interrupt_pending(step, machine).map_or(Standing::Effective, Standing::Pending),
        Reading::Missing => Standing::Changed(Value::Absent),
        Reading::Failed(why) => Standing::Unknown(why),
        Reading::Refused(refusal) => Standing::Unknown(refusal.why),
    }
}

/// An interrupt moves when it next arrives, if its controller can be programmed only then
/// (kernel/irq/manage.c, `irq_set_affinity_locked`).
fn interrupt_pending(step: &Step, machine: &mut dyn Machine) -> Option<String> {
    let folder = step.place.path().strip_suffix("/smp_affinity_list").filter(|_| step.form == Form::CpuList)?;
    let Reading::Is(Value::Text(effective)) =
        machine.read(&Place::attribute(format!("{folder}/effective_affinity_list")))
    else {
        return None;
    };
    let effective: CpuSet = effective.trim().parse().ok()?;
    let Value::Text(wanted) = &step.wanted else { return None };
    let wanted: CpuSet = wanted.parse().ok()?;
    let is_moved = effective.is_empty() || effective.is_subset(&wanted);
    (!is_moved).then(|| format!("it goes to CPU {effective} until it arrives next"))
}
