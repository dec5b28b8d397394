//! `punctual-hub`: parses, calls the library, maps the outcome to an exit code.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // A usage error exits 2 by clap's own choice.
    match hub::commands::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            terminal::output::error(&error);
            ExitCode::from(2)
        }
    }
}
