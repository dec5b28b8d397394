//! Plans and what came of them, for people.

use std::fmt::Write as _;

use ::tune::{Adjusted, Applied, Reverted, Standing, Verified};
use knobs::journal::{Phase, State, Transaction};
use knobs::{KnobScope, Owner, Place, Plan, Reading, Step, Value, Withheld, boot, catalogue};

use super::diff;
use terminal::output;
use terminal::wrap;

/// The longest value that a row shows whole.
const VALUE_COLUMNS: usize = 40;
/// Columns that a row has to leave for its path.
const PATH_COLUMNS: usize = 20;

/// What a value of a step looks like in a row: its first words, CPUs as a list.
fn short(step: &Step, value: &Value) -> String {
    first_words(&step.form.shown(value))
}

fn first_words(text: &str) -> String {
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
    let from = if step.needs_reboot() { "  from the next start on" } else { "" };
    let _ = writeln!(text, "  {}  {}{from}", step.label(), step.place);
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

/// A line of a plan: one change, or many that are alike.
struct Row<'a> {
    /// `None` for a file of a disk, which has lines of its own.
    change: Option<Change>,
    step: &'a Step,
}

struct Change {
    label: String,
    before: String,
    wanted: String,
    place: String,
}

/// More than this many changes of one knob from and to the same values become one line.
const MOST_ALIKE: usize = 3;

/// The lines of steps; `is_whole`: a line for each.
fn rows(steps: &[Step], is_whole: bool) -> Vec<Row<'_>> {
    let is_alike = |a: &Step, b: &Step| {
        !is_file(a) && a.why == b.why && a.knob == b.knob && a.before == b.before && a.wanted == b.wanted
    };
    let one = |step| Row { change: (!is_file(step)).then(|| Change::of(step)), step };
    steps
        .chunk_by(is_alike)
        .flat_map(|alike| match alike {
            [first, .., last] if !is_whole && alike.len() > MOST_ALIKE => {
                vec![Row { change: Some(Change::of_many(first, last, alike.len())), step: first }]
            }
            alike => alike.iter().map(one).collect(),
        })
        .collect()
}

impl Change {
    fn of(step: &Step) -> Self {
        let [before, wanted] = [&step.before, &step.wanted].map(|value| short(step, value));
        Self { label: step.label(), before, wanted, place: step.place.to_string() }
    }

    fn of_many(first: &Step, last: &Step, count: usize) -> Self {
        Self {
            label: format!("{} of {} to {} ({count} changes)", first.knob, first.of, last.of),
            place: format!("{} and {} more (-v)", first.place, count - 1),
            ..Self::of(first)
        }
    }
}

