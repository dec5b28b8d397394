use std::path::{Path, PathBuf};
use std::process::ExitCode;

use terminal::output;
use terminal::table::Table;

use super::open;
use crate::keys::hexadecimal;
use crate::programs;

/// Lists the programs that the hub hands to machines that have none; or gives it one
#[derive(Debug, clap::Args)]
pub(super) struct ProgramArgs {
    /// Static programs of punctual, each for the architecture that it is built for
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl ProgramArgs {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (folder, _) = open(folder)?;
        for file in &self.files {
            programs::add(&folder, file)?;
        }
        let mut table = Table::new(&["architecture", "bytes", "SHA-256"]).left(0).left(2);
        for program in programs::all(&folder)? {
            let (architecture, bytes) = (program.architecture.to_owned(), program.bytes.to_string());
            table.row(vec![architecture, bytes, hexadecimal(program.sha256)]);
        }
        output::data(&table.render());
        Ok(ExitCode::SUCCESS)
    }
}
