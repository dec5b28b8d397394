//! Imports results of other programs as records, and exports records in other programs' formats.
//!
//! Each format is one source file and one row of a table: [`IMPORTS`] for reading, [`EXPORTS`] for writing.
//!
//! An import keeps every sample that its source counted, takes minimum and maximum from the source, and lists in words
//! what the source lacks. It must never look better than it is. Samples whose values the source did not keep are in no
//! bin. An unknown maximum makes the record invalid, and so do numbers that contradict each other.
//!
//! This crate works on text and bytes; it accesses no file, clock or machine.

#![forbid(unsafe_code)]

mod error;
mod export;
mod import;

pub use error::{ExportError, ForeignError};
pub use export::{EXPORTS, ExportFormat, export, export_format, export_format_of_file};
pub use import::{
    HEAD_BYTES, IMPORTS, ImportFormat, Imported, Importer, IsochronColumns, Options, Unit, always_missing,
    format_in_words, import, import_format, recognize, recognize_stream, unwrapped, what_it_is,
};
