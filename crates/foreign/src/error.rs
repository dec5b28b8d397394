//! Why a foreign text is not taken, and why a record is not written in a foreign form.

/// Why a foreign text is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// None of the formats recognises it.
    #[error("the format is not recognised; these are known: {known}. If it is one of them, name it: --format")]
    NotRecognised {
        /// The formats' names.
        known: String,
    },
    /// There is no such format.
    #[error("there is no format '{name}'; these are known: {known}")]
    NoSuchFormat {
        /// What was asked.
        name: String,
        /// The formats' names.
        known: String,
    },
    /// A line cannot be read.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A field or the whole cannot be read.
    #[error("{0}")]
    Text(String),
    /// The unit is not written in the text and the default cannot be right.
    #[error(
        "the text does not tell its unit, and microseconds, {program}'s default, would make its shortest latency \
         {shortest}: say which it is, --unit us or --unit ns"
    )]
    UnitUnclear {
        /// Who wrote the text.
        program: &'static str,
        /// The shortest latency in the default unit, for people.
        shortest: String,
    },
    /// A number that no clock counts to.
    #[error("{place}: {what} is beyond the 146 years or 2^62 samples that a record holds; the file is damaged")]
    TooLarge {
        /// The CPU or thread.
        place: String,
        /// Which number.
        what: String,
    },
    /// It is of the format, and no thread has a result in it.
    #[error("there is no result in it: {0}")]
    NoResult(String),
}

/// Why a record is not written in a foreign form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// There is no such format.
    #[error("there is no format '{name}' to export to; these are known: {known}")]
    NoSuchFormat {
        /// What was asked.
        name: String,
        /// The formats' names.
        known: String,
    },
    /// This build was made without it.
    #[error(
        "this build of punctual cannot write {format}: take {instead}, or export on a PC; records are the same everywhere"
    )]
    NotBuilt {
        /// The format.
        format: &'static str,
        /// What holds the same.
        instead: &'static str,
    },
    /// The format holds one run.
    #[error("{format} holds one run, and {count} were given: export them one by one")]
    OneRunOnly {
        /// The format.
        format: &'static str,
        /// How many were given.
        count: usize,
    },
    /// The format cannot hold this record.
    #[error("{format} cannot hold it: {what}")]
    CannotHold {
        /// The format.
        format: &'static str,
        /// Why, and what can.
        what: String,
    },
}
