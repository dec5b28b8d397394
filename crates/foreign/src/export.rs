//! The table of export formats.

mod csv;
mod cyclictest;
mod hdr_log;
mod json;
mod parquet;

use record::{Place, Record, Series};

use crate::error::ExportError;

/// One export format.
#[derive(Clone, Copy)]
pub struct ExportFormat {
    /// The name that users type.
    pub name: &'static str,
    /// Description of the format: the program that reads it, its content and its unit.
    pub what: &'static str,
    /// Endings of the names of files that hold it, without the dot; the first is the usual one.
    pub endings: &'static [&'static str],
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

/// Finds the export format that files of this name hold, by the ending of the name in any case.
///
/// # Errors
/// If the name has no ending, or one that no format has.
pub fn export_format_of_file(name: &str) -> Result<&'static ExportFormat, ExportError> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let found = ending.and_then(|ending| EXPORTS.iter().find(|format| format.endings.contains(&ending.as_str())));
    found.ok_or_else(|| ExportError::NoSuchEnding { name: name.to_owned(), known: endings_in_words() })
}

/// `.csv (csv), .hlog or .hdr (hdr)`: all endings with the format that each stands for.
fn endings_in_words() -> String {
    let one = |format: &ExportFormat| {
        let endings: Vec<String> = format.endings.iter().map(|ending| format!(".{ending}")).collect();
        format!("{} ({})", endings.join(" or "), format.name)
    };
    EXPORTS.iter().map(one).collect::<Vec<_>>().join(", ")
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

#[cfg(test)]
mod endings {
    use super::*;

    #[test]
    fn every_format_is_known_by_each_of_its_endings_and_no_ending_is_of_two() {
        let all: Vec<&str> = EXPORTS.iter().flat_map(|format| format.endings).copied().collect();
        for (at, ending) in all.iter().enumerate() {
            assert!(!all[..at].contains(ending), "{ending} is of two formats");
        }
        for format in EXPORTS {
            assert!(!format.endings.is_empty(), "{} has no ending", format.name);
            for ending in format.endings {
                let found = export_format_of_file(&format!("a.b/run.{}", ending.to_uppercase())).unwrap();
                assert_eq!(found.name, format.name);
            }
        }
        for odd in ["run", "run.xlsx", "csv", "run.csv.gz", ""] {
            let error = export_format_of_file(odd).unwrap_err().to_string();
            assert!(all.iter().all(|ending| error.contains(&format!(".{ending}"))), "{error}");
        }
    }
}
