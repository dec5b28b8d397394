//! `punctual completions`: what a shell needs to complete a command line.

use std::fmt::Write as _;

use clap::Command;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::manual;
use terminal::output;

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
        let mut script = String::from_utf8_lossy(&script).into_owned();
        if self.shell == Shell::Fish {
            script.push_str(&names_for_fish(&manual::documented_command(), &[]));
        }
        output::data(&script);
        Exit::Holds
    }
}

/// The names that arguments without an option can have, which clap's script for fish leaves out, for a command and those below.
fn names_for_fish(command: &Command, path: &[&str]) -> String {
    let condition = match path {
        [] => String::new(),
        [one] => format!("__fish_punctual_using_subcommand {one}"),
        [one, rest @ ..] => {
            format!("__fish_punctual_using_subcommand {one}; and __fish_seen_subcommand_from {}", rest.join(" "))
        }
    };
    let names: Vec<String> = command
        .get_positionals()
        .flat_map(clap::Arg::get_possible_values)
        .map(|value| value.get_name().to_owned())
        .collect();
    let mut script = String::new();
    if !names.is_empty() && !path.is_empty() {
        // Writing to a string does not fail.
        let _ = writeln!(script, "complete -c punctual -n \"{condition}\" -a \"{}\"", names.join(" "));
    }
    for one in command.get_subcommands() {
        script.push_str(&names_for_fish(one, &[path, &[one.get_name()]].concat()));
    }
    script
}
