//! `punctual-proof`: what proves the instrument, and what nobody needs who measures with it.
//!
//! Ends with 0 where every promise is kept, with 1 where one is not, with 2 where nothing could be shown.

#![forbid(unsafe_code)]

mod conclusions;
mod inject;
mod knobs;
mod latmon;

use std::process::ExitCode;

use clap::Parser as _;
use terminal::output;

#[derive(clap::Parser)]
#[command(name = "punctual-proof", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Conclusions(conclusions::ConclusionsArgs),
    Inject(inject::InjectArgs),
    Knobs(knobs::KnobsArgs),
    Latmon(latmon::LatmonArgs),
}

fn main() -> ExitCode {
    // What this program starts itself for: a knob's bound is held by a process.
    if std::env::args_os().nth(1).is_some_and(|word| word == tune::HOLDER_COMMAND) {
        return if tune::hold_latency().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let kept = match Cli::parse().command {
        Command::Conclusions(args) => args.run(),
        Command::Inject(args) => args.run(),
        Command::Knobs(args) => args.run(),
        Command::Latmon(args) => args.run(),
    };
    match kept {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn no_command_has_two_options_of_one_name() {
        super::Cli::command().debug_assert();
    }
}
