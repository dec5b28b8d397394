//! The table of import formats, and what all readers share.

mod capture;
mod chrony_log;
mod clocks;
mod columns;
mod cyclictest_histogram;
mod cyclictest_json;
mod cyclictest_text;
mod cyclictest_verbose;
mod isochron;
mod jitterdebugger;
mod linuxptp_log;
mod oslat_json;
mod oslat_text;
mod osnoise_top;
mod prefixed;
mod rt_tests;
mod rteval;
mod rtla;
mod rtla_hist;
mod source;
mod stream;
mod tally;
mod text;
mod timeline;
mod timerlat_top;
mod wrapped;

pub use self::isochron::IsochronColumns;
pub use self::source::{Imported, always_missing, format_in_words};
use self::stream::{Identity, StreamReader};
use self::wrapped::{Unwrapper, unwrapped_head};
pub use self::wrapped::{unwrapped, what_it_is};
use crate::error::ForeignError;

use std::borrow::Cow;

use record::ReasonCode;

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
    reader: Reader,
}

/// How a format is recognized and read.
#[derive(Clone, Copy)]
enum Reader {
    /// As a whole text.
    Text { recognize: fn(&str) -> bool, read: fn(&str, Options) -> Result<Imported, ForeignError>, form: Form },
    /// By its first bytes, and piece by piece: logs and captures can be larger than the memory.
    Stream { recognize: fn(&[u8]) -> bool, begin: fn() -> Box<dyn StreamReader> },
}

/// What shows that a text is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A document of JSON or XML, which has an end of its own, or a table whose reader sees to it.
    Document,
    /// Lines that sum a run up: one that was cut can say another number.
    Summary,
    /// Lines that each say what happened at a moment: one that was cut is left out.
    Moments,
}

/// How many of a file's first bytes are looked at to recognize a format that is read piece by piece.
pub const HEAD_BYTES: usize = 1 << 20;

impl std::fmt::Debug for ImportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All import formats. The first one that recognizes a text is used, so the most specific formats come first.
pub const IMPORTS: &[ImportFormat] = &[
    capture::FORMAT,
    isochron::FORMAT,
    chrony_log::TRACKING,
    chrony_log::STATISTICS,
    chrony_log::MEASUREMENTS,
    linuxptp_log::FORMAT,
    cyclictest_json::FORMAT,
    oslat_json::FORMAT,
    jitterdebugger::FORMAT,
    rteval::FORMAT,
    rtla_hist::FORMAT,
    timerlat_top::FORMAT,
    osnoise_top::FORMAT,
    oslat_text::FORMAT,
    cyclictest_histogram::FORMAT,
    cyclictest_verbose::FORMAT,
    cyclictest_text::FORMAT,
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
    /// What the columns of a table of isochron hold, which names none itself. A first line that names them has to agree.
    pub isochron: Option<IsochronColumns>,
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

/// Recognizes a format that is read piece by piece by the first bytes of a file, up to [`HEAD_BYTES`]; `None` if it is none of
/// these.
#[must_use]
pub fn recognize_stream(head: &[u8]) -> Option<&'static ImportFormat> {
    let head = unwrapped_head(head.get(..HEAD_BYTES).unwrap_or(head));
    let head = head.as_ref();
    // A document that quotes a log is none.
    if head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    IMPORTS.iter().find(|format| matches!(format.reader, Reader::Stream { recognize, .. } if recognize(head)))
}

/// Recognizes the format of a text by its content; `None` if no format does.
#[must_use]
pub fn recognize(bytes: &[u8]) -> Option<&'static ImportFormat> {
    recognize_stream(bytes).or_else(|| recognize_text(&plain_text(bytes).ok()?))
}

fn recognize_text(text: &str) -> Option<&'static ImportFormat> {
    IMPORTS.iter().find(|format| matches!(format.reader, Reader::Text { recognize, .. } if recognize(text)))
}

/// The text of a file, without what the file and its lines are wrapped in.
fn plain_text(bytes: &[u8]) -> Result<Cow<'_, str>, ForeignError> {
    // Command lines and names in the text may have any encoding; the numbers are ASCII.
    let text = match unwrapped(bytes)? {
        Cow::Borrowed(plain) => String::from_utf8_lossy(plain),
        Cow::Owned(plain) => Cow::Owned(String::from_utf8_lossy(&plain).into_owned()),
    };
    Ok(prefixed::without(&text).map_or(text, Cow::Owned))
}