fn columns(rows: &[Row<'_>]) -> [usize; 3] {
    let widest = |of: &dyn Fn(&Change) -> &String| {
        let changes = rows.iter().filter_map(|row| row.change.as_ref());
        changes.map(|change| of(change).chars().count()).max().unwrap_or(0)
    };
    [widest(&|change| &change.label), widest(&|change| &change.before), widest(&|change| &change.wanted)]
}

/// What is left out, each reason once: the knobs, the reason and what helps.
fn left_out(plan: &Plan) -> Vec<(String, &str, &str)> {
    let mut all: Vec<(Vec<&str>, &str, &str)> = Vec::new();
    for Withheld { knob, why, remedy, .. } in &plan.withheld {
        // The reasons differ in the path alone, which is long and the same for each CPU but for its number.
        match all.iter_mut().find(|(_, _, known)| known == remedy) {
            Some((knobs, ..)) if !knobs.contains(&knob.as_str()) => knobs.push(knob),
            Some(_) => {}
            None => all.push((vec![knob], why, remedy)),
        }
    }
    all.into_iter().map(|(knobs, why, remedy)| (knobs.join(", "), why, remedy)).collect()
}

/// A plan: what is changed together stands together, with its reason and its price.
pub(super) fn plan(plan: &Plan, color: bool) -> String {
    plan_within(plan, output::is_verbose(), color, wrap::width(), wrap::row_width())
}

fn plan_within(plan: &Plan, is_verbose: bool, color: bool, width: usize, row_width: usize) -> String {
    let mut text = String::new();
    let rows = rows(&plan.steps, is_verbose);
    let [label_columns, before_columns, wanted_columns] = columns(&rows);
    // Two lines for each change where the columns alone do not fit; a longer path may go beyond the edge.
    let is_narrow = 2 + label_columns + 2 + before_columns + 4 + wanted_columns + 2 + PATH_COLUMNS > row_width;
    for rows in rows.chunk_by(|a, b| a.step.why == b.step.why && a.step.cost == b.step.cost) {
        let Step { why, cost, .. } = rows[0].step;
        text.push_str(&output::paint(color, "1", wrap::paragraph(why, "", width).trim_end()));
        text.push('\n');
        for Row { change, step } in rows {
            let Some(Change { label, before, wanted, place }) = change else {
                show_file(&mut text, step, &plan.steps);
                continue;
            };
            // Writing to a string does not fail.
            if is_narrow {
                // A path is left to the terminal's edge: broken between words it could not be copied.
                let (line, change) =
                    (format!("  {label}  {before} -> {wanted}"), format!("      {before} -> {wanted}\n"));
                if line.chars().count() <= row_width {
                    let _ = writeln!(text, "{line}\n      {place}");
                } else {
                    let _ = writeln!(text, "{}{change}      {place}", wrap::hanging(label, "  ", row_width));
                }
                continue;
            }
            let change = format!("{before:>before_columns$} -> {wanted:<wanted_columns$}");
            let _ = writeln!(text, "  {label:<label_columns$}  {change}  {place}");
        }
        if !cost.is_empty() {
            text.push_str(&wrap::paragraph(&format!("costs {cost}"), "  ", width));
        }
        text.push('\n');
    }
    for conflict in &plan.conflicts {
        let _ = writeln!(text, "{} {}", output::paint(color, "1;31", "CONFLICT"), conflict.about);
        text.push_str(&wrap::paragraph(&conflict.why, "  ", width));
        text.push_str(&wrap::paragraph(&format!("remedy: {}", conflict.remedy), "  ", width));
        text.push('\n');
    }
    for (what, why, remedy) in left_out(plan) {
        text.push_str(&wrap::paragraph(&format!("left out: {what}, since {why}; {remedy}"), "", width));
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
        let _ = write!(end, "; not on this machine: {}", absent_knobs(plan));
    }
    text.push_str(&wrap::paragraph(&end, "", width));
    text
}

/// What was not changed, and why: the part of a plan that asked for nothing.
pub(super) fn unchanged(plan: &Plan) -> String {
    let mut text = format!("{} as wanted already", plan.already);
    if !plan.absent.is_empty() {
        let _ = write!(text, ", {} not on this machine ({})", plan.absent.len(), absent_knobs(plan));
    }
    text
}

/// The knobs that this machine lacks, each once.
fn absent_knobs(plan: &Plan) -> String {
    let mut knobs: Vec<&str> = plan.absent.iter().map(|absent| absent.knob.as_str()).collect();
    knobs.dedup();
    knobs.join(", ")
}

/// How many changes were made, what was so already, and what was left as it was with the reason; `revert` accounts for
/// the first number.
pub(super) fn applied(plan: &Plan, applied: &Applied) -> String {
    let width = wrap::width();
    let mut text = String::new();
    let mut sum = format!("{} changed, {}", applied.made, unchanged(plan));
    if !applied.refused.is_empty() {
        let _ = write!(sum, ", {} refused by the kernel or a driver:", applied.refused.len());
    }
    text.push_str(&wrap::paragraph(&sum, "", width));
    for refused in &applied.refused {
        let expected = if refused.is_expected { "; it stays as it was" } else { "" };
        let line = format!("{}: {}{expected}", refused.label, refused.why);
        text.push_str(&wrap::hanging(&line, "  ", width));
    }
    if !applied.adjusted.is_empty() {
        text.push_str("of the changed ones, by the driver's choice:\n");
    }
    for Adjusted { label, wanted, found } in &applied.adjusted {
        text.push_str(&wrap::hanging(&format!("{label}: the driver made {found} of {wanted}"), "  ", width));
    }
    text
}

/// How a change stands: the color, the word, and what else is known.
fn standing(one: &Verified) -> (&'static str, &'static str, String) {
    let Verified { step, standing } = one;
    match standing {
        Standing::Effective => ("32", "in force", String::new()),
        Standing::Adjusted(now) => {
            let (now, wanted) = (short(step, now), short(step, &step.wanted));
            ("32", "in force", format!("as {now}: the driver made that of {wanted}"))
        }
        Standing::Pending(why) => ("33", "pending", why.clone()),
        Standing::Changed(now) => {
            ("1;31", "CHANGED", format!("it is {}, {} was applied", short(step, now), short(step, &step.wanted)))
        }
        Standing::Void => ("1;31", "GONE", "the machine was started since; apply again".to_owned()),
        Standing::Ended => ("1;31", "GONE", "the process that held it has ended; apply again".to_owned()),
        Standing::Refused(why) => ("33", "refused", why.clone()),
        Standing::Unknown(why) => ("1;31", "UNKNOWN", why.clone()),
    }
}

/// Whether a change stands exactly as it was wanted.
const fn is_as_wanted(one: &Verified) -> bool {
    matches!(one.standing, Standing::Effective)
}

/// The gravest first: what is lost, what is not in force and not expected to be, what a driver rounded, the rest.
const fn rank(one: &Verified) -> u8 {
    match one.standing {
        Standing::Changed(_) | Standing::Void | Standing::Ended | Standing::Unknown(_) => 0,
        Standing::Refused(_) => 1,
        Standing::Pending(_) => 2,
        Standing::Adjusted(_) => 3,
        Standing::Effective => 4,
    }
}

/// What is not as wanted, the gravest first, then how many there are of each kind; with `all`, what is as wanted, too.
pub(super) fn verified(verified: &[Verified], all: bool, color: bool) -> String {
    let mut text = String::new();
    let mut shown: Vec<&Verified> = verified.iter().filter(|one| all || !is_as_wanted(one)).collect();
    shown.sort_by_key(|one| rank(one));
    let columns = shown.iter().map(|one| one.step.label().chars().count()).max().unwrap_or(0);
    for one in &shown {
        let (style, word, more) = standing(one);
        let painted = output::paint(color, style, &format!("{word:<8}"));
        let line = format!("{word:<8}  {:<columns$}  {more}", one.step.label());
        if line.trim_end().chars().count() <= wrap::row_width() {
            let _ = writeln!(text, "{}", line.trim_end().replacen(&format!("{word:<8}"), &painted, 1));
            continue;
        }
        // Too long for one line: what is known hangs below.
        let _ = writeln!(text, "{painted}  {}", one.step.label());
        text.push_str(&wrap::paragraph(&more, "          ", wrap::width()));
    }
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    for one in verified {
        let (style, word, _) = standing(one);
        match counts.iter_mut().find(|(_, other, _)| *other == word) {
            Some((.., count)) => *count += 1,
            None => counts.push((style, word, 1)),
        }
    }
    counts.sort_by_key(|(_, word, _)| verified.iter().filter(|one| standing(one).1 == *word).map(rank).min());
    let counts: Vec<String> =
        counts.iter().map(|(style, word, count)| output::paint(color, style, &format!("{count} {word}"))).collect();
    if !counts.is_empty() {
        let folded = if all || !verified.iter().any(is_as_wanted) { "" } else { "; --all lists them" };
        let _ = writeln!(text, "{}{folded}", counts.join(", "));
    }
    text
}

/// Who has applied something, whether a time service is in it, and how it is reverted; nothing where nobody has.
pub(super) fn applied_by(transactions: &[Transaction], owner: Owner) -> Option<String> {
    let steps = || transactions.iter().flat_map(|transaction| &transaction.taken).map(|taken| &taken.step);
    let (count, command) = (steps().count(), owner.command());
    let of_time = if steps().any(Step::is_of_time_service) { ", time services among them" } else { "" };
    let changes = if count == 1 { "change" } else { "changes" };
    (count > 0).then(|| format!("'{command}' has applied {count} {changes}{of_time}, which '{command} revert' reverts"))
}

/// The transactions of one command, and what stands of each.
pub(super) fn status(transactions: &[Transaction], boot_id: &str, owner: Owner) -> String {
    let command = owner.command();
    let mut text = String::new();
    for transaction in transactions {
        let has_refused = transaction.taken.iter().any(|taken| matches!(taken.state, State::Failed(_)));
        let phase = match transaction.phase {
            Phase::Applying => format!("was not finished: '{command} revert' reverts it"),
            Phase::Applied if has_refused => "applied, but for what is called refused".to_owned(),
            Phase::Applied => "applied".to_owned(),
            Phase::Reverting => format!("is half reverted: '{command} revert' reverts the rest"),
            Phase::Reverted => "reverted".to_owned(),
        };
        let start = if transaction.boot_id == boot_id { "" } else { ", before the last reboot" };
        let _ = writeln!(text, "{}  {phase}{start}", transaction.id);
        for taken in &transaction.taken {
            let step = &taken.step;
            let line = format!("{}  {} -> {}", step.label(), short(step, &step.before), short(step, &step.wanted));
            let line = match &taken.state {
                State::Done(_) => line,
                State::Failed(why) => format!("{line}  refused: {why}"),
                State::Intended => format!("{line}  not known to be done"),
            };
            text.push_str(&wrap::hanging(&line, "  ", wrap::row_width()));
        }
    }
    text
}

/// What became of each change; the numbers add up to the changes that `apply` counted.
pub(super) fn reverted(reverted: &Reverted) -> String {
    let width = wrap::width();
    let mut text = String::new();
    for left in &reverted.left {
        let [now, before] = [&left.now, &left.before].map(|value| first_words(&left.form.shown(value)));
        let line = format!(
            "left as it is: {} is {now}, by someone else; before it was {before} (--force writes that back)",
            left.label
        );
        text.push_str(&wrap::hanging(&line, "  ", width));
    }
    for (label, why) in &reverted.failed {
        text.push_str(&wrap::hanging(&format!("FAILED {label}: {why}"), "  ", width));
    }
    if *reverted != Reverted::default() {
        text.push_str(&wrap::paragraph(&reverted.sum_in_words(), "", width));
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

/// How many different values of one knob are shown.
const SHOWN_VALUES: usize = 4;

/// A knob and what it stands at.
#[derive(serde::Serialize)]
pub(super) struct ShownKnob {
    name: &'static str,
    about: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cost: &'static str,
    path: String,
    /// Each value that it has, with what has it; empty where this machine has none of it.
    now: Vec<ShownValue>,
    /// Why it is unknown what it stands at; absent where all was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<String>,
}

/// A value and what has it: CPUs, interrupts, interfaces; empty for a knob of the whole machine.
#[derive(serde::Serialize)]
struct ShownValue {
    value: String,
    of: Vec<String>,
}

impl ShownKnob {
    /// Reads a knob wherever this machine has it.
    pub(super) fn read(
        knob: &catalogue::Knob,
        profile: &profile::Profile,
        read: &mut dyn FnMut(&Place) -> Reading,
    ) -> Self {
        let (mut now, mut unreadable): (Vec<ShownValue>, _) = (Vec::new(), None);
        for name in knob.scope.names(profile, None) {
            let value = match read(&knob.place(&name)) {
                Reading::Is(value) => knob.form.shown(&value),
                Reading::Missing => continue,
                Reading::Failed(why) => {
                    unreadable = Some(why);
                    continue;
                }
                Reading::Refused(refusal) => {
                    unreadable = Some(refusal.why);
                    continue;
                }
            };
            let of = Some(knob.scope.label(&name)).filter(|of| !of.is_empty());
            match now.iter_mut().find(|one| one.value == value) {
                Some(one) => one.of.extend(of),
                None => now.push(ShownValue { value, of: of.into_iter().collect() }),
            }
        }
        Self { name: knob.name, about: knob.about, cost: knob.cost, path: show_path(knob), now, unreadable }
    }

    /// `now performance`, or each value with what has it.
    fn now_in_words(&self) -> String {
        let unreadable = self.unreadable.as_ref().map(|why| format!("cannot be read: {why}"));
        let of = |one: &ShownValue| match one.of.as_slice() {
            [] => String::new(),
            [only] => format!(" ({only})"),
            [first, .., last] => format!(" ({first} to {last}, {} of them)", one.of.len()),
        };
        let value = |one: &ShownValue| first_words(&one.value);
        match self.now.as_slice() {
            [] => unreadable.unwrap_or_else(|| "not on this machine".to_owned()),
            [only] => format!("now {}", value(only)),
            all => {
                let shown: Vec<String> =
                    all.iter().take(SHOWN_VALUES).map(|one| format!("{}{}", value(one), of(one))).collect();
                let more = all.len().saturating_sub(SHOWN_VALUES);
                let more = if more > 0 { format!("; and {more} more values") } else { String::new() };
                format!("now {}{more}", shown.join("; "))
            }
        }
    }
}

/// `with_boot` adds the parameters of the kernel's command line.
pub(super) fn knobs(all: &[ShownKnob], with_boot: bool, width: usize) -> String {
    let mut text = String::new();
    for knob in all {
        let _ = writeln!(text, "{}  {}", knob.name, knob.path);
        text.push_str(&wrap::paragraph(&knob.now_in_words(), "    ", width));
        text.push_str(&wrap::paragraph(knob.about, "    ", width));
        if !knob.cost.is_empty() {
            text.push_str(&wrap::paragraph(&format!("costs {}", knob.cost), "    ", width));
        }
    }
    if !with_boot {
        return text;
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

#[cfg(test)]
mod tests {
    use knobs::Form;
    use knobs::journal::Taken;

    use super::*;

    fn step(irq: u32) -> Step {
        Step {
            knob: "irq.cpus".to_owned(),
            of: format!("IRQ {irq}"),
            place: Place::attribute(format!("/proc/irq/{irq}/smp_affinity_list")),
            form: Form::CpuList,
            before: Value::text("0-1"),
            wanted: Value::text("0"),
            group: 0,
            why: String::new(),
            cost: String::new(),
            may_refuse: true,
            in_new_folder: false,
        }
    }

    #[test]
    fn many_changes_that_are_alike_are_a_line_unless_all_are_asked_for() {
        let shown = |irqs: &[u32], is_verbose| {
            let mut steps: Vec<Step> = irqs.iter().copied().map(step).collect();
            steps[0].before = Value::text("1");
            let plan = Plan {
                schema: String::new(),
                schema_version: 1,
                steps,
                already: 0,
                absent: Vec::new(),
                withheld: Vec::new(),
                conflicts: Vec::new(),
                notes: Vec::new(),
            };
            plan_within(&plan, is_verbose, false, 100, usize::MAX)
        };
        let folded = "
  irq.cpus of IRQ 24                          1 -> 0  /proc/irq/24/smp_affinity_list
  irq.cpus of IRQ 25 to IRQ 29 (4 changes)  0-1 -> 0  /proc/irq/25/smp_affinity_list and 3 more (-v)
";
        assert!(shown(&[24, 25, 26, 28, 29], false).contains(folded), "{}", shown(&[24, 25, 26, 28, 29], false));
        assert!(shown(&[24, 25, 26, 28, 29], true).contains("IRQ 28  0-1 -> 0  /proc/irq/28/smp_affinity_list\n"));
        assert!(shown(&[24, 25, 26, 28], false).contains("IRQ 28  0-1 -> 0  /proc/irq/28/smp_affinity_list\n"));
    }

    #[test]
    fn the_status_says_of_each_change_whether_it_was_made() {
        let said = |last: State, phase: Phase| {
            let taken = vec![
                Taken { step: step(35), state: State::Done(Value::text("0")) },
                Taken { step: step(36), state: last },
            ];
            let transaction = Transaction {
                id: "one".to_owned(),
                boot_id: "b".to_owned(),
                realtime_ns: 0,
                intent: String::new(),
                phase,
                taken,
            };
            status(&[transaction], "b", Owner::Sync)
        };
        let refused = said(State::Failed("Operation not permitted".to_owned()), Phase::Applied);
        assert!(refused.starts_with("one  applied, but for what is called refused\n"), "{refused}");
        assert!(refused.contains("IRQ 35  0-1 -> 0\n"), "{refused}");
        assert!(refused.contains("IRQ 36  0-1 -> 0  refused: Operation not permitted\n"), "{refused}");
        assert!(said(State::Done(Value::text("0")), Phase::Applied).starts_with("one  applied\n"));
        assert!(said(State::Intended, Phase::Applying).contains("'punctual sync revert' reverts it"));
        assert!(said(State::Intended, Phase::Applying).contains("IRQ 36  0-1 -> 0  not known to be done\n"));
    }
}
