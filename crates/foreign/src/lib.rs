//! Other programs' results as records, and records as other programs' results.
//!
//! Each foreign format is one file and one line of a table: [`IMPORTS`] for what is read, [`EXPORTS`] for what is
//! written. An import keeps every sample that its source counted, takes minimum and maximum as the source tells them,
//! lists in plain words what the source lacks, and never looks better than it is: samples whose values the source did
//! not keep stand in no bin, a maximum that nobody knows makes the record invalid, and so do numbers that contradict
//! each other. This crate knows texts and bytes; it knows no file, clock or machine.

#![forbid(unsafe_code)]

mod error;
mod export;
mod import;

pub use error::{ExportError, ForeignError};
pub use export::{EXPORTS, ExportFormat, export, export_format};
pub use import::{IMPORTS, ImportFormat, Imported, Options, Unit, import, import_format, recognise};
