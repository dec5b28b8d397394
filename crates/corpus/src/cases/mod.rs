//! The cases, one module for each command.

mod assess;
mod blame;
mod campaign;
mod compare;
mod measure;
mod tail;

use units::Random;

use crate::outcome::{Command, Concluded};

/// A situation whose truth is known.
pub(crate) struct Case {
    /// What is drawn, as the table prints it.
    pub(crate) name: &'static str,
    /// Whether the data suffice for an answer, so that a refusal counts against the command.
    pub(crate) is_answerable: bool,
    /// The rate of false alarms or missed outcomes that the command itself states (0 to 1).
    pub(crate) level: f64,
    /// Draws runs, has the command conclude, and compares the conclusion with the truth.
    pub(crate) conclude: Box<dyn Fn(&mut Random) -> Concluded>,
}

impl Case {
    /// A case whose data suffice for an answer.
    fn answerable(name: &'static str, conclude: impl Fn(&mut Random) -> Concluded + 'static) -> Self {
        Self { name, is_answerable: true, level: 0.0, conclude: Box::new(conclude) }
    }

    /// A case that the command may refuse to answer.
    fn open(name: &'static str, conclude: impl Fn(&mut Random) -> Concluded + 'static) -> Self {
        Self { is_answerable: false, ..Self::answerable(name, conclude) }
    }

    /// Sets the allowed rate of false alarms or of missed outcomes (0 to 1).
    fn at_level(self, level: f64) -> Self {
        Self { level, ..self }
    }
}

/// The cases of a command, in the order of the table.
pub(crate) fn for_command(command: Command) -> Vec<Case> {
    match command {
        Command::Assess => assess::cases(),
        Command::Measure => measure::cases(),
        Command::Compare => compare::cases(),
        Command::Tail => tail::cases(),
        Command::Campaign => campaign::cases(),
    }
}
