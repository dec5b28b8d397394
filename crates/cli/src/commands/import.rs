//! `punctual import`: another program's output as a record.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use foreign::{IMPORTS, Options, Unit};
use record::{Origin, Record};

use crate::exit::Exit;
use crate::session::OutputArgs;
use crate::view::{result, wrap};

/// Larger files are cut by their programs; nobody prints a day of samples.
const MAX_FOREIGN_BYTES: u64 = 1 << 30;

/// Read another program's results (cyclictest, rtla, jitterdebugger, rteval, oslat) as a record, with all that they lack
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
    /// The unit of the numbers, if the text does not say: cyclictest's is us, and ns with its -N
    #[arg(long, value_enum)]
    unit: Option<UnitArg>,
    /// A word that distinguishes this run from others in a report [default: the file's name]
    #[arg(long)]
    label: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum UnitArg {
    Us,
    Ns,
}

impl ImportArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let destination = self.output.prepare()?;
        let bytes = read(&self.file)?;
        let format = self.format.as_deref().map(foreign::import_format).transpose()?;
        let unit = self.unit.map(|unit| match unit {
            UnitArg::Us => Unit::Us,
            UnitArg::Ns => Unit::Ns,
        });
        let imported = foreign::import(&bytes, format, Options { unit })
            .with_context(|| format!("{} cannot be imported", self.file.display()))?;
        let label = self.label.unwrap_or_else(|| {
            self.file.file_name().map_or_else(|| "imported".to_owned(), |name| name.to_string_lossy().into_owned())
        });
        let record = imported.into_record(&label);
        destination.deliver(&record, |colour| table(&record, colour))
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let place = || format!("cannot read {}", file.display());
    if file == Path::new("-") {
        std::io::stdin().lock().take(MAX_FOREIGN_BYTES + 1).read_to_end(&mut bytes).context("cannot read stdin")?;
    } else {
        let opened = std::fs::File::open(file).with_context(place)?;
        opened.take(MAX_FOREIGN_BYTES + 1).read_to_end(&mut bytes).with_context(place)?;
    }
    if bytes.len() as u64 > MAX_FOREIGN_BYTES {
        bail!("{} has more than {}, more than is imported", file.display(), units::format::bytes(MAX_FOREIGN_BYTES));
    }
    Ok(bytes)
}

fn table(record: &Record, colour: bool) -> String {
    let mut text = result::table(record, colour);
    if let Origin::Imported { lacks, .. } = &record.manifest().origin {
        text.push_str("\nThe source does not contain:\n");
        for lack in lacks {
            text.push_str(&wrap::paragraph(&format!("- {lack}"), "  ", wrap::width()));
        }
    }
    text
}
