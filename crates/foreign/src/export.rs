//! The table of export formats.

mod columns;
mod csv;
mod cyclictest;
mod hdr_log;
mod json;
mod parquet;
mod rows;

use record::{Place, Record, Series};

use crate::error::ExportError;

/// One export format.
#[derive(Clone, Copy)]
pub struct ExportFormat {
    /// The name that users type.
    pub name: &'static str,
    /// Description of the format: the program that reads it, its content and its unit.
    pub what: &'static str,
    /// Whether the output is binary, and must not be written to a terminal.
    pub binary: bool,
    write: fn(&[Record]) -> Result<Vec<u8>, ExportError>,
}

impl std::fmt::Debug for ExportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All export formats.
pub const EXPORTS: &[ExportFormat] = &[cyclictest::FORMAT, hdr_log::FORMAT, csv::FORMAT, parquet::FORMAT, json::FORMAT];

/// Finds the export format with the given name.
///
/// # Errors
/// If there is none.
pub fn export_format(name: &str) -> Result<&'static ExportFormat, ExportError> {
    EXPORTS.iter().find(|format| format.name == name).ok_or_else(|| ExportError::NoSuchFormat {
        name: name.to_owned(),
        known: EXPORTS.iter().map(|format| format.name).collect::<Vec<_>>().join(", "),
    })
}

/// Writes records in the given format.
///
/// # Errors
/// If the format cannot hold the records, or if this build does not include it.
pub fn export(records: &[Record], format: &ExportFormat) -> Result<Vec<u8>, ExportError> {
    (format.write)(records)
}

/// A name for a series, unique within its record: `scheduled_to_woke-cpu3-thread0`.
fn tag(series: &Series) -> String {
    let mut tag = format!("{}-{}", series.name, place(series));
    if !series.variant.is_empty() {
        tag = format!("{tag}-{}", series.variant);
    }
    tag
}

fn place(series: &Series) -> String {
    match &series.place {
        Place::Thread { cpu: Some(cpu), thread } => format!("cpu{cpu}-thread{thread}"),
        Place::Thread { cpu: None, thread } => format!("thread{thread}"),
        other => other.to_string().replace(' ', "-"),
    }
}
