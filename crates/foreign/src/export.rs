//! The table of what is written.

mod csv;
mod cyclictest;
mod hdr_log;
mod json;
mod parquet;
mod rows;

use record::{Place, Record, Series};

use crate::error::ExportError;

/// One foreign form.
#[derive(Clone, Copy)]
pub struct ExportFormat {
    /// The name that users type.
    pub name: &'static str,
    /// Who reads it.
    pub what: &'static str,
    /// Whether it is no text, and so nothing for a terminal.
    pub binary: bool,
    write: fn(&[Record]) -> Result<Vec<u8>, ExportError>,
}

impl std::fmt::Debug for ExportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every form that is written.
pub const EXPORTS: &[ExportFormat] = &[cyclictest::FORMAT, hdr_log::FORMAT, csv::FORMAT, parquet::FORMAT, json::FORMAT];

/// The form of that name.
///
/// # Errors
/// Where there is none.
pub fn export_format(name: &str) -> Result<&'static ExportFormat, ExportError> {
    EXPORTS.iter().find(|format| format.name == name).ok_or_else(|| ExportError::NoSuchFormat {
        name: name.to_owned(),
        known: EXPORTS.iter().map(|format| format.name).collect::<Vec<_>>().join(", "),
    })
}

/// Writes records in a foreign form.
///
/// # Errors
/// Where the form cannot hold them, or this build cannot write it.
pub fn export(records: &[Record], format: &ExportFormat) -> Result<Vec<u8>, ExportError> {
    (format.write)(records)
}

/// What a reader calls a series, unique within its record: `scheduled_to_woke-cpu3`.
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