/// Reads the output of another program, in the given format or else in the one that its content shows.
///
/// # Errors
/// If no format recognizes the text, or if it does not match its format. The error names the line or the field.
pub fn import(bytes: &[u8], format: Option<&ImportFormat>, options: Options) -> Result<Imported, ForeignError> {
    let unknown = || match what_it_is(bytes) {
        Some(what) => ForeignError::Text(what),
        None => ForeignError::NotRecognized { known: names() },
    };
    if let Some(format) = format.or_else(|| recognize_stream(bytes)) {
        if let Some(mut importer) = Importer::begin(format) {
            importer.feed(bytes)?;
            return importer.finish();
        }
    }
    let text = plain_text(bytes)?;
    let format = format.or_else(|| recognize_text(&text)).ok_or_else(unknown)?;
    let Reader::Text { read, form, .. } = format.reader else { return Err(unknown()) };
    let mut imported = read_whole(&text, read, form, options)?;
    imported.finish(format.name, source::fnv1a(bytes));
    Ok(imported)
}

/// Reads a text; of a last line without an end nothing says whether its last number is whole.
fn read_whole(
    text: &str,
    read: fn(&str, Options) -> Result<Imported, ForeignError>,
    form: Form,
    options: Options,
) -> Result<Imported, ForeignError> {
    let (lines, torn) = text.rsplit_once('\n').map_or(("", text), |(lines, torn)| (lines, torn));
    if form == Form::Document || torn.trim().is_empty() {
        return read(text, options);
    }
    let number = lines.lines().count() + 1;
    let without = read(text.get(..text.len() - torn.len()).unwrap_or_default(), options);
    let with = read(text, options);
    let said = |mut imported: Imported, what: &str| {
        imported.reason(ReasonCode::MaximumUnknown, format!("line {number}, the last one, has no end: {what}"));
        imported
    };
    match (with, without) {
        (Ok(with), Ok(without)) if with.is_same_result(&without) => Ok(without),
        (_, Ok(mut without)) if form == Form::Moments => {
            without.lacks(format!("the last line ({number}), which has no end: it was not read"));
            Ok(without)
        }
        (Ok(with), _) => Ok(said(
            with,
            "its last number can be longer, and more can have followed; if it is whole, end it with a newline",
        )),
        (Err(_), Ok(without)) => Ok(said(without, "it was not read, and more can have followed")),
        (Err(error), Err(_)) => Err(error),
    }
}

/// Reads the output of another program piece by piece, in memory that does not grow with its length.
pub struct Importer {
    name: &'static str,
    reader: Box<dyn StreamReader>,
    identity: Identity,
    unwrapper: Unwrapper,
}

impl Importer {
    /// Begins to read a format; `None` if that is read as a whole.
    #[must_use]
    pub fn begin(format: &ImportFormat) -> Option<Self> {
        match format.reader {
            Reader::Text { .. } => None,
            Reader::Stream { begin, .. } => Some(Self::new(format.name, begin())),
        }
    }

    fn new(name: &'static str, reader: Box<dyn StreamReader>) -> Self {
        Self { name, reader, identity: Identity::default(), unwrapper: Unwrapper::default() }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// If they do not match the format.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ForeignError> {
        self.identity.take(bytes);
        let Self { reader, unwrapper, .. } = self;
        unwrapper.take(bytes, &mut |plain| reader.feed(plain))
    }

    /// Ends with the file.
    ///
    /// # Errors
    /// If nothing in it was a result.
    pub fn finish(self) -> Result<Imported, ForeignError> {
        let Self { mut reader, unwrapper, .. } = self;
        unwrapper.finish(&mut |plain| reader.feed(plain))?;
        let mut imported = reader.finish()?;
        imported.finish(self.name, self.identity.value());
        Ok(imported)
    }
}

impl std::fmt::Debug for Importer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Importer").field("name", &self.name).finish_non_exhaustive()
    }
}
