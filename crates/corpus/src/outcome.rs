//! How conclusions are judged against the truth, and the table of the results.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The command whose conclusions are judged.
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
    /// `punctual campaign`: the stated effect of each factor.
    Campaign,
}

impl Command {
    /// All commands, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Assess, Self::Measure, Self::Compare, Self::Tail, Self::Campaign];

    /// The name of the subcommand, as typed on the command line.
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

/// How a conclusion is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// It passes what does not hold or was not examined.
    FalsePass,
    /// It calls the worse one better, the better one worse, or a trade-off either of both.
    WrongDirection,
    /// It calls a false claim shown.
    FalseShown,
    /// It calls a deadline or claim broken that holds.
    FalseBroken,
    /// It names a wrong cause or gives advice against it.
    WrongAdvice,
    /// It reports a difference that does not exist; the command's level states how often that may happen.
    FalseAlarm,
    /// The outcome lies outside the prediction interval; the command's level states how often that may happen.
    NotCovered,
}

impl Fault {
    /// Whether the command itself states how often this may happen: then that rate is the bound.
    #[must_use]
    pub const fn has_a_level(self) -> bool {
        matches!(self, Self::FalseAlarm | Self::NotCovered)
    }

    /// The text for people, as the table prints it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::FalsePass => "passed, but does not hold",
            Self::WrongDirection => "wrong direction",
            Self::FalseShown => "called shown, but false",
            Self::FalseBroken => "called broken, but holds",
            Self::WrongAdvice => "wrong cause or advice",
            Self::FalseAlarm => "false alarm",
            Self::NotCovered => "outside the interval",
        }
    }
}

/// The judgment of one conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgment {
    /// It agrees with the truth.
    Right,
    /// It is inconclusive, or asks for more data.
    Refused,
    /// It contradicts the truth.
    Wrong(Fault),
}

/// A judged conclusion, with the sentence that the command printed.
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
    /// What the case draws, in words.
    pub name: String,
    /// The command that is tested.
    pub command: Command,
    /// Whether the data suffice for an answer.
    pub is_answerable: bool,
    /// The rate of false alarms or missed outcomes that the command itself states (0 to 1).
    pub level: f64,
    /// Number of draws.
    pub draws: u64,
    /// Number of right conclusions.
    pub right: u64,
    /// Refusals: inconclusive, or more data is needed.
    pub refused: u64,
    /// Wrong conclusions, by kind of fault.
    pub wrong: BTreeMap<Fault, u64>,
    /// The sentence of the first wrong conclusion; if there is none, of the first draw.
    pub sentence: String,
}

/// One command over all its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRow {
    /// The command that is tested.
    pub command: Command,
    /// Number of its cases.
    pub cases: u64,
    /// Draws of all its cases.
    pub draws: u64,
    /// Number of right conclusions.
    pub right: u64,
    /// Refusals: inconclusive, or more data is needed.
    pub refused: u64,
    /// Wrong conclusions, not counting false alarms and missed outcomes, which have a level of their own.
    pub wrong: u64,
    /// False alarms and outcomes outside a prediction interval.
    pub beyond_level: u64,
    /// The number of these that the level predicts.
    pub expected_beyond_level: f64,
    /// Draws whose data suffice for an answer.
    pub answerable: u64,
    /// Answerable draws that were answered correctly.
    pub answered: u64,
}

/// The largest allowed share of wrong conclusions in the draws of a command (0 to 1).
pub const MOST_WRONG: f64 = 0.01;
/// The smallest allowed share of correct answers in the answerable draws of a command (0 to 1).
pub const LEAST_ANSWERED: f64 = 0.9;
/// A count of faults is too high if chance alone reaches it with less than this probability.
const TOO_MANY: f64 = 0.001;

