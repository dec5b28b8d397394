//! The corpus of conclusions: simulated cases with a known truth, drawn from a seed. Each case states what a command
//! has to conclude; *cannot be told* is one of the answers.
//!
//! The corpus tests conclusions as the calibration tests readings. A case is one function that draws runs from a
//! process whose truth is known (module `truth`), has a command conclude, and compares the conclusion with the truth.

#![forbid(unsafe_code)]

mod cases;
mod draw;
mod outcome;
mod stops;
mod synthetic;
mod truth;

use units::Random;

pub use synthetic::{SyntheticRun, replace_intervals};

pub use outcome::{CaseRow, Command, CommandRow, Fault, LEAST_ANSWERED, MOST_WRONG, SCHEMA, Table, VERSION};

use cases::Case;
use outcome::Judgment;

/// Options of a run of the corpus.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of the random numbers: the same seed gives the same table.
    pub seed: u64,
    /// Draws for each command, spread over its cases and rounded up.
    pub draws: u64,
    /// Run the cases of this command only; default: all commands.
    pub only: Option<Command>,
}

/// Draws every case and compares the conclusions with the truth. `progress` is called after each case with the number
/// of cases done and the number of all.
pub fn run(options: &Options, mut progress: impl FnMut(usize, usize)) -> Table {
    let wanted = |command: &Command| options.only.is_none_or(|only| only == *command);
    let cases: Vec<(Command, Vec<Case>)> =
        Command::ALL.into_iter().filter(wanted).map(|command| (command, cases::for_command(command))).collect();
    let all = cases.iter().map(|(_, cases)| cases.len()).sum();
    let mut rows = Vec::with_capacity(all);
    for (command, cases) in cases {
        let draws = options.draws.div_ceil(cases.len().max(1) as u64);
        for (number, case) in (0..).zip(&cases) {
            rows.push(row(command, case, number, draws, options.seed));
            progress(rows.len(), all);
        }
    }
    Table::new(options.seed, rows)
}

/// Draws one case `draws` times. The random numbers depend only on the seed, the command and the case's place, so that
/// changes to another command's cases change nothing here.
fn row(command: Command, case: &Case, number: u64, draws: u64, seed: u64) -> CaseRow {
    let mut random = Random::new(seed ^ ((command as u64 + 1) << 40) ^ ((number + 1) << 20));
    let mut row = CaseRow {
        name: case.name.to_owned(),
        command,
        is_answerable: case.is_answerable,
        level: case.level,
        draws,
        right: 0,
        refused: 0,
        wrong: std::collections::BTreeMap::new(),
        sentence: String::new(),
    };
    for _ in 0..draws {
        let concluded = (case.conclude)(&mut Random::new(random.next()));
        let first_wrong = matches!(concluded.judgment, Judgment::Wrong(_)) && row.wrong.is_empty();
        match concluded.judgment {
            Judgment::Right => row.right += 1,
            Judgment::Refused => row.refused += 1,
            Judgment::Wrong(fault) => *row.wrong.entry(fault).or_default() += 1,
        }
        if row.sentence.is_empty() || first_wrong {
            row.sentence = concluded.sentence;
        }
    }
    row
}
