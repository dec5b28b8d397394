//! `punctual export`: records in the forms that other programs read.

use std::path::PathBuf;

use foreign::EXPORTS;

use crate::exit::Exit;
use crate::{output, records, save};

/// Write records in a form that other programs read: cyclictest's histogram, HdrHistogram's log, CSV, JSON
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// Records, or folders that 'punctual assess' made
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// The form: cyclictest (one run), hdr (HdrHistogram's interval log 1.3), csv (one row a bin), json (flat summary)
    #[arg(long, value_name = "FORMAT", value_parser = EXPORTS.iter().map(|format| format.name).collect::<Vec<_>>())]
    format: String,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let format = foreign::export_format(&self.format)?;
        if let Some(file) = &self.output {
            save::check_file(file)?;
        }
        let records = records::all(&self.records)?;
        for record in records.iter().filter(|record| record.validity.is_invalid()) {
            // Most forms have no place for it.
            output::warning(&format!("the run '{}' is invalid: its numbers do not mean what was asked", record.label));
        }
        let text = foreign::export(&records, format)?;
        match &self.output {
            Some(file) => save::write_or_fall_back(file, text.as_bytes())?.tell(),
            None => output::data(&text),
        }
        Ok(Exit::Holds)
    }
}