impl CommandRow {
    /// Sums up a command's cases.
    fn sum(command: Command, cases: &[CaseRow]) -> Self {
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

    /// The promises that this command breaks, one text each; empty if it keeps all.
    #[must_use]
    pub fn broken_promises(&self) -> Vec<String> {
        let share = |count: u64, all: u64| units::approx_f64(count) / units::approx_f64(all.max(1));
        let mut broken = Vec::new();
        if share(self.wrong, self.draws) > MOST_WRONG {
            broken.push(format!("{} of {} conclusions are wrong, more than 1 %", self.wrong, self.draws));
        }
        if share(self.answered, self.answerable) < LEAST_ANSWERED && self.answerable > 0 {
            let text = format!(
                "{} of {} answerable draws are answered correctly, fewer than 90 %",
                self.answered, self.answerable
            );
            broken.push(text);
        }
        broken
    }
}

impl CaseRow {
    /// False alarms and outcomes outside a prediction interval.
    fn beyond_level(&self) -> u64 {
        self.wrong.iter().filter(|(fault, _)| fault.has_a_level()).map(|(_, count)| count).sum()
    }

    /// Wrong conclusions, not counting false alarms and missed outcomes, which have a level of their own.
    fn faults(&self) -> u64 {
        self.wrong.iter().filter(|(fault, _)| !fault.has_a_level()).map(|(_, count)| count).sum()
    }

    /// The promises that this case breaks. Both hold for each case separately, so that a case which is always wrong
    /// cannot hide among many others.
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

/// The probability of at least `count` events if `expected` are expected; 1 if no more came than expected. Poisson,
/// which bounds the binomial's tail from above.
fn at_least(count: u64, expected: f64) -> f64 {
    if units::approx_f64(count) <= expected {
        return 1.0;
    }
    // Via the logarithm: for many draws the first terms underflow.
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

/// Name of the JSON schema of [`Table`].
pub const SCHEMA: &str = "punctual/conclusions";
/// Version of the schema that this program writes.
pub const VERSION: u32 = 1;

/// The results of a run of the corpus: the document that `punctual conclusions` prints as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// `punctual/conclusions`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// One row for each command.
    pub commands: Vec<CommandRow>,
    /// One row for each case.
    pub cases: Vec<CaseRow>,
}

impl Table {
    pub(crate) fn new(seed: u64, cases: Vec<CaseRow>) -> Self {
        let present = Command::ALL.into_iter().filter(|command| cases.iter().any(|case| case.command == *command));
        let commands = present.map(|command| CommandRow::sum(command, &cases)).collect();
        Self { schema: SCHEMA.to_owned(), version: VERSION, seed, commands, cases }
    }

    /// The broken promises, each with its command in front; empty if all are kept.
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
    fn chance_of_a_count_is_right_for_few_and_many_draws() {
        for (count, expected, chance) in [(0, 1.0, 1.0), (3, 1.0, 0.080_301), (1, 0.0, 0.0), (20, 5.0, 3.452_1e-7)] {
            let found = at_least(count, expected);
            assert!((found - chance).abs() <= 1e-4 * chance, "{count} of {expected}: {found}");
        }
        // e^-2000 underflows.
        assert!(at_least(2_300, 2_000.0) < TOO_MANY && at_least(2_010, 2_000.0) > 0.1);
    }

    #[test]
    fn each_promise_has_its_own_bound() {
        check(vec![row(950, 40, &[(Fault::FalseShown, 10)], true)], &[]);
        check(vec![row(949, 40, &[(Fault::FalseShown, 11)], true)], &["11 of 1000 conclusions are wrong"]);
        check(vec![row(899, 101, &[], true)], &["899 of 1000 answerable draws are answered"]);
        check(vec![row(0, 1_000, &[], false)], &[]);
        check(vec![row(930, 0, &[(Fault::FalseAlarm, 70)], false)], &[]);
        check(vec![row(920, 0, &[(Fault::FalseAlarm, 80)], false)], &["80 false alarms"]);
        // One case among many that is often wrong.
        let wrong = row(32, 0, &[(Fault::FalsePass, 8)], true);
        check(vec![row(1_000, 0, &[], true), wrong], &["8 wrong conclusions of 40, where 0.4 are allowed"]);
    }
}
