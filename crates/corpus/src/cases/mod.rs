//! The cases, by command.

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
    /// What is drawn, in words.
    pub(crate) name: &'static str,
    /// Whether the data suffice for an answer, so that refusing counts against the command.
    pub(crate) is_answerable: bool,
    /// How often a false alarm or a missed outcome is allowed by the command's own statement (0 to 1).
    pub(crate) level: f64,
    /// Draws runs, has the command conclude, and holds that against the truth.
    pub(crate) conclude: Box<dyn Fn(&mut Random) -> Concluded>,
}

impl Case {
    /// One whose data suffice for an answer.
    fn answerable(name: &'static str, conclude: impl Fn(&mut Random) -> Concluded + 'static) -> Self {
        Self { name, is_answerable: true, level: 0.0, conclude: Box::new(conclude) }
    }

    /// One that may be refused.
    fn open(name: &'static str, conclude: impl Fn(&mut Random) -> Concluded + 'static) -> Self {
        Self { is_answerable: false, ..Self::answerable(name, conclude) }
    }

    /// With a level of false alarms, or of missed outcomes.
    fn at_level(self, level: f64) -> Self {
        Self { level, ..self }
    }
}

/// The cases of a command.
pub(crate) fn of(command: Command) -> Vec<Case> {
    match command {
        Command::Assess => assess::cases(),
        Command::Measure => measure::cases(),
        Command::Compare => compare::cases(),
        Command::Tail => tail::cases(),
        Command::Campaign => campaign::cases(),
    }
}
