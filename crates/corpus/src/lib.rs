//! The corpus of conclusions: cases that are drawn from a stated truth by a seed, each with what the commands have to
//! conclude from it, *cannot be told* among the answers.
//!
//! It is to conclusions what the calibration is to readings. A case is one function that draws runs from a process whose
//! truth is known ([`truth`]), has a command conclude, and holds the conclusion against the truth.

#![forbid(unsafe_code)]

mod cases;
mod draw;
mod outcome;
mod stops;
mod truth;

use units::Random;

pub use outcome::{CaseRow, Command, CommandRow, Fault, LEAST_ANSWERED, MOST_WRONG, SCHEMA, Table, VERSION};

use cases::Case;
use outcome::Judgment;

/// How the corpus is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where the random numbers begin.
    pub seed: u64,
    /// Draws of each command, spread over its cases.
    pub draws: u64,
    /// One command alone.
    pub only: Option<Command>,
}

/// Draws every case and holds what is concluded against the truth; `progress` is called after each case with how many of
/// how many are done.
pub fn run(options: &Options, mut progress: impl FnMut(usize, usize)) -> Table {
    let wanted = |command: &Command| options.only.is_none_or(|only| only == *command);
    let cases: Vec<(Command, Vec<Case>)> =
        Command::ALL.into_iter().filter(wanted).map(|command| (command, cases::of(command))).collect();
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

/// Draws one case so often. Its numbers depend on the seed, the command and its place alone, so that another command's
/// cases change nothing here.
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
