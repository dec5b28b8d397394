//! `punctual export`: records in the forms that other programs read.

use std::path::{Path, PathBuf};

use anyhow::bail;
use foreign::{EXPORTS, ExportFormat};

use crate::exit::Exit;
use crate::records::{self, RecordArgs};
use crate::save;
use terminal::output;

/// Write records in a form that other programs read: cyclictest's histogram, HdrHistogram's log, CSV, Parquet, JSON
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// Records, other programs' results, or folders of them
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    #[command(flatten)]
    read: RecordArgs,
    /// The form: cyclictest (one run), hdr (HdrHistogram's interval log 1.3), csv (one row a bin), parquet (the
    /// same rows as typed columns), json (flat summary) [default: by the ending of the file of -o]
    #[arg(long, value_name = "FORMAT", value_parser = EXPORTS.iter().map(|format| format.name).collect::<Vec<_>>())]
    format: Option<String>,
    /// The file to write, whose ending says the form: .csv, .parquet, .json, .hlog, .hist [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let format = match (&self.format, &self.output) {
            (Some(name), _) => foreign::export_format(name)?,
            (None, Some(file)) => foreign::export_format_of_file(&file_name(file))?,
            (None, None) => bail!(
                "say which format with --format ({}), or name a file whose ending says it, such as -o run.csv",
                EXPORTS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
            ),
        };
        if let Some(file) = &self.output {
            save::check_file(file)?;
        }
        refuse_for_a_terminal(format, self.output.is_none() && output::stdout_is_terminal())?;
        let records = self.read.all(&self.records)?;
        // Most forms have no place for it.
        records::warn_of_invalid(&records);
        let bytes = foreign::export(&records, format)?;
        match &self.output {
            Some(file) => save::write_or_fall_back(file, &bytes)?.announce(),
            None => output::bytes(&bytes),
        }
        Ok(Exit::Holds)
    }
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
