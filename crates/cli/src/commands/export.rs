//! `punctual export`: records in the forms that other programs read.

use std::path::PathBuf;

use anyhow::bail;
use foreign::{EXPORTS, ExportFormat};

use crate::exit::Exit;
use crate::{output, records, save};

/// Write records in a form that other programs read: cyclictest's histogram, HdrHistogram's log, CSV, Parquet, JSON
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// Records, or folders that 'punctual assess' made
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// The form: cyclictest (one run), hdr (HdrHistogram's interval log 1.3), csv (one row a bin), parquet (the
    /// same rows as typed columns), json (flat summary)
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
        refuse_for_a_terminal(format, self.output.is_none() && output::stdout_is_terminal())?;
        let records = records::all(&self.records)?;
        for record in records.iter().filter(|record| record.validity.is_invalid()) {
            // Most forms have no place for it.
            output::warning(&format!("the run '{}' is invalid: its numbers do not mean what was asked", record.label));
        }
        let bytes = foreign::export(&records, format)?;
        match &self.output {
            Some(file) => save::write_or_fall_back(file, &bytes)?.announce(),
            None => output::bytes(&bytes),
        }
        Ok(Exit::Holds)
    }
}

/// What is no text would only garble a terminal.
fn refuse_for_a_terminal(format: &ExportFormat, terminal: bool) -> anyhow::Result<()> {
    if terminal && format.binary {
        bail!("{} is no text for a terminal: name a file with -o FILE, or take it from a pipe", format.name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_text_alone() {
        let parquet = foreign::export_format("parquet").unwrap();
        let error = refuse_for_a_terminal(parquet, true).unwrap_err().to_string();
        assert!(error.contains("-o FILE"), "{error}");
        assert!(refuse_for_a_terminal(parquet, false).is_ok());
        for text in EXPORTS.iter().filter(|format| format.name != "parquet") {
            assert!(refuse_for_a_terminal(text, true).is_ok(), "{text:?}");
        }
    }
}
