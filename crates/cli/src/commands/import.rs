//! `punctual import`: another program's output as a record.

use std::path::PathBuf;

use foreign::IMPORTS;
use record::{Origin, Record};

use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::records::RecordArgs;
use crate::view::result;
use terminal::output;
use terminal::wrap;

/// Read another program's results (cyclictest, rtla, jitterdebugger, rteval, oslat; logs of linuxptp and chronyd, captures of PTP and NTP, tables of isochron) as a record, with all that they lack
///
/// The format is recognized by the content. An import never looks better than its source: the record is degraded at best,
/// lists what its source lacks, and is invalid (exit 3) if the source contradicts itself or has no maximum.
#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    /// The output to read; - for stdin
    file: PathBuf,
    /// The format, where the content does not show it
    #[arg(long, value_name = "FORMAT", value_parser = IMPORTS.iter().map(|format| format.name).collect::<Vec<_>>())]
    format: Option<String>,
    #[command(flatten)]
    read: RecordArgs,
    /// A word that distinguishes this run from others in a report [default: the file's name]
    #[arg(long)]
    label: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl ImportArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let is_kept = self.output.keeps_the_record();
        let destination = self.output.prepare()?;
        let format = self.format.as_deref().map(foreign::import_format).transpose()?;
        let mut record = self.read.import_file(&self.file, format)?;
        if let Some(label) = self.label {
            record.label = label;
        }
        let exit = destination.deliver(&record, |color| table(&record, color))?;
        if !is_kept {
            output::note(&format!(
                "nothing was kept: -o FILE writes the record; 'report', 'compare', 'tail' and 'export' take {} itself too",
                self.file.display()
            ));
        }
        Ok(exit)
    }
}

fn table(record: &Record, color: bool) -> String {
    let mut text = result::table(record, color);
    if let Origin::Imported { lacks, .. } = &record.manifest().origin {
        text.push_str("\nThe source does not contain:\n");
        for lack in lacks {
            text.push_str(&wrap::paragraph(&format!("- {lack}"), "  ", wrap::width()));
        }
    }
    text
}
