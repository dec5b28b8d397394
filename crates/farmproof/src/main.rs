//! `punctual-farmproof`: what proves a farm, and what nobody needs who has one.
//!
//! Its nodes are simulated, and what they measured is stated by a seed; their spools, what sends them, what is signed and the hub are the
//! real ones. Ends with 0 where every promise is kept, with 1 where one is not, with 2 where nothing could be shown.

#![forbid(unsafe_code)]

mod client;
mod clock;
mod demo;
mod fuzz;
mod hubs;
mod journal;
mod kill;
mod load;
mod nodes;
mod processes;
mod truth;

use std::process::ExitCode;

use clap::Parser as _;
use terminal::output;

#[derive(clap::Parser)]
#[command(name = "punctual-farmproof", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Kill(kill::KillArgs),
    Load(load::LoadArgs),
    Fuzz(fuzz::FuzzArgs),
    Demo(demo::DemoArgs),
    #[command(hide = true)]
    Node(kill::NodeArgs),
}

fn main() -> ExitCode {
    // What this program starts itself for, where no other hub is named: the whole of `punctual-hub`.
    if std::env::args_os().nth(1).is_some_and(|word| word == processes::HUB_COMMAND) {
        let ended = hub::commands::Cli::parse_from(std::env::args_os().skip(1)).run();
        return ended.unwrap_or_else(|error| {
            output::error(&error);
            ExitCode::from(2)
        });
    }
    // In a guest this program is the first process and the agent too.
    let in_guest = std::env::args().nth(1).and_then(|word| match word.as_str() {
        guest::INIT_COMMAND => Some(guest::init()),
        guest::AGENT_COMMAND => Some(guest::agent()),
        _ => None,
    });
    if let Some(ended) = in_guest {
        return ended.map_or_else(
            |error| {
                output::error(&error.into());
                ExitCode::from(2)
            },
            |()| ExitCode::SUCCESS,
        );
    }
    let kept = match Cli::parse().command {
        Command::Kill(args) => args.run(),
        Command::Load(args) => args.run(),
        Command::Fuzz(args) => args.run(),
        Command::Demo(args) => args.run(),
        Command::Node(args) => args.run(),
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
