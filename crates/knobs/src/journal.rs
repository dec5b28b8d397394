//! The journal: what was there before, written down before it is changed, so that it can be restored after whatever
//! happened.
//!
//! It is text, one JSON object a line. A line that was not written to its end says nothing and is left out: what it would
//! have told was not done yet, because each change comes after its line.

use serde::{Deserialize, Serialize};

use crate::{Place, Reading, Step, Value};

/// The version of the journal's form.
pub const VERSION: u32 = 1;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Line {
    /// A transaction begins.
    Begin {
        /// The version of the journal's form that it was written with.
        version: u32,
        /// The transaction's unique name.
        id: String,
        /// The kernel's identity of this start of the machine.
        boot_id: String,
        /// When (ns since 1970-01-01 UTC).
        realtime_ns: i64,
        /// The intent, as TOML.
        intent: String,
    },
    /// These changes come next.
    Group {
        /// Changes in the order in which they are made.
        steps: Vec<Step>,
    },
    /// The next change is made, and what was read back.
    Done {
        /// What stands there now.
        found: Value,
    },
    /// The next change could not be made.
    Failed {
        /// The error of the attempt, in words.
        why: String,
    },
    /// All changes are made.
    Applied,
    /// The transaction is being reverted.
    Reverting,
    /// It is reverted; the named places were left to others.
    Reverted {
        /// Places that someone else has changed meanwhile.
        left: Vec<Place>,
    },
}

impl Line {
    /// As it is written.
    #[must_use]
    pub fn text(&self) -> String {
        // All its fields are of JSON's own kinds.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// How far a change got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was to come; whether it is made nobody knows.
    Intended,
    /// It is made; this was read back.
    Done(Value),
    /// It could not be made.
    Failed(String),
}

/// One change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// What was to be changed, from what to what.
    pub step: Step,
    /// How far it got.
    pub state: State,
}

/// How far a transaction got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Its changes were being made.
    Applying,
    /// All its changes are made, or are known to have failed.
    Applied,
    /// Its changes were being reverted.
    Reverting,
    /// All its changes are reverted, except those that someone else changed meanwhile.
    Reverted,
}

/// A transaction, as recorded in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transaction {
    /// Its unique name, which `punctual tune status` shows.
    pub id: String,
    /// During which start of the machine.
    pub boot_id: String,
    /// When (ns since 1970-01-01 UTC).
    pub realtime_ns: i64,
    /// What was wanted, as TOML.
    pub intent: String,
    /// How far it got.
    pub phase: Phase,
    /// Its changes in the order in which they were made, with how far each got.
    pub taken: Vec<Taken>,
}

/// Why a text is no journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// A line in the middle.
    #[error("line {line} of the journal: {why}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What makes the line unreadable.
        why: String,
    },
    /// Written by a later version of this program.
    #[error("the journal is of version {found}, this program reads {VERSION}: use a newer punctual")]
    Newer {
        /// The version that its first line names.
        found: u32,
    },
}

/// All transactions of the journal, oldest first, and how many of its bytes are whole lines.
///
/// # Errors
/// Where a line that is not the last cannot be understood.
pub fn read(text: &[u8]) -> Result<(Vec<Transaction>, usize), JournalError> {
    let (lines, whole) = units::whole_lines(text);
    let mut transactions: Vec<Transaction> = Vec::new();
    for (number, bytes) in lines {
        let odd = |why: String| JournalError::Line { line: number, why };
        let line: Line = serde_json::from_slice(bytes).map_err(|error| odd(error.to_string()))?;
        if let Line::Begin { version, .. } = &line {
            if *version != VERSION {
                return Err(JournalError::Newer { found: *version });
            }
        }
        follow(&mut transactions, line).map_err(odd)?;
    }
    Ok((transactions, whole))
}

fn follow(transactions: &mut Vec<Transaction>, line: Line) -> Result<(), String> {
    if let Line::Begin { id, boot_id, realtime_ns, intent, .. } = line {
        transactions.push(Transaction { id, boot_id, realtime_ns, intent, phase: Phase::Applying, taken: Vec::new() });
        return Ok(());
    }
    // The youngest that is not reverted yet: those below it are reverted after it.
    let current = match &line {
        Line::Reverting | Line::Reverted { .. } => {
            transactions.iter_mut().rev().find(|transaction| transaction.phase != Phase::Reverted)
        }
        _ => transactions.last_mut(),
    };
    let current = current.ok_or("no transaction has begun")?;
    let next = current.taken.iter_mut().find(|taken| taken.state == State::Intended);
    match line {
        Line::Begin { .. } => {}
        Line::Group { steps } => {
            let taken = steps.into_iter().map(|step| Taken { step, state: State::Intended });
            current.taken.extend(taken);
        }
        Line::Done { found } => next.ok_or("no change was to come")?.state = State::Done(found),
        Line::Failed { why } => next.ok_or("no change was to come")?.state = State::Failed(why),
        Line::Applied => current.phase = Phase::Applied,
        Line::Reverting => current.phase = Phase::Reverting,
        Line::Reverted { .. } => current.phase = Phase::Reverted,
    }
    Ok(())
}

