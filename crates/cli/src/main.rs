//! The `punctual` command: parses, calls one library, maps the outcome to an exit code.
//!
//! `manual/pages.rs` has the table of all exit codes.

#![forbid(unsafe_code)]

mod begin;
mod commands;
#[cfg(feature = "packet")]
mod connection;
mod destination;
mod exit;
mod grammar;
mod loads;
mod manual;
mod names;
mod node;
#[cfg(feature = "packet")]
mod other_node;
mod records;
mod reporting;
mod save;
mod session;
mod tips;
mod view;

use std::process::ExitCode;

use std::ffi::OsString;

use clap::{FromArgMatches as _, Parser};
use terminal::output;

#[derive(Parser)]
#[command(name = "punctual", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    // The kernel hands its first process all words of its command line that it does not know, before ours.
    let word = if std::process::id() == 1 { words.next_back() } else { words.next() };
    if let Some((word, done)) = word.and_then(|word| for_itself(&word).map(|done| (word, done))) {
        return match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                // Where anybody can see it: a guest's console, for one.
                output::note(&format!("punctual: {word}: {error}"));
                ExitCode::FAILURE
            }
        };
    }
    // A usage error exits 2 by clap's own choice, help and version exit 0.
    let typed: Vec<OsString> = std::env::args_os().collect();
    let spelling = || tips::Spelling::from_line(&typed);
    let words = match grammar::completed(typed.clone()) {
        Ok(words) => words,
        Err(no_kind) => {
            output::error(&anyhow::anyhow!("{}", no_kind.text()));
            return exit::Exit::Usage.into();
        }
    };
    let cli = match parsed(&words) {
        Ok(cli) => cli,
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => {
            let help = error.render();
            let help = if output::color_stdout() { help.ansi().to_string() } else { help.to_string() };
            output::data(&spelling().apply(&help));
            return ExitCode::SUCCESS;
        }
        Err(error) => output::usage(&tips::spelled(error, &spelling())),
    };
    match cli.command.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::error_in(&error, |text| spelling().apply(text));
            exit::Exit::from_error(&error).into()
        }
    }
}

/// The command that a whole line asks for.
fn parsed(words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = manual::command().try_get_matches_from(words);
    matches
        .and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches))
        .map_err(|error| tips::corrected(error, words))
}

/// What this program starts itself for, never a person: `None` where the word is none of these.
fn for_itself(word: &str) -> Option<std::io::Result<()>> {
    if let Some(helped) = run::helper(word) {
        return Some(helped);
    }
    match word {
        // Holds a bound on the way out of idle, which the kernel forgets with the file that it was written to.
        ::tune::HOLDER_COMMAND => Some(::tune::hold_latency()),
        // Takes a campaign's settings back when the campaign is gone.
        conduct::guard::GUARD_COMMAND => Some(commands::campaign::guard()),
        #[cfg(feature = "lab")]
        lab::running::KEEPER_COMMAND => Some(lab::running::keep()),
        #[cfg(feature = "lab")]
        lab::running::RELAY_COMMAND => Some(lab::running::relay()),
        // In the board's build too: it is what the lab's guests of that architecture run.
        guest::INIT_COMMAND => Some(guest::init()),
        guest::AGENT_COMMAND => Some(guest::agent()),
        guest::INSTALLED_COMMAND => Some(guest::installed()),
        #[cfg(feature = "lab")]
        lab::disk::IMAGE_COMMAND => Some(lab::disk::make_image()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn no_command_has_two_options_of_one_name() {
        super::Cli::command().debug_assert();
    }

    fn holds_none_hidden(command: &clap::Command) {
        for one in command.get_subcommands() {
            assert!(!one.is_hide_set(), "{} is hidden: what is not for people is no command", one.get_name());
            holds_none_hidden(one);
        }
    }

    #[test]
    fn no_command_is_hidden() {
        holds_none_hidden(&super::Cli::command());
    }
}
