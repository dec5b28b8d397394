//! `punctual man`: manual pages, made of the same words as `--help`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::exit::Exit;
use crate::manual;
use terminal::output;

/// Write the manual pages, one for each command
///
/// To read one without installing it: man DIR/punctual-check.1
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// The folder for the pages, for example /usr/local/share/man/man1; it is made where it is missing
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
}

impl ManArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let place = self.dir.display();
        fs::create_dir_all(&self.dir).with_context(|| format!("cannot make the folder {place}"))?;
        let write =
            || manual::manual_pages()?.into_iter().try_for_each(|(name, text)| fs::write(self.dir.join(name), text));
        write().with_context(|| format!("cannot write manual pages into {place}"))?;
        output::note(&format!("wrote the manual pages into {place}"));
        Ok(Exit::Holds)
    }
}