/// What a change went with, so that nothing of it is left to be reverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoneWith {
    /// The control group that an earlier change made, and whose removal reverts both.
    Group,
    /// The start of the machine during which it was made.
    Boot,
    /// Its place: the kernel has no such file any more.
    Place,
}

/// What has to be done to revert one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Nothing: what stood there before stands there.
    AsBefore,
    /// Nothing: it is gone, with what it belonged to.
    Gone(GoneWith),
    /// This is to be written.
    Restore(Value),
    /// Someone else has changed it meanwhile; this stands there.
    Foreign(Value),
    /// It cannot be read, and why.
    Unknown(String),
}

impl Transaction {
    /// Whether its changes still have to be reverted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase != Phase::Reverted
    }

    /// Whether anything of it can be left on a machine whose start this is.
    #[must_use]
    pub fn matters(&self, boot_id: &str) -> bool {
        self.is_open() && (self.boot_id == boot_id || self.taken.iter().any(|taken| taken.step.place.outlives_boot()))
    }

    /// The lines of the journal that record it.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let Self { id, boot_id, realtime_ns, intent, phase, taken } = self.clone();
        let mut lines = vec![Line::Begin { version: VERSION, id, boot_id, realtime_ns, intent }];
        lines.push(Line::Group { steps: taken.iter().map(|taken| taken.step.clone()).collect() });
        lines.extend(taken.into_iter().filter_map(|taken| match taken.state {
            State::Intended => None,
            State::Done(found) => Some(Line::Done { found }),
            State::Failed(why) => Some(Line::Failed { why }),
        }));
        lines.extend(match phase {
            Phase::Applying => None,
            Phase::Applied => Some(Line::Applied),
            Phase::Reverting => Some(Line::Reverting),
            Phase::Reverted => Some(Line::Reverted { left: Vec::new() }),
        });
        lines
    }

    /// Whether it is neither half applied nor half reverted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.phase, Phase::Applied | Phase::Reverted)
    }

    /// What is to be done about the change `number`, where `now` stands at its place.
    #[must_use]
    pub fn undo(&self, number: usize, now: &Reading, boot_id: &str, is_forced: bool) -> Undo {
        let Some(Taken { step, state }) = self.taken.get(number) else { return Undo::AsBefore };
        // What the kernel held is gone with its start; what stands in its folder goes with that.
        if self.boot_id != boot_id && !step.place.outlives_boot() {
            return Undo::Gone(GoneWith::Boot);
        }
        if step.in_new_folder {
            return Undo::Gone(GoneWith::Group);
        }
        let now = match now {
            Reading::Is(now) => now,
            Reading::Missing => return Undo::Gone(GoneWith::Place),
            Reading::Failed(why) => return Undo::Unknown(why.clone()),
            Reading::Refused(refusal) => return Undo::Unknown(refusal.why.clone()),
        };
        if step.form.same(now, &step.before) {
            return Undo::AsBefore;
        }
        let is_ours = match state {
            State::Done(found) => step.form.same(now, found) || step.form.same(now, &step.wanted),
            // A refused write may have changed something all the same; of those that were to come, only the first can
            // have been begun.
            State::Failed(_) => true,
            State::Intended => {
                let first = self.taken.iter().position(|taken| taken.state == State::Intended);
                first == Some(number) || step.form.same(now, &step.wanted)
            }
        };
        if is_ours || is_forced { Undo::Restore(step.before.clone()) } else { Undo::Foreign(now.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    fn step(before: &str, wanted: &str) -> Step {
        Step {
            knob: "vm.swappiness".to_owned(),
            of: String::new(),
            place: Place::attribute("/proc/sys/vm/swappiness"),
            form: Form::Integer,
            before: Value::text(before),
            wanted: Value::text(wanted),
            group: 0,
            why: "w".to_owned(),
            cost: String::new(),
            may_refuse: false,
            in_new_folder: false,
        }
    }

    fn begun(boot_id: &str) -> Line {
        let (id, intent) = ("a".to_owned(), "x".to_owned());
        Line::Begin { version: VERSION, id, boot_id: boot_id.to_owned(), realtime_ns: 1, intent }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn a_torn_last_line_says_nothing_and_a_torn_one_before_is_an_error() {
        let lines =
            [begun("b"), Line::Group { steps: vec![step("60", "10")] }, Line::Done { found: Value::text("10") }];
        let whole = text(&lines);
        for cut in 0..whole.len() {
            let (transactions, read_bytes) = read(&whole.as_bytes()[..cut]).unwrap();
            assert!(read_bytes <= cut);
            assert!(transactions.iter().all(|transaction| transaction.phase == Phase::Applying));
        }
        let (transactions, _) = read(whole.as_bytes()).unwrap();
        assert_eq!(transactions[0].taken[0].state, State::Done(Value::text("10")));
        let broken = whole.replacen("group", "gro", 1);
        assert!(read(broken.as_bytes()).unwrap_err().to_string().contains("line 2"));
        assert!(matches!(read(text(&[Line::Applied]).as_bytes()), Err(JournalError::Line { line: 1, .. })));
        let newer = whole.replacen("\"version\":1", "\"version\":2", 1);
        assert_eq!(read(newer.as_bytes()), Err(JournalError::Newer { found: 2 }));
    }

    #[test]
    fn ours_is_taken_back_and_what_others_wrote_is_left() {
        let of = |lines: &[Line]| read(text(lines).as_bytes()).unwrap().0.remove(0);
        let is = |value: &str| Reading::Is(Value::text(value));
        let group = Line::Group { steps: vec![step("60", "10"), step("1", "2")] };
        let done = of(&[begun("b"), group.clone(), Line::Done { found: Value::text("12") }]);
        let restore = Undo::Restore(Value::text("60"));
        assert_eq!(done.undo(0, &is("10"), "b", false), restore, "what was wanted");
        assert_eq!(done.undo(0, &is("12"), "b", false), restore, "what the kernel made of it");
        assert_eq!(done.undo(0, &is("60"), "b", false), Undo::AsBefore);
        assert_eq!(done.undo(0, &is("5"), "b", false), Undo::Foreign(Value::text("5")));
        assert_eq!(done.undo(0, &is("5"), "b", true), restore);
        assert_eq!(done.undo(0, &is("10"), "later", false), Undo::Gone(GoneWith::Boot));
        assert_eq!(done.undo(0, &Reading::Missing, "b", false), Undo::Gone(GoneWith::Place));
        assert_eq!(done.undo(1, &is("7"), "b", false), Undo::Restore(Value::text("1")), "killed while it was made");
        let early = of(&[begun("b"), group]);
        assert_eq!(early.undo(1, &is("7"), "b", false), Undo::Foreign(Value::text("7")), "it was not begun");
        assert_eq!(early.undo(1, &is("2"), "b", false), Undo::Restore(Value::text("1")));
    }

    #[test]
    fn a_transaction_reads_back_from_its_lines_and_matters_as_long_as_something_is_left() {
        let group = Line::Group { steps: vec![step("60", "10"), step("1", "2"), step("3", "4")] };
        let failed = Line::Failed { why: "no".to_owned() };
        let lines = [begun("b"), group.clone(), Line::Done { found: Value::text("10") }, failed, Line::Applied];
        for count in 2..=lines.len() {
            let (transactions, _) = read(text(&lines[..count]).as_bytes()).unwrap();
            assert_eq!(read(text(&transactions[0].lines()).as_bytes()).unwrap().0, transactions);
        }
        let mut transaction = read(text(&lines).as_bytes()).unwrap().0.remove(0);
        assert!(transaction.matters("b") && !transaction.matters("c"));
        transaction.taken[1].step.place = Place::File { path: "/etc/x".to_owned() };
        assert!(transaction.matters("c"));
        transaction.phase = Phase::Reverted;
        assert!(!transaction.matters("b"));
    }

    #[test]
    fn the_youngest_is_taken_back_first() {
        let lines = [begun("b"), Line::Applied, begun("b"), Line::Reverting, Line::Reverted { left: Vec::new() }];
        let (transactions, _) = read(text(&lines).as_bytes()).unwrap();
        assert_eq!((transactions[0].phase, transactions[1].phase), (Phase::Applied, Phase::Reverted));
        let more = [&lines[..], &[Line::Reverting]].concat();
        assert_eq!(read(text(&more).as_bytes()).unwrap().0[0].phase, Phase::Reverting);
    }
}
