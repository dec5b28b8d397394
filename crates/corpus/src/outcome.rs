//! How a conclusion is held against the truth, and the table of that.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The command whose conclusion is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// `punctual assess`: its answer and its advice.
    Assess,
    /// `punctual measure … --deadline`: the verdict of one run.
    Measure,
    /// `punctual compare`: its verdict and how its gates end.
    Compare,
    /// `punctual tail`: claims and intervals.
    Tail,
    /// `punctual campaign`: what each factor is said to do.
    Campaign,
}

impl Command {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Assess, Self::Measure, Self::Compare, Self::Tail, Self::Campaign];

    /// What users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Assess => "assess",
            Self::Measure => "measure",
            Self::Compare => "compare",
            Self::Tail => "tail",
            Self::Campaign => "campaign",
        }
    }
}

/// In which way a conclusion is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// It lets pass what does not hold, or what was not looked at.
    FalsePass,
    /// It says better of what is worse, worse of what is better, or one of both of what is a trade.
    WrongDirection,
    /// It calls shown what is not so.
    FalseShown,
    /// It calls broken what holds.
    FalseBroken,
    /// It blames or advises against what was not the cause.
    WrongAdvice,
    /// It sees a difference where there is none; the command's level says how often that may happen.
    FalseAlarm,
    /// The outcome lies outside the interval; the command's level says how often that may happen.
    NotCovered,
}

impl Fault {
    /// Whether the command states how often this may happen, so that the statement is what it is held against.
    #[must_use]
    pub const fn has_a_level(self) -> bool {
        matches!(self, Self::FalseAlarm | Self::NotCovered)
    }

    /// What people read.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::FalsePass => "a pass that is none",
            Self::WrongDirection => "wrong direction",
            Self::FalseShown => "shown, but not so",
            Self::FalseBroken => "broken, but not so",
            Self::WrongAdvice => "wrong cause or advice",
            Self::FalseAlarm => "false alarm",
            Self::NotCovered => "outside the interval",
        }
    }
}

/// One conclusion held against the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgment {
    /// It says what is so.
    Right,
    /// It says that it cannot tell, or that more is needed.
    Refused,
    /// It says what is not so.
    Wrong(Fault),
}

/// A conclusion that was drawn, with the sentence that it was printed in.
#[derive(Clone, Debug)]
pub(crate) struct Concluded {
    pub(crate) judgment: Judgment,
    pub(crate) sentence: String,
}

impl Concluded {
    pub(crate) fn new(judgment: Judgment, sentence: impl Into<String>) -> Self {
        Self { judgment, sentence: sentence.into() }
    }
}

/// One case over all its draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRow {
    /// What is drawn, in words.
    pub name: String,
    /// The command.
    pub command: Command,
    /// Whether the data suffice for an answer.
    pub is_answerable: bool,
    /// How often the command may raise a false alarm or miss the outcome by its own statement (0 to 1).
    pub level: f64,
    /// How often it was drawn.
    pub draws: u64,
    /// Conclusions that were right.
    pub right: u64,
    /// Conclusions that refused.
    pub refused: u64,
    /// Conclusions that were wrong, by the way in which.
    pub wrong: BTreeMap<Fault, u64>,
    /// A sentence of a wrong conclusion where there was one, else of the first draw.
    pub sentence: String,
}

/// One command over all its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRow {
    /// The command.
    pub command: Command,
    /// Its cases.
    pub cases: u64,
    /// All draws.
    pub draws: u64,
    /// Conclusions that were right.
    pub right: u64,
    /// Conclusions that refused.
    pub refused: u64,
    /// Conclusions that were wrong, but for what the command's own level allows.
    pub wrong: u64,
    /// False alarms and outcomes outside an interval.
    pub beyond_level: u64,
    /// How many of these the level leads one to expect.
    pub expected_beyond_level: f64,
    /// Draws whose data suffice for an answer.
    pub answerable: u64,
    /// Of these, how many were answered rightly.
    pub answered: u64,
}

