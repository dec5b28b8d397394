//! Errors of imports and exports.

/// Why a text cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// No format recognizes the text.
    #[error(
        "the format is not recognized; the known formats are: {known}. If it is one of them, name it with --format"
    )]
    NotRecognized {
        /// Names of the known formats, separated by commas.
        known: String,
    },
    /// No import format has the given name.
    #[error("there is no format '{name}'; the known formats are: {known}")]
    NoSuchFormat {
        /// The name that was given.
        name: String,
        /// Names of the known formats, separated by commas.
        known: String,
    },
    /// A line cannot be read.
    #[error("line {line}: {what}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// A field or the whole text cannot be read.
    #[error("{0}")]
    Text(String),
    /// The text does not state its unit, and the default unit cannot be right.
    #[error(
        "the text does not state its unit; in microseconds, {program}'s default, its shortest latency would be \
         {shortest}: state the unit with --unit us or --unit ns"
    )]
    UnitUnclear {
        /// The program that wrote the text.
        program: &'static str,
        /// The shortest latency in the default unit, for people.
        shortest: String,
    },
    /// The stated unit cannot be right.
    #[error(
        "in nanoseconds, as --unit says, its shortest latency would be {shortest}, and no wake-up is that short: leave \
         --unit out, or import files of different units one by one (punctual import FILE --unit ns -o FILE.json)"
    )]
    UnitImpossible {
        /// The shortest latency in the stated unit, for people.
        shortest: String,
    },
    /// A number exceeds what a record can hold.
    #[error("{place}: {what} exceeds the 146 years or 2^62 samples that a record can hold; the file is damaged")]
    TooLarge {
        /// The CPU or thread, in words.
        place: String,
        /// The number, in words.
        what: String,
    },
    /// The text has the right format, but contains no result of any thread.
    #[error("it contains no result: {0}")]
    NoResult(String),
}

/// Why a record cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// No export format has the given name.
    #[error("there is no format '{name}' to export to; the known formats are: {known}")]
    NoSuchFormat {
        /// The name that was given.
        name: String,
        /// Names of the known formats, separated by commas.
        known: String,
    },
    /// A file's name ends like that of no export format.
    #[error(
        "'{name}' does not say which format is meant: its name can end in {known}; or name the format with --format"
    )]
    NoSuchEnding {
        /// The name of the file.
        name: String,
        /// The endings that are known, with their formats.
        known: String,
    },
    /// This build of the program does not include the format.
    #[error(
        "this build of punctual cannot write {format}: use {instead}, or export on a PC; records are the same everywhere"
    )]
    NotBuilt {
        /// Name of the format.
        format: &'static str,
        /// A format with the same content.
        instead: &'static str,
    },
    /// The format holds a single run, and several were given.
    #[error("{format} holds one run, and {count} were given: export them one by one")]
    OneRunOnly {
        /// Name of the format.
        format: &'static str,
        /// Number of runs that were given.
        count: usize,
    },
    /// The format cannot represent this record.
    #[error("{format} cannot hold this record: {what}")]
    CannotHold {
        /// Name of the format.
        format: &'static str,
        /// The reason, and the formats that can hold the record.
        what: String,
    },
}
