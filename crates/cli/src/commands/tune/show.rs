//! Plans and what came of them, for people.

use std::fmt::Write as _;

use ::tune::{Adjusted, Applied, Reverted, Standing, Verified};
use knobs::journal::{Phase, Transaction};
use knobs::{KnobScope, Place, Plan, Step, Value, boot, catalogue};

use super::diff;
use crate::output;
use crate::view::wrap;

/// The longest value that a row shows whole.
const VALUE_COLUMNS: usize = 40;

/// What a value looks like in a row: its first words.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let line = text.lines().rfind(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= VALUE_COLUMNS {
        line.to_owned()
    } else {
        line.chars().take(VALUE_COLUMNS - 1).chain(['…']).collect()
    }
}

/// Whether a step is shown by the lines that change, not by two values: a file of a disk.
const fn is_file(step: &Step) -> bool {
    matches!(step.place, Place::File { .. })
}

/// A file's change, line by line; a copy of another file of the plan is shown as such.
fn show_file(text: &mut String, step: &Step, steps: &[Step]) {
    let _ = writeln!(text, "  {}  {}  from the next start on", step.label(), step.place);
    let is_original = |other: &&Step| other.place != step.place && other.before == step.wanted;
    if let Some(original) = steps.iter().find(is_original).filter(|_| step.before == Value::Absent) {
        let _ = writeln!(text, "    + a copy of {} as it is now", original.place);
        return;
    }
    for (mark, line) in diff::lines(text_of(&step.before), text_of(&step.wanted)) {
        let _ = writeln!(text, "    {mark} {line}");
    }
}

fn text_of(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        Value::Absent => "",
    }
}

fn columns(steps: &[Step]) -> [usize; 3] {
    let rows = || steps.iter().filter(|step| !is_file(step));
    let widest = |of: &dyn Fn(&Step) -> String| rows().map(|step| of(step).chars().count()).max().unwrap_or(0);
    [widest(&Step::label), widest(&|step| short(&step.before)), widest(&|step| short(&step.wanted))]
}

/// A plan: what is changed together stands together, with its reason and its price.
pub(super) fn plan(plan: &Plan, width: usize, colour: bool) -> String {
    let mut text = String::new();
    let [label_columns, before_columns, wanted_columns] = columns(&plan.steps);
    for steps in plan.steps.chunk_by(|a, b| a.why == b.why && a.cost == b.cost) {
        let first = &steps[0];
        text.push_str(&output::paint(colour, "1", wrap::paragraph(&first.why, "", width).trim_end()));
        text.push('\n');
        for step in steps {
            if is_file(step) {
                show_file(&mut text, step, &plan.steps);
                continue;
            }
            let (label, before, wanted) = (step.label(), short(&step.before), short(&step.wanted));
            // Writing to a string does not fail.
            let change = format!("{before:>before_columns$} -> {wanted:<wanted_columns$}");
            let _ = writeln!(text, "  {label:<label_columns$}  {change}  {}", step.place);
        }
        if !first.cost.is_empty() {
            text.push_str(&wrap::paragraph(&format!("costs {}", first.cost), "  ", width));
        }
        text.push('\n');
    }
    for conflict in &plan.conflicts {
        let _ = writeln!(text, "{} {}", output::paint(colour, "1;31", "CONFLICT"), conflict.about);
        text.push_str(&wrap::paragraph(&conflict.why, "  ", width));
        text.push_str(&wrap::paragraph(&format!("remedy: {}", conflict.remedy), "  ", width));
        text.push('\n');
    }
    for note in &plan.notes {
        text.push_str(&wrap::paragraph(&format!("note: {note}"), "", width));
    }
    let reboots = plan.steps.iter().filter(|step| step.needs_reboot()).count();
    let mut end = format!("{} to change, {} as wanted already", plan.steps.len(), plan.already);
    if reboots > 0 {
        let _ = write!(end, ", {reboots} from the next start on");
    }
    if !plan.absent.is_empty() {
        let mut knobs: Vec<&str> = plan.absent.iter().map(|absent| absent.knob.as_str()).collect();
        knobs.dedup();
        let _ = write!(end, "; not on this machine: {}", knobs.join(", "));
    }
    text.push_str(&wrap::paragraph(&end, "", width));
    text
}

