//! The table of import formats, and what all readers share.

mod columns;
mod cyclictest_histogram;
mod cyclictest_json;
mod cyclictest_text;
mod cyclictest_verbose;
mod jitterdebugger;
mod oslat_json;
mod oslat_text;
mod osnoise_top;
mod rt_tests;
mod rteval;
mod rtla;
mod rtla_hist;
mod source;
mod tally;
mod text;
mod timerlat_top;

pub use self::source::{ALWAYS_MISSING, Imported};
use crate::error::ForeignError;

/// One import format.
#[derive(Clone, Copy)]
pub struct ImportFormat {
    /// The name that users type.
    pub name: &'static str,
    /// The program that writes the format, and with which options.
    pub what: &'static str,
    /// Whether a text of this format can hardly be anything else. Bare columns of numbers can, so they are imported only
    /// if a user names the file.
    pub is_distinct: bool,
    recognise: fn(&str) -> bool,
    read: fn(&str, Options) -> Result<Imported, ForeignError>,
}

impl std::fmt::Debug for ImportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All import formats. The first one that recognizes a text is used, so the most specific formats come first.
pub const IMPORTS: &[ImportFormat] = &[
    cyclictest_json::FORMAT,
    oslat_json::FORMAT,
    jitterdebugger::FORMAT,
    rteval::FORMAT,
    rtla_hist::FORMAT,
    timerlat_top::FORMAT,
    osnoise_top::FORMAT,
    oslat_text::FORMAT,
    cyclictest_histogram::FORMAT,
    cyclictest_text::FORMAT,
    cyclictest_verbose::FORMAT,
    columns::FORMAT,
];

/// The unit of the latencies in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Numbers are microseconds.
    Us,
    /// Numbers are nanoseconds.
    Ns,
}

impl Unit {
    /// The length of the unit (ns).
    #[must_use]
    pub const fn ns(self) -> u64 {
        match self {
            Self::Us => 1_000,
            Self::Ns => 1,
        }
    }
}

/// Facts that the user states because the text may not contain them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The unit of the numbers. A unit that the text states takes precedence.
    pub unit: Option<Unit>,
}

fn names() -> String {
    IMPORTS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// Finds the import format with the given name.
///
/// # Errors
/// If there is none.
pub fn import_format(name: &str) -> Result<&'static ImportFormat, ForeignError> {
    IMPORTS
        .iter()
        .find(|format| format.name == name)
        .ok_or_else(|| ForeignError::NoSuchFormat { name: name.to_owned(), known: names() })
}

/// Recognizes the format of a text by its content; `None` if no format does.
#[must_use]
pub fn recognise(bytes: &[u8]) -> Option<&'static ImportFormat> {
    let text = String::from_utf8_lossy(bytes);
    IMPORTS.iter().find(|format| (format.recognise)(&text))
}

/// Reads the output of another program, in the given format or else in the one that its content shows.
///
/// # Errors
/// If no format recognizes the text, or if it does not match its format. The error names the line or the field.
pub fn import(bytes: &[u8], format: Option<&ImportFormat>, options: Options) -> Result<Imported, ForeignError> {
    // Command lines and names in the text may have any encoding; the numbers are ASCII.
    let text = String::from_utf8_lossy(bytes);
    let format = format
        .or_else(|| IMPORTS.iter().find(|format| (format.recognise)(&text)))
        .ok_or_else(|| ForeignError::NotRecognised { known: names() })?;
    let mut imported = (format.read)(&text, options)?;
    imported.finish(format.name, bytes);
    Ok(imported)
}
