//! `punctual completions`: what a shell needs to complete a command line.

use clap_complete::Shell;

use crate::exit::Exit;
use crate::{manual, output};

/// Print a script that completes command lines, for bash, zsh, fish and others
///
/// For bash: punctual completions bash > ~/.local/share/bash-completion/completions/punctual
#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that is to complete
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self) -> Exit {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut manual::documented_command(), "punctual", &mut script);
        output::data(&String::from_utf8_lossy(&script));
        Exit::Holds
    }
}