/// Wrong conclusions of a command may be this part of its draws, at most.
pub const MOST_WRONG: f64 = 0.01;
/// Of the draws whose data suffice, at least this part is answered, and rightly.
pub const LEAST_ANSWERED: f64 = 0.9;
/// A count of wrong conclusions or of false alarms is too many where chance makes so many less often than this.
const TOO_MANY: f64 = 0.001;

impl CommandRow {
    /// Sums a command's cases.
    fn of(command: Command, cases: &[CaseRow]) -> Self {
        let cases: Vec<&CaseRow> = cases.iter().filter(|case| case.command == command).collect();
        let sum = |count: fn(&CaseRow) -> u64| cases.iter().map(|case| count(case)).sum::<u64>();
        let answerable = || cases.iter().filter(|case| case.is_answerable);
        Self {
            command,
            cases: cases.len() as u64,
            draws: sum(|case| case.draws),
            right: sum(|case| case.right),
            refused: sum(|case| case.refused),
            wrong: cases.iter().map(|case| case.faults()).sum(),
            beyond_level: cases.iter().map(|case| case.beyond_level()).sum(),
            expected_beyond_level: cases.iter().map(|case| case.level * units::approx_f64(case.draws)).sum(),
            answerable: answerable().map(|case| case.draws).sum(),
            answered: answerable().map(|case| case.right).sum(),
        }
    }

    /// What of the promise is not kept; empty where all is.
    #[must_use]
    pub fn broken_promises(&self) -> Vec<String> {
        let of_all = |count: u64, all: u64| units::approx_f64(count) / units::approx_f64(all.max(1));
        let mut broken = Vec::new();
        if of_all(self.wrong, self.draws) > MOST_WRONG {
            broken.push(format!("{} of {} conclusions are wrong, more than 1 %", self.wrong, self.draws));
        }
        if of_all(self.answered, self.answerable) < LEAST_ANSWERED && self.answerable > 0 {
            let text = format!("{} of {} are answered that can be, fewer than 90 %", self.answered, self.answerable);
            broken.push(text);
        }
        broken
    }
}

impl CaseRow {
    /// False alarms and outcomes outside an interval.
    fn beyond_level(&self) -> u64 {
        self.wrong.iter().filter(|(fault, _)| fault.has_a_level()).map(|(_, count)| count).sum()
    }

    /// Wrong conclusions, but for what the command's own level allows.
    fn faults(&self) -> u64 {
        self.wrong.iter().filter(|(fault, _)| !fault.has_a_level()).map(|(_, count)| count).sum()
    }

    /// What of the promises is not kept in this case: both hold for each by itself, so that a case which is always wrong cannot
    /// hide among many others.
    fn broken_promises(&self) -> Vec<String> {
        let kinds = [
            ("wrong conclusions", self.faults(), MOST_WRONG),
            ("false alarms and missed outcomes", self.beyond_level(), self.level),
        ];
        let broken = kinds.into_iter().filter_map(|(what, count, allowed)| {
            let expected = allowed * units::approx_f64(self.draws);
            (at_least(count, expected) < TOO_MANY).then(|| {
                format!("\"{}\": {count} {what} of {}, where {expected:.1} are allowed", self.name, self.draws)
            })
        });
        broken.collect()
    }
}

/// The probability of at least so many events where so many are expected (Poisson, which bounds the binomial's tail from
/// above); 1 where no more came than expected.
fn at_least(count: u64, expected: f64) -> f64 {
    if units::approx_f64(count) <= expected {
        return 1.0;
    }
    // By its logarithm, since the first terms of many draws are below the least number that there is.
    let log_factorial: f64 = (1..=count).map(|at| units::approx_f64(at).ln()).sum();
    let mut term = (units::approx_f64(count) * expected.ln() - expected - log_factorial).exp();
    let (mut sum, mut at) = (0.0_f64, count);
    while term > sum * 1e-12 {
        sum += term;
        at += 1;
        term *= expected / units::approx_f64(at);
    }
    sum
}