pub(super) fn applied(applied: &Applied) -> String {
    let mut text = format!("{} changed", applied.made);
    if !applied.refused.is_empty() {
        let _ = write!(text, ", {} refused by the kernel or a driver", applied.refused.len());
    }
    text.push('\n');
    for Adjusted { label, wanted, found } in &applied.adjusted {
        let _ = writeln!(text, "  {label}: the driver made {found} of {wanted}");
    }
    for refused in &applied.refused {
        let expected = if refused.is_expected { "; it stays as it was" } else { "" };
        let _ = writeln!(text, "  {}: {}{expected}", refused.label, refused.why);
    }
    text
}

pub(super) fn verified(verified: &[Verified], colour: bool) -> String {
    let mut text = String::new();
    let columns = verified.iter().map(|one| one.step.label().chars().count()).max().unwrap_or(0);
    for Verified { step, standing } in verified {
        let (style, word, more) = match standing {
            Standing::Effective => ("32", "in force", String::new()),
            Standing::Adjusted(now) => {
                let (now, wanted) = (short(now), short(&step.wanted));
                ("32", "in force", format!("as {now}: the driver made that of {wanted}"))
            }
            Standing::Pending(why) => ("33", "pending", why.clone()),
            Standing::Changed(now) => {
                ("1;31", "CHANGED", format!("it is {}, {} was applied", short(now), short(&step.wanted)))
            }
            Standing::Void => ("1;31", "GONE", "the machine was started since; apply again".to_owned()),
            Standing::Ended => ("1;31", "GONE", "the process that held it has ended; apply again".to_owned()),
            Standing::Refused(why) => ("33", "refused", why.clone()),
            Standing::Unknown(why) => ("1;31", "UNKNOWN", why.clone()),
        };
        let word = output::paint(colour, style, &format!("{word:<8}"));
        let line = format!("{word}  {:<columns$}  {more}", step.label());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let in_force = verified.iter().filter(|one| matches!(one.standing, Standing::Effective | Standing::Adjusted(_)));
    let in_force = in_force.count();
    let _ = writeln!(text, "{in_force} of {} in force", verified.len());
    text
}

pub(super) fn status(transactions: &[Transaction], boot_id: &str) -> String {
    let mut text = String::new();
    for transaction in transactions {
        let phase = match transaction.phase {
            Phase::Applying => "was not finished: 'punctual tune revert' reverts it",
            Phase::Applied => "applied",
            Phase::Reverting => "is half reverted: 'punctual tune revert' reverts the rest",
            Phase::Reverted => "reverted",
        };
        let start = if transaction.boot_id == boot_id { "" } else { ", before the last reboot" };
        let _ = writeln!(text, "{}  {phase}{start}", transaction.id);
        for taken in &transaction.taken {
            let step = &taken.step;
            let _ = writeln!(text, "  {}  {} -> {}", step.label(), short(&step.before), short(&step.wanted));
        }
    }
    text
}

pub(super) fn reverted(reverted: &Reverted) -> String {
    let mut text = format!("{} written back\n", reverted.restored);
    for left in &reverted.left {
        let (now, before) = (short(&left.now), short(&left.before));
        let _ = writeln!(
            text,
            "  left as it is: {} is {now}, by someone else; before it was {before} (--force writes that back)",
            left.label
        );
    }
    for (label, why) in &reverted.failed {
        let _ = writeln!(text, "  FAILED {label}: {why}");
    }
    text
}

/// Where a knob is, for any of what there are.
fn show_path(knob: &catalogue::Knob) -> String {
    let of = match knob.scope {
        KnobScope::ReceiveQueue => "*/queues/rx-*",
        KnobScope::TransmitQueue => "*/queues/tx-*",
        _ => "*",
    };
    knob.place(of).to_string()
}

pub(super) fn knobs(width: usize) -> String {
    let mut text = String::new();
    for knob in catalogue::all() {
        let _ = writeln!(text, "{}  {}", knob.name, show_path(knob));
        text.push_str(&wrap::paragraph(knob.about, "    ", width));
        if !knob.cost.is_empty() {
            text.push_str(&wrap::paragraph(&format!("costs {}", knob.cost), "    ", width));
        }
    }
    text.push_str("\nparameters of the kernel's command line, in [boot]:\n");
    text.push_str("kernel\n    the release of an installed kernel, which is started in place of the usual one\n");
    for parameter in boot::PARAMETERS {
        let _ = writeln!(text, "{}", parameter.name);
        text.push_str(&wrap::paragraph(parameter.about, "    ", width));
        if !parameter.cost.is_empty() {
            text.push_str(&wrap::paragraph(&format!("costs {}", parameter.cost), "    ", width));
        }
    }
    text
}
