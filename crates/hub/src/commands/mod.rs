//! The commands on the hub's machine. Where a hub serves at the same time, both use the store: it takes one change after the other.

mod announce;
mod backup;
mod certificate;
mod enrol;
mod link;
mod node;
mod program;
mod restore;
mod serve;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use farm::stream::NodeKey;
use serde::{Deserialize, Serialize};
use store::{By, Node, Quotas, Read as _, Sqlite};

use crate::clock::now_wall_ns;
use crate::folder::{self, ADDRESSES, Folder};

/// The hub of a farm: takes what nodes measured, keeps every worst case, and shows which machine to look at.
#[derive(Debug, clap::Parser)]
#[command(name = "punctual-hub", version, about, max_term_width = 100)]
pub struct Cli {
    /// The hub's folder: its keys and all that it keeps. Unless named: $STATE_DIRECTORY, for root the service's
    /// (/var/lib/punctual-hub) where there is one, else ~/.local/state/punctual-hub.
    #[arg(long, global = true, value_name = "DIR")]
    folder: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
    Enrol(enrol::EnrolArgs),
    Revoke(node::RevokeArgs),
    Link(link::LinkArgs),
    #[command(subcommand)]
    Node(node::NodeCommand),
    Nodes(node::NodesArgs),
    Status(status::StatusArgs),
    Announce(announce::AnnounceArgs),
    Certificate(certificate::CertificateArgs),
    Program(program::ProgramArgs),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
}

impl Cli {
    /// Carries it out; the exit code for scripts: 0, and 1 where 'status' found something to look at.
    ///
    /// # Errors
    /// Where it could not be carried out.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let folder = self.folder.map_or_else(Folder::usual, Ok)?;
        // A hub that serves is its own user; what is done beside it by the superuser leaves it its files.
        if !matches!(self.command, Command::Serve(_)) {
            Folder::make_files_of_its_user(&folder)?;
        }
        match self.command {
            Command::Serve(args) => args.run(&folder),
            Command::Enrol(args) => args.run(&folder),
            Command::Revoke(args) => args.run(&folder),
            Command::Link(args) => args.run(&folder),
            Command::Node(command) => command.run(&folder),
            Command::Nodes(args) => args.run(&folder),
            Command::Status(args) => args.run(&folder),
            Command::Announce(args) => args.run(&folder),
            Command::Certificate(args) => args.run(&folder),
            Command::Program(args) => args.run(&folder),
            Command::Backup(args) => args.run(&folder),
            Command::Restore(args) => args.run(&folder),
        }
    }
}

/// The folder and store of a hub that was started once.
fn open(path: &std::path::Path) -> anyhow::Result<(Folder, Sqlite)> {
    let folder = Folder::open(path)?;
    let store = Sqlite::open(&folder.store(), Quotas::default(), now_wall_ns())?;
    Ok((folder, store))
}

/// Who runs this command, and when: for the log of changes.
fn by() -> By {
    let named = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let number = || format!("user {}", kernel::process::effective_user());
    // The log is shown: nobody's name makes lines of its own in it.
    let who = named.filter(|name| store::check_name(name).is_ok()).unwrap_or_else(number);
    By { who, at_wall_ns: now_wall_ns() }
}

/// A node by its name or its key.
fn find(store: &Sqlite, name: &str) -> anyhow::Result<Node> {
    let by_key = name.parse::<NodeKey>().ok().map(|key| store.node(key)).transpose()?.flatten();
    let found = match by_key {
        Some(node) => Some(node),
        None => store.node_named(name)?,
    };
    found.with_context(|| format!("no node is called {name}: 'punctual-hub nodes' lists them"))
}

/// Where a hub serves, for the commands beside it.
#[derive(Debug, Serialize, Deserialize)]
struct Addresses {
    /// The port of agents.
    agents_port: u16,
    /// Where people find it, as their browsers want it.
    people: String,
}

impl Addresses {
    fn write(&self, folder: &Folder) -> anyhow::Result<()> {
        let path = folder.join(ADDRESSES);
        let text = serde_json::to_vec(self)?;
        Ok(folder::replace(&path, &text)?)
    }

    /// As the hub that served last wrote them.
    fn read(folder: &Folder) -> anyhow::Result<Self> {
        let path = folder.join(ADDRESSES);
        let text = folder::read(&path)?.context("this hub has not served yet: start it ('punctual-hub serve')")?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// The address of a link.
    fn link(&self, secret: &str) -> String {
        format!("{}link/{secret}", self.people)
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