/// The name of this schema.
pub const SCHEMA: &str = "punctual/conclusions";
/// The version that this program writes.
pub const VERSION: u32 = 1;

/// The whole corpus after a run of it: the document that the command prints as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// `punctual/conclusions`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// Where the random numbers began.
    pub seed: u64,
    /// One row a command.
    pub commands: Vec<CommandRow>,
    /// One row a case.
    pub cases: Vec<CaseRow>,
}

impl Table {
    pub(crate) fn new(seed: u64, cases: Vec<CaseRow>) -> Self {
        let present = Command::ALL.into_iter().filter(|command| cases.iter().any(|case| case.command == *command));
        let commands = present.map(|command| CommandRow::of(command, &cases)).collect();
        Self { schema: SCHEMA.to_owned(), version: VERSION, seed, commands, cases }
    }

    /// What of the promises is not kept, with the command in front; empty where all is.
    #[must_use]
    pub fn broken_promises(&self) -> Vec<String> {
        let of_row = |row: &CommandRow| {
            let name = row.command.name();
            row.broken_promises().into_iter().map(move |what| format!("{name}: {what}")).collect::<Vec<_>>()
        };
        let of_case = |case: &CaseRow| {
            let name = case.command.name();
            case.broken_promises().into_iter().map(move |what| format!("{name}: {what}")).collect::<Vec<_>>()
        };
        self.commands.iter().flat_map(of_row).chain(self.cases.iter().flat_map(of_case)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(right: u64, refused: u64, wrong: &[(Fault, u64)], is_answerable: bool) -> CaseRow {
        CaseRow {
            name: "x".to_owned(),
            command: Command::Tail,
            is_answerable,
            level: 0.05,
            draws: right + refused + wrong.iter().map(|(_, count)| count).sum::<u64>(),
            right,
            refused,
            wrong: wrong.iter().copied().collect(),
            sentence: String::new(),
        }
    }

    fn check(rows: Vec<CaseRow>, expected: &[&str]) {
        let broken = Table::new(1, rows).broken_promises();
        assert_eq!(broken.len(), expected.len(), "{broken:?}");
        for (found, part) in broken.iter().zip(expected) {
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn too_many_are_too_many_however_many_are_drawn() {
        for (count, expected, chance) in [(0, 1.0, 1.0), (3, 1.0, 0.080_301), (1, 0.0, 0.0), (20, 5.0, 3.452_1e-7)] {
            let found = at_least(count, expected);
            assert!((found - chance).abs() <= 1e-4 * chance, "{count} of {expected}: {found}");
        }
        // e^-2000 is no number any more.
        assert!(at_least(2_300, 2_000.0) < TOO_MANY && at_least(2_010, 2_000.0) > 0.1);
    }

    #[test]
    fn each_promise_is_held_against_its_own_bound() {
        check(vec![row(950, 40, &[(Fault::FalseShown, 10)], true)], &[]);
        check(vec![row(949, 40, &[(Fault::FalseShown, 11)], true)], &["11 of 1000 conclusions are wrong"]);
        check(vec![row(899, 101, &[], true)], &["899 of 1000 are answered"]);
        check(vec![row(0, 1_000, &[], false)], &[]);
        check(vec![row(930, 0, &[(Fault::FalseAlarm, 70)], false)], &[]);
        check(vec![row(920, 0, &[(Fault::FalseAlarm, 80)], false)], &["80 false alarms"]);
        // One case of many that is often wrong.
        let wrong = row(32, 0, &[(Fault::FalsePass, 8)], true);
        check(vec![row(1_000, 0, &[], true), wrong], &["8 wrong conclusions of 40, where 0.4 are allowed"]);
    }
}
